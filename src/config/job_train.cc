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

Choice LaterChoice(Reader& reader, const YamlNode& node, std::string word, std::string what) {
  return {std::move(word),
          [&reader, &node, what](const YamlNode*, const std::string& path) {
            return reader.Lacking(node, path, what);
          },
          true};
}

Status ReadLoss(Reader& reader, const YamlNode& node, const std::string& path, ModelSpec& out) {
  return reader.ReadChoice(node, path, Kinds<Loss>(reader, [&](Loss loss) -> std::vector<Field> {
                             out.loss = loss;
                             if (loss != Loss::kHuber) return {};
                             return {reader.Value("delta", out.huber_delta)};
                           }));
}

Status ReadOptimizer(Reader& reader, const YamlNode& node, const std::string& path,
                     OptimizerSpec& out) {
  auto choices = Kinds<OptimizerKind>(reader, [&](OptimizerKind kind) -> std::vector<Field> {
    out.kind = kind;
    const Field rate = reader.Value("learning_rate", out.learning_rate);
    if (kind == OptimizerKind::kAdam || kind == OptimizerKind::kAdamW) {
      return {rate, reader.Value("beta1", out.beta1), reader.Value("beta2", out.beta2),
              reader.Value("epsilon", out.epsilon)};
    }
    out.learning_rate = kSgdLearningRate;
    if (kind == OptimizerKind::kSgd) return {rate};
    return {rate, reader.Value("momentum", out.momentum)};
  });
  choices.push_back(LaterChoice(reader, node, "lbfgs", "L-BFGS"));
  return reader.ReadChoice(node, path, choices);
}

Status ReadSchedule(Reader& reader, const YamlNode& node, const std::string& path,
                    ScheduleSpec& out) {
  auto choices = Kinds<ScheduleKind>(reader, [&](ScheduleKind kind) -> std::vector<Field> {
    out.kind = kind;
    std::vector<Field> fields = {reader.Value("warmup", out.warmup)};
    if (kind == ScheduleKind::kStep) {
      fields.push_back(reader.Value("every", out.every));
      fields.push_back(reader.Value("factor", out.factor));
    }
    if (kind == ScheduleKind::kCosine) {
      fields.push_back(reader.Value("final_fraction", out.final_fraction));
    }
    return fields;
  });
  choices.push_back(LaterChoice(reader, node, "plateau", "plateau schedule"));
  return reader.ReadChoice(node, path, choices);
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
       reader.Value("dropout", out.dropout),
       {"loss",
        [&](const auto& value, const auto& at) { return ReadLoss(reader, value, at, out); }},
       reader.Value("init", out.init),
       reader.Value("precision", out.precision),
       reader.Value("target_scale", out.target_scale)});
}

Status ReadTrainSection(Reader& reader, const YamlNode& node, const std::string& path,
                        JobSpec& job) {
  TrainSpec& out = job.train;
  const auto section = [&reader](auto read, auto& part) -> ReadValue {
    return [&reader, read, &part](const YamlNode& value, const std::string& at) {
      return read(reader, value, at, part);
    };
  };
  return reader.ReadMap(node, path,
                        {{"optimizer", section(ReadOptimizer, out.optimizer)},
                         {"schedule", section(ReadSchedule, out.schedule)},
                         reader.Value("batch", out.batch),
                         {"leaves", section(ReadLeaves, out.leaves)},
                         reader.Value("epochs", out.epochs),
                         reader.Value("steps", out.steps),
                         {"max_time",
                          [&](const auto& value, const auto& at) {
                            return reader.ReadDuration(value, at, false, out.max_time_ms.emplace());
                          }},
                         {"early_stopping", section(ReadEarlyStopping, out.early_stopping)},
                         reader.Value("weight_decay", out.weight_decay),
                         reader.Value("decay_biases", out.decay_biases),
                         reader.Value("clip_norm", out.clip_norm),
                         {"on_nonfinite", section(ReadOnNonfinite, out.skip_nonfinite)},
                         reader.Value("seed", out.seed),
                         {"checkpoint", section(ReadCheckpoint, job.checkpoint)},
                         reader.Later("mode", "choice of mode (training is synchronous)")});
}

}  // namespace espalier
