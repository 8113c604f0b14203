#include "src/scoring/staging.h"

#include <algorithm>

#include "src/base/checksum.h"
#include "src/base/text.h"

namespace espalier {
namespace {

constexpr const char* kWhole = "/whole";
constexpr const char* kPlacing = "/placing";
constexpr const char* kPlaced = "/placed";
constexpr const char* kFilling = "/filling";
constexpr const char* kReplaced = "/replaced";
constexpr const char* kEmptied = "/emptied";
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

// Moves what predictions have written from one directory into another, which has nothing of that
// name. While _SUCCESS is there all else must be: it goes first from where it is, and comes last.
Status MoveFiles(const FileSystem& files, const std::string& from, const std::string& to,
                 bool success_first, const std::function<Status()>& before_last) {
  ESPALIER_ASSIGN_OR_RETURN(std::vector<std::string> names, files.Names(from));
  std::erase_if(names, [](const std::string& name) { return !IsPredictionName(name); });
  std::stable_partition(names.begin(), names.end(), [success_first](const std::string& name) {
    return (name == kSuccessFile) == success_first;
  });
  for (const std::string& name : names) {
    if (name == kSuccessFile && before_last) ESPALIER_RETURN_IF_ERROR(before_last());
    ESPALIER_RETURN_IF_ERROR(files.Rename(from + "/" + name, to + "/" + name));
  }
  return {};
}

// The output is a directory that stands already, and stays.
Status Fill(const FileSystem& files, const std::string& output, const std::string& staging,
            const std::function<Status()>& check_wanted) {
  ESPALIER_RETURN_IF_ERROR(files.WriteAtomically(staging + kFilling, ""));
  ESPALIER_ASSIGN_OR_RETURN(const bool emptied, IsThere(files, staging + kEmptied));
  if (emptied) {  // what an earlier life has moved in
    ESPALIER_RETURN_IF_ERROR(DropPredictions(files, output, false));
  } else {
    ESPALIER_RETURN_IF_ERROR(files.MakeDirectory(staging + kReplaced));
    ESPALIER_RETURN_IF_ERROR(MoveFiles(files, output, staging + kReplaced, true, {}));
    ESPALIER_RETURN_IF_ERROR(files.WriteAtomically(staging + kEmptied, ""));
  }
  return MoveFiles(files, staging + kWhole, output, false, check_wanted);
}

// What was in the output before comes back. `emptied` goes before it does: then all that is there
// is not this job's.
Status UndoFilling(const FileSystem& files, const std::string& output, const std::string& staging) {
  ESPALIER_ASSIGN_OR_RETURN(const bool emptied, IsThere(files, staging + kEmptied));
  if (emptied) {
    ESPALIER_RETURN_IF_ERROR(DropPredictions(files, output, false));
    ESPALIER_RETURN_IF_ERROR(files.Delete(staging + kEmptied));
  }
  ESPALIER_ASSIGN_OR_RETURN(const bool kept, IsThere(files, staging + kReplaced));
  return kept ? MoveFiles(files, staging + kReplaced, output, false, {}) : Status();
}

// By one rename the output is gone, and IsPlaced says so.
Status UndoPlacing(const FileSystem& files, const std::string& output, const std::string& staging) {
  ESPALIER_RETURN_IF_ERROR(files.RemoveTree(staging + kWhole));
  ESPALIER_RETURN_IF_ERROR(files.RemoveTree(staging + kPlaced));
  return files.Rename(output, staging + kWhole);
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
                      const std::vector<ShardScore>& shards, const std::function<bool()>& wanted) {
  const auto check_wanted = [&]() -> Status {
    return !wanted || wanted() ? Status() : Cancelled("the job is over, nobody wants its output");
  };
  ESPALIER_RETURN_IF_ERROR(check_wanted());
  ESPALIER_ASSIGN_OR_RETURN(const bool filling, IsThere(files, staging + kFilling));
  ESPALIER_ASSIGN_OR_RETURN(const bool placed, IsPlaced(files, spec.output, staging));
  // What `placing` says holds for the `whole` of that time alone.
  ESPALIER_RETURN_IF_ERROR(placed ? files.WriteAtomically(staging + kPlaced, "")
                                  : files.RemoveTree(staging + kPlacing));
  ESPALIER_RETURN_IF_ERROR(PutTogether(files, spec, staging, shards));
  ESPALIER_RETURN_IF_ERROR(
      CheckPredictions(files, spec.output, spec.overwrite || placed || filling));
  ESPALIER_RETURN_IF_ERROR(check_wanted());
  ESPALIER_ASSIGN_OR_RETURN(const bool taken, IsThere(files, spec.output));
  if (filling || (taken && !placed)) return Fill(files, spec.output, staging, check_wanted);
  ESPALIER_RETURN_IF_ERROR(files.WriteAtomically(staging + kPlacing, ""));
  if (taken) ESPALIER_RETURN_IF_ERROR(files.RemoveTree(spec.output));  // this job's
  ESPALIER_RETURN_IF_ERROR(check_wanted());
  return files.Rename(staging + kWhole, spec.output);
}

Status ProbeStaging(const FileSystem& files, const std::string& output,
                    const std::string& staging) {
  ESPALIER_ASSIGN_OR_RETURN(const bool stands, IsThere(files, output));
  if (!stands) return {};
  const std::string probe = staging + "/probe";
  const std::string moved = output + "/." + kSuccessFile + ".tmp-probe";
  ESPALIER_RETURN_IF_ERROR(files.MakeDirectory(staging));
  Status done = files.WriteAtomically(probe, "");
  if (done.ok()) done = files.Rename(probe, moved);
  const Status removed = files.RemoveTree(moved);
  const Status cleared = files.RemoveTree(staging);
  if (!done.ok()) {
    return done.Wrap("output: files that are written beside " + QuotedPath(output) +
                     " cannot be moved into it; name a directory that is not there yet");
  }
  return removed.ok() ? cleared : removed;
}

Status RemoveStaging(const FileSystem& files, const std::string& output, const std::string& staging,
                     bool succeeded) {
  if (!succeeded) {
    ESPALIER_ASSIGN_OR_RETURN(const bool filling, IsThere(files, staging + kFilling));
    ESPALIER_ASSIGN_OR_RETURN(const bool placed, IsPlaced(files, output, staging));
    if (filling) ESPALIER_RETURN_IF_ERROR(UndoFilling(files, output, staging));
    if (placed) ESPALIER_RETURN_IF_ERROR(UndoPlacing(files, output, staging));
    // First what says that the output is this job's: by the next try it may be another's.
    for (const char* marker : {kFilling, kPlacing}) {
      ESPALIER_RETURN_IF_ERROR(files.RemoveTree(staging + marker));
    }
  }
  return files.RemoveTree(staging);
}

}  // namespace espalier
