#include "src/scoring/staging.h"

#include <algorithm>

#include "src/base/checksum.h"
#include "src/base/text.h"

namespace espalier::scoring {
namespace {

constexpr const char* kWhole = "/whole";
constexpr const char* kSuccess = "/success";
constexpr const char* kReplaced = "/replaced";
constexpr const char* kEmptied = "/emptied";
constexpr size_t kIdDigits = 16;
constexpr int64_t kTimeBytesMax = 32;
constexpr int kTimeTries = 2000;  // a file system with a coarse clock takes some hundred

using Check = std::function<Status()>;

Result<bool> IsThere(const storage::FileSystem& files, const std::string& path) {
  const Result<storage::FileInfo> found = files.Stat(path);
  if (found.ok()) return true;
  if (found.status().code() == StatusCode::kNotFound) return false;
  return found.status();
}

std::string MarkOf(const std::string& staging) {
  return kFillingMark + staging.substr(staging.rfind('-') + 1);
}

// Creates the mark. If it exists, writes nothing, because an undo must work without free space.
Status PutMark(const storage::FileSystem& files, const std::string& output,
               const std::string& staging) {
  const std::string mark = output + "/" + MarkOf(staging);
  ESPALIER_ASSIGN_OR_RETURN(const bool there, IsThere(files, mark));
  return there ? Status() : files.WriteAtomically(mark, "");
}

// Returns the time at which the file was written, as text. Renaming does not change it. Returns ""
// if the file does not exist.
Result<std::string> TimeOf(const storage::FileSystem& files, const std::string& path) {
  const Result<storage::FileInfo> found = files.Stat(path);
  if (found.ok()) return std::to_string(found->modified_ms);
  if (found.status().code() == StatusCode::kNotFound) return std::string();
  return found.status();
}

// Returns the path of this job's _SUCCESS until it is moved into the output.
std::string SuccessOf(const std::string& staging) { return staging + kWhole + "/" + kSuccessFile; }

// The owner of the output, as the output itself shows it. The staging directory may be old, and
// another user may own the place by now.
enum class Standing {
  kOther,   // another owner, or no output
  kFilled,  // an earlier directory, which this job has begun to fill
  kPlaced,  // this job's own directory
};

Result<Standing> StandingOf(const storage::FileSystem& files, const std::string& output,
                            const std::string& staging) {
  const Result<storage::FileInfo> found = files.Stat(output);
  if (found.status().code() == StatusCode::kNotFound) return Standing::kOther;
  ESPALIER_RETURN_IF_ERROR(found.status());
  if (!found->is_directory) return Standing::kOther;
  ESPALIER_ASSIGN_OR_RETURN(const bool marked, IsThere(files, output + "/" + MarkOf(staging)));
  if (marked) return Standing::kFilled;
  const Result<std::string> written = files.ReadAll(staging + kSuccess, kTimeBytesMax);
  if (written.status().code() == StatusCode::kNotFound) return Standing::kOther;
  ESPALIER_RETURN_IF_ERROR(written.status());
  ESPALIER_ASSIGN_OR_RETURN(const std::string there, TimeOf(files, output + "/" + kSuccessFile));
  if (there.empty() || there != *written) return Standing::kOther;
  // Another job's file may have been written in the same millisecond.
  ESPALIER_ASSIGN_OR_RETURN(const bool unmoved, IsThere(files, SuccessOf(staging)));
  if (unmoved) return Standing::kOther;
  ESPALIER_ASSIGN_OR_RETURN(const bool emptied, IsThere(files, staging + kEmptied));
  return emptied ? Standing::kFilled : Standing::kPlaced;
}

Status MoveParts(const storage::FileSystem& files, const std::string& from, const std::string& to,
                 int64_t shard, int64_t shards, int64_t parts, spec::PartFormat format,
                 const Check& check_wanted) {
  for (int64_t piece = 0; piece < parts; ++piece) {
    ESPALIER_RETURN_IF_ERROR(check_wanted());
    const std::string name = PartName(shard, shards, piece, format);
    const Status moved = files.Rename(from + "/" + name, to + "/" + name);
    if (!moved.ok()) return moved.Wrap("the predictions cannot be put together");
  }
  return {};
}

// Writes _SUCCESS and keeps its time, which it returns.
Result<std::string> WriteSuccess(const storage::FileSystem& files, const std::string& staging) {
  ESPALIER_RETURN_IF_ERROR(EndPredictions(files, staging + kWhole));
  ESPALIER_ASSIGN_OR_RETURN(const std::string written, TimeOf(files, SuccessOf(staging)));
  ESPALIER_RETURN_IF_ERROR(files.WriteAtomically(staging + kSuccess, written));
  return written;
}

// Gives _SUCCESS another time than that of the output it replaces, because the time shows the owner
// of the output.
Status DifferFromReplaced(const storage::FileSystem& files, const std::string& output,
                          const std::string& staging, const Check& check_wanted) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string before,
                            TimeOf(files, staging + kReplaced + "/" + kSuccessFile));
  ESPALIER_ASSIGN_OR_RETURN(std::string written, TimeOf(files, SuccessOf(staging)));
  for (int i = 0; !written.empty() && written == before; ++i) {
    if (i == kTimeTries) {
      return Unavailable("two files that were written to " + QuotedPath(output) +
                         " one after another have the same time (found " + before +
                         " ms twice, expected a clock that advances). Write to a new directory");
    }
    ESPALIER_RETURN_IF_ERROR(check_wanted());
    ESPALIER_ASSIGN_OR_RETURN(written, WriteSuccess(files, staging));
  }
  return {};
}

Status PutTogether(const storage::FileSystem& files, const PredictSpec& spec,
                   const std::string& staging, const std::vector<spec::ShardScore>& shards,
                   const Check& check_wanted) {
  const std::string whole = staging + kWhole;
  ESPALIER_RETURN_IF_ERROR(files.RemoveTree(staging + kSuccess));
  ESPALIER_RETURN_IF_ERROR(files.RemoveTree(whole));
  ESPALIER_RETURN_IF_ERROR(files.MakeDirectory(whole));
  const auto count = static_cast<int64_t>(shards.size());
  bool rejects = false;
  for (int64_t i = 0; i < count; ++i) {
    const spec::ShardScore& shard = shards[static_cast<size_t>(i)];
    const auto& written = std::get<spec::PredictedShard>(shard.work);
    const std::string from = PartsDirectory(staging, shard.generation);
    ESPALIER_RETURN_IF_ERROR(
        MoveParts(files, from, whole, i, count, written.parts, spec.format, check_wanted));
    if (written.reject_parts == 0) continue;
    const std::string below = std::string("/") + kRejectsDirectory;
    if (!rejects) ESPALIER_RETURN_IF_ERROR(files.MakeDirectory(whole + below));
    rejects = true;
    ESPALIER_RETURN_IF_ERROR(MoveParts(files, from + below, whole + below, i, count,
                                       written.reject_parts, spec::PartFormat::kCsv, check_wanted));
  }
  return WriteSuccess(files, staging).status();
}

// Moves the files of predictions, except the mark, from one directory to another, which has no
// files with these names. _SUCCESS moves first out of the output and last into it, because while it
// exists, all other files must exist.
Status MoveFiles(const storage::FileSystem& files, const std::string& from, const std::string& to,
                 bool success_first, const std::string& mark, const Check& check_wanted) {
  ESPALIER_ASSIGN_OR_RETURN(std::vector<std::string> names, files.Names(from));
  std::erase_if(names,
                [&](const std::string& name) { return !IsPredictionName(name) || name == mark; });
  std::stable_partition(names.begin(), names.end(), [success_first](const std::string& name) {
    return (name == kSuccessFile) == success_first;
  });
  for (const std::string& name : names) {
    ESPALIER_RETURN_IF_ERROR(check_wanted());
    const Status moved = files.Rename(from + "/" + name, to + "/" + name);
    // A probe belongs to a submission that is being checked, and may disappear at any moment.
    const bool gone = moved.code() == StatusCode::kNotFound && name.starts_with(kProbeName);
    if (!moved.ok() && !gone) return moved;
  }
  return {};
}

// Fills an existing directory, which remains. The mark exists before anything in it changes, and
// until _SUCCESS takes its place.
Status Fill(const storage::FileSystem& files, const std::string& output, const std::string& staging,
            const Check& check_wanted) {
  const std::string mark = MarkOf(staging);
  ESPALIER_RETURN_IF_ERROR(PutMark(files, output, staging));
  ESPALIER_ASSIGN_OR_RETURN(const bool emptied, IsThere(files, staging + kEmptied));
  if (emptied) {  // files that an earlier run has moved in
    ESPALIER_RETURN_IF_ERROR(DropPredictions(files, output, false, mark));
  } else {
    ESPALIER_RETURN_IF_ERROR(files.MakeDirectory(staging + kReplaced));
    ESPALIER_RETURN_IF_ERROR(
        MoveFiles(files, output, staging + kReplaced, true, mark, check_wanted));
    ESPALIER_RETURN_IF_ERROR(files.WriteAtomically(staging + kEmptied, ""));
  }
  ESPALIER_RETURN_IF_ERROR(DifferFromReplaced(files, output, staging, check_wanted));
  ESPALIER_RETURN_IF_ERROR(MoveFiles(files, staging + kWhole, output, false, mark, check_wanted));
  return files.RemoveTree(output + "/" + mark);
}

// Restores the previous content of the output. `emptied` is removed first, so that from then on no
// content counts as this job's. The mark is removed when everything is restored.
Status UndoFilling(const storage::FileSystem& files, const std::string& output,
                   const std::string& staging) {
  const std::string mark = MarkOf(staging);
  ESPALIER_RETURN_IF_ERROR(PutMark(files, output, staging));
  ESPALIER_ASSIGN_OR_RETURN(const bool emptied, IsThere(files, staging + kEmptied));
  if (emptied) {
    ESPALIER_RETURN_IF_ERROR(DropPredictions(files, output, false, mark));
    ESPALIER_RETURN_IF_ERROR(files.Delete(staging + kEmptied));
  }
  ESPALIER_ASSIGN_OR_RETURN(const bool kept, IsThere(files, staging + kReplaced));
  if (kept) {
    ESPALIER_RETURN_IF_ERROR(
        MoveFiles(files, staging + kReplaced, output, false, mark, [] { return Status(); }));
  }
  return files.RemoveTree(output + "/" + mark);
}

// Removes the output with one rename.
Status UndoPlacing(const storage::FileSystem& files, const std::string& output,
                   const std::string& staging) {
  ESPALIER_RETURN_IF_ERROR(files.RemoveTree(staging + kWhole));
  return files.Rename(output, staging + kWhole);
}

// Handles an output that this job had emptied and that was then moved to another place: restores
// the previous content as a directory with that name.
Status PutBack(const storage::FileSystem& files, const std::string& output,
               const std::string& staging) {
  ESPALIER_ASSIGN_OR_RETURN(const bool stands, IsThere(files, output));
  ESPALIER_ASSIGN_OR_RETURN(const bool emptied, IsThere(files, staging + kEmptied));
  ESPALIER_ASSIGN_OR_RETURN(const bool kept, IsThere(files, staging + kReplaced));
  if (stands || !emptied || !kept) return {};
  return files.Rename(staging + kReplaced, output);
}

// Checks for another job that fills the output and has moved this job's mark to its own staging. It
// may still put the mark back, and with it the content that this job must restore.
Status CheckOthers(const storage::FileSystem& files, const std::string& output,
                   const std::string& staging) {
  ESPALIER_ASSIGN_OR_RETURN(const bool kept, IsThere(files, staging + kReplaced));
  if (!kept) return {};
  const Result<std::vector<std::string>> names = files.Names(output);
  if (names.status().code() == StatusCode::kNotFound) return {};
  ESPALIER_RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    if (!name.starts_with(kFillingMark)) continue;
    return ResourceExhausted("another job is filling " + QuotedPath(output) + " (its mark is '" +
                             Printable(name) + "')");
  }
  return {};
}

// Prepares the output for a repetition, given the changes of an earlier run.
Status ResumeAt(const storage::FileSystem& files, const std::string& output,
                const std::string& staging, Standing standing) {
  if (standing == Standing::kPlaced) return UndoPlacing(files, output, staging);
  if (standing == Standing::kFilled) {  // the new _SUCCESS will have another time
    return PutMark(files, output, staging);
  }
  ESPALIER_RETURN_IF_ERROR(PutBack(files, output, staging));
  // The remaining files belong to an output that another user has replaced since.
  ESPALIER_RETURN_IF_ERROR(files.RemoveTree(staging + kEmptied));
  return files.RemoveTree(staging + kReplaced);
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

Status PutPredictions(const storage::FileSystem& files, const PredictSpec& spec,
                      const std::string& staging, const std::vector<spec::ShardScore>& shards,
                      const std::function<bool()>& wanted) {
  const Check check_wanted = [&]() -> Status {
    return !wanted || wanted() ? Status()
                               : Cancelled("the job has ended, and its output is not needed");
  };
  ESPALIER_RETURN_IF_ERROR(check_wanted());
  ESPALIER_ASSIGN_OR_RETURN(const Standing standing, StandingOf(files, spec.output, staging));
  ESPALIER_RETURN_IF_ERROR(ResumeAt(files, spec.output, staging, standing));
  ESPALIER_RETURN_IF_ERROR(PutTogether(files, spec, staging, shards, check_wanted));
  const bool filled = standing == Standing::kFilled;
  ESPALIER_RETURN_IF_ERROR(CheckPredictions(files, spec.output, spec.overwrite || filled));
  ESPALIER_ASSIGN_OR_RETURN(const bool taken, IsThere(files, spec.output));
  ESPALIER_RETURN_IF_ERROR(check_wanted());
  if (taken) return Fill(files, spec.output, staging, check_wanted);
  return files.Rename(staging + kWhole, spec.output);
}

Status ProbeStaging(const storage::FileSystem& files, const std::string& output,
                    const std::string& staging, const std::string& who) {
  ESPALIER_ASSIGN_OR_RETURN(const bool stands, IsThere(files, output));
  if (!stands) return {};
  const std::string beside = staging + "-probe-" + who;
  const std::string probe = beside + "/probe";
  const std::string moved = output + "/" + kProbeName + who;
  Status done = files.MakeDirectory(beside);
  if (done.ok()) done = files.WriteAtomically(probe, "");
  if (done.ok()) done = files.Rename(probe, moved);
  const Status removed = files.RemoveTree(moved);
  const Status cleared = files.RemoveTree(beside);
  if (!done.ok()) {
    return done.Wrap("output: files that are written next to " + QuotedPath(output) +
                     " cannot be moved into it; name a directory that does not exist yet");
  }
  return removed.ok() ? cleared : removed;
}

Status RemoveStaging(const storage::FileSystem& files, const std::string& output,
                     const std::string& staging, bool succeeded) {
  if (!succeeded) {
    ESPALIER_ASSIGN_OR_RETURN(const Standing standing, StandingOf(files, output, staging));
    if (standing == Standing::kFilled) {
      ESPALIER_RETURN_IF_ERROR(UndoFilling(files, output, staging));
    } else if (standing == Standing::kPlaced) {
      ESPALIER_RETURN_IF_ERROR(UndoPlacing(files, output, staging));
    } else {
      ESPALIER_RETURN_IF_ERROR(PutBack(files, output, staging));
      ESPALIER_RETURN_IF_ERROR(CheckOthers(files, output, staging));
    }
  }
  return files.RemoveTree(staging);
}

}  // namespace espalier::scoring
