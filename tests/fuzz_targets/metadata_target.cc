// The headers and the certificate of a caller.
#include <google/protobuf/stubs/logging.h>

#include "src/base/base64.h"
#include "src/base/check.h"
#include "src/base/text.h"
#include "src/rpc/authorizer.h"
#include "src/rpc/coordinator_address.h"
#include "src/security/certificate.h"
#include "src/security/issue.h"
#include "src/security/tokens.h"
#include "tests/fuzz_targets/input.h"
#include "tests/fuzz_targets/targets.h"

namespace espalier::fuzz {
namespace {

constexpr int64_t kNowS = 1'800'000'000;
constexpr const char* kToken = "S3CR3T-S3CR3T-S3CR3T";

// Parses a token file and looks up a caller's token in it.
void RunTokens(Input& input) {
  const auto tokens = security::ParseTokens(input.Text(), "tokens");
  const std::string shown(input.Rest());
  (void)security::CleanToken(shown, "the header");
  if (tokens.ok()) (void)security::FindToken(*tokens, shown);
}

void RunCaller(Input& input) {
  const std::string path(input.Text());
  (void)rpc::AccessOf(path);
  rpc::Caller caller;
  caller.address = std::string(input.Text());
  caller.known = input.Byte() % 2 != 0;
  if (caller.known) caller.identity.names[security::Role::kWorker] = "node-7";
  const std::string name(input.Rest());
  if (caller.known && caller.MayAttachAs(name)) {
    ESPALIER_CHECK(name == "node-7" || name.starts_with("node-7:"), name);
  }
  (void)caller.Key();
  for (const unsigned char c : caller.ToString()) {
    ESPALIER_CHECK(c >= ' ' && c != 0x7f, caller.ToString());
  }
}

// Input: the certificate in DER, the format inside PEM.
void RunCertificate(Input& input) {
  const std::string pem =
      "-----BEGIN CERTIFICATE-----\n" + Base64(input.Rest()) + "\n-----END CERTIFICATE-----\n";
  const auto names = security::ReadNames(pem);
  (void)security::ExpiryOf(pem);
  (void)security::CheckHost(pem, "a.example.org");
  const auto trust = security::Trust::Parse(pem, "ca.crt");
  if (trust.ok())
    (void)trust->Verify(pem, security::Purpose::kClient, kNowS, "the caller's certificate");
  if (!names.ok()) return;
  const auto identity = security::IdentityOf(*names, {{"*.example.org", security::Role::kWorker}});
  (void)security::IsOfWorker(*names, "node-7");
  (void)security::MayBeCoordinator(*names);
  if (!identity.ok()) return;
  for (const auto& [role, name] : identity->names) {
    ESPALIER_CHECK(security::CheckRoleName(name).ok() || name.ends_with("example.org"),
                   Printable(name));
  }
}

}  // namespace

// Input: a byte that chooses the parser, then the bytes to parse.
void RunMetadata(std::string_view bytes) {
  Input input(bytes);
  const uint8_t kind = input.Byte();
  if (kind % 3 == 0) return RunTokens(input);
  if (kind % 3 == 1) return RunCaller(input);
  RunCertificate(input);
}

std::vector<std::string> MetadataSeeds() {
  std::vector<std::string> seeds;
  const std::string tokens = std::string("# people\noperator ann ") + kToken +
                             "\nreader bob sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c"
                             "d15d6c15b0f00a08\n";
  seeds.push_back('\0' + Packed(tokens) + kToken);
  seeds.push_back('\1' + Packed("/espalier.v1.Coordinator/Attach") + Packed("ipv4:10.0.0.5:4") +
                  '\1' + "node-7:1");
  const auto ca = security::MakeAuthority("Test CA", kNowS);
  const auto issued = security::Issue(
      *ca, {security::Role::kWorker, "node-7", {"a.example.org", "10.0.0.1"}}, kNowS);
  for (const std::string& pem : {ca->certificate_pem, issued->certificate_pem}) {
    const size_t begin = pem.find('\n') + 1;
    std::string base64 = pem.substr(begin, pem.find("-----END") - begin);
    std::erase(base64, '\n');
    seeds.push_back('\2' + *FromBase64(base64));
  }
  return seeds;
}

}  // namespace espalier::fuzz
