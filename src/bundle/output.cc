#include "src/bundle/output.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/bundle/model_json.h"
#include "src/storage/uri.h"

namespace espalier {
namespace {

constexpr std::string_view kWriting = ".writing-", kReplaced = ".replaced-";

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// Letters and digits; all else as '_'.
std::string PlainText(std::string text) {
  for (char& c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain) c = '_';
  }
  return text;
}

// Removes what superseded writers left beside the output; `of_this_job`: no other job's. That it
// cannot be removed costs nobody a trained model.
void RemoveLeftovers(const FileSystem& files, const std::string& output, std::string_view marker,
                     bool of_this_job, const WriterName& writer) {
  const size_t slash = output.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : output.substr(0, slash + 1);
  const std::string beginning =
      output.substr(slash == std::string::npos ? 0 : slash + 1) + std::string(marker);
  auto names = files.Names(parent);
  if (!names.ok()) {
    if (names.status().code() != StatusCode::kNotFound) LogWarning(names.status().ToString());
    return;
  }
  for (const std::string& name : *names) {
    if (!name.starts_with(beginning)) continue;
    const auto its = FindWriter(name, marker);
    if (!its || !writer.Supersedes(*its) || (of_this_job && its->job != writer.job)) continue;
    const Status removed = files.RemoveTree(output + name.substr(beginning.size() - marker.size()));
    if (!removed.ok()) LogWarning(removed.ToString());
  }
}

// Whether the bundle stands there already: the same weights where nothing could have stood, the
// same model where something else could.
bool IsInPlace(const FileSystem& files, const Bundle& bundle, const OutputSpec& output) {
  const auto model = files.ReadAll(output.path + "/" + kModelFile, kModelJsonBytesMax);
  if (!model.ok()) return false;
  const auto weights = files.Stat(output.path + "/" + kWeightsFile);
  const auto wanted = static_cast<int64_t>(bundle.files.at(kWeightsFile).size());
  if (!weights.ok() || weights->length != wanted) return false;
  if (output.overwrite) return *model == bundle.files.at(kModelFile);
  const auto document = DecodeModelJson(*model);
  return document.ok() && document->weights_sha256 == bundle.weights_sha256;
}

Status WriteFiles(const FileSystem& files, const std::string& directory, const Bundle& bundle) {
  ESPALIER_RETURN_IF_ERROR(files.RemoveTree(directory));
  ESPALIER_RETURN_IF_ERROR(files.MakeDirectory(directory));
  for (const auto& [name, bytes] : bundle.files) {
    ESPALIER_RETURN_IF_ERROR(files.WriteAtomically(directory + "/" + name, bytes));
  }
  return {};
}

// Moves `temporary` to the output; a bundle that it replaces goes to `aside` and comes back when
// that fails.
Status PutInPlace(const FileSystem& files, const std::string& temporary, const std::string& aside,
                  const OutputSpec& output) {
  ESPALIER_RETURN_IF_ERROR(CheckOutput(files, output));
  if (!files.Stat(output.path).ok()) return files.Rename(temporary, output.path);
  ESPALIER_RETURN_IF_ERROR(files.RemoveTree(aside));
  ESPALIER_RETURN_IF_ERROR(files.Rename(output.path, aside));
  if (Status s = files.Rename(temporary, output.path); !s.ok()) {
    const Status back = files.Rename(aside, output.path);
    return back.ok() ? s : s.Wrap("the old output is now at " + aside);
  }
  return {};
}

}  // namespace

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
    const bool ours = name == kWeightsFile || name == kModelFile || name == kHistoryFile ||
                      name == kReadmeFile || name == kOnnxFile;
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

Status ProbeOutput(const FileSystem& files, const OutputSpec& output, const std::string& who) {
  ESPALIER_ASSIGN_OR_RETURN(const Uri uri, ParseUri(output.path));
  const std::string path = WithoutSlashes(uri.path);
  const size_t slash = path.rfind('/');
  const std::string parent =
      slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
  if (Status s = files.MakeDirectory(uri.prefix + parent); !s.ok()) return s.Wrap("output");
  const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  std::string probe = "." + name + ".probe-" + PlainText(who);
  probe.resize(name.size() + kNameBytesAdded, '_');
  probe = uri.prefix + parent + (parent == "/" ? "" : "/") + probe;
  Status done = files.MakeDirectory(probe);
  if (done.ok()) {
    done = files.WriteAtomically(probe + "/" + kWeightsFile, "probe\n");
    const Status removed = files.RemoveTree(probe);
    if (done.ok()) return removed.ok() ? removed : removed.Wrap("output");
  }
  if (done.code() != StatusCode::kInvalidArgument) {
    return done.Wrap("output: the coordinator cannot write to " + uri.prefix + parent);
  }
  return done.Wrap("output: a job makes names beside " + output.path +
                   " that are its name and up to " + std::to_string(kNameBytesAdded) +
                   " bytes more, and they cannot be made: choose another name for it");
}

Status PutBundle(const FileSystem& files, const Bundle& bundle, const OutputSpec& spec,
                 const WriterName& writer) {
  const OutputSpec output = {WithoutSlashes(spec.path), spec.overwrite};
  const std::string temporary = output.path + std::string(kWriting) + writer.Text();
  const std::string aside = output.path + std::string(kReplaced) + writer.Text();
  RemoveLeftovers(files, output.path, kWriting, false, writer);
  Status done;
  if (!IsInPlace(files, bundle, output)) {
    done = WriteFiles(files, temporary, bundle);
    if (done.ok()) done = PutInPlace(files, temporary, aside, output);
    // Another writer of this job may have been faster: its bundle is this one.
    if (!done.ok() && IsInPlace(files, bundle, output)) done = files.RemoveTree(temporary);
  }
  if (done.ok()) {
    RemoveLeftovers(files, output.path, kReplaced, true, writer);
    return {};
  }
  const Status cleaned = files.RemoveTree(temporary);
  return done.Wrap("the model is trained, but its bundle could not be written to " + output.path +
                   (cleaned.ok() ? "" : "; what was written lies in " + temporary));
}

}  // namespace espalier
