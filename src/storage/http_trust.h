// Trusted authorities for HTTPS, and messages for failed verification. Private to http.cc.
//
// Thread rule: safe from any thread.
#pragma once

#include <curl/curl.h>

#include <string>

namespace espalier::storage {

// Returns the PEM file of authorities in use: `ca_file`, or the system's if `ca_file` is empty.
// libcurl was built with the path of one distribution, but the tarball's launcher runs on any.
// Returns "" to use libcurl's own path.
const std::string& AuthoritiesFile(const std::string& ca_file);

// Returns the reason, for people, why TLS failed in a transfer that ended with `code`. `words` is
// libcurl's text. `ca_file`, `java_trust_store`: as in HttpOptions.
std::string WhyNotTrusted(CURL* easy, CURLcode code, const std::string& words,
                          const std::string& ca_file, const std::string& java_trust_store);

}  // namespace espalier::storage
