// Delegation tokens of an HDFS: functions that create, renew and cancel them over WebHDFS.
//
// A token is SECRET: errors and log lines never contain one. `prefix` identifies the file system by
// the start of its paths (uri.h): "hdfs://ns". Fetching and renewing require Kerberos (kerberos.h),
// because a token cannot create a token. Errors are those of file_system.h. kPermissionDenied
// states the requirement of Kerberos or of the NameNode.
//
// Thread rule: safe from any thread. Each call may wait as long as StorageOptions allow.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/storage/file_systems.h"
#include "src/storage/hadoop_token.h"

namespace espalier::storage {

// Returns whether the file system is secured: Hadoop's configuration enables Kerberos, or its
// NameNode requires it. Only a process with a Kerberos identity asks the NameNode.
// kInvalidArgument: the file system is local.
Result<bool> IsSecured(const StorageOptions& options, const std::string& prefix);

// Returns a new token that `renewer` (a principal or its short name) may renew. The token belongs
// to `owner`, if the NameNode lets this process act as that user (hadoop.proxyuser). If `owner` is
// empty, it belongs to this process's own user.
Result<std::string> FetchToken(const StorageOptions& options, const std::string& prefix,
                               const std::string& renewer, const std::string& owner);
// Extends the validity of a token. Returns its new end, in ms since 1970.
Result<int64_t> RenewToken(const StorageOptions& options, const std::string& prefix,
                           const std::string& token);
// Verifies a token. Anyone can write the claims in a token, but the NameNode accepts only unchanged
// tokens that it created. The call uses the token itself, so it requires no Kerberos. The same
// holds for CancelToken.
Status ProveToken(const StorageOptions& options, const std::string& prefix,
                  const std::string& token);
Status CancelToken(const StorageOptions& options, const std::string& prefix,
                   const std::string& token);

}  // namespace espalier::storage
