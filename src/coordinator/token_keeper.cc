#include "src/coordinator/token_keeper.h"

#include <utility>

#include "src/storage/delegation_tokens.h"
#include "src/storage/kerberos.h"

namespace espalier {
namespace {

// "alice" of "alice@REALM", "espalier" of "espalier/host@REALM": what HDFS calls us unless its
// rules say otherwise. A token that was fetched by Hadoop's own protocol has the whole of it.
std::string ShortName(const std::string& principal) {
  return principal.substr(0, principal.find_first_of("/@"));
}

Result<KeptToken> Replace(const StorageToken& token, const StorageOptions& storage,
                          const std::string& owner) {
  const KerberosLimits limits{storage.webhdfs.http.reply_ms, storage.webhdfs.http.cancelled};
  ESPALIER_ASSIGN_OR_RETURN(const std::string own, OwnPrincipal(limits));
  KeptToken fresh;
  const bool ours = own == owner || ShortName(own) == owner;
  ESPALIER_ASSIGN_OR_RETURN(fresh.text,
                            FetchToken(storage, token.file_system, own, ours ? "" : owner));
  ESPALIER_ASSIGN_OR_RETURN(fresh.ends_ms, RenewToken(storage, token.file_system, fresh.text));
  return fresh;
}

}  // namespace

StorageOptions WithTokens(StorageOptions storage, const StorageTokens& tokens) {
  if (tokens.empty()) return storage;
  const auto store = std::make_shared<TokenStore>();
  for (const StorageToken& token : tokens) store->Put(token.file_system, token.text);
  storage.webhdfs.tokens = store;
  return storage;
}

Result<KeptToken> KeepToken(const StorageToken& token, const StorageOptions& storage) {
  ESPALIER_ASSIGN_OR_RETURN(const HadoopToken parsed, ParseTokenText(token.text));
  ESPALIER_ASSIGN_OR_RETURN(const TokenIdentity identity, ParseTokenIdentity(parsed));
  const Result<int64_t> renewed = RenewToken(storage, token.file_system, token.text);
  if (renewed.ok() && *renewed < identity.ends_ms) return KeptToken{token.text, *renewed, {}};
  if (!renewed.ok() && renewed.status().code() != StatusCode::kPermissionDenied) {
    return renewed.status();  // nobody is there to ask for another one either
  }
  Result<KeptToken> fresh = Replace(token, storage, identity.owner);
  if (fresh.ok()) return fresh;
  const Status why = fresh.status().Wrap("a delegation token lasts until " + identity.owner +
                                         " submits again, unless this coordinator may get new ones "
                                         "for " +
                                         identity.owner);
  if (renewed.ok()) return KeptToken{token.text, *renewed, why};
  return Status(why.code(),
                why.ToString() + "; nor can it be renewed: " + renewed.status().ToString());
}

Status CancelToken(const StorageToken& token, const StorageOptions& storage) {
  return CancelToken(storage, token.file_system, token.text);
}

}  // namespace espalier
