// The calls about delegation tokens of jobs, which CoordinatorCore asks for by TokenWork.
//
// Thread rule: safe from any thread; calls wait for NameNodes and KDCs within StorageOptions'
// limits.
#pragma once

#include "src/cluster/coordinator_actions.h"
#include "src/storage/file_systems.h"

namespace espalier::coordinator {

// Storage whose calls show these tokens.
storage::StorageOptions WithTokens(storage::StorageOptions storage,
                                   const spec::StorageTokens& tokens);

// Renews the token by this process's own Kerberos identity. When renewing no longer moves its end,
// or is refused, a new one of the same owner takes its place, if the NameNode lets us act for that
// owner; else KeptToken::limit says why not, or, when the token cannot be renewed either, the
// error.
Result<cluster::KeptToken> KeepToken(const spec::StorageToken& token,
                                     const storage::StorageOptions& storage);

// Makes it worthless.
Status CancelToken(const spec::StorageToken& token, const storage::StorageOptions& storage);

}  // namespace espalier::coordinator
