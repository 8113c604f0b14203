// A certificate authority and its certificates as files, for tests of secured connections.
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

namespace espalier::rpc {

// An authority with its files in a directory that the destructor removes. Thread rule: one thread.
class Certificates {
 public:
  Certificates() {
    std::string path = std::filesystem::temp_directory_path() / "espalier-certificates-XXXXXX";
    REQUIRE(mkdtemp(path.data()) != nullptr);
    path_ = path;
    auto made = security::MakeAuthority("Test CA", NowS());
    REQUIRE(made.ok());
    authority_ = *made;
    Put("ca.crt", authority_.certificate_pem, security::Secrecy::kPublic);
  }
  ~Certificates() { std::filesystem::remove_all(path_); }

  static int64_t NowS() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  const std::string& path() const { return path_; }
  std::string ca() const { return path_ + "/ca.crt"; }

  // Issues a certificate that is valid for one day. Its validity began `age_days` ago.
  security::TlsFiles Issue(const security::CertificateRequest& request, int64_t age_days = 0) {
    security::CertificateRequest one_day = request;
    one_day.days = 1;
    auto issued = espalier::security::Issue(authority_, one_day, NowS() - age_days * 86'400);
    REQUIRE(issued.status().ToString() == "OK");
    const std::string name = std::to_string(++count_);
    return {ca(), Put(name + ".crt", issued->certificate_pem, security::Secrecy::kPublic),
            Put(name + ".key", issued->key_pem, security::Secrecy::kSecret)};
  }
  // Revokes the certificate: adds the new revocation list to ca.crt.
  void Revoke(const security::TlsFiles& files) {
    const auto list = espalier::security::Revoke(authority_, "", Read(files.certificate), NowS());
    REQUIRE(list.status().ToString() == "OK");
    Replace("ca.crt", authority_.certificate_pem + *list, security::Secrecy::kPublic);
  }
  void Replace(const std::string& name, const std::string& text, security::Secrecy secrecy) {
    Put(name + ".new", text, secrecy);
    std::filesystem::rename(path_ + "/" + name + ".new", path_ + "/" + name);
  }
  static std::string Read(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::string Put(const std::string& name, const std::string& text, security::Secrecy secrecy) {
    REQUIRE(security::WriteNewFile(path_ + "/" + name, text, secrecy).ok());
    return path_ + "/" + name;
  }

 private:
  std::string path_;
  security::KeyAndCertificate authority_;
  int count_ = 0;
};

inline std::shared_ptr<security::Keychain> MustOpen(const security::TlsFiles& files) {
  auto keychain = security::Keychain::Open(files);
  REQUIRE(keychain.status().ToString() == "OK");
  return *keychain;
}

}  // namespace espalier::rpc
