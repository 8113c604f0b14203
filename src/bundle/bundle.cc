#include "src/bundle/bundle.h"

#include <utility>

#include "src/base/checksum.h"
#include "src/bundle/history.h"
#include "src/bundle/readme.h"

namespace espalier::bundle {

Bundle MakeBundle(ModelDocument document, const spec::TensorList& tensors, const void* flat,
                  ElementType type, std::span<const spec::HistoryRow> history) {
  Bundle bundle;
  std::string weights = EncodeSafetensors(tensors, flat, type);
  bundle.weights_sha256 = Sha256Hex(weights);
  document.weights_sha256 = bundle.weights_sha256;
  bundle.files[kWeightsFile] = std::move(weights);
  bundle.files[kModelFile] = EncodeModelJson(document);
  bundle.files[kHistoryFile] = HistoryCsv(history, document.job.model.task);
  bundle.files[kReadmeFile] = BundleReadme(document, tensors);
  return bundle;
}

}  // namespace espalier::bundle
