#include "src/storage/kerberos.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/storage/temporary_directory.h"

namespace espalier::storage {
namespace {

TEST_CASE("DNS does not choose the service that a proof is for") {
  const TemporaryDirectory dir;
  // With these settings, MIT's library replaces the hosts of services by their names in DNS.
  setenv("KRB5_CONFIG",
         dir.Put("krb5.conf",
                 "[libdefaults]\ndefault_realm = HOME.ORG\nrdns = true\n"
                 "dns_canonicalize_hostname = true\n[domain_realm]\n.example.org = EXAMPLE.ORG\n"
                 "localhost = HOME.ORG\n")
             .c_str(),
         1);
  CHECK(ServicePrincipal("nn.example.org").value() == "HTTP/nn.example.org@EXAMPLE.ORG");
  CHECK(ServicePrincipal("NN.Example.org").value() == "HTTP/nn.example.org@EXAMPLE.ORG");
  CHECK(ServicePrincipal("localhost").value() == "HTTP/localhost@HOME.ORG");
  // A reverse lookup of this address gives localhost, by /etc/hosts.
  CHECK_THAT(ServicePrincipal("127.0.0.1").value(), Catch::StartsWith("HTTP/127.0.0.1@"));
  CHECK_THAT(ServicePrincipal("nn").value(), Catch::StartsWith("HTTP/nn@"));
  for (const char* host : {"nn/x", "nn@OTHER.ORG", "nn\\"}) {
    CHECK(ServicePrincipal(host).status().code() == StatusCode::kPermissionDenied);
  }
  unsetenv("KRB5_CONFIG");
}

}  // namespace
}  // namespace espalier::storage
