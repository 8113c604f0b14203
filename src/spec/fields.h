// The only list of the fields of jobs. YAML and the bounds follow from it. For training jobs, the
// fingerprint and model.json follow from it too. `Fields(f, s)` calls f(Key, member) for each
// member of a struct of the spec, in order. `s` may be const.
//
// Thread rule: pure functions.
#pragma once

#include <concepts>
#include <type_traits>

#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/spec/key.h"
#include "src/spec/scoring_spec.h"

namespace espalier::spec {

template <typename S, typename T>
concept Is = std::same_as<std::remove_const_t<S>, T>;

template <typename F>
void Fields(F&& f, Is<ColumnRange> auto& s) {
  f("first", s.first);
  f("last", s.last);
}
template <typename F>
void Fields(F&& f, Is<CsvOptions> auto& s) {
  f("header", s.header);
  f(Key("delimiter").NoCharacter("whitespace"), s.delimiter);
  f(Key("quote").NoCharacter("none"), s.quote);
  f("multiline", s.multiline);
  f(Key("decimal").Later(), s.decimal);
  f(Key("thousands").Later(), s.thousands);
  f(Key("escape").NoCharacter("none").Later(), s.escape);
  f(Key("comment").Later(), s.comment);
  f(Key("extra_field").Later(), s.extra_field);
}
template <typename F>
void Fields(F&& f, Is<LibsvmOptions> auto& s) {
  f("zero_based", s.zero_based);
}
template <typename F>
void Fields(F&& f, Is<Scale> auto& s) {
  f("kind", s.kind);
  f("divisor", s.divisor);
}
template <typename F>
void Fields(F&& f, Is<NullPolicy> auto& s) {
  f("kind", s.kind);
  f("constant", s.constant);
}
template <typename F>
void Fields(F&& f, Is<FeatureGroup> auto& s) {
  f("columns", s.columns);
  f("type", s.type);
  f("scale", s.scale);
  f("nulls", s.nulls);
  f("null_indicator", s.null_indicator);
  f("log1p", s.log1p);
  f("parts", s.parts);
  f(Key("date_format").Later(), s.date_format);
  f(Key("embedding").ReadByHand(), s.embedding);
  f(Key("hash").Whole(0, kCodesMax), s.hash);
  f(Key("min_count").Whole(1, kCountMax), s.min_count);
  f(Key("one_hot_max").Whole(0, kCountMax).Later(), s.one_hot_max);
  f(Key("zero_rare").Later(), s.zero_rare);
}
template <typename F>
void Fields(F&& f, Is<CategoryOptions> auto& s) {
  f(Key("embedding").ReadByHand(), s.embedding);
  f(Key("hash").Whole(0, kCodesMax), s.hash);
  f(Key("min_count").Whole(1, kCountMax), s.min_count);
  f(Key("one_hot_max").Whole(0, kCountMax), s.one_hot_max);
  f("zero_rare", s.zero_rare);
}
template <typename F>
void Fields(F&& f, Is<NumberOptions> auto& s) {
  f("embedding", s.embedding);
  f(Key("width").Whole(1, kNumberWidthMax), s.width);
  f(Key("bins").Whole(2, kBinsMax), s.bins);
}
template <typename F>
void Fields(F&& f, Is<FeatureSpec> auto& s) {
  f(Key("columns").ReadByHand(), s.columns);
  f("scale", s.scale);
  f("nulls", s.nulls);
  f("groups", s.groups);
  f(Key("exclude").Later(), s.exclude);
  f(Key("date_format").Later(), s.date_format);
  f(Key("numbers").Later(), s.numbers);
  f(Key("null_indicators").Later(), s.null_indicators);
  f(Key("categories").Later(), s.categories);
}
template <typename F>
void Fields(F&& f, Is<ValidationSpec> auto& s) {
  f(Key("fraction").In(kFraction), s.fraction);
  f("stratify", s.stratify);
  f("column", s.column);
  f(Key("files").Path(), s.files);
  f("fold", s.fold);
  f(Key("of").Whole(2, 1000), s.of);
  f(Key("exact").Later(), s.exact);
  f(Key("seed").Later(), s.seed);
  f(Key("group").Later(), s.group);
  f(Key("time").Later(), s.time);
  f(Key("from").Later(), s.from);
  f(Key("to").Later(), s.to);
  f(Key("strata").Later(), s.strata);
}
template <typename F>
void Fields(F&& f, Is<BadRows> auto& s) {
  f("skip", s.skip);
  f("limit", s.limit);
}
template <typename F>
void Fields(F&& f, Is<Shuffle> auto& s) {
  f("kind", s.kind);
  f("window_rows", s.window_rows);
}
template <typename F>
void Fields(F&& f, Is<DataSpec> auto& s) {
  f(Key("train").Path(), s.train);
  f(Key("test").Path(), s.test);
  f("format", s.format);
  f("csv", s.csv);
  f(Key("libsvm").Later(), s.libsvm);
  f("label", s.label);
  f("weight", s.weight);
  f("features", s.features);
  f("validation", s.validation);
  f("bad_rows", s.bad_rows);
  f(Key("null_values").Later(), s.null_values);
  f("shuffle", s.shuffle);
  f(Key("shard_bytes").Bytes().Whole(1 << 10, 1 << 30), s.shard_bytes);
  f(Key("raw").Later(), s.raw);
}
template <typename F>
void Fields(F&& f, Is<ModelSpec> auto& s) {
  f("task", s.task);
  f(Key("hidden").Whole(1, 65536).List("layer widths, such as [256, 256]"), s.hidden);
  f("activation", s.activation);
  f(Key("dropout").In(kFraction), s.dropout);
  f("layer_norm", s.layer_norm);
  f("residual", s.residual);
  f(Key("loss").ReadByHand(), s.loss);
  f(Key("label_smoothing").ReadByHand(), s.label_smoothing);
  f(Key("huber_delta").ReadByHand(), s.huber_delta);
  f(Key("quantile").ReadByHand(), s.quantile);
  f("init", s.init);
  f("precision", s.precision);
  f("target_scale", s.target_scale);
  f(Key("thresholds").List("numbers, one per class"), s.thresholds);
  f(Key("expected_inputs").Yaml("inputs").Whole(1, kCountMax), s.expected_inputs);
  f(Key("expected_outputs").Yaml("outputs").Whole(1, kCountMax), s.expected_outputs);
  f(Key("parametrization").Later(), s.parametrization);
  f(Key("scaling_layer").Later(), s.scaling_layer);
  f(Key("cap_label_smoothing").Later(), s.cap_label_smoothing);
  f(Key("clip_predictions").Later(), s.clip_predictions);
  f(Key("start_at_constant").Later(), s.start_at_constant);
  f(Key("positive").Later(), s.positive);
  f(Key("costs").Later(), s.costs);
}
template <typename F>
void Fields(F&& f, Is<OptimizerSpec> auto& s) {
  f(Key("kind").ReadByHand(), s.kind);
  f(Key("learning_rate").In(kPositive), s.learning_rate);
  f(Key("momentum")
        .In(kFraction)
        .For(OptimizerKind::kMomentum, OptimizerKind::kNesterov, OptimizerKind::kRmsprop),
    s.momentum);
  f(Key("beta1").In(kFraction).For(OptimizerKind::kAdam, OptimizerKind::kAdamW), s.beta1);
  f(Key("beta2").In(kFraction).For(OptimizerKind::kAdam, OptimizerKind::kAdamW), s.beta2);
  f(Key("epsilon").In(kPositive).For(OptimizerKind::kAdam, OptimizerKind::kAdamW,
                                     OptimizerKind::kAdagrad, OptimizerKind::kRmsprop),
    s.epsilon);
  f(Key("alpha").In(kFraction).For(OptimizerKind::kRmsprop), s.alpha);
  f(Key("centered").For(OptimizerKind::kRmsprop), s.centered);
  f(Key("initial_accumulator_value").In(kNotNegative).For(OptimizerKind::kAdagrad),
    s.initial_accumulator_value);
  f(Key("history").Whole(1, kLbfgsHistoryMax).For(OptimizerKind::kLbfgs), s.history);
  f(Key("line_search").For(OptimizerKind::kLbfgs), s.line_search);
  f(Key("max_line_search").Whole(2, 1000).For(OptimizerKind::kLbfgs), s.max_line_search);
  f(Key("tolerance").In(kNotNegative).For(OptimizerKind::kLbfgs), s.tolerance);
  f(Key("max_iterations").Whole(1, kCountMax).For(OptimizerKind::kLbfgs), s.max_iterations);
  f(Key("step_tolerance").In(kNotNegative).For(OptimizerKind::kGd).Later(), s.step_tolerance);
}
template <typename F>
void Fields(F&& f, Is<Span> auto& s) {
  f("amount", s.amount);
  f("epochs", s.epochs);
}
template <typename F>
void Fields(F&& f, Is<PlateauRule> auto& s) {
  f("metric", s.metric);
  f(Key("patience").Whole(1, 1'000'000'000), s.patience);
  f(Key("min_delta").In(kNotNegative), s.min_delta);
  f(Key("cooldown").Whole(0, 1'000'000'000), s.cooldown);
  f(Key("min_learning_rate").In(kNotNegative), s.min_learning_rate);
}
template <typename F>
void Fields(F&& f, Is<ScheduleSpec> auto& s) {
  f(Key("kind").ReadByHand(), s.kind);
  f("warmup", s.warmup);
  f(Key("warmup_share").In(kFraction).Later(), s.warmup_share);
  f(Key("every").For(ScheduleKind::kStep, ScheduleKind::kExponential), s.every);
  f(Key("factor").For(ScheduleKind::kStep, ScheduleKind::kExponential, ScheduleKind::kPlateau),
    s.factor);
  f(Key("final_fraction").In({0, 1}).For(ScheduleKind::kCosine, ScheduleKind::kPolynomial),
    s.final_fraction);
  f(Key("power").In(kPositive).For(ScheduleKind::kPolynomial), s.power);
  f(Key("plateau").For(ScheduleKind::kPlateau).Inlined(), s.plateau);
}
template <typename F>
void Fields(F&& f, Is<RateFactors> auto& s) {
  f(Key("biases").In(kNotNegative), s.biases);
  f(Key("scaling_layer").In(kNotNegative), s.scaling_layer);
}
template <typename F>
void Fields(F&& f, Is<EarlyStopping> auto& s) {
  f("metric", s.metric);
  f(Key("patience").Whole(1, 1'000'000'000), s.patience);
  f(Key("min_delta").In(kNotNegative), s.min_delta);
  f("restore_best", s.restore_best);
}
template <typename F>
void Fields(F&& f, Is<Averaging> auto& s) {
  f(Key("kind").ReadByHand(), s.kind);
  f(Key("decay").In(kInsideUnit).For(AveragingKind::kEma), s.decay);
  f(Key("start").For(AveragingKind::kEma, AveragingKind::kMean), s.start);
}
template <typename F>
void Fields(F&& f, Is<EnsembleSpec> auto& s) {
  f(Key("fits").Whole(1, kFitsMax), s.fits);
  f("over", s.over);
  f(Key("folds").Whole(2, kFoldsMax), s.folds);
  f("shrink", s.shrink);
}
template <typename F>
void Fields(F&& f, Is<ThresholdSpec> auto& s) {
  f(Key("kind").ReadByHand(), s.kind);
  f(Key("min_precision").In(kInsideUnit).For(ThresholdKind::kRecall), s.min_precision);
  f(Key("min_recall").In(kInsideUnit).For(ThresholdKind::kPrecision), s.min_recall);
  f(Key("false_positive").In(kCost).For(ThresholdKind::kCost), s.false_positive);
  f(Key("false_negative").In(kCost).For(ThresholdKind::kCost), s.false_negative);
}
template <typename F>
void Fields(F&& f, Is<PredictedCost> auto& s) {
  f("predicted", s.predicted);
  f("cost", s.cost);
}
template <typename F>
void Fields(F&& f, Is<ClassCosts> auto& s) {
  f("label", s.label);
  f("costs", s.costs);
}
template <typename F>
void Fields(F&& f, Is<DecisionCosts> auto& s) {
  f("given", s.given);
}
template <typename F>
void Fields(F&& f, Is<ClassWeight> auto& s) {
  f("label", s.label);
  f("weight", s.weight);
}
template <typename F>
void Fields(F&& f, Is<ClassWeights> auto& s) {
  f("balanced", s.balanced);
  f("given", s.given);
}
template <typename F>
void Fields(F&& f, Is<InitialSpec> auto& s) {
  f(Key("from").Path(), s.from);
  f("layers", s.layers);
  f("spark", s.spark);
  f(Key("values").List("numbers"), s.values);
  f(Key("refit_preprocessing").Later(), s.refit_preprocessing);
}
template <typename F>
void Fields(F&& f, Is<TrainSpec> auto& s) {
  f(Key("mode").Later(), s.mode);
  f(Key("staleness").Whole(0, kStalenessMax).Later(), s.staleness);
  f("optimizer", s.optimizer);
  f("schedule", s.schedule);
  f(Key("batch").Whole(0, 1 << 30).ReadByHand(), s.batch);
  f(Key("leaves").Whole(1, 1024).Absent("auto"), s.leaves);
  f(Key("epochs").In({0, 1e9}).ReadByHand(), s.epochs);
  f(Key("steps").Whole(1, kCountMax), s.steps);
  f(Key("max_time_ms").Yaml("max_time").Milliseconds(), s.max_time_ms);
  f("early_stopping", s.early_stopping);
  f(Key("weight_decay").In(kNotNegative), s.weight_decay);
  f(Key("l1").In(kNotNegative), s.l1);
  f("decay_biases", s.decay_biases);
  f(Key("weight_decay_schedule").Later(), s.weight_decay_schedule);
  f(Key("rate_factors").Later(), s.rate_factors);
  f(Key("rate_by_batch").Later(), s.rate_by_batch);
  f(Key("clip_norm").In(kNotNegative), s.clip_norm);
  f(Key("clip_value").In(kNotNegative), s.clip_value);
  f(Key("accumulate_steps").Whole(1, kCountMax), s.accumulate_steps);
  f("averaging", s.averaging);
  f(Key("ensemble").Later(), s.ensemble);
  f(Key("calibrate").Later(), s.calibrate);
  f(Key("threshold").Later(), s.threshold);
  f(Key("intervals").In(kFraction).Later(), s.intervals);
  f("class_weight", s.class_weight);
  f("initial", s.initial);
  f("frozen", s.frozen);
  f(Key("skip_nonfinite").ReadByHand(), s.skip_nonfinite);
  f("seed", s.seed);
}
template <typename F>
void Fields(F&& f, Is<WorkerRange> auto& s) {
  f(Key("min").Whole(1, 100'000), s.min);
  f(Key("max").Whole(0, 100'000), s.max);
}
template <typename F>
void Fields(F&& f, Is<OutputSpec> auto& s) {
  f(Key("path").Path(), s.path);
  f("overwrite", s.overwrite);
}
template <typename F>
void Fields(F&& f, Is<CheckpointSpec> auto& s) {
  f(Key("every_steps").Whole(1, kCountMax), s.every_steps);
  f(Key("every_ms").Yaml("every").Milliseconds(), s.every_ms);
  f(Key("keep").Whole(1, 1000), s.keep);
  f(Key("asked_for").ReadByHand(), s.asked_for);
}
template <typename F>
void Fields(F&& f, Is<ResumeSpec> auto& s) {
  f(Key("from").Path(), s.from);
  f("accept_data", s.accept_data);
  f("accept_arithmetic", s.accept_arithmetic);
}
template <typename F>
void Fields(F&& f, Is<JobSpec> auto& s) {
  f("name", s.name);
  f("data", s.data);
  f("model", s.model);
  f("train", s.train);
  f("workers", s.workers);
  f("output", s.output);
  f(Key("checkpoint").Yaml("train.checkpoint"), s.checkpoint);
  f("resume", s.resume);
}
// Fields of the section `predict` or `evaluate`.
template <typename F>
void Fields(F&& f, Is<ScoringSpec> auto& s) {
  f(Key("model").Path(), s.model);
  f(Key("data").Path(), s.data);
  f("data_format", s.data_format);
  f(Key("raw").Later(), s.raw);
  f(Key("format").For(JobKind::kPredict), s.format);
  f(Key("keep").For(JobKind::kPredict).Later(), s.keep);
  f(Key("columns").For(JobKind::kPredict).Later(), s.columns);
  f(Key("spreadsheet_safe").For(JobKind::kPredict).Later(), s.spreadsheet_safe);
  f(Key("on_bad_row").For(JobKind::kPredict).Later(), s.on_bad_row);
  f(Key("rejects_limit").Whole(0, kCountMax).For(JobKind::kPredict).Later(), s.rejects_limit);
}
template <typename F>
void Fields(F&& f, Is<FeatureRule> auto& s) {
  f("type", s.type);
  f("group", s.group);
  f("part", s.part);
}
template <typename F>
void Fields(F&& f, Is<LeftOutColumn> auto& s) {
  f("column", s.column);
  f("reason", s.reason);
}
template <typename F>
void Fields(F&& f, Is<Schema> auto& s) {
  f("names", s.names);
  f("features", s.features);
  f("rules", s.rules);
  f("label", s.label);
  f("weight", s.weight);
  f("validation", s.validation);
  f("partitions", s.partitions);
  f(Key("left_out").Later(), s.left_out);
}
template <typename F>
void Fields(F&& f, Is<FittedFeature> auto& s) {
  f("name", s.name);
  f("shift", s.shift);
  f("factor", s.factor);
  f("null_value", s.null_value);
  f("null_indicator", s.null_indicator);
  f("codes", s.codes);
  f("embedding", s.embedding);
  f("hashed", s.hashed);
  f("vocabulary", s.vocabulary);
  f(Key("smooth_clip").Later(), s.smooth_clip);
  f(Key("bin_edges").Later(), s.bin_edges);
}
template <typename F>
void Fields(F&& f, Is<FittedTarget> auto& s) {
  f("name", s.name);
  f("shift", s.shift);
  f("factor", s.factor);
  f(Key("range").Later(), s.range);
  f(Key("start").Later(), s.start);
}
template <typename F>
void Fields(F&& f, Is<Preprocessing> auto& s) {
  f("features", s.features);
  f("targets", s.targets);
  f("classes", s.classes);
  f("class_weights", s.class_weights);
  f(Key("label_smoothing").Later(), s.label_smoothing);
}

template <typename S>
concept HasFields = requires(S& s) {
  Fields([](const Key&, auto&) {}, s);
};

}  // namespace espalier::spec
