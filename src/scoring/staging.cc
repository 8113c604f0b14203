#include "src/scoring/staging.h"

#include "src/base/checksum.h"
#include "src/base/text.h"

namespace espalier {
namespace {

constexpr const char* kWhole = "/whole";
constexpr const char* kPlacing = "/placing";
constexpr const char* kPlaced = "/placed";
constexpr const char* kReplaced = "/replaced";
constexpr size_t kIdDigits = 16;

Result<bool> IsThere(const FileSystem& files, const std::string& path) {
  const Result<FileInfo> found = files.Stat(path);
  if (found.ok()) return true;
  if (found.status().code() == StatusCode::kNotFound) return false;
  return found.status();
}

// Whether what stands at the output was put there by this job: that was seen before, or the last
// rename was begun, and what it moves is not where it was.
Result<bool> IsPlaced(const FileSystem& files, const std::string& output,
                      const std::string& staging) {
  ESPALIER_ASSIGN_OR_RETURN(const bool seen, IsThere(files, staging + kPlaced));
  if (seen) return IsThere(files, output);
  ESPALIER_ASSIGN_OR_RETURN(const bool begun, IsThere(files, staging + kPlacing));
  if (!begun) return false;
  ESPALIER_ASSIGN_OR_RETURN(const bool whole, IsThere(files, staging + kWhole));
  return whole ? Result<bool>(false) : IsThere(files, output);
}

Status MoveParts(const FileSystem& files, const std::string& from, const std::string& to,
                 int64_t shard, int64_t shards, int64_t parts, PartFormat format) {
  for (int64_t piece = 0; piece < parts; ++piece) {
    const std::string name = PartName(shard, shards, piece, format);
    const Status moved = files.Rename(from + "/" + name, to + "/" + name);
    if (!moved.ok()) return moved.Wrap("the predictions cannot be put together");
  }
  return {};
}

Status PutTogether(const FileSystem& files, const PredictSpec& spec, const std::string& staging,
                   const std::vector<ShardScore>& shards) {
  const std::string whole = staging + kWhole;
  ESPALIER_RETURN_IF_ERROR(files.RemoveTree(whole));
  ESPALIER_RETURN_IF_ERROR(files.MakeDirectory(whole));
  const auto count = static_cast<int64_t>(shards.size());
  bool rejects = false;
  for (int64_t i = 0; i < count; ++i) {
    const ShardScore& shard = shards[static_cast<size_t>(i)];
    const std::string from = PartsDirectory(staging, shard.generation);
    ESPALIER_RETURN_IF_ERROR(MoveParts(files, from, whole, i, count, shard.parts, spec.format));
    if (shard.reject_parts == 0) continue;
    const std::string below = std::string("/") + kRejectsDirectory;
    if (!rejects) ESPALIER_RETURN_IF_ERROR(files.MakeDirectory(whole + below));
    rejects = true;
    ESPALIER_RETURN_IF_ERROR(MoveParts(files, from + below, whole + below, i, count,
                                       shard.reject_parts, PartFormat::kCsv));
  }
  return EndPredictions(files, whole);
}

}  // namespace

std::string StagingDirectory(const std::string& output, const std::string& request_id) {
  std::string path = output;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const size_t slash = path.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, name) + "." + path.substr(name) + ".scoring-" +
         Sha256Hex(request_id).substr(0, kIdDigits);
}

std::string PartsDirectory(const std::string& staging, uint64_t generation) {
  return staging + "/g" + std::to_string(generation);
}

Status PutPredictions(const FileSystem& files, const PredictSpec& spec, const std::string& staging,
                      const std::vector<ShardScore>& shards) {
  ESPALIER_ASSIGN_OR_RETURN(const bool placed, IsPlaced(files, spec.output, staging));
  // What `placing` says holds for the `whole` of that time alone.
  ESPALIER_RETURN_IF_ERROR(placed ? files.WriteAtomically(staging + kPlaced, "")
                                  : files.RemoveTree(staging + kPlacing));
  ESPALIER_RETURN_IF_ERROR(PutTogether(files, spec, staging, shards));
  ESPALIER_RETURN_IF_ERROR(CheckPredictions(files, spec.output, spec.overwrite || placed));
  ESPALIER_RETURN_IF_ERROR(files.WriteAtomically(staging + kPlacing, ""));
  ESPALIER_ASSIGN_OR_RETURN(const bool taken, IsThere(files, spec.output));
  ESPALIER_ASSIGN_OR_RETURN(const bool kept, IsThere(files, staging + kReplaced));
  if (taken && (placed || kept)) {
    ESPALIER_RETURN_IF_ERROR(files.RemoveTree(spec.output));
  } else if (taken) {
    ESPALIER_RETURN_IF_ERROR(files.Rename(spec.output, staging + kReplaced));
  }
  return files.Rename(staging + kWhole, spec.output);
}

Status RemoveStaging(const FileSystem& files, const std::string& output, const std::string& staging,
                     bool succeeded) {
  if (!succeeded) {
    ESPALIER_ASSIGN_OR_RETURN(const bool placed, IsPlaced(files, output, staging));
    if (placed) ESPALIER_RETURN_IF_ERROR(files.RemoveTree(output));
    ESPALIER_ASSIGN_OR_RETURN(const bool kept, IsThere(files, staging + kReplaced));
    ESPALIER_ASSIGN_OR_RETURN(const bool taken, IsThere(files, output));
    if (kept && !taken) ESPALIER_RETURN_IF_ERROR(files.Rename(staging + kReplaced, output));
  }
  return files.RemoveTree(staging);
}

}  // namespace espalier
