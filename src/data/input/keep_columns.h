// Keeps the columns of an earlier model in a job with `features: auto` and train.initial. The
// weights of that model belong to its columns, so the new rows do not decide about them again.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

struct KeptColumns {
  std::string yaml;  // the changed job; empty: it needs no change
  std::vector<std::string> notes = {};
};

// Returns the job `yaml` with the columns of the earlier model in groups of data.features, if the
// rows would leave them out or give them another type. Columns that the earlier model left out go
// to `exclude`. A provisional plan names all these columns, because all rows may decide differently
// from the sample. Columns that `data` describes, and columns of neither table, stay as they are.
Result<KeptColumns> KeepColumns(const spec::DataSpec& data, const spec::InputPlan& plan,
                                const spec::EarlierColumns& earlier, const std::string& yaml);

}  // namespace espalier::data
