// The calls about delegation tokens of jobs that CoordinatorCore requests with TokenWork.
//
// Thread rule: safe from any thread. Calls wait for NameNodes and KDCs within the limits of
// StorageOptions.
#pragma once

#include "src/cluster/coordinator_actions.h"
#include "src/storage/file_systems.h"

namespace espalier::coordinator {

// Returns storage options whose calls present these tokens.
storage::StorageOptions WithTokens(storage::StorageOptions storage,
                                   const spec::StorageTokens& tokens);

// Renews the token with this process's own Kerberos identity. If renewal is refused or no longer
// extends the token, it requests a new one of the same owner. The NameNode must let this process
// act for that owner. Otherwise KeptToken::limit states the reason. If the token cannot be renewed
// either, returns the error.
Result<cluster::KeptToken> KeepToken(const spec::StorageToken& token,
                                     const storage::StorageOptions& storage);

// Revokes the token.
Status CancelToken(const spec::StorageToken& token, const storage::StorageOptions& storage);

}  // namespace espalier::coordinator
