#include "src/scoring/model_outline.h"

#include <cmath>
#include <utility>

#include "src/base/checksum.h"
#include "src/base/text.h"
#include "src/bundle/bundle.h"
#include "src/bundle/model_json.h"
#include "src/bundle/safetensors.h"
#include "src/data/features/class_weights.h"
#include "src/data/features/sparse_choice.h"
#include "src/spec/sparse_rows.h"

namespace espalier::scoring {

int64_t ModelOutline::width() const { return classification() ? shape.classes() : shape.outputs(); }

Status ErrorOf(const std::string& path, const Status& error) {
  return Status(error.code(), QuotedPath(path) + ": " + error.message());
}

Result<std::string> ReadBundleFile(const storage::FileSystem& files, const std::string& directory,
                                   const char* name, int64_t bytes_max) {
  auto text = files.ReadAll(directory + "/" + name, bytes_max);
  const StatusCode code = text.status().code();
  const bool no_file = code == StatusCode::kNotFound;
  // A path below a file has one of the other codes.
  if (!no_file && code != StatusCode::kFailedPrecondition && code != StatusCode::kPermissionDenied)
    return text;
  const auto found = files.Stat(directory);
  const std::string expected = "expected the directory of a model, as in `output` of its job";
  if (found.status().code() == StatusCode::kNotFound) {
    return NotFound(QuotedPath(directory) + " does not exist; " + expected);
  }
  if (found.ok() && !found->is_directory) {
    return InvalidArgument(QuotedPath(directory) + " is a file; " + expected +
                           ". In a command, the model comes before the data");
  }
  if (!no_file) return text;
  return NotFound(QuotedPath(directory) + " is not a bundle: it contains no " + name + "; " +
                  expected);
}

Result<ModelOutline> LoadModelOutline(const storage::FileSystem& files, const std::string& path,
                                      const std::string& sha256) {
  std::string directory = path;
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  ModelOutline model;
  ESPALIER_ASSIGN_OR_RETURN(
      const std::string text,
      ReadBundleFile(files, directory, bundle::kModelFile, bundle::kModelJsonBytesMax));
  model.sha256 = Sha256Hex(text);
  if (!sha256.empty() && model.sha256 != sha256) {
    return FailedPrecondition(
        "the model has changed since the job was submitted: the SHA-256 of " +
        QuotedPath(directory + "/" + bundle::kModelFile) + " was " + Printable(sha256, 64) +
        " and is " + model.sha256 +
        "; submit again, and do not change the model until the job has ended");
  }
  auto document = bundle::DecodeModelJson(text);
  if (!document.ok()) return ErrorOf(directory, document.status());
  model.document = *std::move(document);
  const spec::Preprocessing& fitted = model.document.preprocessing;
  auto shape = model::MakeNetworkShape(model.document.job, spec::InputsOf(fitted),
                                       spec::AnswersOf(model.document.job.model.task, fitted));
  if (!shape.ok()) return ErrorOf(directory + "/" + bundle::kModelFile, shape.status());
  model.shape = *std::move(shape);
  model.shape.sparse = model.document.sparse;
  model::LimitPredictions(fitted.targets, &model.shape);
  const int64_t fits = model.document.fits;
  if (fits > 1 && (fits * std::ssize(model::Tensors(model.shape)) > bundle::kTensorsMax ||
                   fits * model::ParameterCount(model.shape) > model::kParametersMax)) {
    return BadInput(QuotedPath(directory + "/" + bundle::kModelFile) + ": ensemble.fits: found " +
                    std::to_string(fits) +
                    ", expected fewer for a network of this size: copy the bundle again");
  }
  model.shape.fits = fits;
  model.shape.constant = model.document.constant;
  if (!model.document.thresholds.empty()) model.shape.thresholds = model.document.thresholds;
  auto positive = data::PositiveClass(model.document.job, fitted.classes);
  if (!positive.ok()) return ErrorOf(directory + "/" + bundle::kModelFile, positive.status());
  model.shape.positive = *positive;
  auto costs = data::CostsOfClasses(model.document.job.model.costs, fitted.classes);
  if (!costs.ok()) return ErrorOf(directory + "/" + bundle::kModelFile, costs.status());
  model.shape.costs = *std::move(costs);
  for (size_t k = 0; model.document.intervals && k < fitted.targets.size(); ++k) {
    model.shape.half_widths.push_back(model.document.intervals->half_widths[k] *
                                      std::fabs(fitted.targets[k].factor));
  }
  if (fitted.label_smoothing) model.shape.label_smoothing = *fitted.label_smoothing;
  if (model.document.sparse && !data::CanBeSparse(model.document.job, fitted)) {
    return BadInput(QuotedPath(directory + "/" + bundle::kModelFile) +
                    ": sparse: found true; expected it only where at least " +
                    std::to_string(spec::kSparseFeaturesMin) +
                    " features are numbers, and not the targets: copy the bundle again");
  }
  return model;
}

}  // namespace espalier::scoring
