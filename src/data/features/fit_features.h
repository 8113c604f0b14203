// From the statistics of the training rows to the preprocessing of features. Thread rule: pure
// functions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/row_sample.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// One a feature of the schema: scales and null values by merge.h's formulas, by what the feature's
// group says; vocabularies of `categories`, one a feature with a vocabulary; quartiles of the
// `samples` of all shards, in shard order. Where nulls are a constant, it counts in a column's
// scale as often as there are nulls. `earlier`, if any, is kept (keep_fitted.h). kBadInput: a
// column without any value (unless nulls are a constant), statistics that overflow.
Result<std::vector<spec::FittedFeature>> FitFeatures(
    const spec::InputPlan& plan, const spec::JobSpec& job, std::span<const spec::ColumnStats> stats,
    std::span<const spec::ShardProfile> samples,
    std::vector<std::map<std::string, int64_t>> categories,
    const spec::EarlierFit* earlier = nullptr);

// The narrowest type that holds the codes too, at least `least`.
spec::StorageType StorageWithCodes(std::span<const spec::FittedFeature> features,
                                   spec::StorageType least);

// Whether a value that the network sees can be told in the job's precision.
bool Fits(spec::Precision precision, double value);
// The error for a column whose statistics cannot.
Status Overflow(const spec::InputPlan& plan, const std::string& name,
                const spec::ColumnStats& stats);

}  // namespace espalier::data
