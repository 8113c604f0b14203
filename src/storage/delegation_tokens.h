// Delegation tokens of an HDFS: made, renewed and cancelled, over WebHDFS.
//
// A token is SECRET: no error, no log line holds one. `prefix` names the file system as paths on it
// begin (uri.h): "hdfs://ns". Fetching and renewing take Kerberos (kerberos.h): a token makes no
// token. Errors as file_system.h's: kPermissionDenied with what Kerberos or the NameNode misses.
// Thread rule: safe from any thread; each call may wait as StorageOptions allow.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/storage/file_systems.h"
#include "src/storage/hadoop_token.h"

namespace espalier::storage {

// Whether that file system is a secured one: Hadoop's configuration says so, or its NameNode asks
// for Kerberos. False for local ones.
Result<bool> IsSecured(const StorageOptions& options, const std::string& prefix);

// A new token that `renewer` (a principal, or its short name) may renew; of `owner`, for whom we
// then act by leave of the NameNode (hadoop.proxyuser), or, when that is empty, of ourselves.
Result<std::string> FetchToken(const StorageOptions& options, const std::string& prefix,
                               const std::string& renewer, const std::string& owner);
// Moves its end. Returns that, in ms since 1970.
Result<int64_t> RenewToken(const StorageOptions& options, const std::string& prefix,
                           const std::string& token);
// Whether it is genuine: what a token says of itself anybody can write, but the NameNode takes only
// what it has made, unchanged. By the token itself, so that it takes no Kerberos; as CancelToken.
Status ProveToken(const StorageOptions& options, const std::string& prefix,
                  const std::string& token);
Status CancelToken(const StorageOptions& options, const std::string& prefix,
                   const std::string& token);

}  // namespace espalier::storage
