#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "src/base/checksum.h"
#include "src/base/log.h"
#include "src/security/issue.h"
#include "src/security/keychain.h"
#include "src/security/secret_file.h"

namespace espalier::security {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

constexpr int64_t kNow = 1'800'000'000;

class Directory {
 public:
  Directory() {
    std::string path = fs::temp_directory_path() / "espalier-security-XXXXXX";
    REQUIRE(mkdtemp(path.data()) != nullptr);
    path_ = path;
  }
  ~Directory() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

TEST_CASE("a token file gives roles, and its errors show no secret") {
  const std::string text = "# people\n\n  operator ann 0123456789abcdef\r\nreader grafana sha256:" +
                           Sha256Hex("another-token-of-mine") + "\nadmin root fedcba9876543210\n";
  const auto tokens = ParseTokens(text, "tokens");
  REQUIRE(tokens.status().ToString() == "OK");
  REQUIRE(tokens->size() == 3);
  const Token* ann = FindToken(*tokens, "0123456789abcdef");
  REQUIRE(ann != nullptr);
  CHECK(ann->name == "ann");
  CHECK(ann->role == Role::kOperator);
  const Token* grafana = FindToken(*tokens, "another-token-of-mine");
  REQUIRE(grafana != nullptr);
  CHECK(grafana->role == Role::kReader);
  CHECK(FindToken(*tokens, "fedcba9876543210")->role == Role::kAdmin);
  for (const char* shown :
       {"", "0123456789abcdeg", "0123456789abcde", "0123456789abcdef ", "another-token-of-minE"}) {
    CHECK(FindToken(*tokens, shown) == nullptr);
  }
  CHECK(FindToken(*tokens, grafana->sha256) == nullptr);
  for (const char* line : {"worker node secret-secret-secret", "operator ann", "operator ann short",
                           "root ann secret-secret-secret", "operator a/b secret-secret-secret",
                           "operator ann secret-secret-secret more", "operator ann sha256:0123",
                           "secret-secret-secret operator ann"}) {
    const Status wrong = ParseTokens(std::string("\n") + line + "\n", "tokens").status();
    CHECK(wrong.code() == StatusCode::kInvalidArgument);
    CHECK_THAT(wrong.message(), Contains("tokens:2: ") && !Contains("secret"));
  }
}

TEST_CASE("an emptied token file is ignored; a comment removes tokens") {
  const Directory directory;
  const std::string path = directory / "tokens";
  REQUIRE(WriteNewFile(path, "reader a 0123456789abcdef\n", Secrecy::kSecret).ok());
  const auto tokens = TokenFile::Open(path);
  REQUIRE(tokens.ok());
  fs::resize_file(path, 0);
  CHECK((*tokens)->Current()->size() == 1);
  CHECK_THAT(TokenFile::Open(path).status().message(), Contains("is empty"));
  std::ofstream(path) << "# none\n";
  CHECK((*tokens)->Current()->empty());
}

TEST_CASE("a token is read without outer spaces and never shown") {
  CHECK(*CleanToken(" 0123456789abcdef\n", "it") == "0123456789abcdef");
  for (const char* text : {"", "  \n", "short", "0123456789 abcdef"}) {
    const Status wrong = CleanToken(text, "ESPALIER_TOKEN").status();
    CHECK_THAT(wrong.message(), Contains("ESPALIER_TOKEN") && !Contains("short"));
  }
}

TEST_CASE("a secret that others can read is refused with the fix") {
  const Directory directory;
  const std::string path = directory / "tls.key";
  REQUIRE(WriteNewFile(path, "secret", Secrecy::kSecret).ok());
  CHECK((fs::status(path).permissions() & fs::perms::mask) ==
        (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(*ReadSmallFile(path, Secrecy::kSecret, 100, "tls.key") == "secret");
  CHECK_FALSE(ReadSmallFile(path, Secrecy::kSecret, 5, "tls.key").ok());
  const Status twice = WriteNewFile(path, "other", Secrecy::kSecret);
  CHECK(twice.code() == StatusCode::kAlreadyExists);
  CHECK(*ReadSmallFile(path, Secrecy::kSecret, 100, "tls.key") == "secret");
  for (mode_t mode : {0604, 0644, 0620, 0602}) {
    REQUIRE(chmod(path.c_str(), mode) == 0);
    const Status open = ReadSmallFile(path, Secrecy::kSecret, 100, "tls.key").status();
    CHECK(open.code() == StatusCode::kPermissionDenied);
    CHECK_THAT(open.message(), Contains("chmod 600 " + path));
    Status exposure;
    CHECK(*ReadSmallFile(path, Secrecy::kSecret, 100, "tls.key", &exposure) == "secret");
    CHECK(exposure.ToString() == open.ToString());
    CHECK(ReadSmallFile(path, Secrecy::kPublic, 100, "tls.key").ok());
  }
  REQUIRE(chmod(path.c_str(), 0640) == 0);
  Status exposure = Internal("unset");
  CHECK(ReadSmallFile(path, Secrecy::kSecret, 100, "tls.key", &exposure).ok());
  CHECK(exposure.ok());
  CHECK(ReadSmallFile(directory / "none", Secrecy::kPublic, 100, "x").status().code() ==
        StatusCode::kNotFound);
  CHECK_FALSE(ReadSmallFile(directory / "", Secrecy::kPublic, 100, "x").ok());
}

void Write(const Directory& directory, const std::string& name, const KeyAndCertificate& ca,
           const KeyAndCertificate& own) {
  fs::create_directory(directory / name);
  REQUIRE(WriteNewFile(directory / (name + "/ca.crt"), ca.certificate_pem, Secrecy::kPublic).ok());
  REQUIRE(
      WriteNewFile(directory / (name + "/tls.crt"), own.certificate_pem, Secrecy::kPublic).ok());
  REQUIRE(WriteNewFile(directory / (name + "/tls.key"), own.key_pem, Secrecy::kSecret).ok());
}

void PointTo(const Directory& directory, const std::string& name) {
  fs::create_symlink(name, directory / "next");
  fs::rename(directory / "next", directory / "current");
}

TEST_CASE("a keychain follows a swapped symlink to a valid pair") {
  const Directory directory;
  const auto ca = MakeAuthority("Test CA", kNow);
  const auto one = Issue(*ca, {Role::kWorker, "one"}, kNow);
  const auto two = Issue(*ca, {Role::kWorker, "two"}, kNow);
  REQUIRE(two.ok());
  Write(directory, "a", *ca, *one);
  Write(directory, "b", *ca, *two);
  Write(directory, "c", *ca, {one->key_pem, two->certificate_pem});  // not a pair
  PointTo(directory, "a");
  const TlsFiles files{directory / "current/ca.crt", directory / "current/tls.crt",
                       directory / "current/tls.key"};
  const auto keychain = Keychain::Open(files);
  REQUIRE(keychain.status().ToString() == "OK");
  CHECK((*keychain)->Current()->names.common_name == "one");
  PointTo(directory, "b");
  CHECK((*keychain)->Current()->names.common_name == "two");
  PointTo(directory, "c");
  CHECK((*keychain)->Current()->names.common_name == "two");
  PointTo(directory, "a");
  CHECK((*keychain)->Current()->names.common_name == "one");
  PointTo(directory, "c");
  const Status wrong = Keychain::Open(files).status();
  CHECK_THAT(wrong.message(), Contains("tls.key") && Contains("not that of the certificate"));
}

TEST_CASE("a keychain keeps revocations if the CA file is truncated") {
  const Directory directory;
  const auto ca = MakeAuthority("Test CA", kNow);
  const auto one = Issue(*ca, {Role::kWorker, "one"}, kNow);
  const auto two = Issue(*ca, {Role::kWorker, "two"}, kNow);
  const auto list = Revoke(*ca, "", two->certificate_pem, kNow);
  REQUIRE(list.ok());
  const KeyAndCertificate whole{"", ca->certificate_pem + *list};
  Write(directory, "a", whole, *one);
  Write(directory, "b", {"", whole.certificate_pem.substr(0, whole.certificate_pem.size() - 60)},
        *one);
  PointTo(directory, "a");
  const TlsFiles files{directory / "current/ca.crt", directory / "current/tls.crt",
                       directory / "current/tls.key"};
  const auto keychain = Keychain::Open(files);
  REQUIRE(keychain.status().ToString() == "OK");
  const auto refuses = [&] {
    return !(*keychain)
                ->Current()
                ->trust.Verify(two->certificate_pem, Purpose::kClient, kNow, "it")
                .ok();
  };
  CHECK(refuses());
  PointTo(directory, "b");
  CHECK(refuses());
  CHECK_THAT(Keychain::Open(files).status().message(),
             Contains("tls.ca: ") && Contains("cut off or damaged"));
}

// Makes each open fail with EMFILE. Open files stay open.
class NoFilesLeft {
 public:
  NoFilesLeft() {
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const rlimit none{0, before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
  ~NoFilesLeft() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

// Returns the number of warnings that `act` logs.
int64_t WarningsOf(const Directory& directory, const std::function<void()>& act) {
  const std::string path = directory / "log";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  const int before = dup(STDERR_FILENO);
  dup2(file, STDERR_FILENO);
  close(file);
  OpenLog("test", LogLevel::kWarning);
  act();
  dup2(before, STDERR_FILENO);
  close(before);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const std::string lines = text.str();
  return std::count(lines.begin(), lines.end(), '\n');
}

TEST_CASE("TLS files that cannot be read are read at the next look") {
  const Directory directory;
  const auto ca = MakeAuthority("Test CA", kNow);
  const auto one = Issue(*ca, {Role::kWorker, "one"}, kNow);
  const auto two = Issue(*ca, {Role::kWorker, "two"}, kNow);
  Write(directory, "a", *ca, *one);
  Write(directory, "b", *ca, *two);
  PointTo(directory, "a");
  const auto keychain = Keychain::Open(
      {directory / "current/ca.crt", directory / "current/tls.crt", directory / "current/tls.key"});
  REQUIRE(keychain.status().ToString() == "OK");
  PointTo(directory, "b");
  CHECK(WarningsOf(directory, [&] {
          const NoFilesLeft limit;
          for (int i = 0; i < 3; ++i) CHECK((*keychain)->Current()->names.common_name == "one");
        }) == 1);
  CHECK((*keychain)->Current()->names.common_name == "two");
}

TEST_CASE("a token file that cannot be read is read at the next look") {
  const Directory directory;
  const std::string path = directory / "tokens";
  REQUIRE(WriteNewFile(path, "reader a 0123456789abcdef\n", Secrecy::kSecret).ok());
  const auto tokens = TokenFile::Open(path);
  REQUIRE(tokens.ok());
  std::ofstream(path) << "# none\n";
  CHECK(WarningsOf(directory, [&] {
          const NoFilesLeft limit;
          for (int i = 0; i < 3; ++i) CHECK((*tokens)->Current()->size() == 1);
        }) == 1);
  CHECK((*tokens)->Current()->empty());
}

TEST_CASE("an invalid file is reported again after a failed read") {
  const Directory directory;
  const std::string path = directory / "tokens";
  REQUIRE(WriteNewFile(path, "reader a 0123456789abcdef\n", Secrecy::kSecret).ok());
  const auto tokens = TokenFile::Open(path);
  REQUIRE(tokens.ok());
  std::ofstream(path) << "reader\n";
  CHECK(WarningsOf(directory, [&] {
          {
            const NoFilesLeft limit;
            (void)(*tokens)->Current();
          }
          for (int i = 0; i < 3; ++i) CHECK((*tokens)->Current()->size() == 1);
        }) == 2);
}

TEST_CASE("an expiring certificate is reported with its file and day") {
  const Directory directory;
  const auto ca = MakeAuthority("Test CA", kNow);
  CertificateRequest request{Role::kWorker, "one"};
  request.days = 15;
  const auto one = Issue(*ca, request, kNow);
  Write(directory, "a", *ca, *one);
  const std::string path = directory / "a/tls.crt";
  const auto keychain = Keychain::Open({directory / "a/ca.crt", path, directory / "a/tls.key"});
  REQUIRE(keychain.status().ToString() == "OK");
  const int64_t end = (*keychain)->Current()->expires_s;
  CHECK(end == kNow + 15 * 86'400);
  CHECK(ExpiryNotice(path, end, kNow) == "");
  CHECK_THAT(ExpiryNotice(path, end, kNow + 86'400),
             Contains(path) && Contains(" expires on 2027-01-30 08:00:00 UTC. Put a new one"));
  CHECK_THAT(ExpiryNotice(path, end, end - 1), Contains(" expires on "));
  CHECK_THAT(ExpiryNotice(path, end, end), Contains(" expired on ") && Contains("Peers refuse it"));
}

TEST_CASE("a chain expires with its first certificate") {
  const auto ca = MakeAuthority("Test CA", kNow);
  const auto one = Issue(*ca, {Role::kWorker, "one"}, kNow);
  CHECK(*ExpiryOf(one->certificate_pem + ca->certificate_pem) == *ExpiryOf(one->certificate_pem));
  CHECK(*ExpiryOf(ca->certificate_pem) > *ExpiryOf(one->certificate_pem));
  CHECK_FALSE(ExpiryOf("nothing").ok());
}

TEST_CASE("TLS files are complete, or a client has only the authority") {
  CHECK(TlsFiles{}.Validate(false).ok());
  CHECK(TlsFiles{"a", "b", "c"}.Validate(false).ok());
  CHECK(TlsFiles{"a", "", ""}.Validate(true).ok());
  CHECK_THAT((TlsFiles{"a", "", ""}.Validate(false).message()), Contains("tls.certificate"));
  CHECK_THAT((TlsFiles{"a", "b", ""}.Validate(true).message()), Contains("tls.key"));
  CHECK_THAT((TlsFiles{"", "b", "c"}.Validate(true).message()), Contains("tls.ca"));
}

}  // namespace
}  // namespace espalier::security
