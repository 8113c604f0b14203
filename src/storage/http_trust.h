// Whom HTTPS believes, and the words for why not. Private to http.cc.
//
// Thread rule: safe from any thread.
#pragma once

#include <curl/curl.h>

#include <string>

#include "src/storage/http.h"

namespace espalier::storage {

// The PEM file of authorities in use: `ca_file`, or, when that is empty, what this system trusts.
// libcurl was built with the place of one distribution; behind the tarball's launcher it may run on
// any. Empty: libcurl's own.
const std::string& AuthoritiesFile(const std::string& ca_file);

// Why TLS does not stand, after a transfer that ended with `code`, for a person; `words` are
// libcurl's.
std::string WhyNotTrusted(CURL* easy, CURLcode code, const std::string& words,
                          const HttpOptions& options);

}  // namespace espalier::storage
