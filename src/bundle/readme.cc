#include "src/bundle/readme.h"

#include <cstdio>
#include <string_view>
#include <vector>

#include "src/base/text.h"
#include "src/spec/names.h"

namespace espalier::bundle {
namespace {

// Returns text without Markdown or HTML markup: printable, with HTML's characters as entities and
// Markdown's after a backslash. The page contains names that users chose, and its renderer may
// execute HTML.
std::string MarkdownText(std::string_view text, size_t bytes_max) {
  std::string out;
  for (const char c : Printable(text, bytes_max)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        if (std::string_view("\\`*_{}[]#|~$").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
  }
  return out;
}

std::string Rounded(double value, double weight = 1) {
  if (!(weight > 0)) return "-";  // no row was counted
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string MetricsLine(const char* set, const spec::Metrics& m) {
  std::string line = std::string("| ") + set + " | " + HumanCount(m.rows) + " | ";
  if (m.classification) {
    return line + "loss " + Rounded(m.loss, m.weight) + ", accuracy " +
           Rounded(m.accuracy, m.weight) + " |\n";
  }
  return line + "loss " + Rounded(m.loss, m.weight) + ", rmse " + Rounded(m.rmse, m.weight) +
         ", r2 " + Rounded(m.r2, m.weight) + " |\n";
}

std::string Layers(const ModelDocument& d) {
  const spec::ModelSpec& model = d.job.model;
  std::string text = std::to_string(spec::InputsOf(d.preprocessing).width());
  for (const int64_t width : model.hidden) text += " - " + std::to_string(width);
  const bool binary = model.task == spec::Task::kClassification &&
                      spec::EffectiveLoss(model) == spec::Loss::kBinaryCrossEntropy;
  return text + " - " + std::to_string(binary ? 1 : spec::AnswersOf(model.task, d.preprocessing));
}

const char* MeaningOfOutputs(const ModelDocument& d) {
  if (d.job.model.task == spec::Task::kClassification) {
    return ";\noutput k is the score of `preprocessing.classes[k]`.\n";
  }
  if (d.job.model.task == spec::Task::kMultilabel) {
    return ";\nthe sigmoid of output k is the probability of label k of `preprocessing.targets`.\n";
  }
  if (spec::EffectiveLoss(d.job.model) == spec::Loss::kPoisson) {
    return ";\noutput y means exp(y) of `preprocessing.targets`.\n";
  }
  return ";\noutput y means y / factor + shift of `preprocessing.targets`.\n";
}

// Returns the numeric features that satisfy `is`.
template <typename Is>
std::vector<size_t> NumbersThat(const ModelDocument& d, Is is) {
  std::vector<size_t> places;
  for (size_t i = 0; i < d.preprocessing.features.size(); ++i) {
    if (d.preprocessing.features[i].codes > 0) continue;
    if (is(spec::OptionsOf(d.job.data.features, d.schema.rule(i)))) places.push_back(i);
  }
  return places;
}
std::vector<size_t> Logarithms(const ModelDocument& d) {
  return NumbersThat(d, [](const spec::FeatureOptions& o) { return o.log1p; });
}
std::vector<size_t> NullsReplaced(const ModelDocument& d) {
  return NumbersThat(d,
                     [](const spec::FeatureOptions& o) { return spec::FillsNulls(o.nulls->kind); });
}

// Describes how features that are not plain numbers become inputs.
std::string FeaturesDo(const ModelDocument& d) {
  bool indicators = false, coded = false, clips = false, binned = false;
  for (const spec::FittedFeature& f : d.preprocessing.features) {
    indicators = indicators || f.null_indicator;
    coded = coded || f.codes > 0;
    clips = clips || f.smooth_clip;
    binned = binned || !f.bin_edges.empty();
  }
  std::string text;
  if (!Logarithms(d).empty()) {
    text +=
        "If its group (of `spec.data.features`, see `schema.rules`) has `log1p`, x is "
        "log(1 + value).\n";
  }
  if (!NullsReplaced(d).empty()) {
    text +=
        "A null enters as `null_value` in place of x, where `nulls` is mean, median or a "
        "constant.\n";
  }
  if (indicators) {
    text +=
        "Each feature with `null_indicator` is followed by one more input, 1 for null and 0 for "
        "others.\n";
  }
  if (clips) {
    text += "With `smooth_clip` the scaled z enters as z / sqrt(1 + (z / 3)^2).\n";
  }
  if (binned) {
    text +=
        "A number with `bin_edges` b enters, after those without, as slope z + bias + the sum over "
        "its bins t of\nclamp((x - b[t]) / (b[t + 1] - b[t]), 0, 1) times row t of its weight: the "
        "tensors `layers.0.numbers.*`.\n";
  }
  if (d.job.model.scaling_layer) {
    text +=
        "All inputs, those of categories last, are then multiplied by the factors "
        "`layers.0.scale`.\n";
  }
  if (coded) {
    text +=
        "Features with `codes` are categories: the code of a value is its place in `vocabulary` "
        "(null is the\nempty text), otherwise the number of texts there, if that is below `codes`. "
        "Otherwise\nit has no code. If `hashed`, the code is MurmurHash3 (32 bits, seed 0) of the "
        "text (`3` of `3.0`) modulo\n`codes`. Category k, counted from 0\namong them, picks a "
        "row: of `layers.0.embeddings.k.weight`, which is appended to the numbers, or of\n"
        "`layers.0.one_hot.k.weight`, which is added to the sums of layer 0; without a code it "
        "is zeros.\n";
  }
  return text;
}

// Describes operations of the layers in addition to weight, bias and activation.
std::string LayersDo(const spec::ModelSpec& model) {
  std::string text;
  if (model.layer_norm) {
    text +=
        "Before the activation of hidden layer i, its sums s become (s - mean(s)) / "
        "sqrt(variance(s) + 1e-5)\n* `layers.i.norm.weight` + `layers.i.norm.bias`.\n";
  }
  if (model.residual) {
    text += "A hidden layer as wide as the one before it adds that one's output to its own.\n";
  }
  return text;
}

// Describes the averaging of the weights.
std::string Averages(const spec::Averaging& averaging) {
  if (averaging.kind == spec::AveragingKind::kNone) return "";
  const bool ema = averaging.kind == spec::AveragingKind::kEma;
  return std::string("The weights are the ") + (ema ? "exponential moving average" : "mean") +
         " of those after each update" + (ema ? ", decay " + ShortestDouble(averaging.decay) : "") +
         ".\n";
}

std::string Fits(const ModelDocument& d) {
  std::string text;
  if (d.fits > 1) {
    text = "The model averages the predictions of " + std::to_string(d.fits) +
           " networks. The tensors of network k have `fits.k.` before their names.\n";
  }
  if (d.constant) {
    text +=
        "Each prediction is (1 - s) of that and s of `constant.answer`; s is "
        "`constant.share`.\n";
  }
  return text;
}

// Describes the choices made on held-out rows.
std::string Decisions(const ModelDocument& d) {
  std::string text;
  if (d.thresholds.size() == 2 && d.preprocessing.classes.size() == 2) {
    text += "Class " + MarkdownText(d.preprocessing.classes[1], 60) +
            " is predicted where its probability is above " + ShortestDouble(d.thresholds[1]) +
            ", otherwise " + MarkdownText(d.preprocessing.classes[0], 60) + ".\n";
  }
  if (!d.costs.empty()) {
    text +=
        "The class with the lowest expected cost is predicted, by `costs` in model.json; other "
        "mistakes cost 1.\n";
  }
  if (d.intervals) {
    text +=
        "Prediction intervals for a share of " + ShortestDouble(d.intervals->level) +
        " of the rows are the prediction +- `intervals.half_widths` of\nmodel.json" +
        (spec::EffectiveLoss(d.job.model) == spec::Loss::kPoisson ? ", cut off at 0.\n" : ".\n");
  }
  return text;
}

// Describes the parts that another run would not reproduce.
std::string HowTrained(const ModelDocument& d) {
  if (d.job.train.mode == spec::TrainMode::kSync) return "";
  std::string text =
      "\nTrained with `mode: async`: the weights depend on which worker was quick, and another run "
      "of the job\ngives other ones.";
  if (!d.async) return text + "\n";
  return text + " Gradients were applied at most " + Counted(d.async->largest_lag, "step") +
         " late; " + HumanCount(d.async->refused) + " came later\nand were computed again.\n";
}

// Describes how to use the model. Commands are written for the bundle's directory.
std::string HowToUse() {
  return "\n## Using it\n\n"
         "`espalier predict . TABLE --output PREDICTIONS` scores a table (CSV, Parquet; local or "
         "on "
         "HDFS),\n`espalier evaluate . TABLE` measures the model on one. In Python, with the "
         "preprocessing and NumPy alone:\n`espalier.load(\".\").predict(table)`.\n\n"
         "`espalier export .` writes `model.onnx`, preprocessing included, for ONNX Runtime and "
         "others. It takes\nthe columns as they are. Its metadata lists which ones, in which "
         "order, one name per line (`dates`:\nwhich of them are dates, as seconds since 1970 in "
         "UTC, also where tables write\n20240229; `booleans`: which are 1 or 0):\n\n"
         "```python\n"
         "import numpy as np, onnxruntime\n"
         "session = onnxruntime.InferenceSession(\"model.onnx\")\n"
         "columns = {name: names.split(\"\\n\")\n"
         "           for name, names in session.get_modelmeta().custom_metadata_map.items()}\n"
         "row = {}  # an empty one here: null is NaN, or the empty text\n"
         "if \"numbers\" in columns:\n"
         "    row[\"numbers\"] = np.full((1, len(columns[\"numbers\"])), np.nan)\n"
         "if \"texts\" in columns:\n"
         "    row[\"texts\"] = np.full((1, len(columns[\"texts\"])), \"\", dtype=object)\n"
         "names = [output.name for output in session.get_outputs()]\n"
         "answer = dict(zip(names, session.run(names, row)))\n"
         "```\n";
}

const char* FormulaOf(spec::Activation activation) {
  switch (activation) {
    case spec::Activation::kIdentity:
      return "z";
    case spec::Activation::kRelu:
      return "np.maximum(z, 0)";
    case spec::Activation::kTanh:
      return "np.tanh(z)";
    case spec::Activation::kSigmoid:
      return "1 / (1 + np.exp(-z))";
    case spec::Activation::kLeakyRelu:
      return "np.where(z > 0, z, 0.01 * z)";
    case spec::Activation::kElu:
      return "np.where(z > 0, z, np.expm1(z))";
    case spec::Activation::kSilu:
      return "z / (1 + np.exp(-z))";
    case spec::Activation::kGelu:
      break;
  }
  return "z / 2 * (1 + np.vectorize(math.erf)(z / math.sqrt(2)))";
}

// Returns Python code that computes the answer from the sums z of the output layer.
std::string AnswerInPython(const ModelDocument& d) {
  if (d.job.model.task == spec::Task::kMultilabel) return "answer = 1 / (1 + np.exp(-z))\n";
  if (d.job.model.task != spec::Task::kClassification) {
    const bool poisson = spec::EffectiveLoss(d.job.model) == spec::Loss::kPoisson;
    return std::string("targets = model[\"preprocessing\"][\"targets\"]\n") +
           "answer = " + (poisson ? "np.exp(z)" : "z") +
           " / [t[\"factor\"] for t in targets] + [t[\"shift\"] for t in targets]\n";
  }
  if (spec::EffectiveLoss(d.job.model) == spec::Loss::kBinaryCrossEntropy) {
    return "q = 1 / (1 + np.exp(-z))\n"
           "answer = np.hstack([1 - q, q])  # of the two classes\n";
  }
  return "e = np.exp(z - z.max(axis=1, keepdims=True))\n"
         "answer = e / e.sum(axis=1, keepdims=True)  # of each class\n";
}

// Returns positions as a NumPy index: a slice if they have no gap. REQUIRES: not empty, ascending.
std::string IndexInPython(const std::vector<size_t>& places) {
  if (places.back() - places.front() + 1 == places.size()) {
    return std::to_string(places.front()) + ":" + std::to_string(places.back() + 1);
  }
  std::string list;
  for (const size_t place : places) list += (list.empty() ? "" : ", ") + std::to_string(place);
  return "[" + list + "]";
}

// Returns code that prepares the numbers x before scaling, in the order of the decoder.
std::string PreparedInPython(const ModelDocument& d) {
  std::string code;
  if (const std::vector<size_t> logs = Logarithms(d); !logs.empty()) {
    const std::string x = "x[:, " + IndexInPython(logs) + "]";
    code += x + " = np.log1p(" + x + ")\n";
  }
  if (const std::vector<size_t> nulls = NullsReplaced(d); !nulls.empty()) {
    const std::string index = IndexInPython(nulls), x = "x[:, " + index + "]";
    code += "null_values = np.array([f[\"null_value\"] for f in features])\n" + x +
            " = np.where(np.isnan(" + x + "), null_values[" + index + "], " + x + ")\n";
  }
  return code;
}

// Returns code for the complete computation from features to answers with only NumPy, if all
// features are numbers.
std::string InNumpy(const ModelDocument& d) {
  for (const spec::FittedFeature& f : d.preprocessing.features) {
    if (f.codes > 0 || f.null_indicator || f.embedding > 0 || f.smooth_clip) return "";
  }
  const spec::ModelSpec& model = d.job.model;
  if (model.scaling_layer || model.clip_predictions || d.fits > 1 || d.constant) return "";
  const size_t hidden = model.hidden.size();
  std::string activations;
  bool erf = false;
  for (size_t i = 0; i < hidden; ++i) {
    const spec::Activation a = model.activation[model.activation.size() == 1 ? 0 : i];
    erf = erf || a == spec::Activation::kGelu;
    activations += (i == 0 ? "lambda z: " : ",\n               lambda z: ");
    activations += FormulaOf(a);
  }
  std::string code = std::string("\n```python\nimport json") + (erf ? ", math" : "") +
                     "\nimport numpy as np\nfrom safetensors.numpy import load_file\n"
                     "model, weights = json.load(open(\"model.json\")), "
                     "load_file(\"weights.safetensors\")\n"
                     "features = model[\"preprocessing\"][\"features\"]\n"
                     "x = np.zeros((1, len(features)))  # rows of their numbers, in this order\n" +
                     PreparedInPython(d) +
                     "x = (x - [f[\"shift\"] for f in features]) * [f[\"factor\"] for f in "
                     "features]\n"
                     "activations = [" +
                     activations + "]\nfor i in range(" + std::to_string(hidden + 1) +
                     "):\n    z = x @ weights[\"layers.%d.weight\" % i].T + "
                     "weights[\"layers.%d.bias\" % i]\n";
  if (hidden > 0) {
    code += "    if i < " + std::to_string(hidden) + ":\n";
    if (model.layer_norm) {
      code +=
          "        z = (z - z.mean(axis=1, keepdims=True)) / np.sqrt(z.var(axis=1, keepdims=True) "
          "+ 1e-5)\n        z = z * weights[\"layers.%d.norm.weight\" % i] + "
          "weights[\"layers.%d.norm.bias\" % i]\n";
    }
    code += "        z = activations[i](z)\n";
    code += model.residual ? "        x = z + x if i > 0 and z.shape == x.shape else z\n"
                           : "        x = z\n";
  }
  return code + AnswerInPython(d) + "```\n";
}

// Returns a sentence on the epochs of the weights, if they are not the last ones.
std::string BestEpochs(const ModelDocument& d) {
  std::string text;
  for (const double epoch : d.best_epochs) text += (text.empty() ? "" : ", ") + Rounded(epoch);
  return text.empty() ? text : " The weights are those after epoch " + text + ".";
}

}  // namespace

std::string BundleReadme(const ModelDocument& d, const spec::TensorList& tensors) {
  int64_t parameters = 0;
  for (const spec::TensorInfo& t : tensors) parameters += t.size;
  std::string out =
      "# " + MarkdownText(d.job.name, 128) + "\n\nA multi-layer perceptron for " +
      spec::NameOf(d.job.model.task) +
      ", trained by Espalier: " + (d.fits > 1 ? std::to_string(d.fits) + " networks of " : "") +
      Layers(d) + " units, " + Counted(parameters, "parameter") + ", " + Counted(d.steps, "step") +
      ", " + Rounded(d.epochs) + (d.epochs == 1 ? " epoch." : " epochs.") + BestEpochs(d) + "\n\n";
  out += "| rows | count | result |\n|---|---|---|\n" + MetricsLine("training", d.train);
  if (d.validation) out += MetricsLine("validation", *d.validation);
  if (d.test) out += MetricsLine("test", *d.test);
  const std::string prefix = d.fits > 1 ? "fits.0." : "";
  out +=
      "\n| file | what |\n|---|---|\n"
      "| `weights.safetensors` | the parameters: `" +
      prefix + "layers.0.weight` ([out, in]), `" + prefix +
      "layers.0.bias`, ... |\n"
      "| `model.json` | the job, the columns, the fitted preprocessing, all metrics |\n"
      "| `history.csv` | one line per evaluation |\n\n"
      "In Python: `safetensors.numpy.load_file(\"weights.safetensors\")`. A feature x enters as\n"
      "(x - shift) * factor with the numbers of `preprocessing.features` in `model.json`";
  out += MeaningOfOutputs(d) + FeaturesDo(d) + LayersDo(d.job.model) +
         Averages(d.job.train.averaging) + Fits(d) + Decisions(d) + InNumpy(d);
  out += HowTrained(d);
  for (const std::string& a : d.accepted) {
    out += "\nResumed although something differed: " + MarkdownText(a, 300) + ".\n";
  }
  out += HowToUse();
  return out + "\nSHA-256 of the weights: " + d.weights_sha256 + "\n";
}

}  // namespace espalier::bundle
