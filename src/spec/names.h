// The words for the job's enumerations in YAML and JSON. One table per enumeration serves writing,
// reading and "did you mean".
//
// Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/spec/scoring_spec.h"

namespace espalier::spec {

template <typename E>
struct EnumName {
  E value;
  const char* name;
};

// Specialized for every enumeration that has words. `kAll` lists each enumerator once.
template <typename E>
struct Names;

template <>
struct Names<Task> {
  static constexpr EnumName<Task> kAll[] = {{Task::kClassification, "classification"},
                                            {Task::kRegression, "regression"},
                                            {Task::kMultilabel, "multilabel"},
                                            {Task::kAutoencoder, "autoencoder"}};
};
template <>
struct Names<Activation> {
  static constexpr EnumName<Activation> kAll[] = {{Activation::kIdentity, "identity"},
                                                  {Activation::kRelu, "relu"},
                                                  {Activation::kTanh, "tanh"},
                                                  {Activation::kSigmoid, "sigmoid"},
                                                  {Activation::kLeakyRelu, "leaky_relu"},
                                                  {Activation::kElu, "elu"},
                                                  {Activation::kGelu, "gelu"},
                                                  {Activation::kSilu, "silu"}};
};
template <>
struct Names<Loss> {
  static constexpr EnumName<Loss> kAll[] = {{Loss::kSoftmaxCrossEntropy, "softmax_cross_entropy"},
                                            {Loss::kBinaryCrossEntropy, "binary_cross_entropy"},
                                            {Loss::kMse, "mse"},
                                            {Loss::kMae, "mae"},
                                            {Loss::kHuber, "huber"},
                                            {Loss::kPoisson, "poisson"},
                                            {Loss::kQuantile, "quantile"}};
};
template <>
struct Names<OptimizerKind> {
  static constexpr EnumName<OptimizerKind> kAll[] = {
      {OptimizerKind::kSgd, "sgd"},           {OptimizerKind::kMomentum, "momentum"},
      {OptimizerKind::kNesterov, "nesterov"}, {OptimizerKind::kAdam, "adam"},
      {OptimizerKind::kAdamW, "adamw"},       {OptimizerKind::kAdagrad, "adagrad"},
      {OptimizerKind::kRmsprop, "rmsprop"},   {OptimizerKind::kGd, "gd"},
      {OptimizerKind::kLbfgs, "lbfgs"}};
};
template <>
struct Names<LineSearchKind> {
  static constexpr EnumName<LineSearchKind> kAll[] = {
      {LineSearchKind::kStrongWolfe, "strong_wolfe"}, {LineSearchKind::kNone, "none"}};
};
template <>
struct Names<TrainMode> {
  static constexpr EnumName<TrainMode> kAll[] = {{TrainMode::kSync, "sync"},
                                                 {TrainMode::kAsync, "async"}};
};
template <>
struct Names<ScheduleKind> {
  static constexpr EnumName<ScheduleKind> kAll[] = {
      {ScheduleKind::kConstant, "constant"},     {ScheduleKind::kStep, "step"},
      {ScheduleKind::kCosine, "cosine"},         {ScheduleKind::kExponential, "exponential"},
      {ScheduleKind::kPolynomial, "polynomial"}, {ScheduleKind::kPlateau, "plateau"}};
};
template <>
struct Names<FitsOver> {
  static constexpr EnumName<FitsOver> kAll[] = {{FitsOver::kFolds, "folds"},
                                                {FitsOver::kSeeds, "seeds"}};
};
template <>
struct Names<ThresholdKind> {
  static constexpr EnumName<ThresholdKind> kAll[] = {{ThresholdKind::kNone, "none"},
                                                     {ThresholdKind::kAccuracy, "accuracy"},
                                                     {ThresholdKind::kF1, "f1"},
                                                     {ThresholdKind::kRecall, "recall"},
                                                     {ThresholdKind::kPrecision, "precision"},
                                                     {ThresholdKind::kCost, "cost"}};
};
template <>
struct Names<AveragingKind> {
  static constexpr EnumName<AveragingKind> kAll[] = {
      {AveragingKind::kNone, "none"}, {AveragingKind::kEma, "ema"}, {AveragingKind::kMean, "mean"}};
};
template <>
struct Names<ScaleKind> {
  static constexpr EnumName<ScaleKind> kAll[] = {
      {ScaleKind::kNone, "none"},     {ScaleKind::kStandard, "standard"},
      {ScaleKind::kMinMax, "minmax"}, {ScaleKind::kDivide, "divide"},
      {ScaleKind::kRobust, "robust"}, {ScaleKind::kRobustSmoothClip, "robust_smooth_clip"}};
};
template <>
struct Names<NumberEmbedding> {
  static constexpr EnumName<NumberEmbedding> kAll[] = {
      {NumberEmbedding::kNone, "none"}, {NumberEmbedding::kPiecewiseLinear, "piecewise_linear"}};
};
template <>
struct Names<Parametrization> {
  static constexpr EnumName<Parametrization> kAll[] = {{Parametrization::kStandard, "standard"},
                                                       {Parametrization::kNtp, "ntp"}};
};
template <>
struct Names<RateByBatch> {
  static constexpr EnumName<RateByBatch> kAll[] = {{RateByBatch::kNone, "none"},
                                                   {RateByBatch::kSqrt, "sqrt"}};
};
template <>
struct Names<Preset> {
  static constexpr EnumName<Preset> kAll[] = {{Preset::kNone, "none"},
                                              {Preset::kFast, "fast"},
                                              {Preset::kGood, "good"},
                                              {Preset::kBest, "best"}};
};
template <>
struct Names<DecaySchedule> {
  static constexpr EnumName<DecaySchedule> kAll[] = {{DecaySchedule::kConstant, "constant"},
                                                     {DecaySchedule::kFlatCos, "flat_cos"}};
};
template <>
struct Names<NullKind> {
  static constexpr EnumName<NullKind> kAll[] = {
      {NullKind::kFail, "fail"},         {NullKind::kMean, "mean"},
      {NullKind::kConstant, "constant"}, {NullKind::kDrop, "drop"},
      {NullKind::kCategory, "category"}, {NullKind::kMedian, "median"}};
};
template <>
struct Names<FeatureType> {
  static constexpr EnumName<FeatureType> kAll[] = {{FeatureType::kNumeric, "numeric"},
                                                   {FeatureType::kBoolean, "boolean"},
                                                   {FeatureType::kDate, "date"},
                                                   {FeatureType::kCategorical, "categorical"}};
};
template <>
struct Names<LeftOutReason> {
  static constexpr EnumName<LeftOutReason> kAll[] = {
      {LeftOutReason::kEmpty, "empty"},
      {LeftOutReason::kConstant, "constant"},
      {LeftOutReason::kDifferent, "different"},
      {LeftOutReason::kRowNumber, "row_number"},
      {LeftOutReason::kIndex, "index"},
      {LeftOutReason::kNested, "nested"},
      {LeftOutReason::kDirectoryText, "directory_text"}};
};
template <>
struct Names<DatePart> {
  static constexpr EnumName<DatePart> kAll[] = {
      {DatePart::kYear, "year"},       {DatePart::kMonth, "month"},
      {DatePart::kDay, "day"},         {DatePart::kWeekday, "weekday"},
      {DatePart::kYearday, "yearday"}, {DatePart::kHour, "hour"},
      {DatePart::kMinute, "minute"},   {DatePart::kSecond, "second"},
      {DatePart::kEpoch, "epoch"}};
};
template <>
struct Names<ShuffleKind> {
  static constexpr EnumName<ShuffleKind> kAll[] = {
      {ShuffleKind::kFull, "full"}, {ShuffleKind::kWindow, "window"}, {ShuffleKind::kNone, "none"}};
};
template <>
struct Names<DataFormat> {
  static constexpr EnumName<DataFormat> kAll[] = {{DataFormat::kCsv, "csv"},
                                                  {DataFormat::kParquet, "parquet"},
                                                  {DataFormat::kLibsvm, "libsvm"},
                                                  {DataFormat::kJson, "json"}};
};
template <>
struct Names<ExtraField> {
  static constexpr EnumName<ExtraField> kAll[] = {{ExtraField::kAuto, "auto"},
                                                  {ExtraField::kFirst, "first"},
                                                  {ExtraField::kLast, "last"},
                                                  {ExtraField::kNone, "none"}};
};
template <>
struct Names<JobKind> {
  static constexpr EnumName<JobKind> kAll[] = {
      {JobKind::kTrain, "train"}, {JobKind::kPredict, "predict"}, {JobKind::kEvaluate, "evaluate"}};
};
template <>
struct Names<PartFormat> {
  static constexpr EnumName<PartFormat> kAll[] = {{PartFormat::kCsv, "csv"},
                                                  {PartFormat::kParquet, "parquet"}};
};
template <>
struct Names<AnswerColumn> {
  static constexpr EnumName<AnswerColumn> kAll[] = {
      {AnswerColumn::kPrediction, "prediction"}, {AnswerColumn::kProbabilities, "probabilities"}};
};
template <>
struct Names<OnBadRow> {
  static constexpr EnumName<OnBadRow> kAll[] = {
      {OnBadRow::kEmpty, "empty"}, {OnBadRow::kReject, "reject"}, {OnBadRow::kFail, "fail"}};
};
template <>
struct Names<Precision> {
  static constexpr EnumName<Precision> kAll[] = {{Precision::kFloat32, "float32"},
                                                 {Precision::kFloat64, "float64"}};
};
template <>
struct Names<Init> {
  static constexpr EnumName<Init> kAll[] = {{Init::kHe, "he"}, {Init::kXavier, "xavier"}};
};
template <>
struct Names<TargetScale> {
  static constexpr EnumName<TargetScale> kAll[] = {{TargetScale::kStandard, "standard"},
                                                   {TargetScale::kNone, "none"}};
};

template <typename E>
concept Named = requires {
  Names<E>::kAll;
};

template <Named E>
const char* NameOf(E value) {
  for (const EnumName<E>& entry : Names<E>::kAll) {
    if (entry.value == value) return entry.name;
  }
  return "unknown";
}

template <Named E>
std::optional<E> FromName(std::string_view name) {
  for (const EnumName<E>& entry : Names<E>::kAll) {
    if (name == entry.name) return entry.value;
  }
  return std::nullopt;
}

template <Named E>
std::vector<std::string> AllNames() {
  std::vector<std::string> names;
  for (const EnumName<E>& entry : Names<E>::kAll) names.emplace_back(entry.name);
  return names;
}

}  // namespace espalier::spec
