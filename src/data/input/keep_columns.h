// Keeps the columns of an earlier model in a job with `features: auto` and train.initial, and its
// task. The weights of that model belong to them, so the new rows do not decide about them again.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/input/infer_features.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

struct KeptColumns {
  std::string yaml;  // the changed job; empty: it needs no change
  std::vector<std::string> notes = {};
};

// Returns the job `yaml` with the columns of the earlier model in groups of data.features, if the
// findings would leave them out, give them another type or need a decision by the user. Columns
// that the earlier model left out go to `exclude`. If the findings are provisional, names all these
// columns, because all rows may decide differently from the sample. Columns that `data` describes,
// and columns of neither table, stay as they are. A date keeps the format of the earlier model,
// unless the job gives a format or the rows have dates of a known one. If all rows have the same
// date, it also keeps a format that reads this date.
//
// Writes a vector of Parquet by its own name if all its elements belong together. Writes runs of
// columns as ranges of positions if the job would otherwise be too long. It writes no positions if
// their meaning is not the same in all files, or if vectors shift them. A job that remains too long
// is unchanged, with a note. REQUIRES: the schema of `plan` is undecided.
Result<KeptColumns> KeepColumns(const spec::DataSpec& data, const spec::InputPlan& plan,
                                const FeatureFindings& findings, const spec::EarlierModel& earlier,
                                const std::string& yaml);

// Returns the job `yaml` with the task and the scaling layer of the earlier model, if they are
// open. `task_open`: the labels would decide the task.
Result<KeptColumns> KeepNetwork(const spec::EarlierModel& earlier, const spec::JobSpec& job,
                                bool task_open, const std::string& yaml);

}  // namespace espalier::data
