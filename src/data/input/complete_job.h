// Completes a submitted job from the first rows of its table: the preset fills the keys that are
// not given (config/preset.h).
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
  // Parses a job and validates it as far as possible without the table. Errors: as
  // config::ParseJob.
  static Result<JobCompletion> Read(std::string_view yaml_text, std::string_view name_for_messages);

  // Returns the job before completion. Keys that no preset fills (paths, output, resources and
  // others) have the values of the complete job.
  const spec::JobSpec& job() const { return likely_; }

  struct Completed {
    spec::JobSpec job;
    std::string yaml;  // ParseJob of it returns `job`
    // Text for Read before Judge. It is the submitted text, with the columns that Complete keeps.
    std::string asked;
    spec::InputPlan input;  // result of PlanInput
    std::string task_why;   // reason for the task if the labels decided it; otherwise empty
    // Returns whether the profiling pass must decide more (see Judge).
    bool open() const { return input.provisional || job.data.validation.seeks_bounds(); }
  };
  // Lists the files and reads the first rows and their labels. `earlier`: the model at
  // train.initial, or nullptr. It decides about the columns and the task (input/keep_columns.h).
  // Errors: as PlanInput and config::ParseJob.
  Result<Completed> Complete(const storage::FileSystem& files,
                             const spec::EarlierModel* earlier = nullptr) const;

  // Completes an open job from the profiles of all shards. JudgeTable judges a provisional plan,
  // and ChooseBounds finds the validation rows of `group` or `time`.
  //
  // Absent: the job is unchanged, and the caller merges the profiles. Otherwise the caller profiles
  // all shards again by the returned job and plan. That plan is not provisional. The job is still
  // open if a shard could not be read.
  Result<std::optional<Completed>> Judge(const spec::InputPlan& plan, const std::string& yaml,
                                         std::span<const spec::ShardProfile> profiles) const;

 private:
  Status JudgeColumnsAndTask(const spec::JobSpec& job, std::span<const spec::ShardProfile> profiles,
                             Completed* completed) const;
  static Status BoundValidation(const spec::JobSpec& job,
                                std::span<const spec::ShardProfile> profiles, Completed* completed);

  // Completes the job for its table.
  Result<Completed> CompleteColumns(const storage::FileSystem& files,
                                    const spec::EarlierModel* earlier) const;
  // Completes the job for a plan with its columns.
  Result<Completed> CompletePlan(const storage::FileSystem& files, spec::InputPlan plan) const;

  JobCompletion(std::string text, config::JobRequest request, spec::JobSpec likely)
      : text_(std::move(text)), request_(std::move(request)), likely_(std::move(likely)) {}

  std::string text_;
  config::JobRequest request_;
  spec::JobSpec likely_;
};

}  // namespace espalier::data
