#include "src/cli/local_start.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "src/base/memory.h"
#include "src/base/text.h"
#include "src/cli/clock.h"

namespace espalier::cli {
namespace {

constexpr int kDefaultWorkersMax = 4;
constexpr int64_t kRegisterWaitMs = 60'000;  // for all workers
constexpr int64_t kReachWaitMs = 10'000;     // for the coordinator, which already runs
constexpr auto kRegisterPoll = std::chrono::milliseconds(10);

int Cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

}  // namespace

Result<int> LocalWorkers(const CliOptions& options, const spec::WorkerRange& range) {
  if (options.workers) return *options.workers;
  const bool few_do = range.min <= kLocalWorkersMax;
  if (range.max > kLocalWorkersMax || !few_do) {
    const int64_t found = few_do ? range.max : range.min;
    return InvalidArgument((few_do ? "workers.max: found " : "workers.min: found ") +
                           std::to_string(found) + ", expected at most " +
                           std::to_string(kLocalWorkersMax) +
                           " on one machine. Set their number with --workers");
  }
  if (range.max > 0) return static_cast<int>(range.max);
  return std::max<int>(std::min(Cores(), kDefaultWorkersMax), static_cast<int>(range.min));
}

Result<LocalClusterOptions> LocalOptions(const CommandContext& context, int workers) {
  LocalClusterOptions options;
  ESPALIER_ASSIGN_OR_RETURN(options.program_directory, ProgramDirectory(context));
  options.workers = workers;
  options.threads = context.options.threads.value_or(std::max(1, Cores() / workers));
  options.memory_bytes_max = PhysicalMemoryBytes() / 2 / workers;
  options.temporary_directory = context.env.temporary_directory;
  return options;
}

void TellStart(const CommandContext& context, const LocalClusterOptions& options) {
  if (context.options.json) return;
  const int workers = options.workers, threads = options.threads;
  context.console.Out("starting " + Counted(workers, "worker") + " with " +
                      Counted(threads, "thread") + (workers == 1 ? "" : " each") +
                      " on this machine\n");
}

Status AwaitWorkers(rpc::ApiClient& client, int workers, const std::function<Status()>& still) {
  const int64_t begin_ms = NowMs();
  for (;;) {
    const auto attached = client.Workers();
    // The coordinator runs unless `still` returns an error, so a failed connection is retried.
    const bool away =
        attached.status().code() == StatusCode::kUnavailable && NowMs() - begin_ms < kReachWaitMs;
    if (!attached.ok() && !away) return attached.status();
    const size_t count = attached.ok() ? attached->size() : 0;
    if (attached.ok() && static_cast<int>(count) >= workers) return Status::Ok();
    ESPALIER_RETURN_IF_ERROR(still());
    if (NowMs() - begin_ms > kRegisterWaitMs) {
      return DeadlineExceeded(std::to_string(count) + " of " + Counted(workers, "worker") +
                              " registered within " + HumanDuration(kRegisterWaitMs));
    }
    std::this_thread::sleep_for(kRegisterPoll);
  }
}

}  // namespace espalier::cli
