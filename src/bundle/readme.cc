#include "src/bundle/readme.h"

#include <cstdio>

#include "src/base/text.h"

namespace espalier {
namespace {

std::string Rounded(double value, double weight = 1) {
  if (!(weight > 0)) return "-";  // no row was counted
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string MetricsLine(const char* set, const Metrics& m) {
  std::string line = std::string("| ") + set + " | " + HumanCount(m.rows) + " | ";
  if (m.classification) {
    return line + "loss " + Rounded(m.loss, m.weight) + ", accuracy " +
           Rounded(m.accuracy, m.weight) + " |\n";
  }
  return line + "loss " + Rounded(m.loss, m.weight) + ", rmse " + Rounded(m.rmse, m.weight) +
         ", r2 " + Rounded(m.r2, m.weight) + " |\n";
}

std::string Layers(const ModelDocument& d) {
  std::string text = std::to_string(d.preprocessing.features.size());
  for (const int64_t width : d.job.model.hidden) text += " - " + std::to_string(width);
  const size_t outputs = d.job.model.task == Task::kClassification ? d.preprocessing.classes.size()
                                                                   : d.preprocessing.targets.size();
  return text + " - " + std::to_string(outputs);
}

const char* MeaningOfOutputs(const ModelDocument& d) {
  if (d.job.model.task == Task::kClassification) {
    return ";\noutput k is the score of `preprocessing.classes[k]`.\n";
  }
  if (EffectiveLoss(d.job.model) == Loss::kPoisson) {
    return ";\noutput y means exp(y) of `preprocessing.targets`.\n";
  }
  return ";\noutput y means y / factor + shift of `preprocessing.targets`.\n";
}

// What the layers do beyond weight, bias and activation.
std::string LayersDo(const ModelSpec& model) {
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

// What the weights are averages of.
std::string Averages(const Averaging& averaging) {
  if (averaging.kind == AveragingKind::kNone) return "";
  const bool ema = averaging.kind == AveragingKind::kEma;
  return std::string("The weights are the ") + (ema ? "exponential moving average" : "mean") +
         " of those after each update" + (ema ? ", decay " + ShortestDouble(averaging.decay) : "") +
         ".\n";
}

}  // namespace

std::string BundleReadme(const ModelDocument& d, const TensorList& tensors) {
  int64_t parameters = 0;
  for (const TensorInfo& t : tensors) parameters += t.size;
  std::string out = "# " + Printable(d.job.name, 128) + "\n\nA multi-layer perceptron for " +
                    Name(d.job.model.task) + ", trained by Espalier: " + Layers(d) + " units, " +
                    HumanCount(parameters) + " parameters, " + HumanCount(d.steps) + " steps, " +
                    Rounded(d.epochs) + " epochs.\n\n";
  out += "| rows | count | result |\n|---|---|---|\n" + MetricsLine("training", d.train);
  if (d.validation) out += MetricsLine("validation", *d.validation);
  if (d.test) out += MetricsLine("test", *d.test);
  out +=
      "\n| file | what |\n|---|---|\n"
      "| `weights.safetensors` | the parameters: `layers.0.weight` ([out, in]), `layers.0.bias`, "
      "... "
      "|\n"
      "| `model.json` | the job, the columns, the fitted preprocessing, all metrics |\n"
      "| `history.csv` | one line an evaluation |\n\n"
      "In Python: `safetensors.numpy.load_file(\"weights.safetensors\")`. A feature x enters as\n"
      "(x - shift) * factor with the numbers of `preprocessing.features` in `model.json`";
  out += MeaningOfOutputs(d) + LayersDo(d.job.model) + Averages(d.job.train.averaging);
  for (const std::string& a : d.accepted) {
    out += "\nResumed although something differed: " + Printable(a, 300) + ".\n";
  }
  return out + "\nSHA-256 of the weights: " + d.weights_sha256 + "\n";
}

}  // namespace espalier
