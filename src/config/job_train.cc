#include "src/config/job_sections.h"

namespace espalier {
namespace {

Status ReadActivation(Reader& reader, const YamlNode& node, const std::string& path,
                      std::vector<Activation>& out) {
  out.clear();
  return reader.ReadOneOrMany(node, path, [&](const YamlNode& item, const std::string& at) {
    Activation activation = Activation::kRelu;
    ESPALIER_RETURN_IF_ERROR(reader.Read(item, at, activation));
    out.push_back(activation);
    return Status();
  });
}

Status ReadDropout(Reader& reader, const YamlNode& node, const std::string& path,
                   std::vector<double>& out) {
  out.clear();
  return reader.ReadOneOrMany(node, path, [&](const YamlNode& item, const std::string& at) {
    out.emplace_back();
    return reader.Read(item, at, out.back());
  });
}

Status ReadHidden(Reader& reader, const YamlNode& node, const std::string& path,
                  std::vector<int64_t>& out) {
  if (node.kind != YamlNode::Kind::kSequence) {
    return reader.Unexpected(node, path, "a list of layer widths, such as [256, 256]");
  }
  out.clear();
  return reader.ReadOneOrMany(node, path, [&](const YamlNode& item, const std::string& at) {
    out.emplace_back();
    return reader.Read(item, at, out.back());
  });
}

// A word of E, or a one-key map from it to some of `fields_of(kind)`.
template <Named E, typename F>
std::vector<Choice> Kinds(Reader& reader, F choose) {
  std::vector<Choice> choices;
  for (const EnumName<E>& entry : Names<E>::kAll) {
    choices.push_back({entry.name,
                       [&reader, choose, kind = entry.value](const YamlNode* body,
                                                             const std::string& path) -> Status {
                         const std::vector<Field> fields = choose(kind);
                         if (!body) return {};
                         if (fields.empty()) {
                           return reader.Unexpected(*body, path, "the word alone, without a value");
                         }
                         return reader.ReadMap(*body, path, fields);
                       }});
  }
  return choices;
}

Status ReadLoss(Reader& reader, const YamlNode& node, const std::string& path, ModelSpec& out) {
  return reader.ReadChoice(node, path, Kinds<Loss>(reader, [&](Loss loss) -> std::vector<Field> {
                             out.loss = loss;
                             switch (loss) {
                               case Loss::kSoftmaxCrossEntropy:
                               case Loss::kBinaryCrossEntropy:
                                 return {reader.Value("label_smoothing", out.label_smoothing)};
                               case Loss::kHuber:
                                 return {reader.Value("delta", out.huber_delta)};
                               case Loss::kQuantile:
                                 return {reader.Value("quantile", out.quantile)};
                               default:
                                 return {};
                             }
                           }));
}

Status ReadOptimizer(Reader& reader, const YamlNode& node, const std::string& path,
                     OptimizerSpec& out) {
  auto choices = Kinds<OptimizerKind>(reader, [&](OptimizerKind kind) -> std::vector<Field> {
    out = DefaultOptimizer(kind);
    std::vector<Field> fields = {reader.Value("learning_rate", out.learning_rate)};
    const auto also = [&](const char* key, auto& field) {
      fields.push_back(reader.Value(key, field));
    };
    switch (kind) {
      case OptimizerKind::kSgd:
        break;
      case OptimizerKind::kGd:
        also("step_tolerance", out.step_tolerance);
        break;
      case OptimizerKind::kMomentum:
      case OptimizerKind::kNesterov:
        also("momentum", out.momentum);
        break;
      case OptimizerKind::kAdam:
      case OptimizerKind::kAdamW:
        also("beta1", out.beta1), also("beta2", out.beta2), also("epsilon", out.epsilon);
        break;
      case OptimizerKind::kAdagrad:
        also("epsilon", out.epsilon);
        also("initial_accumulator_value", out.initial_accumulator_value);
        break;
      case OptimizerKind::kRmsprop:
        also("alpha", out.alpha), also("momentum", out.momentum), also("centered", out.centered);
        also("epsilon", out.epsilon);
        break;
      case OptimizerKind::kLbfgs:
        also("history", out.history), also("line_search", out.line_search);
        also("max_line_search", out.max_line_search), also("tolerance", out.tolerance);
        also("max_iterations", out.max_iterations);
        break;
    }
    return fields;
  });
  return reader.ReadChoice(node, path, choices);
}

Status ReadSchedule(Reader& reader, const YamlNode& node, const std::string& path,
                    ScheduleSpec& out) {
  auto choices = Kinds<ScheduleKind>(reader, [&](ScheduleKind kind) -> std::vector<Field> {
    out.kind = kind;
    std::vector<Field> fields = {reader.Value("warmup", out.warmup)};
    const auto also = [&](const char* key, auto& field) {
      fields.push_back(reader.Value(key, field));
    };
    PlateauRule& p = out.plateau;
    switch (kind) {
      case ScheduleKind::kConstant:
        break;
      case ScheduleKind::kStep:
      case ScheduleKind::kExponential:
        also("every", out.every), also("factor", out.factor);
        break;
      case ScheduleKind::kPolynomial:
        also("power", out.power);
        [[fallthrough]];
      case ScheduleKind::kCosine:
        also("final_fraction", out.final_fraction);
        break;
      case ScheduleKind::kPlateau:
        also("metric", p.metric), also("factor", out.factor), also("patience", p.patience);
        also("min_delta", p.min_delta), also("cooldown", p.cooldown);
        also("min_learning_rate", p.min_learning_rate);
        break;
    }
    return fields;
  });
  return reader.ReadChoice(node, path, choices);
}

Status ReadAveraging(Reader& reader, const YamlNode& node, const std::string& path,
                     Averaging& out) {
  auto choices = Kinds<AveragingKind>(reader, [&](AveragingKind kind) -> std::vector<Field> {
    out.kind = kind;
    if (kind == AveragingKind::kNone) return {};
    std::vector<Field> fields = {reader.Value("start", out.start)};
    if (kind == AveragingKind::kEma) fields.push_back(reader.Value("decay", out.decay));
    return fields;
  });
  return reader.ReadChoice(node, path, choices);
}

// `none`, `balanced`, or a map from labels to weights.
Status ReadClassWeight(Reader& reader, const YamlNode& node, const std::string& path,
                       ClassWeights& out) {
  out = {};
  if (node.kind != YamlNode::Kind::kMap) {
    const std::vector<std::string> known = {"none", "balanced"};
    if (!node.is_scalar()) {
      return reader.Unexpected(node, path, "none, balanced or a map such as {no: 1, yes: 5}");
    }
    if (node.text != "none" && node.text != "balanced") {
      return reader.UnknownWord(node, path, known);
    }
    out.balanced = node.text == "balanced";
    return {};
  }
  // The labels are the keys, so that ReadMap finds what is written twice.
  std::vector<Field> fields;
  out.given.resize(node.entries.size());
  for (size_t i = 0; i < node.entries.size(); ++i) {
    out.given[i].label = node.entries[i].first.text;
    fields.push_back(reader.Value(out.given[i].label, out.given[i].weight));
  }
  return reader.ReadMap(node, path, fields);
}

// `auto`, or how many.
Status ReadLeaves(Reader& reader, const YamlNode& node, const std::string& path,
                  std::optional<int64_t>& out) {
  if (node.is_scalar() && node.text == "auto") {
    out.reset();
    return {};
  }
  int64_t count = 0;
  if (!reader.Read(node, path, count).ok()) {
    return reader.Unexpected(node, path, "`auto` or a whole number");
  }
  out = count;
  return {};
}

Status ReadOnNonfinite(Reader& reader, const YamlNode& node, const std::string& path, bool& skip) {
  const std::vector<std::string> known = {"fail", "skip"};
  if (!node.is_scalar() || (node.text != "fail" && node.text != "skip")) {
    return reader.UnknownWord(node, path, known);
  }
  skip = node.text == "skip";
  return {};
}

Status ReadEarlyStopping(Reader& reader, const YamlNode& node, const std::string& path,
                         std::optional<EarlyStopping>& out) {
  EarlyStopping& e = out.emplace();
  return reader.ReadMap(
      node, path,
      {reader.Value("metric", e.metric), reader.Value("patience", e.patience),
       reader.Value("min_delta", e.min_delta), reader.Value("restore_best", e.restore_best)});
}

// `none`, or {every_steps: N, every: 10 min, keep: K}; with every_steps alone there is no time.
Status ReadCheckpoint(Reader& reader, const YamlNode& node, const std::string& path,
                      std::optional<CheckpointSpec>& out) {
  if (node.is_scalar() && node.text == "none") {
    out.reset();
    return {};
  }
  if (node.kind != YamlNode::Kind::kMap) {
    return reader.Unexpected(node, path, "`none` or a map such as {every: 10 min, keep: 3}");
  }
  CheckpointSpec& c = out.emplace();
  c.asked_for = true;
  std::optional<int64_t> every_ms;
  ESPALIER_RETURN_IF_ERROR(reader.ReadMap(node, path,
                                          {reader.Value("every_steps", c.every_steps),
                                           {"every",
                                            [&](const auto& value, const auto& at) {
                                              return reader.ReadDuration(value, at, false,
                                                                         every_ms.emplace());
                                            }},
                                           reader.Value("keep", c.keep)}));
  if (every_ms || c.every_steps) c.every_ms = every_ms;
  return {};
}

}  // namespace

Status ReadModelSection(Reader& reader, const YamlNode& node, const std::string& path,
                        ModelSpec& out) {
  return reader.ReadMap(
      node, path,
      {reader.Value("task", out.task),
       {"hidden", [&](const auto& value,
                      const auto& at) { return ReadHidden(reader, value, at, out.hidden); }},
       {"activation",
        [&](const auto& value, const auto& at) {
          return ReadActivation(reader, value, at, out.activation);
        }},
       {"dropout", [&](const auto& value,
                       const auto& at) { return ReadDropout(reader, value, at, out.dropout); }},
       reader.Value("layer_norm", out.layer_norm),
       reader.Value("residual", out.residual),
       {"loss",
        [&](const auto& value, const auto& at) { return ReadLoss(reader, value, at, out); }},
       reader.Value("init", out.init),
       reader.Value("precision", out.precision),
       reader.Value("target_scale", out.target_scale)});
}

Status ReadTrainSection(Reader& reader, const YamlNode& node, const std::string& path, JobSpec& job,
                        std::optional<int64_t>& batch) {
  TrainSpec& out = job.train;
  const auto section = [&reader](auto read, auto& part) -> ReadValue {
    return [&reader, read, &part](const YamlNode& value, const std::string& at) {
      return read(reader, value, at, part);
    };
  };
  return reader.ReadMap(node, path,
                        {{"optimizer", section(ReadOptimizer, out.optimizer)},
                         {"schedule", section(ReadSchedule, out.schedule)},
                         reader.Value("batch", batch),
                         {"leaves", section(ReadLeaves, out.leaves)},
                         reader.Value("epochs", out.epochs),
                         reader.Value("steps", out.steps),
                         {"max_time",
                          [&](const auto& value, const auto& at) {
                            return reader.ReadDuration(value, at, false, out.max_time_ms.emplace());
                          }},
                         {"early_stopping", section(ReadEarlyStopping, out.early_stopping)},
                         reader.Value("weight_decay", out.weight_decay),
                         reader.Value("l1", out.l1),
                         reader.Value("decay_biases", out.decay_biases),
                         reader.Value("clip_norm", out.clip_norm),
                         reader.Value("clip_value", out.clip_value),
                         reader.Value("accumulate_steps", out.accumulate_steps),
                         {"averaging", section(ReadAveraging, out.averaging)},
                         {"class_weight", section(ReadClassWeight, out.class_weight)},
                         {"initial", section(ReadInitial, out.initial)},
                         {"frozen", section(ReadLayers, out.frozen)},
                         {"on_nonfinite", section(ReadOnNonfinite, out.skip_nonfinite)},
                         reader.Value("seed", out.seed),
                         {"checkpoint", section(ReadCheckpoint, job.checkpoint)},
                         reader.Value("mode", out.mode),
                         reader.Value("staleness", out.staleness)});
}

}  // namespace espalier
