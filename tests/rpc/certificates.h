// An authority and what it issued, as files, for tests of secured connections.
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "src/rpc/security.h"
#include "src/security/issue.h"
#include "src/security/secret_file.h"

namespace espalier {

// Thread rule: one thread. Everything lies in a directory that is removed at the end.
class Certificates {
 public:
  Certificates() {
    std::string path = std::filesystem::temp_directory_path() / "espalier-certificates-XXXXXX";
    REQUIRE(mkdtemp(path.data()) != nullptr);
    path_ = path;
    auto made = MakeAuthority("Test CA", NowS());
    REQUIRE(made.ok());
    authority_ = *made;
    Put("ca.crt", authority_.certificate_pem, Secrecy::kPublic);
  }
  ~Certificates() { std::filesystem::remove_all(path_); }

  static int64_t NowS() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  const std::string& path() const { return path_; }
  std::string ca() const { return path_ + "/ca.crt"; }

  // Valid for a day, from `age_days` ago.
  TlsFiles Issue(const CertificateRequest& request, int64_t age_days = 0) {
    CertificateRequest one_day = request;
    one_day.days = 1;
    auto issued = espalier::Issue(authority_, one_day, NowS() - age_days * 86'400);
    REQUIRE(issued.status().ToString() == "OK");
    const std::string name = std::to_string(++count_);
    return {ca(), Put(name + ".crt", issued->certificate_pem, Secrecy::kPublic),
            Put(name + ".key", issued->key_pem, Secrecy::kSecret)};
  }
  // The authority with a list of those taken back, in place of its file.
  void Revoke(const TlsFiles& files) {
    const auto list = espalier::Revoke(authority_, "", Read(files.certificate), NowS());
    REQUIRE(list.status().ToString() == "OK");
    Replace("ca.crt", authority_.certificate_pem + *list, Secrecy::kPublic);
  }
  void Replace(const std::string& name, const std::string& text, Secrecy secrecy) {
    Put(name + ".new", text, secrecy);
    std::filesystem::rename(path_ + "/" + name + ".new", path_ + "/" + name);
  }
  static std::string Read(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::string Put(const std::string& name, const std::string& text, Secrecy secrecy) {
    REQUIRE(WriteNewFile(path_ + "/" + name, text, secrecy).ok());
    return path_ + "/" + name;
  }

 private:
  std::string path_;
  KeyAndCertificate authority_;
  int count_ = 0;
};

inline std::shared_ptr<Keychain> MustOpen(const TlsFiles& files) {
  auto keychain = Keychain::Open(files);
  REQUIRE(keychain.status().ToString() == "OK");
  return *keychain;
}

}  // namespace espalier
