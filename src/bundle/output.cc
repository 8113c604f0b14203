#include "src/bundle/output.h"

#include <algorithm>
#include <string>

#include "src/base/text.h"
#include "src/bundle/bundle.h"

namespace espalier {

Status CheckOutput(const FileSystem& files, const OutputSpec& output) {
  const Result<FileInfo> found = files.Stat(output.path);
  if (!found.ok()) {
    if (found.status().code() == StatusCode::kNotFound) return Status::Ok();
    return found.status().Wrap("output");
  }
  if (!output.overwrite) {
    return AlreadyExists("output: " + output.path +
                         " exists already; name another place, or replace it with output: {path: " +
                         output.path + ", overwrite: true}");
  }
  const std::string mend = "; overwrite replaces only a bundle: name another place for the output";
  if (!found->is_directory) return InvalidArgument("output: " + output.path + " is a file" + mend);
  ESPALIER_ASSIGN_OR_RETURN(const auto names, files.Names(output.path));
  for (const std::string& name : names) {
    const bool ours =
        name == kWeightsFile || name == kModelFile || name == kHistoryFile || name == kReadmeFile;
    if (!ours) {
      return InvalidArgument("output: " + output.path + " holds '" + Printable(name) +
                             "', which is no part of a bundle" + mend);
    }
  }
  const bool is_bundle = std::find(names.begin(), names.end(), kModelFile) != names.end();
  if (!names.empty() && !is_bundle) {
    return InvalidArgument("output: " + output.path + " holds no " + kModelFile +
                           ", so it is no bundle" + mend);
  }
  return Status::Ok();
}

}  // namespace espalier
