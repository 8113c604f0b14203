#include "src/storage/webhdfs_login.h"

namespace espalier::storage {

Result<WebHdfsLogin::Proof> WebHdfsLogin::Make(const std::string& host, int64_t* waited_ms) const {
  Proof proof;
  if (options_.tokens != nullptr) {
    proof.token = options_.tokens->Find(prefix_);
    if (!proof.token.empty()) proof.kind = Kind::kJobToken;
  }
  if (proof.token.empty() && !options_.file_token.empty()) {
    proof.token = options_.file_token;
    proof.kind = Kind::kFileToken;
  }
  if (!proof.token.empty()) {
    proof.parameters = {{"delegation", proof.token}};
  } else if (kerberos_) {
    proof.kind = Kind::kKerberos;
    ESPALIER_ASSIGN_OR_RETURN(proof.authorization, NegotiateHeader(host, limits_, waited_ms));
  } else if (!options_.user.empty()) {
    proof.parameters = {{"user.name", options_.user}};
  }
  return proof;
}

bool WebHdfsLogin::MayHaveAnother(const Proof& proof) const {
  return proof.kind == Kind::kJobToken && options_.tokens->Refused(prefix_, proof.token);
}

}  // namespace espalier::storage
