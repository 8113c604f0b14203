#include "src/data/features/fit_features.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/text.h"
#include "src/data/features/bins.h"
#include "src/data/features/column_stats.h"
#include "src/data/features/dates.h"
#include "src/data/features/feature_decoder.h"
#include "src/data/features/keep_fitted.h"
#include "src/data/features/vocabulary.h"
#include "src/spec/names.h"

namespace espalier::data {
namespace {

double Deviation(const spec::ColumnStats& s) {
  return std::sqrt(s.m2 / static_cast<double>(s.count));
}

// Returns the number that replaces a null if the job specifies one, otherwise NaN.
double NullConstant(const spec::FeatureOptions& options) {
  if (options.nulls->kind != spec::NullKind::kConstant)
    return std::numeric_limits<double>::quiet_NaN();
  return options.log1p ? Log1p(options.nulls->constant) : options.nulls->constant;
}

// Returns the statistics that the network sees, with the constant in place of nulls.
spec::ColumnStats WithNulls(const spec::FeatureOptions& options, const spec::ColumnStats& s) {
  const double v = NullConstant(options);
  if (v != v) return s;
  return Merged(s, {.count = s.nulls, .mean = v, .min = v, .max = v});
}

// `quartiles`: for the robust scales and the median.
spec::FittedFeature FitNumber(const spec::FeatureOptions& options, const spec::ColumnStats& s,
                              const Quartiles& quartiles) {
  spec::FittedFeature f;
  const spec::NullPolicy& nulls = *options.nulls;
  f.null_indicator = options.null_indicator;
  if (nulls.kind == spec::NullKind::kMean) f.null_value = s.mean;
  if (nulls.kind == spec::NullKind::kMedian) {
    f.null_value = quartiles.values > 0 ? quartiles.median : s.mean;
  }
  if (nulls.kind == spec::NullKind::kConstant) f.null_value = NullConstant(options);
  const bool constant = s.count == 0 || s.min == s.max;
  switch (options.scale->kind) {
    case spec::ScaleKind::kNone:
      break;
    case spec::ScaleKind::kDivide:
      f.factor = 1 / options.scale->divisor;
      break;
    case spec::ScaleKind::kMinMax:
      f.shift = s.min;
      f.factor = constant ? 0 : 1 / (s.max - s.min);
      break;
    case spec::ScaleKind::kStandard:
      f.shift = constant ? s.min : s.mean;
      f.factor = constant ? 0 : 1 / Deviation(s);
      break;
    case spec::ScaleKind::kRobust: {
      const double range = quartiles.high - quartiles.low;
      f.shift = constant ? s.min : quartiles.values > 0 ? quartiles.median : s.mean;
      f.factor = constant ? 0 : 1 / (range > 0 ? range : Deviation(s));
      break;
    }
    case spec::ScaleKind::kRobustSmoothClip: {
      const double range = quartiles.high - quartiles.low;
      f.shift = constant ? s.min : quartiles.values > 0 ? quartiles.median : s.mean;
      f.factor = constant ? 0 : range > 0 ? 1 / range : 2 / (s.max - s.min);
      f.smooth_clip = true;
      break;
    }
  }
  return f;
}

Status FitCategories(const spec::InputPlan& plan, size_t feature,
                     const spec::FeatureOptions& options,
                     const std::map<std::string, int64_t>& counts, spec::FittedFeature* fitted) {
  const std::string& file = plan.files.front().path;
  const std::string& column = plan.schema.names[static_cast<size_t>(plan.schema.features[feature])];
  const int64_t min_count = options.min_count;
  if (counts.size() > CategoriesCountedMax(min_count)) {
    return TooManyCategories(min_count, file, column);
  }
  FitVocabulary(counts, options, fitted);
  const size_t found = fitted->vocabulary.size();
  if (found > kCategoriesMax) return TooManyFrequent(found, min_count, file, column);
  return {};
}

// Returns the name of a feature: "signup", or "signup.year" for a date.
std::string NameOfFeature(const spec::Schema& schema, size_t feature) {
  const std::string& column = schema.names[static_cast<size_t>(schema.features[feature])];
  const spec::FeatureRule rule = schema.rule(feature);
  return rule.type == spec::FeatureType::kDate ? column + "." + spec::NameOf(rule.part) : column;
}

// Returns whether all moments are in January 1970, as happens when numbers of days or years are
// read as seconds. `year`: in any month of 1970, as happens with 29022024. `clock`: seconds are
// since midnight. Returns false too if the parts of the date do not show it.
bool IsBegin(const spec::InputPlan& plan, std::span<const spec::ColumnStats> stats, size_t feature,
             bool year, bool clock) {
  const double end = (year ? 365 : 31) * 86'400.0;
  bool is_shown = false;
  for (size_t i = feature; i < stats.size(); ++i) {
    if (plan.schema.features[i] != plan.schema.features[feature]) break;
    const spec::DatePart part = plan.schema.rule(i).part;
    const double last = part == spec::DatePart::kYear    ? 1970
                        : part == spec::DatePart::kMonth ? (year ? 12 : 1)
                        : part == spec::DatePart::kEpoch ? end - 1
                                                         : 0;
    if (last == 0 || (clock && part == spec::DatePart::kEpoch)) continue;
    const double first = part == spec::DatePart::kEpoch   ? 0
                         : part == spec::DatePart::kMonth ? 1
                                                          : last;
    if (stats[i].count == 0 || stats[i].min < first || stats[i].max > last) return false;
    is_shown = is_shown || part != spec::DatePart::kMonth;
  }
  return is_shown;
}

// Checks each column of dates once, at its first feature. A group of dates without a format may
// have read any numbers as seconds.
Status CheckMoments(const spec::InputPlan& plan, const spec::JobSpec& job,
                    std::span<const spec::ColumnStats> stats, size_t feature) {
  const spec::Schema& schema = plan.schema;
  const spec::FeatureRule rule = schema.rule(feature);
  const auto none = [](const std::string& format) { return format.empty() || format == "auto"; };
  const std::string& path = plan.files.front().path;
  const bool typed = spec::FormatOf(job.data, path) == spec::DataFormat::kParquet;
  const std::string format = spec::OptionsOf(job.data.features, rule).date_format;
  const bool clock = HasNoDay(format);
  const bool year =
      rule.group >= 0 && !typed && none(format) && none(job.data.features.date_format);
  const bool first = feature == 0 || schema.features[feature - 1] != schema.features[feature];
  const bool date = rule.type == spec::FeatureType::kDate;
  if (!date || !first || !IsBegin(plan, stats, feature, year, clock)) return {};
  const InputPosition place = {
      .file = path, .column = schema.names[static_cast<size_t>(schema.features[feature])]};
  if (clock) {
    return BadInput("the date_format " + Quoted(format) +
                    " has no day, so all dates of the column are on 1 January 1970. In "
                    "data.features.groups, set parts of the column to [epoch] for seconds since "
                    "midnight, or to parts of a time such as [hour, minute]")
        .At(place);
  }
  const bool january = IsBegin(plan, stats, feature, false, false);
  return BadInput("all dates of the column are in " + std::string(january ? "January " : "") +
                  "1970, so its numbers seem to be something other than seconds since 1970. Set "
                  "date_format in data.features.groups (such as '%Y' for years, or '%Y-%m-%d' if "
                  "the dates are right), or make the column numeric")
      .At(place);
}

}  // namespace

std::vector<double> SampledNulls(const spec::Schema& schema, const spec::FeatureSpec& features) {
  std::vector<double> nulls;
  for (size_t i = 0; i < schema.features.size(); ++i) {
    const spec::FeatureRule rule = schema.rule(i);
    if (!spec::IsSampled(features, rule)) continue;
    nulls.push_back(NullConstant(spec::OptionsOf(features, rule)));
  }
  return nulls;
}

bool Fits(spec::Precision precision, double value) {
  return precision == spec::Precision::kFloat32 ? std::isfinite(static_cast<float>(value))
                                                : std::isfinite(value);
}

Status Overflow(const spec::InputPlan& plan, const std::string& name,
                const spec::ColumnStats& stats, const std::string& advice) {
  return BadInput("the statistics of the column overflow: its values go from " +
                  ShortestDouble(stats.min) + " to " + ShortestDouble(stats.max) + ". " + advice)
      .At({.file = plan.files.front().path, .column = name});
}

Result<std::vector<spec::FittedFeature>> FitFeatures(
    const spec::InputPlan& plan, const spec::JobSpec& job, std::span<const spec::ColumnStats> stats,
    std::span<const std::vector<double>> sampled,
    std::vector<std::map<std::string, int64_t>> categories, const spec::EarlierFit* earlier) {
  std::vector<spec::FittedFeature> features;
  size_t vocabulary = 0, next_sampled = 0;
  for (size_t i = 0; i < stats.size(); ++i) {
    ESPALIER_RETURN_IF_ERROR(CheckMoments(plan, job, stats, i));
    const spec::FeatureRule rule = plan.schema.rule(i);
    const spec::FeatureOptions options = spec::OptionsOf(job.data.features, rule);
    const bool number = rule.type != spec::FeatureType::kCategorical;
    const spec::ColumnStats s = number ? WithNulls(options, stats[i]) : stats[i];
    spec::FittedFeature fitted;
    if (!number) {
      fitted.embedding = options.embedding;
      fitted.codes = options.hash;
      fitted.hashed = options.hash > 0;
      if (options.hash == 0) {
        ESPALIER_RETURN_IF_ERROR(
            FitCategories(plan, i, options, std::move(categories[vocabulary++]), &fitted));
      }
    } else {
      const bool has_sample = spec::IsSampled(job.data.features, rule);
      const std::vector<double> none, &sample = has_sample ? sampled[next_sampled++] : none;
      fitted = FitNumber(options, s, QuartilesOf(std::span<const double>(sample)));
      const bool indicates = job.data.features.null_indicators && rule.group < 0;
      fitted.null_indicator = fitted.null_indicator || (indicates && stats[i].nulls > 0);
      if (spec::IsBinned(job.data.features, rule)) {
        const spec::NumberOptions& numbers = job.data.features.numbers;
        fitted.embedding = numbers.width;
        // A column whose sampled rows are all null has one bin, from its minimum to its maximum.
        fitted.bin_edges = sample.empty() ? BinEdges(std::vector{s.min, s.max}, numbers.bins)
                                          : BinEdges(sample, numbers.bins);
      }
    }
    fitted.name = NameOfFeature(plan.schema, i);
    const bool keeps = earlier != nullptr && earlier->features;
    if (fitted.codes == 0 && s.count == 0 && options.nulls->kind != spec::NullKind::kConstant &&
        !(keeps && FillsNulls(*earlier, fitted.name))) {
      return BadInput(
                 "the column has no value in any training row. Exclude it with "
                 "data.features.exclude, or remove it from data.features.columns")
          .At({.file = plan.files.front().path, .column = fitted.name});
    }
    if (keeps) {
      ESPALIER_ASSIGN_OR_RETURN(fitted, Kept(*earlier, std::move(fitted), options));
      if (fitted.vocabulary.size() > kCategoriesMax) {
        return TooManyFrequent(fitted.vocabulary.size(), options.min_count, plan.files.front().path,
                               fitted.name);
      }
    }
    const auto scaled = [&](double x) {
      const double z = (x - fitted.shift) * fitted.factor;
      return fitted.smooth_clip ? SmoothClip(z) : z;
    };
    const auto fits = [&](double x) { return Fits(job.model.precision, scaled(x)); };
    if (!fits(s.min) || !fits(s.max) || !fits(fitted.null_value) || !std::isfinite(fitted.factor) ||
        (fitted.factor == 0 && s.min < s.max)) {
      return Overflow(plan, fitted.name, s,
                      "Scale the data, choose another data.features.scale or leave the column out");
    }
    features.push_back(std::move(fitted));
  }
  return features;
}

spec::StorageType StorageWithCodes(std::span<const spec::FittedFeature> features,
                                   spec::StorageType least) {
  for (const spec::FittedFeature& f : features) {  // a value without a code is stored as `codes`
    if (f.codes > 255) least = std::max(least, spec::StorageType::kFloat32);
  }
  return least;
}

}  // namespace espalier::data
