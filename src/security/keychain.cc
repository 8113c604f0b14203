#include "src/security/keychain.h"

#include <utility>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/security/secret_file.h"

namespace espalier {

Status TlsFiles::Validate(bool client) const {
  if (!any()) {
    if (server_name.empty()) return Status::Ok();
    return InvalidArgument(
        "tls.server_name: found without tls.ca, expected both: without tls nobody shows a "
        "certificate");
  }
  const auto missing = [](const char* which, const std::string& why) {
    return InvalidArgument(std::string("tls.") + which + ": found nothing, expected a PEM file, " +
                           why);
  };
  if (ca.empty()) return missing("ca", "with the authorities whose certificates are believed");
  if (client && certificate.empty() && key.empty()) return Status::Ok();
  if (certificate.empty()) return missing("certificate", "since tls is wanted");
  if (key.empty()) return missing("key", "that of tls.certificate");
  return Status::Ok();
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
  if (const Status fits = CheckKeyFits(out->certificate_pem, out->key_pem); !fits.ok()) {
    return InvalidArgument("tls.key: " + files_.key + ": " + fits.message());
  }
  return std::shared_ptr<const TlsMaterial>(std::move(out));
}

Result<std::shared_ptr<Keychain>> Keychain::Open(const TlsFiles& files) {
  std::shared_ptr<Keychain> out(new Keychain(files));
  out->stamp_ = StampOf({files.ca, files.certificate, files.key});
  ESPALIER_ASSIGN_OR_RETURN(out->current_, out->Read());
  return out;
}

std::shared_ptr<const TlsMaterial> Keychain::Current() {
  std::lock_guard lock(mutex_);
  std::string stamp = StampOf({files_.ca, files_.certificate, files_.key});
  if (stamp == stamp_) return current_;
  stamp_ = std::move(stamp);
  auto read = Read();
  if (read.ok()) {
    current_ = *std::move(read);
    LogInfo("the TLS files were replaced; new connections use them");
  } else {
    LogWarning("the replaced TLS files cannot be used, the former ones stay: " +
               read.status().ToString());
  }
  return current_;
}

Result<std::shared_ptr<const std::vector<Token>>> TokenFile::Read() const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string text,
                            ReadSmallFile(path_, Secrecy::kSecret, kTokensBytesMax, "tokens"));
  if (text.empty()) {  // as one is that is being written, or that was emptied by a slip
    return InvalidArgument("tokens: " + QuotedPath(path_) +
                           " is empty; where there are to be none, a line with # alone says so");
  }
  ESPALIER_ASSIGN_OR_RETURN(auto tokens, ParseTokens(text, path_));
  return std::make_shared<const std::vector<Token>>(std::move(tokens));
}

Result<std::shared_ptr<TokenFile>> TokenFile::Open(const std::string& path) {
  std::shared_ptr<TokenFile> out(new TokenFile(path));
  out->stamp_ = StampOf({path});
  ESPALIER_ASSIGN_OR_RETURN(out->current_, out->Read());
  return out;
}

std::shared_ptr<const std::vector<Token>> TokenFile::Current() {
  std::lock_guard lock(mutex_);
  std::string stamp = StampOf({path_});
  if (stamp == stamp_) return current_;
  stamp_ = std::move(stamp);
  auto read = Read();
  if (read.ok()) {
    current_ = *std::move(read);
    LogInfo("the file of tokens was replaced");
  } else {
    LogWarning("the replaced file of tokens cannot be used, the former tokens stay: " +
               read.status().ToString());
  }
  return current_;
}

}  // namespace espalier
