#include "src/config/job_sections.h"

namespace espalier::config {
namespace {

Status ReadLoss(Reader& reader, const YamlNode& node, const std::string& path,
                spec::ModelSpec& out) {
  return reader.ReadChoice(node, path,
                           Kinds<spec::Loss>(reader, [&](spec::Loss loss) -> std::vector<Field> {
                             out.loss = loss;
                             switch (loss) {
                               case spec::Loss::kSoftmaxCrossEntropy:
                               case spec::Loss::kBinaryCrossEntropy:
                                 return {reader.Value("label_smoothing", out.label_smoothing)};
                               case spec::Loss::kHuber:
                                 return {reader.Value("delta", out.huber_delta)};
                               case spec::Loss::kQuantile:
                                 return {reader.Value("quantile", out.quantile)};
                               default:
                                 return {};
                             }
                           }));
}

Status ReadOnNonfinite(Reader& reader, const YamlNode& node, const std::string& path, bool& skip) {
  const std::vector<std::string> known = {"fail", "skip"};
  if (!node.is_scalar() || (node.text != "fail" && node.text != "skip")) {
    return reader.UnknownWord(node, path, known);
  }
  skip = node.text == "skip";
  return {};
}

// Reads `none`, or {every_steps: N, every: 10 min, keep: K}. With only every_steps, there is no
// time condition.
Status ReadCheckpoint(Reader& reader, const YamlNode& node, const std::string& path,
                      std::optional<spec::CheckpointSpec>& out) {
  if (node.is_scalar() && node.text == "none") {
    out.reset();
    return {};
  }
  if (node.kind != YamlNode::Kind::kMap) {
    return reader.Unexpected(node, path, "`none` or a map such as {every: 10 min, keep: 3}");
  }
  spec::CheckpointSpec& c = out.emplace();
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

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::OptimizerSpec& out) {
  return ReadKind(reader, node, path, out,
                  [&](spec::OptimizerKind k) { out = spec::DefaultOptimizer(k); });
}

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::ScheduleSpec& out) {
  return ReadKind(reader, node, path, out, [&](spec::ScheduleKind k) { out.kind = k; });
}

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::Averaging& out) {
  return ReadKind(reader, node, path, out, [&](spec::AveragingKind k) { out.kind = k; });
}

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::ThresholdSpec& out) {
  return ReadKind(reader, node, path, out, [&](spec::ThresholdKind k) { out.kind = k; });
}

// Reads `none`, `balanced`, or a map from labels to weights.
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::ClassWeights& out) {
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
  // The labels are keys, so that ReadMap detects duplicates.
  std::vector<Field> fields;
  out.given.resize(node.entries.size());
  for (size_t i = 0; i < node.entries.size(); ++i) {
    out.given[i].label = node.entries[i].first.text;
    fields.push_back(reader.Value(out.given[i].label, out.given[i].weight));
  }
  return reader.ReadMap(node, path, fields);
}

namespace {

// Reads a map from labels to numbers.
Status ReadCosts(Reader& reader, const YamlNode& node, const std::string& path,
                 std::vector<spec::PredictedCost>& out) {
  std::vector<Field> fields;
  out.resize(node.entries.size());
  for (size_t i = 0; i < node.entries.size(); ++i) {
    out[i].predicted = node.entries[i].first.text;
    fields.push_back(reader.Value(out[i].predicted, out[i].cost));
  }
  return reader.ReadMap(node, path, fields);
}

}  // namespace

// Reads a map from labels to maps from labels to costs.
Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::DecisionCosts& out) {
  out = {};
  if (reader.describes()) return {};
  if (node.kind != YamlNode::Kind::kMap) {
    return reader.Unexpected(node, path, "a map such as {faulty: {sound: 20}}");
  }
  std::vector<Field> fields;
  out.given.resize(node.entries.size());
  for (size_t i = 0; i < node.entries.size(); ++i) {
    spec::ClassCosts& row = out.given[i];
    row.label = node.entries[i].first.text;
    fields.push_back({row.label, [&reader, &row](const auto& value, const auto& at) {
                        return ReadCosts(reader, value, at, row.costs);
                      }});
  }
  return reader.ReadMap(node, path, fields);
}

Status ReadSpec(Reader& reader, const YamlNode& node, const std::string& path,
                spec::ModelSpec& out) {
  std::vector<Field> fields = FieldsOf(reader, out);
  fields.push_back({"loss", [&](const auto& value, const auto& at) {
                      return ReadLoss(reader, value, at, out);
                    }});
  return reader.ReadMap(node, path, fields);
}

namespace {

// Reads a number, or `auto` as 0.
template <typename T>
Status ReadOrAuto(Reader& reader, const YamlNode& node, const std::string& path, T& out) {
  if (node.is_scalar() && node.text == "auto") {
    out = 0;
    return {};
  }
  ESPALIER_RETURN_IF_ERROR(reader.Read(node, path, out));
  if (reader.describes()) reader.NoDefault(path);
  if (out != 0 || reader.describes()) return {};
  return reader.Unexpected(node, path, "`auto` or a number above 0");
}

}  // namespace

Status ReadTrainSection(Reader& reader, const YamlNode& node, const std::string& path,
                        spec::JobSpec& job, std::optional<int64_t>& batch) {
  std::vector<Field> fields = FieldsOf(reader, job.train);
  fields.push_back({"batch", [&](const auto& value, const auto& at) {
                      return ReadOrAuto(reader, value, at, batch.emplace());
                    }});
  fields.push_back({"epochs", [&](const auto& value, const auto& at) {
                      return ReadOrAuto(reader, value, at, job.train.epochs.emplace());
                    }});
  fields.push_back({"on_nonfinite", [&](const auto& value, const auto& at) {
                      return ReadOnNonfinite(reader, value, at, job.train.skip_nonfinite);
                    }});
  fields.push_back({"checkpoint", [&](const auto& value, const auto& at) {
                      return ReadCheckpoint(reader, value, at, job.checkpoint);
                    }});
  return reader.ReadMap(node, path, fields);
}

}  // namespace espalier::config
