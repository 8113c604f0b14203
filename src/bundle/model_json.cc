#include "src/bundle/model_json.h"

#include "src/base/text.h"
#include "src/base/version.h"
#include "src/bundle/archive.h"
#include "src/bundle/json.h"
#include "src/config/job_yaml.h"

namespace espalier::bundle {
namespace {

constexpr int kModelFormat = 2;
constexpr int kFormatOfFields = 1;  // of 0.1.0: `spec` has the fields of the structs by their names

// Converts YAML to JSON. A plain scalar with the same spelling in JSON is a number or a boolean.
// All others are text.
Json ToJson(const config::YamlNode& node) {
  switch (node.kind) {
    case config::YamlNode::Kind::kNull:
      return nullptr;
    case config::YamlNode::Kind::kSequence: {
      Json list = Json::array();
      for (const config::YamlNode& item : node.items) list.push_back(ToJson(item));
      return list;
    }
    case config::YamlNode::Kind::kMap: {
      Json object = Json::object();
      for (const auto& [key, value] : node.entries) object[key.text] = ToJson(value);
      return object;
    }
    case config::YamlNode::Kind::kScalar:
      break;
  }
  if (!node.quoted) {
    const Json plain = ParseJson(node.text);
    if (plain.is_number() || plain.is_boolean()) return plain;
  }
  return TextToJson(node.text);
}

// Converts JSON to YAML. Text is quoted, so that "3" remains a name and 3 a position.
config::YamlNode ToYaml(const Json& json) {
  if (json.is_null()) return {};
  config::YamlNode node;
  if (json.is_array()) {
    node.kind = config::YamlNode::Kind::kSequence;
    for (const Json& item : json) node.items.push_back(ToYaml(item));
    return node;
  }
  const Result<std::string> text = TextFromJson(json, "");  // {"hex": ..} is also text
  if (text.ok()) return config::ScalarNode(*text, true);
  if (!json.is_object()) return config::ScalarNode(json.dump());
  node.kind = config::YamlNode::Kind::kMap;
  for (const auto& [key, value] : json.items()) {
    node.entries.push_back({config::ScalarNode(key), ToYaml(value)});
  }
  return node;
}

// Returns the parts of the job that determine the model, in the syntax of a job file.
Json SpecToJson(const spec::JobSpec& job) {
  spec::JobSpec kept;
  kept.name = job.name;
  kept.data = job.data;
  kept.model = job.model;
  kept.train = job.train;
  Json spec = ToJson(config::JobToYaml(kept));
  spec.erase("workers");
  spec.erase("output");
  return spec;
}

Json TrainingToJson(const ModelDocument& d) {
  Json training = {{"steps", d.steps},
                   {"epochs", NumberToJson(d.epochs)},
                   {"stopped_because", TextToJson(d.stopped_because)}};
  if (d.best_epochs.size() == 1) training["best_epoch"] = NumberToJson(d.best_epochs[0]);
  if (d.best_epochs.size() > 1) training["best_epochs"] = d.best_epochs;
  if (d.temperature != 1) training["temperature"] = NumberToJson(d.temperature);
  if (d.threshold) {
    training["threshold"] = {{"metric", TextToJson(d.threshold->metric)},
                             {"threshold", NumberToJson(d.threshold->threshold)},
                             {"value", NumberToJson(d.threshold->value)},
                             {"value_at_half", NumberToJson(d.threshold->value_at_half)},
                             {"reached", d.threshold->reached}};
  }
  if (d.skipped_steps > 0) training["skipped_steps"] = d.skipped_steps;
  if (d.async) {
    training["async"] = {{"largest_lag", d.async->largest_lag}, {"refused", d.async->refused}};
  }
  return training;
}

Json OptionalMetrics(const std::optional<spec::Metrics>& metrics, const ModelDocument& d) {
  return metrics ? MetricsToJson(*metrics, spec::ClassNames(d.job.model.task, d.preprocessing))
                 : Json(nullptr);
}

// Returns the object's member, or null.
const Json& Member(const Json& object, const char* name) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto it = object.find(name);
  return it == object.end() ? null : *it;
}

Status ReadFields(const Json& spec, spec::JobSpec& job) {
  const JsonReader read;
  ESPALIER_RETURN_IF_ERROR(read(Member(spec, "name"), "spec.name", job.name));
  ESPALIER_RETURN_IF_ERROR(read(Member(spec, "data"), "spec.data", job.data));
  ESPALIER_RETURN_IF_ERROR(read(Member(spec, "model"), "spec.model", job.model));
  return read(Member(spec, "train"), "spec.train", job.train);
}

// Reads the choices that training made on held-out rows.
Status ReadDecision(const Json& json, ModelDocument& d) {
  const JsonReader read;
  const Json& thresholds = Member(json, "thresholds");
  if (!thresholds.is_null()) {
    ESPALIER_RETURN_IF_ERROR(read(thresholds, "thresholds", d.thresholds));
    const auto inside = [](double t) { return t > 0 && t < 1; };
    if (d.thresholds.size() != 2 ||
        !std::all_of(d.thresholds.begin(), d.thresholds.end(), inside)) {
      return BadInput("thresholds: found " + Printable(thresholds.dump(), 60) +
                      ", expected two numbers above 0 and below 1");
    }
  }
  const Json& intervals = Member(json, "intervals");
  if (intervals.is_null()) return {};
  spec::PredictionIntervals& i = d.intervals.emplace();
  ESPALIER_RETURN_IF_ERROR(read(Member(intervals, "level"), "intervals.level", i.level));
  ESPALIER_RETURN_IF_ERROR(
      read(Member(intervals, "half_widths"), "intervals.half_widths", i.half_widths));
  const auto positive = [](double width) { return width > 0 && std::isfinite(width); };
  if (i.level > 0 && i.level < 1 && !i.half_widths.empty() &&
      std::all_of(i.half_widths.begin(), i.half_widths.end(), positive)) {
    return {};
  }
  return BadInput("intervals: found " + Printable(intervals.dump(), 60) +
                  ", expected a level above 0 and below 1 and positive half_widths");
}

Status ReadDocument(const Json& json, ModelDocument& d) {
  const JsonReader read;
  const Json& spec = Member(json, "spec");
  ESPALIER_RETURN_IF_ERROR(json["format"] == kFormatOfFields
                               ? ReadFields(spec, d.job)
                               : config::ReadWrittenJob(ToYaml(spec), d.job));
  ESPALIER_RETURN_IF_ERROR(read(Member(json, "schema"), "schema", d.schema));
  ESPALIER_RETURN_IF_ERROR(read(Member(json, "preprocessing"), "preprocessing", d.preprocessing));
  ESPALIER_RETURN_IF_ERROR(read(Member(json, "storage"), "storage", d.storage));
  const Json& sparse = Member(json, "sparse");
  if (!sparse.is_null()) ESPALIER_RETURN_IF_ERROR(read(sparse, "sparse", d.sparse));
  const Json& ensemble = Member(json, "ensemble");
  if (!ensemble.is_null()) {
    ESPALIER_RETURN_IF_ERROR(read(Member(ensemble, "fits"), "ensemble.fits", d.fits));
    ESPALIER_RETURN_IF_ERROR(read(Member(ensemble, "constant"), "ensemble.constant", d.constant));
    if (d.fits < 1 || d.fits > spec::kFitsMax) {
      return BadInput("ensemble.fits: found " + std::to_string(d.fits) + ", expected 1 to " +
                      std::to_string(spec::kFitsMax));
    }
  }
  ESPALIER_RETURN_IF_ERROR(ReadDecision(json, d));
  const Json& rows = Member(json, "rows");
  ESPALIER_RETURN_IF_ERROR(read(Member(rows, "train"), "rows.train", d.train_rows));
  ESPALIER_RETURN_IF_ERROR(read(Member(rows, "validation"), "rows.validation", d.validation_rows));
  ESPALIER_RETURN_IF_ERROR(read(Member(rows, "test"), "rows.test", d.test_rows));
  ESPALIER_RETURN_IF_ERROR(read(Member(rows, "skipped"), "rows.skipped", d.skipped_rows));
  const Json& training = Member(json, "training");
  ESPALIER_RETURN_IF_ERROR(read(Member(training, "steps"), "training.steps", d.steps));
  ESPALIER_RETURN_IF_ERROR(read(Member(training, "epochs"), "training.epochs", d.epochs));
  ESPALIER_RETURN_IF_ERROR(
      read(Member(training, "stopped_because"), "training.stopped_because", d.stopped_because));
  const std::pair<const char*, std::string*> texts[] = {{"data_fingerprint", &d.data_fingerprint},
                                                        {"arithmetic_id", &d.arithmetic_id},
                                                        {"weights_sha256", &d.weights_sha256}};
  for (const auto& [name, text] : texts) {
    ESPALIER_RETURN_IF_ERROR(read(Member(json, name), name, *text));
  }
  const Json& accepted = Member(json, "accepted");  // absent in bundles of versions without resume
  if (!accepted.is_null()) ESPALIER_RETURN_IF_ERROR(read(accepted, "accepted", d.accepted));
  return {};
}

Status CheckColumns(const std::string& path, const std::vector<int32_t>& columns, size_t count) {
  for (const int32_t column : columns) {
    if (column >= 0 && static_cast<size_t>(column) < count) continue;
    return BadInput(path + ": found position " + std::to_string(column) + " among " +
                    std::to_string(count) + " columns");
  }
  return {};
}

// Converts an optional column, which is -1 if it is absent.
std::vector<int32_t> OneColumn(int32_t column) {
  return column == -1 ? std::vector<int32_t>() : std::vector<int32_t>{column};
}

Status CheckDecision(const ModelDocument& d) {
  const spec::ModelSpec& model = d.job.model;
  const bool softmax = model.task == spec::Task::kClassification &&
                       spec::EffectiveLoss(model) == spec::Loss::kSoftmaxCrossEntropy;
  if (!d.thresholds.empty() && (!softmax || d.preprocessing.classes.size() != 2)) {
    return BadInput(
        "thresholds: found two, expected none except with two classes and "
        "softmax_cross_entropy");
  }
  if (!d.intervals) return {};
  const size_t targets = d.preprocessing.targets.size();
  if (model.task == spec::Task::kRegression && d.intervals->half_widths.size() == targets) {
    return {};
  }
  return BadInput("intervals: found " + std::to_string(d.intervals->half_widths.size()) +
                  " half_widths, expected only for a regression, one for each of " +
                  std::to_string(targets) + " targets");
}

// Checks the values that safe prediction requires. The spec and the preprocessing may have been
// edited.
Status CheckDocument(const ModelDocument& d) {
  if (d.schema.features.size() != d.preprocessing.features.size()) {
    return BadInput("preprocessing.features: found " +
                    std::to_string(d.preprocessing.features.size()) +
                    ", expected one for each of " + std::to_string(d.schema.features.size()) +
                    " features of the schema");
  }
  ESPALIER_RETURN_IF_ERROR(
      CheckColumns("schema.features", d.schema.features, d.schema.names.size()));
  std::vector<int32_t> left_out;
  for (const spec::LeftOutColumn& c : d.schema.left_out) left_out.push_back(c.column);
  for (const auto& [name, columns] :
       {std::pair("schema.label", d.schema.label), std::pair("schema.left_out", left_out),
        std::pair("schema.weight", OneColumn(d.schema.weight)),
        std::pair("schema.validation", OneColumn(d.schema.validation))}) {
    ESPALIER_RETURN_IF_ERROR(CheckColumns(name, columns, d.schema.names.size()));
  }
  ESPALIER_RETURN_IF_ERROR(spec::CheckRules(d.job.data.features, d.schema));
  for (size_t i = 0; i < d.preprocessing.features.size(); ++i) {
    const spec::FittedFeature& f = d.preprocessing.features[i];
    const spec::FeatureRule rule = d.schema.rule(i);
    const bool coded = rule.type == spec::FeatureType::kCategorical;
    const auto texts = static_cast<int64_t>(f.vocabulary.size());
    const bool vocabulary = spec::HasVocabulary(d.job.data.features, rule);
    const bool sound = f.hashed == (coded && !vocabulary) && spec::SoundBins(f) &&
                       (vocabulary ? f.codes == texts || f.codes == texts + 1 : texts == 0);
    if (f.codes < 0 || f.codes > spec::kCodesMax || f.embedding < 0 ||
        f.embedding > spec::kEmbeddingMax || coded != (f.codes > 0) || !sound) {
      return BadInput("preprocessing.features[" + std::to_string(i) + "]: found " +
                      std::to_string(f.codes) + " codes and a vocabulary of " +
                      std::to_string(texts) + " and " + std::to_string(f.bin_edges.size()) +
                      " bin edges, which do not fit the feature's rule");
    }
  }
  if (d.schema.partitions < 0 || static_cast<size_t>(d.schema.partitions) > d.schema.names.size()) {
    return BadInput("schema.partitions: found " + std::to_string(d.schema.partitions) + " of " +
                    std::to_string(d.schema.names.size()) + " columns");
  }
  const bool itself = d.job.model.task == spec::Task::kAutoencoder;
  if (d.schema.label.empty() && !itself) return BadInput("schema.label: found no column");
  for (const spec::FittedTarget& target : d.preprocessing.targets) {
    if (target.range.empty() == d.job.model.clip_predictions) {
      return BadInput("preprocessing.targets: range does not fit spec.model.clip_predictions");
    }
    if (target.factor == 0) return BadInput("preprocessing.targets: found a factor of 0");
    if (!spec::SoundRange(target)) return BadInput("preprocessing.targets: found no range");
  }
  const bool classes = d.job.model.task == spec::Task::kClassification;
  if (classes ? d.preprocessing.classes.empty() : d.preprocessing.targets.empty()) {
    return BadInput(std::string("preprocessing.") + (classes ? "classes" : "targets") +
                    ": found none, expected at least one");
  }
  ESPALIER_RETURN_IF_ERROR(CheckDecision(d));
  const size_t answers = itself ? d.schema.features.size() : d.schema.label.size();
  if (!classes && d.preprocessing.targets.size() != answers) {
    return BadInput("preprocessing.targets: found " +
                    std::to_string(d.preprocessing.targets.size()) + ", expected one for each of " +
                    std::to_string(answers) + (itself ? " features" : " label columns") +
                    " of the schema");
  }
  spec::JobSpec job = d.job;
  job.output.path = "unused";
  return job.Validate();
}

}  // namespace

std::string EncodePreprocessing(const spec::Preprocessing& preprocessing) {
  return JsonWriter()(preprocessing).dump();
}

Result<spec::Preprocessing> DecodePreprocessing(std::string_view text) {
  spec::Preprocessing preprocessing;
  ESPALIER_RETURN_IF_ERROR(JsonReader()(ParseJson(text), "preprocessing", preprocessing));
  for (const spec::FittedFeature& f : preprocessing.features) {
    const auto texts = std::ssize(f.vocabulary);
    const bool codes =
        f.codes >= 0 && f.codes <= spec::kCodesMax &&
        (f.hashed || f.codes == 0 ? texts == 0 : f.codes == texts || f.codes == texts + 1);
    if (codes && f.embedding >= 0 && f.embedding <= spec::kEmbeddingMax && spec::SoundBins(f)) {
      continue;
    }
    return BadInput("preprocessing: the codes or bins of the feature '" + Printable(f.name) +
                    "' do not fit together");
  }
  for (const spec::FittedTarget& target : preprocessing.targets) {
    if (target.factor != 0 && spec::SoundRange(target)) continue;
    return BadInput("preprocessing: the target '" + Printable(target.name) +
                    "' has a factor of 0 or a wrong range");
  }
  return preprocessing;
}

std::string EncodeModelJson(const ModelDocument& d) {
  const JsonWriter write;
  Json document = {
      {"format", kModelFormat},
      {"written_by", std::string("espalier ") + kVersion},
      {"spec", SpecToJson(d.job)},
      {"schema", write(d.schema)},
      {"preprocessing", write(d.preprocessing)},
      {"storage", write(d.storage)},
      {"rows",
       {{"train", d.train_rows},
        {"validation", d.validation_rows},
        {"test", d.test_rows},
        {"skipped", d.skipped_rows}}},
      {"training", TrainingToJson(d)},
      {"metrics",
       {{"train", MetricsToJson(d.train, spec::ClassNames(d.job.model.task, d.preprocessing))},
        {"validation", OptionalMetrics(d.validation, d)},
        {"test", OptionalMetrics(d.test, d)}}},
      {"job_fingerprint", spec::Fingerprint(d.job)},
      {"data_fingerprint", write(d.data_fingerprint)},
      {"arithmetic_id", write(d.arithmetic_id)},
      {"weights_sha256", write(d.weights_sha256)},
      {"accepted", write(d.accepted)}};
  if (d.sparse) document["sparse"] = true;
  if (d.fits > 1 || d.constant) {
    document["ensemble"] = {{"fits", d.fits}, {"constant", d.constant}};
  }
  if (!d.thresholds.empty()) document["thresholds"] = write(d.thresholds);
  for (const spec::CostOfClass& c : d.costs) {
    const std::vector<std::string>& classes = d.preprocessing.classes;
    document["costs"].push_back(
        {{"label", TextToJson(classes[static_cast<size_t>(c.truth)])},
         {"predicted", TextToJson(classes[static_cast<size_t>(c.predicted)])},
         {"cost", NumberToJson(c.cost)}});
  }
  if (d.intervals) {
    document["intervals"] = {{"level", write(d.intervals->level)},
                             {"half_widths", write(d.intervals->half_widths)}};
  }
  if (!d.notes.empty()) document["notes"] = write(d.notes);
  std::string out = "{\n";
  for (auto it = document.begin(); it != document.end(); ++it) {
    if (it != document.begin()) out += ",\n";
    out += "\"" + it.key() + "\": " + it->dump();
  }
  return out + "\n}\n";
}

Result<ModelDocument> DecodeModelJson(std::string_view text) {
  if (text.size() > size_t{kModelJsonBytesMax}) {
    return BadInput("model.json: found " + HumanBytes(text.size()) + ", expected at most " +
                    HumanBytes(kModelJsonBytesMax));
  }
  const Json json = ParseJson(text);
  if (!json.is_object()) return BadInput("model.json: found no JSON object");
  const Json& format = Member(json, "format");
  if (format != kModelFormat && format != kFormatOfFields) {
    return FailedPrecondition("model.json: found format " + Printable(format.dump(), 20) +
                              ", this version of Espalier (" + kVersion + ") reads formats " +
                              std::to_string(kFormatOfFields) + " to " +
                              std::to_string(kModelFormat));
  }
  ModelDocument document;
  for (const Status& status : {ReadDocument(json, document), CheckDocument(document)}) {
    if (!status.ok()) return BadInput("model.json: " + status.message());
  }
  return document;
}

}  // namespace espalier::bundle
