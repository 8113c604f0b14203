#include "src/security/keychain.h"

#include <ctime>
#include <utility>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/security/secret_file.h"

namespace espalier::security {
namespace {

std::string UtcText(int64_t seconds) {
  const auto at = static_cast<std::time_t>(seconds);
  std::tm parts{};
  char text[64] = "";
  if (gmtime_r(&at, &parts) == nullptr ||
      std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) {
    return std::to_string(seconds) + " s after 1970";
  }
  return text;
}

}  // namespace

bool FileLooks::Due(std::string stamp) {
  changed_ = stamp != stamp_;
  if (!changed_ && !retry_) return false;
  stamp_ = std::move(stamp);
  retry_ = false;
  return true;
}

// A file that cannot be opened (EMFILE, EACCES on its directory), or a kernel without memory for
// it, may work at the next look, and the stamp does not show that. The same content would be
// refused again, so it is not parsed again for each call.
bool FileLooks::Failed(const Status& why) {
  retry_ = why.code() == StatusCode::kNotFound || why.code() == StatusCode::kResourceExhausted;
  return changed_ || !retry_;
}

Status TlsFiles::Validate(bool client) const {
  if (!any()) {
    if (server_name.empty()) return Status::Ok();
    return InvalidArgument(
        "tls.server_name: found without tls.ca, expected both: without TLS, peers show "
        "no certificate");
  }
  const auto missing = [](const char* which, const std::string& why) {
    return InvalidArgument(std::string("tls.") + which + ": found nothing, expected a PEM file, " +
                           why);
  };
  if (ca.empty()) return missing("ca", "with the authorities to trust");
  if (client && certificate.empty() && key.empty()) return Status::Ok();
  if (certificate.empty()) return missing("certificate", "because tls is configured");
  if (key.empty()) return missing("key", "the key of tls.certificate");
  return Status::Ok();
}

std::string ExpiryNotice(const std::string& path, int64_t expires_s, int64_t now_s) {
  if (expires_s - now_s > kExpiryNoticeS) return "";
  const std::string fix =
      ". Put a new one in its place (`espalier certs issue` makes one). It is read without a "
      "restart.";
  const std::string which = "tls.certificate: " + QuotedPath(path);
  if (expires_s <= now_s) {
    return which + " expired on " + UtcText(expires_s) + ". Peers refuse it" + fix;
  }
  return which + " expires on " + UtcText(expires_s) + fix;
}

Result<std::shared_ptr<const TlsMaterial>> Keychain::Read() const {
  auto out = std::make_shared<TlsMaterial>();
  ESPALIER_ASSIGN_OR_RETURN(const std::string ca,
                            ReadSmallFile(files_.ca, Secrecy::kPublic, kPemBytesMax, "tls.ca"));
  Result<Trust> trust = Trust::Parse(ca, files_.ca);
  if (!trust.ok()) return InvalidArgument("tls.ca: " + trust.status().message());
  out->trust = *std::move(trust);
  if (files_.certificate.empty()) return std::shared_ptr<const TlsMaterial>(std::move(out));
  ESPALIER_ASSIGN_OR_RETURN(
      out->certificate_pem,
      ReadSmallFile(files_.certificate, Secrecy::kPublic, kPemBytesMax, "tls.certificate"));
  ESPALIER_ASSIGN_OR_RETURN(out->key_pem,
                            ReadSmallFile(files_.key, Secrecy::kSecret, kPemBytesMax, "tls.key"));
  Result<CertificateNames> names = ReadNames(out->certificate_pem);
  if (!names.ok()) {
    return InvalidArgument("tls.certificate: " + files_.certificate + ": " +
                           names.status().message());
  }
  out->names = *std::move(names);
  const Result<int64_t> expiry = ExpiryOf(out->certificate_pem);
  if (!expiry.ok()) {
    return InvalidArgument("tls.certificate: " + files_.certificate + ": " +
                           expiry.status().message());
  }
  out->expires_s = *expiry;
  if (const Status fits = CheckKeyFits(out->certificate_pem, out->key_pem); !fits.ok()) {
    return InvalidArgument("tls.key: " + files_.key + ": " + fits.message());
  }
  return std::shared_ptr<const TlsMaterial>(std::move(out));
}

Result<std::shared_ptr<Keychain>> Keychain::Open(const TlsFiles& files) {
  std::shared_ptr<Keychain> out(new Keychain(files));
  MutexLock lock(out->mutex_);
  out->looks_.Open(StampOf({files.ca, files.certificate, files.key}));
  ESPALIER_ASSIGN_OR_RETURN(out->current_, out->Read());
  if (files.certificate.empty()) return out;
  ESPALIER_ASSIGN_OR_RETURN(out->shown_certificate_,
                            MemoryFile::Make(out->current_->certificate_pem));
  ESPALIER_ASSIGN_OR_RETURN(out->shown_key_, MemoryFile::Make(out->current_->key_pem));
  return out;
}

void Keychain::TellExpiry(int64_t now_s) {
  constexpr int64_t kDayS = 86'400;
  const int64_t expires_s = Current()->expires_s;
  MutexLock lock(mutex_);
  if (expires_s == 0 || (told_s_ <= now_s && now_s < told_s_ + kDayS)) return;
  told_s_ = now_s;
  const std::string notice = ExpiryNotice(files_.certificate, expires_s, now_s);
  if (!notice.empty()) LogWarning(notice);
}

std::shared_ptr<const TlsMaterial> Keychain::Current() {
  MutexLock lock(mutex_);
  if (looks_.Due(StampOf({files_.ca, files_.certificate, files_.key}))) ReadAgain();
  return current_;
}

// Replaces both files. A listener that reads between the two writes reads again a second later.
Status Keychain::Show(const TlsMaterial& material) {
  ESPALIER_RETURN_IF_ERROR(shown_certificate_->Put(material.certificate_pem));
  return shown_key_->Put(material.key_pem);
}

void Keychain::ReadAgain() {
  auto read = Read();
  Status usable = read.status();
  if (usable.ok() && shown_key_ != nullptr) usable = Show(**read);
  if (!usable.ok()) {
    if (looks_.Failed(usable)) {
      LogWarning("the replaced TLS files cannot be used, the former ones stay: " +
                 usable.ToString());
    }
    return;
  }
  if ((*read)->certificate_pem != current_->certificate_pem) told_s_ = 0;
  current_ = *std::move(read);
  LogInfo("the TLS files were replaced; new connections use them");
}

Result<std::shared_ptr<const std::vector<Token>>> TokenFile::Read() const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string text,
                            ReadSmallFile(path_, Secrecy::kSecret, kTokensBytesMax, "tokens"));
  if (text.empty()) {  // during a write, or emptied by mistake
    return InvalidArgument("tokens: " + QuotedPath(path_) +
                           " is empty; where there are to be none, a line with # alone says so");
  }
  ESPALIER_ASSIGN_OR_RETURN(auto tokens, ParseTokens(text, path_));
  return std::make_shared<const std::vector<Token>>(std::move(tokens));
}

Result<std::shared_ptr<TokenFile>> TokenFile::Open(const std::string& path) {
  std::shared_ptr<TokenFile> out(new TokenFile(path));
  MutexLock lock(out->mutex_);
  out->looks_.Open(StampOf({path}));
  ESPALIER_ASSIGN_OR_RETURN(out->current_, out->Read());
  return out;
}

std::shared_ptr<const std::vector<Token>> TokenFile::Current() {
  MutexLock lock(mutex_);
  if (!looks_.Due(StampOf({path_}))) return current_;
  auto read = Read();
  if (read.ok()) {
    current_ = *std::move(read);
    LogInfo("the file of tokens was replaced");
  } else if (looks_.Failed(read.status())) {
    LogWarning("the replaced file of tokens cannot be used, the former tokens stay: " +
               read.status().ToString());
  }
  return current_;
}

}  // namespace espalier::security
