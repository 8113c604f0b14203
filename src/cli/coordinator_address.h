// Creates clients for the coordinator that the command line specifies.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "src/base/status.h"
#include "src/cli/commands.h"
#include "src/rpc/api_client.h"

namespace espalier::cli {

inline constexpr int64_t kClientTokenFileBytesMax = 4096;
inline constexpr int64_t kAskAgainPauseMs = 250;
// Time for which a submission without an answer is repeated.
inline constexpr int64_t kSubmitAgainMs = 30'000;

// Returns the connection security in the options, and reads their files. A token comes from its
// file, or otherwise from the environment.
Result<rpc::ClientSecurity> SecurityOf(const CliOptions& options);

// Time limit for retries with an unreachable coordinator.
class AskingAgain {
 public:
  // `limit_ms` replaces --timeout.
  explicit AskingAgain(const CommandContext& context, std::optional<int64_t> limit_ms = {});
  // Call after an error. Pauses and returns true, or returns false when it is time to give up.
  bool Wait(const Status& error) const;
  // Returns the error, with the elapsed time if there was more than one attempt. kCancelled:
  // Ctrl-C.
  Status Explain(const Status& error) const;

 private:
  int64_t PassedMs() const;

  const CommandContext& context_;
  const int64_t limit_ms_;
  const std::chrono::steady_clock::time_point begin_;
  mutable bool waited_ = false;
};

// Returns a client of the coordinator in the options. It does not connect yet. Each call reads an
// address file again (rpc/coordinator_address.h). kInvalidArgument: invalid address. Further errors
// are those of SecurityOf.
Result<std::unique_ptr<rpc::ApiClient>> ConnectTo(const CommandContext& context);

// Returns the result of `call` with a new client. If the coordinator is not reached, repeats the
// call until --timeout, when the error states the elapsed time, or until Ctrl-C (kCancelled).
// `call` must therefore be repeatable.
template <typename T>
Result<T> Ask(const CommandContext& context,
              const std::function<Result<T>(rpc::ApiClient&)>& call) {
  for (AskingAgain again(context);;) {
    const auto client = ConnectTo(context);
    Result<T> answer = client.ok() ? call(**client) : Result<T>(client.status());
    if (answer.ok() || !again.Wait(answer.status())) {
      return answer.ok() ? std::move(answer) : Result<T>(again.Explain(answer.status()));
    }
  }
}

// Returns whether data for the coordinator stays secret: the connection is encrypted, or local.
Result<bool> IsPrivate(const CommandContext& context);

}  // namespace espalier::cli
