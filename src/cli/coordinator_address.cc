#include "src/cli/coordinator_address.h"

#include <algorithm>
#include <thread>

#include "src/base/text.h"
#include "src/cli/yarn_kept.h"
#include "src/config/address.h"
#include "src/rpc/coordinator_address.h"
#include "src/security/secret_file.h"

namespace espalier::cli {
namespace {

// Returns the coordinator's address of a cluster on YARN, from the local files of `espalier yarn
// up`.
Result<std::string> AddressOfYarn(const CommandContext& context, const std::string& service) {
  ESPALIER_RETURN_IF_ERROR(yarn::CheckYarnName(service));
  const yarn::YarnKept kept = KeptOfYarn(context.env, service);
  const auto where = rpc::FindCoordinator("file:" + kept.CoordinatorFile(), context.address_files);
  if (where.ok()) return rpc::FindCoordinator(*where, context.address_files);
  return NotFound("no service " + service +
                  " was started here: " + QuotedPath(kept.CoordinatorFile()) +
                  " is missing. Run this command on the machine and as the user of `espalier yarn "
                  "up " +
                  service + "`");
}

}  // namespace

Result<rpc::ClientSecurity> SecurityOf(const CliOptions& options) {
  rpc::ClientSecurity out;
  if (options.tls.any()) {
    ESPALIER_ASSIGN_OR_RETURN(out.keychain, security::Keychain::Open(options.tls));
  }
  std::string token = options.token, where = "ESPALIER_TOKEN";
  if (!options.token_file.empty()) {
    where = "the token file " + options.token_file;
    ESPALIER_ASSIGN_OR_RETURN(
        token, security::ReadSmallFile(options.token_file, security::Secrecy::kSecret,
                                       kClientTokenFileBytesMax, "token"));
  } else if (token.empty()) {
    return out;
  }
  if (out.keychain == nullptr) {
    return InvalidArgument(
        "a token is only sent over TLS. Give --tls-ca (ESPALIER_TLS_CA) with "
        "the authority of the coordinator's certificate");
  }
  ESPALIER_ASSIGN_OR_RETURN(out.token, security::CleanToken(token, where));
  return out;
}

AskingAgain::AskingAgain(const CommandContext& context, std::optional<int64_t> limit_ms)
    : context_(context),
      limit_ms_(limit_ms.value_or(context.options.timeout_ms.value_or(0))),
      begin_(std::chrono::steady_clock::now()) {}

int64_t AskingAgain::PassedMs() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               begin_)
      .count();
}

bool AskingAgain::Wait(const Status& error) const {
  if (error.code() != StatusCode::kUnavailable || context_.interrupts.any()) return false;
  const int64_t left_ms = limit_ms_ - PassedMs();
  if (left_ms <= 0) return false;
  waited_ = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(std::min(kAskAgainPauseMs, left_ms)));
  return true;
}

Status AskingAgain::Explain(const Status& error) const {
  if (error.code() == StatusCode::kUnavailable && context_.interrupts.any()) {
    return Cancelled("interrupted; no coordinator was reached in " + HumanDuration(PassedMs()));
  }
  if (error.code() == StatusCode::kDeadlineExceeded && context_.interrupts.any()) {
    return Cancelled("interrupted; " + error.message());
  }
  if (!waited_ || error.code() != StatusCode::kUnavailable) return error;
  return error.Wrap("no coordinator was reached in " + HumanDuration(PassedMs()));
}

Result<bool> IsPrivate(const CommandContext& context) {
  if (context.options.tls.any()) return true;
  ESPALIER_ASSIGN_OR_RETURN(
      const std::string address,
      rpc::FindCoordinator(context.options.coordinator, context.address_files));
  ESPALIER_ASSIGN_OR_RETURN(const config::Address parsed, config::ParseAddress(address));
  return config::IsLoopback(parsed);
}

Result<std::unique_ptr<rpc::ApiClient>> ConnectTo(const CommandContext& context) {
  const CliOptions& options = context.options;
  const std::string_view yarn = kYarnCoordinator;
  ESPALIER_ASSIGN_OR_RETURN(const std::string address,
                            options.coordinator.starts_with(yarn)
                                ? AddressOfYarn(context, options.coordinator.substr(yarn.size()))
                                : rpc::FindCoordinator(options.coordinator, context.address_files));
  rpc::ApiClientOptions client;
  if (options.timeout_ms) {
    client.connect_timeout_ms = std::min(client.connect_timeout_ms, *options.timeout_ms);
    client.withdraw_timeout_ms = std::min(client.withdraw_timeout_ms, *options.timeout_ms);
    client.call_timeout_ms = client.submit_timeout_ms = *options.timeout_ms;
  }
  ESPALIER_ASSIGN_OR_RETURN(client.security, SecurityOf(options));
  return rpc::ApiClient::Make(address, client);
}

}  // namespace espalier::cli
