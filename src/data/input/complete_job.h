// A submitted job, completed by the first rows of its table: the preset fills the keys that are not
// given (config/preset.h).
//
// Thread rule: re-entrant. Reads files and keeps no state.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/config/preset.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

class JobCompletion {
 public:
  // Parses and validates, as far as that is possible without the table. Errors as of
  // config::ParseJob.
  static Result<JobCompletion> Read(std::string_view yaml_text, std::string_view name_for_messages);

  // Paths, output, resources and all else that no preset fills are those of the complete job.
  const spec::JobSpec& job() const { return likely_; }

  struct Completed {
    spec::JobSpec job;
    std::string yaml;       // ParseJob of it gives `job`
    spec::InputPlan input;  // PlanInput of it
    std::string task_why;   // why the job has its task, where the labels decided; else empty
    // Whether the profiling pass has more to decide, see Judge.
    bool open() const { return input.provisional || job.data.validation.seeks_bounds(); }
  };
  // Lists the files, and looks at the first rows and at the labels in them. Errors: those of
  // PlanInput, and of config::ParseJob.
  Result<Completed> Complete(const storage::FileSystem& files) const;

  // Completes an open job by the profiles of all shards: JudgeTable judges a provisional plan, and
  // ChooseBounds finds the validation rows of `group` or `time`. Absent: the job stays as it is,
  // and the profiles are to be merged. Otherwise all shards are to be profiled again by the job and
  // the plan that this returns. The plan is not provisional. The job is still open if some shard
  // could not be read.
  Result<std::optional<Completed>> Judge(const spec::InputPlan& plan, const std::string& yaml,
                                         std::span<const spec::ShardProfile> profiles) const;

 private:
  Status JudgeColumnsAndTask(const spec::JobSpec& job, std::span<const spec::ShardProfile> profiles,
                             Completed* completed) const;
  static Status BoundValidation(const spec::JobSpec& job,
                                std::span<const spec::ShardProfile> profiles, Completed* completed);

  JobCompletion(config::JobRequest request, spec::JobSpec likely)
      : request_(std::move(request)), likely_(std::move(likely)) {}

  config::JobRequest request_;
  spec::JobSpec likely_;
};

}  // namespace espalier::data
