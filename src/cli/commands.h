// The commands of `espalier`. Each returns the exit code (exit_code.h) and writes its own output:
// text for people or JSON to standard output, errors to standard error.
//
// Thread rule: the main thread.
#pragma once

#include <memory>

#include "src/cli/console.h"
#include "src/cli/follow.h"
#include "src/cli/interrupts.h"
#include "src/cli/options.h"
#include "src/spec/job_spec.h"

namespace espalier::cli {

// Everything that a command works with. Owned by main.
struct CommandContext {
  std::string program;  // argv[0]
  CliOptions options;
  Environment env;
  Console& console;
  Interrupts& interrupts;
  const storage::FileSystem& files;
  const storage::FileSystem& address_files;  // the same with short timeouts, for address files
  const storage::StorageOptions& storage;    // options of `files`
};

int RunInit(const CommandContext& context);
int RunTrain(const CommandContext& context);
int RunSweep(const CommandContext& context);
int RunSubmit(const CommandContext& context);
int RunWatch(const CommandContext& context);
int RunList(const CommandContext& context);
int RunStatus(const CommandContext& context);
int RunCancel(const CommandContext& context);
int RunDrain(const CommandContext& context);
int RunWorkers(const CommandContext& context);
int RunCheck(const CommandContext& context);
int RunEvaluate(const CommandContext& context);
int RunExport(const CommandContext& context);
int RunPredict(const CommandContext& context);
int RunCertsInit(const CommandContext& context);
int RunCertsIssue(const CommandContext& context);
int RunCertsRevoke(const CommandContext& context);
int RunCertsCompare(const CommandContext& context);
int RunYarnUp(const CommandContext& context);
int RunYarnRun(const CommandContext& context);
int RunYarnScale(const CommandContext& context);
int RunYarnStatus(const CommandContext& context);
int RunYarnLogs(const CommandContext& context);
int RunYarnDown(const CommandContext& context);
int RunReference(const CommandContext& context);
int RunVersion(const CommandContext& context);

// ---- helpers shared by the commands -----------------------------------------------------------

// Returns the directory of this program and the daemons, or an error if the system does not provide
// it.
Result<std::string> ProgramDirectory(const CommandContext& context);

// Returns the suitable view: JSON lines, a live line, or plain lines.
std::unique_ptr<ProgressView> MakeProgressView(const CommandContext& context);

// Shows the end of a job and returns its exit code. `completed` is the job with the keys of its
// preset, for the suggested next steps; null: unknown. REQUIRES: end.last is final.
int ShowOutcome(const CommandContext& context, const FollowEnd& end, int64_t client_start_ms,
                const spec::JobSpec* completed = nullptr);

// Shows an error as text on standard error and, with --json, also as one object on standard output.
// Returns `code`.
int ShowError(const CommandContext& context, const Status& error, int code,
              std::optional<JobId> job = std::nullopt);

// Submits a job under a new request id. If the coordinator goes away before it answers, the
// submission is repeated to it or its successor. The id makes that the same job. If the coordinator
// is reachable but does not answer, or the user interrupts, the submission is withdrawn.
Result<JobId> SubmitOnce(const CommandContext& context, const std::string& yaml,
                         const spec::StorageTokens& tokens);

// Returns the delegation tokens to send with a job, one for each secured file system that it uses.
// Notes for the user go to standard error. kFailedPrecondition: the connection would not keep them
// secret.
Result<spec::StorageTokens> TokensFor(const CommandContext& context,
                                      const std::vector<std::string>& paths);

// Submits a job, prints its id, and follows it unless detached. Returns the exit code. `paths` are
// the paths in the job.
int SubmitAndFollow(const CommandContext& context, const std::string& yaml,
                    const std::vector<std::string>& paths);

// Prints a note to standard error if more workers are available than leaves, or if asynchronous
// training makes the model irreproducible.
void NoteSurprises(const CommandContext& context, int64_t workers, const spec::JobSpec& spec);

}  // namespace espalier::cli
