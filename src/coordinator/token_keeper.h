// The calls about delegation tokens of jobs, which CoordinatorCore asks for by TokenWork.
//
// Thread rule: safe from any thread; calls wait for NameNodes and KDCs within StorageOptions'
// limits.
#pragma once

#include "src/cluster/coordinator_actions.h"
#include "src/storage/file_systems.h"

namespace espalier {

// Storage whose calls show these tokens.
StorageOptions WithTokens(StorageOptions storage, const StorageTokens& tokens);

// Renews the token by this process's own Kerberos identity. When renewing no longer moves its end,
// or is refused, a new one of the same owner takes its place, if the NameNode lets us act for that
// owner; else KeptToken::limit says why not, or, when the token cannot be renewed either, the
// error.
Result<KeptToken> KeepToken(const StorageToken& token, const StorageOptions& storage);

// Makes it worthless.
Status CancelToken(const StorageToken& token, const StorageOptions& storage);

}  // namespace espalier
