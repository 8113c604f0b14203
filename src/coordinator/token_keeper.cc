#include "src/coordinator/token_keeper.h"

#include <utility>

#include "src/storage/delegation_tokens.h"
#include "src/storage/kerberos.h"

namespace espalier::coordinator {
namespace {

// Returns "alice" for "alice@REALM" and "espalier" for "espalier/host@REALM". HDFS uses this name
// unless its rules map names differently. A token from Hadoop's own protocol has the full name.
std::string ShortName(const std::string& principal) {
  return principal.substr(0, principal.find_first_of("/@"));
}

Result<cluster::KeptToken> Replace(const spec::StorageToken& token,
                                   const storage::StorageOptions& storage,
                                   const std::string& owner) {
  const storage::KerberosLimits limits{storage.webhdfs.http.reply_ms,
                                       storage.webhdfs.http.cancelled};
  ESPALIER_ASSIGN_OR_RETURN(const std::string own, storage::OwnPrincipal(limits));
  cluster::KeptToken fresh;
  const bool ours = own == owner || ShortName(own) == owner;
  ESPALIER_ASSIGN_OR_RETURN(
      fresh.text, storage::FetchToken(storage, token.file_system, own, ours ? "" : owner));
  ESPALIER_ASSIGN_OR_RETURN(fresh.ends_ms,
                            storage::RenewToken(storage, token.file_system, fresh.text));
  return fresh;
}

}  // namespace

storage::StorageOptions WithTokens(storage::StorageOptions storage,
                                   const spec::StorageTokens& tokens) {
  if (tokens.empty()) return storage;
  const auto store = std::make_shared<storage::TokenStore>();
  for (const spec::StorageToken& token : tokens) store->Put(token.file_system, token.text);
  storage.webhdfs.tokens = store;
  return storage;
}

Result<cluster::KeptToken> KeepToken(const spec::StorageToken& token,
                                     const storage::StorageOptions& storage) {
  ESPALIER_ASSIGN_OR_RETURN(const storage::HadoopToken parsed, storage::ParseTokenText(token.text));
  ESPALIER_ASSIGN_OR_RETURN(const storage::TokenIdentity identity,
                            storage::ParseTokenIdentity(parsed));
  const Result<int64_t> renewed = storage::RenewToken(storage, token.file_system, token.text);
  if (renewed.ok() && *renewed < identity.ends_ms)
    return cluster::KeptToken{token.text, *renewed, {}};
  if (!renewed.ok() && renewed.status().code() != StatusCode::kPermissionDenied) {
    return renewed.status();  // asking for a new token would fail, too
  }
  Result<cluster::KeptToken> fresh = Replace(token, storage, identity.owner);
  if (fresh.ok()) return fresh;
  const Status why = fresh.status().Wrap("a delegation token lasts until " + identity.owner +
                                         " submits again, unless this coordinator may get new ones "
                                         "for " +
                                         identity.owner);
  if (renewed.ok()) return cluster::KeptToken{token.text, *renewed, why};
  return Status(why.code(),
                why.ToString() + "; nor can it be renewed: " + renewed.status().ToString());
}

Status CancelToken(const spec::StorageToken& token, const storage::StorageOptions& storage) {
  return storage::CancelToken(storage, token.file_system, token.text);
}

}  // namespace espalier::coordinator
