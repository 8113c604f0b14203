// The conformance suite on a secured HDFS, once per kind of credential. These are Kerberos with a
// keytab, a job's delegation token, a credential file as YARN writes it, and Kerberos over HTTPS.
// KRB5_CLIENT_KTNAME names the keytab. tests/e2e/kerberos_test.py tests the failures. The
// environment:
//   ESPALIER_TEST_HDFS, ESPALIER_TEST_HADOOP_CONF  as in hdfs_subject.h
//   ESPALIER_TEST_SWEBHDFS                         the same directory: swebhdfs://HOST:PORT/tmp
//   ESPALIER_TEST_CA                               PEM file of the authority for HTTPS
//   ESPALIER_TEST_TOKEN_FILE                       credential file of alice, written by Hadoop
#include "src/storage/delegation_tokens.h"
#include "tests/storage/hdfs_subject.h"
#include "tests/storage/subject.h"

namespace espalier::storage {
namespace {

StorageOptions Plain() { return HdfsOptions("nobody"); }

std::string Prefix() {
  const std::string text = HdfsSetting("ESPALIER_TEST_HDFS");
  return text.substr(0, text.find('/', text.find("://") + 3));
}

StorageOptions ByToken(std::shared_ptr<TokenStore> tokens) {
  StorageOptions options = Plain();
  options.webhdfs.tokens = std::move(tokens);
  return options;
}

StorageOptions ByFile() {
  StorageOptions options = Plain();
  options.token_file = HdfsSetting("ESPALIER_TEST_TOKEN_FILE");
  return options;
}

StorageOptions OverTls() {
  StorageOptions options = Plain();
  options.webhdfs.http.ca_file = HdfsSetting("ESPALIER_TEST_CA");
  return options;
}

std::string FreshToken() {
  const auto token = FetchToken(Plain(), Prefix(), "espalier", "");
  INFO(token.status().ToString());
  REQUIRE(token.ok());
  return *token;
}

}  // namespace

std::vector<Subject> MakeSubjects() {
  const auto tokens = std::make_shared<TokenStore>();
  tokens->Put(Prefix(), FreshToken());
  std::vector<Subject> subjects;
  const auto add = [&](const char* name, const StorageOptions& options, const std::string& path) {
    const std::shared_ptr<const FileSystem> files = MakeFileSystem(options);
    subjects.push_back({name, files, OwnDirectory(files, path), false});
  };
  add("keytab", Plain(), FreshHdfsPath("keytab"));
  add("token", ByToken(tokens), FreshHdfsPath("token"));
  add("token file", ByFile(), FreshHdfsPath("token-file"));
  const std::string path = FreshHdfsPath("tls");
  add("tls", OverTls(), HdfsSetting("ESPALIER_TEST_SWEBHDFS") + path.substr(path.rfind('/')));
  return subjects;
}

namespace {

TEST_CASE("a token names its owner, its renewer and its end") {
  const auto token = ParseTokenText(FreshToken());
  REQUIRE(token.ok());
  const auto identity = ParseTokenIdentity(*token);
  REQUIRE(identity.ok());
  CHECK(identity->owner == "alice");
  CHECK(identity->renewer == "espalier");
  CHECK(identity->ends_ms - identity->issued_ms == int64_t{7} * 24 * 3'600'000);
  CHECK(TokenText(*token) == TokenText(ParseTokenText(TokenText(*token)).value()));
}

TEST_CASE("each kind of credential can write and read files") {
  for (const Subject& s : MakeSubjects()) {
    INFO(s.name);
    const std::string path = s.Put("f", "content");
    CHECK(s.Content(path) == "content");
  }
}

TEST_CASE("a cancelled token is replaced by a newer one of the job") {
  const auto tokens = std::make_shared<TokenStore>();
  tokens->Put(Prefix(), FreshToken());
  const auto files = MakeFileSystem(ByToken(tokens));
  const std::string path = FreshHdfsPath("cancelled");
  REQUIRE(files->WriteAtomically(path, "1").ok());
  const std::string old = tokens->Find(Prefix());
  REQUIRE(CancelToken(Plain(), Prefix(), old).ok());
  const Status refused = files->Stat(path).status();
  CHECK(refused.code() == StatusCode::kPermissionDenied);
  CHECK(refused.message().find("delegation token: it was cancelled") != std::string::npos);
  CHECK(refused.message().find(old) == std::string::npos);
  tokens->Put(Prefix(), FreshToken());
  CHECK(files->Stat(path).ok());

  // A store that can ask for another token recovers without help.
  std::shared_ptr<TokenStore> asking;
  int asked = 0;
  asking = std::make_shared<TokenStore>([&](const std::string& prefix) {
    if (++asked == 2) asking->Put(prefix, FreshToken());
  });
  asking->Put(Prefix(), old);
  const auto patient = MakeFileSystem(ByToken(asking));
  const auto found = patient->ReadAll(path, 10);
  INFO(found.status().ToString());
  CHECK(found.ok());
  CHECK(asked == 2);
}

TEST_CASE("a forged token is not accepted as genuine") {
  const std::string genuine = FreshToken();
  CHECK(ProveToken(Plain(), Prefix(), genuine).ToString() == "OK");
  const auto refusal = [&](const auto& change) {
    HadoopToken token = ParseTokenText(genuine).value();
    change(&token);
    return ProveToken(Plain(), Prefix(), TokenText(token)).code();
  };
  CHECK(refusal([](HadoopToken* t) { t->password[0] ^= 1; }) == StatusCode::kPermissionDenied);
  CHECK(refusal([](HadoopToken* t) {
          t->identifier.replace(t->identifier.find("alice"), 5, "boris");
        }) == StatusCode::kPermissionDenied);
}

TEST_CASE("renewing and acting for others require permission") {
  const std::string token = FreshToken();
  // Alice owns the token, but its renewer is espalier.
  const auto renewed = RenewToken(Plain(), Prefix(), token);
  CHECK(renewed.status().code() == StatusCode::kPermissionDenied);
  CHECK(renewed.status().message().find("non-matching renewer espalier") != std::string::npos);
  const Status other = FetchToken(Plain(), Prefix(), "espalier", "bob").status();
  INFO(other.ToString());
  CHECK(other.code() == StatusCode::kPermissionDenied);
  CHECK(other.message().find("act for another") != std::string::npos);
}

}  // namespace
}  // namespace espalier::storage
