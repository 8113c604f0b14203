#include "src/worker/bundle_writer.h"

#include <utility>

#include "src/bundle/output.h"

namespace espalier::worker {

template <typename T>
Result<std::string> WriteBundle(const storage::FileSystem& files, bundle::ModelDocument document,
                                const model::NetworkShape& shape,
                                const AlignedVector<T>& parameters,
                                const std::vector<spec::HistoryRow>& history,
                                const bundle::OutputWriter& writer,
                                const bundle::CommitStop& stop) {
  const spec::OutputSpec output = document.job.output;
  const bundle::Bundle bundle = bundle::MakeBundle(
      std::move(document), model::Tensors(shape), parameters.data(),
      sizeof(T) == 8 ? bundle::ElementType::kFloat64 : bundle::ElementType::kFloat32, history);
  ESPALIER_RETURN_IF_ERROR(bundle::PutBundle(files, bundle, output, writer, stop));
  return bundle.weights_sha256;
}

template Result<std::string> WriteBundle<float>(const storage::FileSystem&, bundle::ModelDocument,
                                                const model::NetworkShape&,
                                                const AlignedVector<float>&,
                                                const std::vector<spec::HistoryRow>&,
                                                const bundle::OutputWriter&,
                                                const bundle::CommitStop&);
template Result<std::string> WriteBundle<double>(const storage::FileSystem&, bundle::ModelDocument,
                                                 const model::NetworkShape&,
                                                 const AlignedVector<double>&,
                                                 const std::vector<spec::HistoryRow>&,
                                                 const bundle::OutputWriter&,
                                                 const bundle::CommitStop&);

}  // namespace espalier::worker
