#include "src/storage/delegation_tokens.h"

#include <algorithm>

#include "src/storage/kerberos.h"
#include "src/storage/token_store.h"
#include "src/storage/uri.h"

namespace espalier::storage {
namespace {

constexpr int64_t kLookMs = 5'000;

// Returns a client that uses only Kerberos or only `token`, without other tokens of a job or a
// file.
Result<std::shared_ptr<const WebHdfsClient>> ClientOf(StorageOptions options,
                                                      const std::string& prefix,
                                                      const std::string& token = {}) {
  options.webhdfs.tokens = nullptr;
  options.token_file.clear();
  ESPALIER_ASSIGN_OR_RETURN(const Uri uri, ParseUri(prefix + "/"));
  if (!token.empty()) {
    const auto alone = std::make_shared<TokenStore>();
    alone->Put(uri.prefix, token);
    options.webhdfs.tokens = alone;
  }
  if (uri.kind == Uri::Kind::kLocal) {
    return InvalidArgument("'" + prefix + "' is not an HDFS and has no delegation tokens");
  }
  return MakeWebHdfsClient(options, uri);
}

Result<std::string> Ask(const WebHdfsClient& client, HttpMethod method, const char* op,
                        Parameters parameters, const std::string& doing) {
  auto answer = client.Ask({.method = method,
                            .op = op,
                            .path = "/",
                            .parameters = std::move(parameters),
                            .doing = doing,
                            .shown = client.prefix()});
  ESPALIER_RETURN_IF_ERROR(answer.status);
  return std::move(answer.body);
}

}  // namespace

// Only a process with a Kerberos identity asks the NameNode, once.
Result<bool> IsSecured(const StorageOptions& options, const std::string& prefix) {
  StorageOptions once = options;
  once.webhdfs.retry.attempts_max = 1;
  once.webhdfs.http.connect_ms = std::min(once.webhdfs.http.connect_ms, kLookMs);
  once.webhdfs.http.reply_ms = std::min(once.webhdfs.http.reply_ms, kLookMs);
  ESPALIER_ASSIGN_OR_RETURN(const auto client, ClientOf(once, prefix));
  const HttpOptions& http = client->options().http;
  const bool may_ask =
      client->options().kerberos || OwnPrincipal({http.reply_ms, http.cancelled}).ok();
  if (!may_ask) return false;
  return client->AsksForKerberos();
}

Result<std::string> FetchToken(const StorageOptions& options, const std::string& prefix,
                               const std::string& renewer, const std::string& owner) {
  ESPALIER_ASSIGN_OR_RETURN(const auto client, ClientOf(options, prefix));
  Parameters parameters = {{"renewer", renewer}};
  if (!owner.empty()) parameters.emplace_back("doas", owner);
  const std::string doing =
      owner.empty() ? "get a delegation token of" : "get a delegation token for " + owner + " of";
  ESPALIER_ASSIGN_OR_RETURN(
      const std::string body,
      Ask(*client, HttpMethod::kGet, "GETDELEGATIONTOKEN", std::move(parameters), doing));
  return ParseToken(body);
}

Result<int64_t> RenewToken(const StorageOptions& options, const std::string& prefix,
                           const std::string& token) {
  ESPALIER_ASSIGN_OR_RETURN(const auto client, ClientOf(options, prefix));
  ESPALIER_ASSIGN_OR_RETURN(const std::string body,
                            Ask(*client, HttpMethod::kPut, "RENEWDELEGATIONTOKEN",
                                {{"token", token}}, "renew the job's delegation token of"));
  return ParseLong(body);
}

Status ProveToken(const StorageOptions& options, const std::string& prefix,
                  const std::string& token) {
  ESPALIER_ASSIGN_OR_RETURN(const auto client, ClientOf(options, prefix, token));
  return Ask(*client, HttpMethod::kGet, "GETHOMEDIRECTORY", {},
             "find the owner of this delegation token on")
      .status();
}

Status CancelToken(const StorageOptions& options, const std::string& prefix,
                   const std::string& token) {
  ESPALIER_ASSIGN_OR_RETURN(const auto client, ClientOf(options, prefix, token));
  return Ask(*client, HttpMethod::kPut, "CANCELDELEGATIONTOKEN", {{"token", token}},
             "cancel the job's delegation token of")
      .status();
}

}  // namespace espalier::storage
