// From what the command line says of the coordinator to a client of it.
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
// How long a submission is repeated whose answer was not heard.
inline constexpr int64_t kSubmitAgainMs = 30'000;

// How the options say that connections are secured; reads their files. A token comes from its file,
// else from the environment.
Result<rpc::ClientSecurity> SecurityOf(const CliOptions& options);

// The time for which a coordinator that is not reached is asked again.
class AskingAgain {
 public:
  // `limit_ms`: in the place of --timeout.
  explicit AskingAgain(const CommandContext& context, std::optional<int64_t> limit_ms = {});
  // After an error: pauses and returns true, or it is time to give up.
  bool Wait(const Status& error) const;
  // The error, with the time that was spent when it was tried more than once. kCancelled: Ctrl-C.
  Status Explain(const Status& error) const;

 private:
  int64_t PassedMs() const;

  const CommandContext& context_;
  const int64_t limit_ms_;
  const std::chrono::steady_clock::time_point begin_;
  mutable bool waited_ = false;
};

// A client of the coordinator that the options name; does not connect yet. A file that holds its
// address is read again at each call (rpc/coordinator_address.h). kInvalidArgument for what is no
// address, and the errors of SecurityOf.
Result<std::unique_ptr<rpc::ApiClient>> ConnectTo(const CommandContext& context);

// What `call` says of such a client. While the coordinator is not reached it is asked again with a
// new one, until `--timeout` is over, when the error tells for how long, or Ctrl-C (kCancelled); so
// it must do no harm twice.
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

// Whether what is sent there stays secret: it is encrypted, or does not leave this machine.
Result<bool> IsPrivate(const CommandContext& context);

}  // namespace espalier::cli
