// `columns: auto`: what each column holds is judged by its first values, once, by whoever plans the
// job; the schema keeps the answer, and all others go by that. Thread rule: re-entrant.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// Whether `columns: auto` judges each column of the schema: it is a feature in no group.
std::vector<bool> OpenColumns(const spec::DataSpec& data, const spec::Schema& schema);

// Gives the features of `columns: auto` that are in no group their types, and leaves columns out
// (Schema::left_out): by Judge (features/column_judgement.h) of text and of unnamed columns, of
// Parquet's other columns by the file's type: dates and time stamps are dates, all others are
// numeric. Whole numbers are numbers, also where they stand for categories: only a person knows
// that. A date becomes the parts that a group of dates has by default. Does nothing to a job that
// names its columns, and leaves a schema whose columns are all numbers as it was. The plan becomes
// provisional if a part of the training rows was looked at (judge_table.h). kInvalidArgument: a
// column needs a decision, or none is left.
Status InferFeatures(const storage::FileSystem& files, const spec::DataSpec& data,
                     spec::InputPlan* plan);

// Replaces what the schema makes of open columns: by column a type, a reason to leave it out, or
// nothing where it stays as it is. kInvalidArgument: no feature is left.
using ColumnDecision = std::variant<std::monostate, spec::FeatureType, spec::LeftOutReason>;
Status DecideColumns(const std::vector<bool>& open, const std::vector<ColumnDecision>& decisions,
                     const std::string& path, spec::Schema* schema);

}  // namespace espalier::data
