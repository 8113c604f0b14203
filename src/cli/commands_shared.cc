#include <filesystem>

#include "src/base/program_path.h"
#include "src/cli/commands.h"
#include "src/cli/exit_code.h"
#include "src/cli/format.h"
#include "src/cli/json_view.h"
#include "src/cli/result_view.h"

namespace espalier::cli {

Result<std::string> ProgramDirectory(const CommandContext& context) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, ProgramPath(context.program));
  return path.substr(0, path.rfind('/'));
}

std::unique_ptr<ProgressView> MakeProgressView(const CommandContext& context) {
  Console& console = context.console;
  if (context.options.json) return std::make_unique<JsonView>(console.OutSink());
  if (console.live()) {
    return std::make_unique<LiveView>(
        console.OutSink(), [&console] { return console.Width(); }, console.out_color());
  }
  return std::make_unique<PlainView>(console.OutSink());
}

int ShowOutcome(const CommandContext& context, const FollowEnd& end, int64_t client_start_ms,
                const spec::JobSpec* completed) {
  Console& console = context.console;
  const spec::JobSnapshot& job = *end.last;
  if (job.state != spec::JobState::kSucceeded) {
    const bool cancelled = job.state == spec::JobState::kCancelled;
    const bool lost = console.out_lost() && !context.interrupts.any();
    if (cancelled && lost) return ExitCodeOf(job);  // the reason was already shown
    const Status error = job.error.ok() ? Internal("its coordinator does not say why") : job.error;
    console.Err(ToString(job.job) +
                (cancelled ? " was cancelled: " + MessageWithCauses(error) + "\n" : " failed\n"));
    if (!cancelled) console.Err(ErrorText(error, console.err_color()));
  } else if (!context.options.json && job.has_result()) {
    std::error_code error;
    console.Out(ResultText(job, client_start_ms,
                           {.drawing = {console.out_unicode(), console.out_color(),
                                        console.live() ? console.Width() : kPlainColumns},
                            .curve = end.curve,
                            .job = completed,
                            .directory = std::filesystem::current_path(error).string()}));
  }
  if (context.options.json) console.Out(JsonLine(OutcomeJson(job, client_start_ms)));
  return ExitCodeOf(job);
}

void NoteSurprises(const CommandContext& context, int64_t workers, const spec::JobSpec& spec) {
  if (spec.train.mode == spec::TrainMode::kAsync) {
    context.console.Err(
        "note: train.mode is async: the weights depend on which worker is quick, and another run "
        "of "
        "the job gives other ones\n");
  }
  const int64_t leaves = spec::LeafCount(spec.train);
  if (workers <= leaves || spec.train.batch == 0) return;  // the preset chose both
  context.console.Err("note: the job has " + std::to_string(leaves) +
                      (leaves == 1 ? " leaf" : " leaves") + " for up to " +
                      std::to_string(workers) +
                      " workers; the others are spares (train.leaves or a greater "
                      "train.batch makes more)\n");
}

int ShowError(const CommandContext& context, const Status& error, int code,
              std::optional<JobId> job) {
  const bool lost = context.console.out_lost() && !context.interrupts.any();
  if (lost && error.code() == StatusCode::kCancelled) return code;  // the reason was already shown
  context.console.Err(ErrorText(error, context.console.err_color()));
  if (context.options.json) context.console.Out(JsonLine(ErrorJson(job, error)));
  return code;
}

}  // namespace espalier::cli
