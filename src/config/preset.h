// Presets: the keys that a job does not give are filled in by what is known of its table. What a
// preset fills, and why, is in docs/presets.md.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/config/yaml_tree.h"
#include "src/spec/job_spec.h"

namespace espalier::config {

// What a preset goes by.
struct TableOutlook {
  spec::Task task = spec::Task::kClassification;
  int64_t rows = 0;      // of the training files, about
  bool exact = false;    // `rows` was counted, not estimated
  int64_t features = 0;  // all of them
};

// A job as it is submitted. Without `preset` it has the preset `good`; with `compat` it has none.
// ParseJob reads jobs that are filled already, and fills nothing.
class JobRequest {
 public:
  // Errors as of ParseJob.
  static Result<JobRequest> Read(std::string_view yaml_text, std::string_view name_for_messages);

  spec::Preset preset() const { return preset_; }
  // The job as it was given, not validated where it has a preset.
  const spec::JobSpec& given() const { return given_; }
  // The task, if the job gives it or one of its keys belongs to one task; nothing: the labels
  // decide.
  const std::optional<spec::Task>& task() const { return task_; }

  // Returns the outlook of a usual table, for checks before the files are read.
  TableOutlook Likely() const;

  struct Filled {
    spec::JobSpec job;  // validated
    std::string yaml;   // ParseJob of it gives `job`
  };
  // Errors as of ParseJob.
  Result<Filled> Fill(const TableOutlook& outlook) const;

 private:
  std::string name_, text_;
  YamlNode root_;
  spec::JobSpec given_;
  spec::Preset preset_ = spec::Preset::kGood;
  std::optional<spec::Task> task_;
};

}  // namespace espalier::config
