// Computes the preprocessing of features from the statistics of the training rows. Thread rule:
// pure functions.
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

// Returns the values that replace the nulls of each sampled feature (SampledValues).
std::vector<double> SampledNulls(const spec::Schema& schema, const spec::FeatureSpec& features);

// Returns one entry per feature of the schema. Scales and replacements for nulls follow the
// formulas of merge.h and the options of the feature's group. `categories`: counts for each feature
// with a vocabulary. `sampled`: the values of each sampled feature, ascending. If nulls are a
// constant, each null counts as that constant in the column's scale. `earlier`, if present, is kept
// (keep_fitted.h). kBadInput: a column without any value (unless nulls are a constant), or
// statistics that overflow.
Result<std::vector<spec::FittedFeature>> FitFeatures(
    const spec::InputPlan& plan, const spec::JobSpec& job, std::span<const spec::ColumnStats> stats,
    std::span<const std::vector<double>> sampled,
    std::vector<std::map<std::string, int64_t>> categories,
    const spec::EarlierFit* earlier = nullptr);

// Returns the narrowest type, at least `least`, that also holds the codes.
spec::StorageType StorageWithCodes(std::span<const spec::FittedFeature> features,
                                   spec::StorageType least);

// Returns whether a value that the network sees is finite in the job's precision.
bool Fits(spec::Precision precision, double value);
// Returns the error for a column with statistics that are not finite in that precision. `advice`:
// how to fix it.
Status Overflow(const spec::InputPlan& plan, const std::string& name,
                const spec::ColumnStats& stats, const std::string& advice);

}  // namespace espalier::data
