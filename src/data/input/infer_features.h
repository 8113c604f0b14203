// Implements `columns: auto`. The process that plans the job judges each column once, from its
// first values. The schema stores the result, and all other processes use it. Thread rule:
// re-entrant.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "src/base/status.h"
#include "src/data/features/column_judgement.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

// Returns the columns of the schema that `columns: auto` judges: features that are not in a group.
std::vector<bool> OpenColumns(const spec::DataSpec& data, const spec::Schema& schema);

// What the sampled rows show about the columns of `columns: auto`.
struct FeatureFindings {
  std::vector<std::optional<Judgement>> columns = {};  // by column; nothing: it is not open
  bool provisional = false;                      // only a part of the training rows was sampled
  std::vector<std::string> notes = {};           // on numbers that may be identifiers
  std::map<size_t, std::string> constants = {};  // by column: its value, if it is left out for that
  std::set<std::string> vectors = {};            // names of the vectors of a Parquet table
};

// Judges the open columns of a plan. Text and unnamed columns are judged by Judge
// (features/column_judgement.h). Other Parquet columns are judged by the type in the file: dates
// and timestamps are dates, all others are numeric. Integers are numbers even if they represent
// categories, because only the user knows that. Finds nothing for a job that names its columns.
Result<FeatureFindings> FindFeatures(const storage::FileSystem& files, const spec::DataSpec& data,
                                     const spec::InputPlan& plan);

// Sets the types of the open features and leaves columns out (Schema::left_out). A date becomes the
// parts that a group of dates has by default. Leaves a schema unchanged if all its columns are
// numbers. Makes the plan provisional (judge_table.h) if the findings are. kInvalidArgument: a
// column needs a decision by the user, or no column is left.
Status ApplyFindings(FeatureFindings findings, const spec::DataSpec& data, spec::InputPlan* plan);

// Judges the open columns and applies the findings.
Status InferFeatures(const storage::FileSystem& files, const spec::DataSpec& data,
                     spec::InputPlan* plan);

// Applies decisions to the open columns of the schema. A decision per column is a type, a reason to
// leave it out, or nothing to keep it unchanged. kInvalidArgument: no feature is left.
using ColumnDecision = std::variant<std::monostate, spec::FeatureType, spec::LeftOutReason>;
Status DecideColumns(const std::vector<bool>& open, const std::vector<ColumnDecision>& decisions,
                     const std::string& path, spec::Schema* schema);

}  // namespace espalier::data
