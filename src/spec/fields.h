// The one list of a job's fields, for everything that must not forget any: the fingerprint and the
// JSON of model.json, in both directions. `Fields(f, s)` calls f(name, member) for each member of a
// struct of the spec, in order; `s` may be const. A field that came when there were bundles and
// checkpoints already has a Later name. Thread rule: pure functions.
#pragma once

#include <concepts>
#include <type_traits>

#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier {

// The name of a field that is left out where it has its type's first value: that is what files from
// before it was there mean, and jobs that do not use it keep their fingerprint.
struct Later {
  const char* name;
  operator const char*() const { return name; }  // NOLINT: whoever does not care need not know
};
template <typename Name, typename Member>
bool LeftOut(Name, const Member& member) {
  return std::same_as<Name, Later> && member == Member{};
}

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
  f("delimiter", s.delimiter);
  f("quote", s.quote);
  f("multiline", s.multiline);
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
  f("embedding", s.embedding);
  f("hash", s.hash);
  f("min_count", s.min_count);
}
template <typename F>
void Fields(F&& f, Is<FeatureSpec> auto& s) {
  f("columns", s.columns);
  f("scale", s.scale);
  f("nulls", s.nulls);
  f("groups", s.groups);
}
template <typename F>
void Fields(F&& f, Is<ValidationSpec> auto& s) {
  f("fraction", s.fraction);
  f("stratify", s.stratify);
  f("column", s.column);
  f("files", s.files);
  f("fold", s.fold);
  f("of", s.of);
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
  f("train", s.train);
  f("test", s.test);
  f("format", s.format);
  f("csv", s.csv);
  f("label", s.label);
  f("weight", s.weight);
  f("features", s.features);
  f("validation", s.validation);
  f("bad_rows", s.bad_rows);
  f("shuffle", s.shuffle);
  f("shard_bytes", s.shard_bytes);
}
template <typename F>
void Fields(F&& f, Is<ModelSpec> auto& s) {
  f("task", s.task);
  f("hidden", s.hidden);
  f("activation", s.activation);
  f("dropout", s.dropout);
  f("layer_norm", s.layer_norm);
  f("residual", s.residual);
  f("loss", s.loss);
  f("label_smoothing", s.label_smoothing);
  f("huber_delta", s.huber_delta);
  f("quantile", s.quantile);
  f("init", s.init);
  f("precision", s.precision);
  f("target_scale", s.target_scale);
  f("thresholds", s.thresholds);
  f("expected_inputs", s.expected_inputs);
  f("expected_outputs", s.expected_outputs);
}
template <typename F>
void Fields(F&& f, Is<OptimizerSpec> auto& s) {
  f("kind", s.kind);
  f("learning_rate", s.learning_rate);
  f("momentum", s.momentum);
  f("beta1", s.beta1);
  f("beta2", s.beta2);
  f("epsilon", s.epsilon);
  f("alpha", s.alpha);
  f("centered", s.centered);
  f("initial_accumulator_value", s.initial_accumulator_value);
  f("history", s.history);
  f("line_search", s.line_search);
  f("max_line_search", s.max_line_search);
  f("tolerance", s.tolerance);
  f("max_iterations", s.max_iterations);
  f(Later{"step_tolerance"}, s.step_tolerance);
}
template <typename F>
void Fields(F&& f, Is<Span> auto& s) {
  f("amount", s.amount);
  f("epochs", s.epochs);
}
template <typename F>
void Fields(F&& f, Is<PlateauRule> auto& s) {
  f("metric", s.metric);
  f("patience", s.patience);
  f("min_delta", s.min_delta);
  f("cooldown", s.cooldown);
  f("min_learning_rate", s.min_learning_rate);
}
template <typename F>
void Fields(F&& f, Is<ScheduleSpec> auto& s) {
  f("kind", s.kind);
  f("warmup", s.warmup);
  f("every", s.every);
  f("factor", s.factor);
  f("final_fraction", s.final_fraction);
  f("power", s.power);
  f("plateau", s.plateau);
}
template <typename F>
void Fields(F&& f, Is<EarlyStopping> auto& s) {
  f("metric", s.metric);
  f("patience", s.patience);
  f("min_delta", s.min_delta);
  f("restore_best", s.restore_best);
}
template <typename F>
void Fields(F&& f, Is<Averaging> auto& s) {
  f("kind", s.kind);
  f("decay", s.decay);
  f("start", s.start);
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
  f("from", s.from);
  f("layers", s.layers);
  f("spark", s.spark);
  f("values", s.values);
}
template <typename F>
void Fields(F&& f, Is<TrainSpec> auto& s) {
  f(Later{"mode"}, s.mode);
  f(Later{"staleness"}, s.staleness);
  f("optimizer", s.optimizer);
  f("schedule", s.schedule);
  f("batch", s.batch);
  f("leaves", s.leaves);
  f("epochs", s.epochs);
  f("steps", s.steps);
  f("max_time_ms", s.max_time_ms);
  f("early_stopping", s.early_stopping);
  f("weight_decay", s.weight_decay);
  f("l1", s.l1);
  f("decay_biases", s.decay_biases);
  f("clip_norm", s.clip_norm);
  f("clip_value", s.clip_value);
  f("accumulate_steps", s.accumulate_steps);
  f("averaging", s.averaging);
  f("class_weight", s.class_weight);
  f("initial", s.initial);
  f("frozen", s.frozen);
  f("skip_nonfinite", s.skip_nonfinite);
  f("seed", s.seed);
}
template <typename F>
void Fields(F&& f, Is<WorkerRange> auto& s) {
  f("min", s.min);
  f("max", s.max);
}
template <typename F>
void Fields(F&& f, Is<OutputSpec> auto& s) {
  f("path", s.path);
  f("overwrite", s.overwrite);
}
template <typename F>
void Fields(F&& f, Is<CheckpointSpec> auto& s) {
  f("every_steps", s.every_steps);
  f("every_ms", s.every_ms);
  f("keep", s.keep);
  f("asked_for", s.asked_for);
}
template <typename F>
void Fields(F&& f, Is<ResumeSpec> auto& s) {
  f("from", s.from);
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
  f("checkpoint", s.checkpoint);
  f("resume", s.resume);
}
template <typename F>
void Fields(F&& f, Is<FeatureRule> auto& s) {
  f("type", s.type);
  f("group", s.group);
  f("part", s.part);
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
}
template <typename F>
void Fields(F&& f, Is<FittedTarget> auto& s) {
  f("name", s.name);
  f("shift", s.shift);
  f("factor", s.factor);
}
template <typename F>
void Fields(F&& f, Is<Preprocessing> auto& s) {
  f("features", s.features);
  f("targets", s.targets);
  f("classes", s.classes);
  f("class_weights", s.class_weights);
}

}  // namespace espalier
