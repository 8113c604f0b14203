#include "src/yarn/service_principal.h"

#include <catch2/catch.hpp>

#include "tests/storage/keytab_sample.h"
#include "tests/testing/says.h"

namespace espalier::yarn {
namespace {

storage::HadoopConfig Config(const std::string& word) {
  storage::HadoopConfig config;
  config.Set("hadoop.security.authentication", word, false);
  return config;
}

TEST_CASE("the configuration says whether there is Kerberos") {
  for (const char* word : {"kerberos", "KERBEROS"}) CHECK(HasKerberos(Config(word)).value());
  CHECK_FALSE(HasKerberos(Config("simple")).value());
  CHECK_FALSE(HasKerberos(storage::HadoopConfig()).value());
}

TEST_CASE("a service's principal has a name, a host and a realm") {
  for (const char* good : {"ann/yarn@EXAMPLE.COM", "svc-a.b_c/n1.example.com@R", "ann/_HOST@R"}) {
    CHECK(CheckPrincipal(good).ok());
  }
  for (const char* bad : {"", "ann", "ann/yarn", "ann/yarn@", "ann/@R", "/yarn@R", "@R",
                          "ann/a/b@R", "ann/$(id)@R", "an n/yarn@R", "ann/yarn@R;x"}) {
    INFO(bad);
    const Status refused = CheckPrincipal(bad);
    CHECK(refused.code() == StatusCode::kInvalidArgument);
    CHECK_THAT(refused.message(), Catch::StartsWith("--principal: found '") &&
                                      Catch::Contains("expected NAME/HOST@REALM"));
  }
  CHECK_FALSE(CheckPrincipal(std::string(300, 'a') + "/b@R").ok());
  CHECK_THAT(CheckPrincipal("ann@EXAMPLE.COM").message(),
             Catch::Contains("no principal without a host") &&
                 Catch::Contains("such as 'ann/yarn@EXAMPLE.COM'"));
}

TEST_CASE("a keytab must hold the principal, and begin with it") {
  const auto check = [](const std::string& principal, const std::string& keytab) {
    return CheckKeytab({principal, keytab}, "'k'");
  };
  const std::string sample = storage::SampleKeytab();
  CHECK(check("ann/yarn@EXAMPLE.COM", sample).ok());
  CHECK(check("ann/_HOST@EXAMPLE.COM", sample).ok());  // of one node, but there
  for (const char* other : {"ann/other@EXAMPLE.COM", "ann/yarn@OTHER", "bob/_HOST@EXAMPLE.COM"}) {
    CHECK_THAT(check(other, sample).message(),
               Says("... found '" + std::string(other) +
                    "' ... keytab 'k' ... ann/yarn@EXAMPLE.COM, bob@EXAMPLE.COM"));
  }
  std::string turned = sample;  // bob, then ann
  const size_t last = turned.size() - 0x35 - 4;
  turned = turned.substr(0, 2) + turned.substr(last) + turned.substr(2, last - 2);
  CHECK_THAT(check("ann/yarn@EXAMPLE.COM", turned).message(),
             Catch::Contains("the keytab 'k' begins with a key of 'bob@EXAMPLE.COM', which "
                             "the containers would log in as"));
  CHECK_THAT(check("ann/yarn@EXAMPLE.COM", "no").message(), Catch::StartsWith("'k': found a file"));
}

}  // namespace
}  // namespace espalier::yarn
