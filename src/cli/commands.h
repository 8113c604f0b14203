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

// All that a command works with. Owned by main.
struct CommandContext {
  std::string program;  // argv[0]
  CliOptions options;
  Environment env;
  Console& console;
  Interrupts& interrupts;
  const storage::FileSystem& files;
  const storage::FileSystem& address_files;  // the same, for where a coordinator is: soon given up
  const storage::StorageOptions& storage;    // that `files` was made with
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

// ---- shared by the commands ------------------------------------------------------------------

// Where this program and the daemons lie. Error when the system does not tell.
Result<std::string> ProgramDirectory(const CommandContext& context);

// The view that fits: JSON lines, a live line, or plain lines.
std::unique_ptr<ProgressView> MakeProgressView(const CommandContext& context);

// Shows how a job has ended and returns its code. `table`: a table to score, for what to do next;
// empty: not known. REQUIRES: end.last is final.
int ShowOutcome(const CommandContext& context, const FollowEnd& end, int64_t client_start_ms,
                const std::string& table = "");

// Shows an error as text on standard error and, with --json, as one object on standard output;
// returns `code`.
int ShowError(const CommandContext& context, const Status& error, int code,
              std::optional<JobId> job = std::nullopt);

// Submits under an id of its own. When the coordinator goes away before it has answered, it or the
// one that takes its place is asked again: the id makes that the same job. When it is there and
// does not answer, or the person interrupts, the submission is withdrawn.
Result<JobId> SubmitOnce(const CommandContext& context, const std::string& yaml,
                         const spec::StorageTokens& tokens);

// The delegation tokens to send along with a job, one for each secured file system that it names;
// notes for the person go to standard error. kFailedPrecondition: they would not stay secret.
Result<spec::StorageTokens> TokensFor(const CommandContext& context,
                                      const std::vector<std::string>& paths);

// Submits, tells the id, and follows the job unless that is not wanted; returns the exit code.
// `paths`: that the job names.
int SubmitAndFollow(const CommandContext& context, const std::string& yaml,
                    const std::vector<std::string>& paths);

// Says on standard error that more workers than leaves stand by, and that asynchronous training
// does not give the same model again.
void NoteSurprises(const CommandContext& context, int64_t workers, const spec::JobSpec& spec);

}  // namespace espalier::cli
