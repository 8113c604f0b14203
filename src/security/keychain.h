// A program's own certificate and key, and the authorities it believes, as files that may be
// replaced while it runs.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "src/base/status.h"
#include "src/security/certificate.h"
#include "src/security/memory_file.h"
#include "src/security/tokens.h"

namespace espalier::security {

// PEM files. Daemons need all three; a client with a token needs only the CA.
struct TlsFiles {
  std::string ca, certificate, key;
  // The host that the coordinator's certificate must name; "": the one that is dialled. For
  // coordinators that run on hosts nobody knew when their certificate was made.
  std::string server_name;

  bool any() const { return !ca.empty() || !certificate.empty() || !key.empty(); }
  bool operator==(const TlsFiles&) const = default;
  // OK when none is named, or all, or for a client the CA alone. Names the missing one ("tls.key").
  Status Validate(bool client) const;
};

// What the files held when they were read last.
struct TlsMaterial {
  Trust trust;
  std::string certificate_pem, key_pem;  // empty for a client without
  CertificateNames names;                // of the certificate
  int64_t expires_s = 0;                 // since 1970; 0 without a certificate
};

// A certificate that ends sooner than this is told of, when it is read and then once a day.
inline constexpr int64_t kExpiryNoticeS = int64_t{14} * 86'400;

// What is told of a certificate that expires at `expires_s` or has; "" when that is far.
std::string ExpiryNotice(const std::string& path, int64_t expires_s, int64_t now_s);

// Thread rule: any thread.
class Keychain {
 public:
  // Reads all. Errors name the file: missing, no PEM, a key others may read, a key of another
  // certificate. REQUIRES: `files` are valid and name a CA.
  static Result<std::shared_ptr<Keychain>> Open(const TlsFiles& files);

  const TlsFiles& files() const { return files_; }
  // Reads again what was replaced since. When that is not whole (in the middle of a replacement, or
  // wrong) the former stays, and one log line says why.
  std::shared_ptr<const TlsMaterial> Current();
  // Files of this process's own with the certificates and the key of what Current gave last, for a
  // listener that reads them by itself. REQUIRES: the files name a certificate.
  std::string shown_certificate() const { return shown_certificate_->path(); }
  std::string shown_key() const { return shown_key_->path(); }
  // Warns in the log of the own certificate that expires soon, or has: once, and then daily. A
  // daemon asks every few minutes. `now_s`: since 1970.
  void TellExpiry(int64_t now_s);

 private:
  explicit Keychain(TlsFiles files) : files_(std::move(files)) {}
  Result<std::shared_ptr<const TlsMaterial>> Read() const;
  void ReadAgain();
  Status Show(const TlsMaterial& material);

  const TlsFiles files_;
  std::unique_ptr<MemoryFile> shown_certificate_, shown_key_;  // none without a certificate
  std::mutex mutex_;                                           // guards what follows
  std::string stamp_;
  int64_t told_s_ = 0;  // when it was looked last whether an expiry is to be told; since 1970
  std::shared_ptr<const TlsMaterial> current_;
};

// The tokens a coordinator knows, from a file that may be replaced. Thread rule: any thread.
class TokenFile {
 public:
  static Result<std::shared_ptr<TokenFile>> Open(const std::string& path);
  // As of Keychain.
  std::shared_ptr<const std::vector<Token>> Current();

 private:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}
  Result<std::shared_ptr<const std::vector<Token>>> Read() const;

  const std::string path_;
  std::mutex mutex_;  // guards what follows
  std::string stamp_;
  std::shared_ptr<const std::vector<Token>> current_;
};

}  // namespace espalier::security
