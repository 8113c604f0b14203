#include "src/worker/bundle_writer.h"

#include <utility>

#include "src/bundle/output.h"

namespace espalier {

template <typename T>
Result<std::string> WriteBundle(const FileSystem& files, ModelDocument document,
                                const NetworkShape& shape, const AlignedVector<T>& parameters,
                                const std::vector<HistoryRow>& history, const OutputWriter& writer,
                                const CommitStop& stop) {
  const OutputSpec output = document.job.output;
  const Bundle bundle =
      MakeBundle(std::move(document), Tensors(shape), parameters.data(),
                 sizeof(T) == 8 ? ElementType::kFloat64 : ElementType::kFloat32, history);
  ESPALIER_RETURN_IF_ERROR(PutBundle(files, bundle, output, writer, stop));
  return bundle.weights_sha256;
}

template Result<std::string> WriteBundle<float>(const FileSystem&, ModelDocument,
                                                const NetworkShape&, const AlignedVector<float>&,
                                                const std::vector<HistoryRow>&, const OutputWriter&,
                                                const CommitStop&);
template Result<std::string> WriteBundle<double>(const FileSystem&, ModelDocument,
                                                 const NetworkShape&, const AlignedVector<double>&,
                                                 const std::vector<HistoryRow>&,
                                                 const OutputWriter&, const CommitStop&);

}  // namespace espalier
