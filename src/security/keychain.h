// A program's own certificate and key and its trusted authorities, as files that may be replaced at
// run time.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/security/certificate.h"
#include "src/security/memory_file.h"
#include "src/security/tokens.h"

namespace espalier::security {

// PEM files. Daemons need all three. A client with a token needs only the CA.
struct TlsFiles {
  std::string ca, certificate, key;
  // Host that the coordinator's certificate must name; empty: the dialled host. For coordinators on
  // hosts that were unknown when the certificate was made.
  std::string server_name;

  bool any() const { return !ca.empty() || !certificate.empty() || !key.empty(); }
  bool operator==(const TlsFiles&) const = default;
  // Returns OK if no file is set, or all, or for a client only the CA. The error names the missing
  // field ("tls.key").
  Status Validate(bool client) const;
};

// Contents of the files when they were last read.
struct TlsMaterial {
  Trust trust;
  std::string certificate_pem, key_pem;  // empty for a client without them
  CertificateNames names;                // names in the certificate
  int64_t expires_s = 0;                 // seconds since 1970; 0 without a certificate
};

// Remaining lifetime below which a certificate is reported, when it is read and then once a day.
inline constexpr int64_t kExpiryNoticeS = int64_t{14} * 86'400;

// Returns the notice for a certificate that expires at `expires_s`, or "" if it does not expire
// soon.
std::string ExpiryNotice(const std::string& path, int64_t expires_s, int64_t now_s);

// Decides when replaced files are read again, and which failures are logged.
// Thread rule: one thread at a time.
class FileLooks {
 public:
  // `stamp` is the StampOf the files as they were opened.
  void Open(std::string stamp) { stamp_ = std::move(stamp); }
  // Returns whether to read the files: they changed since the last attempt, or that attempt failed
  // for a reason that is not in the files.
  bool Due(std::string stamp);
  // Records that the attempt failed. Returns whether to log the failure: once for each replacement
  // of the files, and again if their content is the reason.
  bool Failed(const Status& why);

 private:
  std::string stamp_;
  bool changed_ = false;  // the last attempt was the first one with this stamp
  bool retry_ = false;
};

// Thread rule: any thread.
class Keychain {
 public:
  // Reads all files. Errors name the file and the problem: missing, not PEM, a key that others may
  // read, or a key of another certificate. REQUIRES: `files` are valid and include a CA.
  static Result<std::shared_ptr<Keychain>> Open(const TlsFiles& files);

  const TlsFiles& files() const { return files_; }
  // Returns the current material and reads replaced files again. If they are invalid or cannot be
  // read, or a replacement is in progress, returns the previous material and logs one line with the
  // reason. If they could not be read, the next call tries again.
  std::shared_ptr<const TlsMaterial> Current();
  // Paths of private files with the certificates and the key that Current returned last, for a
  // listener that reads files itself. REQUIRES: the files include a certificate.
  std::string shown_certificate() const { return shown_certificate_->path(); }
  std::string shown_key() const { return shown_key_->path(); }
  // Logs a warning if the own certificate expires soon or has expired, once and then daily. A
  // daemon calls this every few minutes. `now_s` is in seconds since 1970.
  void TellExpiry(int64_t now_s);

 private:
  explicit Keychain(TlsFiles files) : files_(std::move(files)) {}
  Result<std::shared_ptr<const TlsMaterial>> Read() const;
  void ReadAgain() REQUIRES(mutex_);
  Status Show(const TlsMaterial& material);

  const TlsFiles files_;
  std::unique_ptr<MemoryFile> shown_certificate_, shown_key_;  // null without a certificate
  Mutex mutex_;
  FileLooks looks_ GUARDED_BY(mutex_);
  int64_t told_s_ GUARDED_BY(mutex_) = 0;  // time of the last expiry check, in seconds since 1970
  std::shared_ptr<const TlsMaterial> current_ GUARDED_BY(mutex_);
};

// The tokens that a coordinator accepts, from a file that may be replaced.
// Thread rule: any thread.
class TokenFile {
 public:
  static Result<std::shared_ptr<TokenFile>> Open(const std::string& path);
  // Works like Keychain::Current.
  std::shared_ptr<const std::vector<Token>> Current();

 private:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}
  Result<std::shared_ptr<const std::vector<Token>>> Read() const;

  const std::string path_;
  Mutex mutex_;
  FileLooks looks_ GUARDED_BY(mutex_);
  std::shared_ptr<const std::vector<Token>> current_ GUARDED_BY(mutex_);
};

}  // namespace espalier::security
