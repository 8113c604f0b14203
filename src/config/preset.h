// Presets: values for the keys that a job does not set, based on facts about its table.
// docs/presets.md describes the values and the reasons.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/config/yaml_tree.h"
#include "src/spec/job_spec.h"

namespace espalier::config {

// Facts about a table that determine a preset's values.
struct TableOutlook {
  spec::Task task = spec::Task::kClassification;
  int64_t rows = 0;      // approximate number of rows in the training files
  bool exact = false;    // `rows` was counted, not estimated
  int64_t features = 0;  // total number of features
};

// A job as submitted. Without the key `preset`, it has the default one. With `compat`, and with all
// weights from a file (`train.initial: x.safetensors`), it has no preset. ParseJob reads jobs that
// are already filled, and fills in nothing.
class JobRequest {
 public:
  // Returns the same errors as ParseJob.
  static Result<JobRequest> Read(std::string_view yaml_text, std::string_view name_for_messages);

  spec::Preset preset() const { return preset_; }
  // Returns the job as given. A job with a preset is not validated.
  const spec::JobSpec& given() const { return given_; }
  // Returns the task, if the job sets it or has a key that belongs to one task. Returns nothing if
  // the labels decide.
  const std::optional<spec::Task>& task() const { return task_; }

  // Returns the outlook of a typical table, for checks before the files are read.
  TableOutlook Likely() const;

  struct Filled {
    spec::JobSpec job;  // validated
    std::string yaml;   // ParseJob returns `job` for this text
  };
  // Returns the same errors as ParseJob.
  Result<Filled> Fill(const TableOutlook& outlook) const;

 private:
  std::string name_, text_;
  YamlNode root_;
  spec::JobSpec given_;
  spec::Preset preset_ = spec::kDefaultPreset;
  std::optional<spec::Task> task_;
};

// Returns the keys that some preset chooses for some table: "train.batch",
// "data.features.groups[].encode". The keys below a key that is chosen as a whole are not among
// them.
std::set<std::string> KeysOfPresets();

}  // namespace espalier::config
