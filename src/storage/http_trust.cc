#include "src/storage/http_trust.h"

#include <unistd.h>

namespace espalier::storage {
namespace {

// Verification errors of OpenSSL: its X509_V_ERR numbers, which are part of its ABI.
enum Verified : long {  // NOLINT: libcurl's type
  kNotYetValid = 9,
  kExpired = 10,
  kSelfSigned = 18,
  kSelfSignedRoot = 19,
  kNoIssuer = 20,
  kNoFirst = 21,
};

const std::string& SystemCertificates() {
  static const std::string found = [] {
    for (const char* path : {"/etc/ssl/certs/ca-certificates.crt",  // Debian, Arch, Alpine
                             "/etc/pki/tls/certs/ca-bundle.crt",    // Red Hat
                             "/etc/ssl/ca-bundle.pem"}) {           // SUSE
      if (access(path, R_OK) == 0) return std::string(path);
    }
    return std::string();
  }();
  return found;
}

}  // namespace

const std::string& AuthoritiesFile(const std::string& ca_file) {
  return ca_file.empty() ? SystemCertificates() : ca_file;
}

std::string WhyNotTrusted(CURL* easy, CURLcode code, const std::string& words,
                          const std::string& ca_file, const std::string& java_trust_store) {
  const std::string& file = AuthoritiesFile(ca_file);
  if (code == CURLE_SSL_CACERT_BADFILE) {
    return "the file of authorities '" + file +
           "' cannot be read, or holds no certificate in PEM form; hadoop_ca (ESPALIER_HADOOP_CA) "
           "names it";
  }
  if (code != CURLE_PEER_FAILED_VERIFICATION) return "TLS does not come about: " + words;
  // libcurl's own check, which has no number.
  if (words.find("subject name") != words.npos) {
    return "its certificate is of another host name; name the host as the certificate does (" +
           words + ")";
  }
  long verified = 0;  // NOLINT: libcurl's type
  curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &verified);
  switch (verified) {
    case kExpired:
      return "its certificate has expired; it must be renewed there";
    case kNotYetValid:
      return "its certificate is not valid yet; do the clocks of both hosts agree?";
    case kSelfSigned:
    case kSelfSignedRoot:
    case kNoIssuer:
    case kNoFirst:
      return "its certificate is of an authority that '" + file +
             "' does not hold; name the PEM file of that authority by hadoop_ca "
             "(ESPALIER_HADOOP_CA)" +
             (java_trust_store.empty()
                  ? ""
                  : "; ssl-client.xml names the Java key store '" + java_trust_store +
                        "', which is not read here: `keytool -exportcert -rfc` writes PEM of it");
    default:
      return words;
  }
}

}  // namespace espalier::storage
