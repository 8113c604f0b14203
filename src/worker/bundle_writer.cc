#include "src/worker/bundle_writer.h"

#include <utility>

#include "src/bundle/output.h"

namespace espalier {
namespace {

// Moves `temporary` to `output`, replacing an earlier bundle if that is allowed. The old one stands
// aside until the new one is in place.
Status PutInPlace(const FileSystem& files, const std::string& temporary, const OutputSpec& output,
                  const std::string& writer) {
  ESPALIER_RETURN_IF_ERROR(CheckOutput(files, output));
  if (!files.Stat(output.path).ok()) return files.Rename(temporary, output.path);
  const std::string aside = output.path + ".replaced-" + writer;
  ESPALIER_RETURN_IF_ERROR(files.RemoveTree(aside));
  ESPALIER_RETURN_IF_ERROR(files.Rename(output.path, aside));
  if (Status s = files.Rename(temporary, output.path); !s.ok()) {
    const Status back = files.Rename(aside, output.path);
    return back.ok() ? s : s.Wrap("the old output is now at " + aside);
  }
  return files.RemoveTree(aside);
}

Status WriteFiles(const FileSystem& files, const std::string& directory, const Bundle& bundle) {
  ESPALIER_RETURN_IF_ERROR(files.RemoveTree(directory));
  ESPALIER_RETURN_IF_ERROR(files.MakeDirectory(directory));
  for (const auto& [name, bytes] : bundle.files) {
    ESPALIER_RETURN_IF_ERROR(files.WriteAtomically(directory + "/" + name, bytes));
  }
  return {};
}

}  // namespace

template <typename T>
Result<std::string> WriteBundle(const FileSystem& files, ModelDocument document,
                                const NetworkShape& shape, const AlignedVector<T>& parameters,
                                const std::vector<HistoryRow>& history, const std::string& writer) {
  OutputSpec output = document.job.output;
  while (output.path.size() > 1 && output.path.back() == '/') output.path.pop_back();
  const Bundle bundle =
      MakeBundle(std::move(document), Tensors(shape), parameters.data(),
                 sizeof(T) == 8 ? ElementType::kFloat64 : ElementType::kFloat32, history);
  const std::string temporary = output.path + ".writing-" + writer;
  Status written = WriteFiles(files, temporary, bundle);
  if (written.ok()) written = PutInPlace(files, temporary, output, writer);
  if (!written.ok()) {
    const Status cleaned = files.RemoveTree(temporary);
    return written.Wrap("the model is trained, but its bundle could not be written to " +
                        output.path +
                        (cleaned.ok() ? "" : "; what was written lies in " + temporary));
  }
  return bundle.weights_sha256;
}

template Result<std::string> WriteBundle<float>(const FileSystem&, ModelDocument,
                                                const NetworkShape&, const AlignedVector<float>&,
                                                const std::vector<HistoryRow>&, const std::string&);
template Result<std::string> WriteBundle<double>(const FileSystem&, ModelDocument,
                                                 const NetworkShape&, const AlignedVector<double>&,
                                                 const std::vector<HistoryRow>&,
                                                 const std::string&);

}  // namespace espalier
