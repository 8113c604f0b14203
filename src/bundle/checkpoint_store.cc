#include "src/bundle/checkpoint_store.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>
#include <utility>

#include "src/base/text.h"

namespace espalier::bundle {
namespace {

constexpr std::string_view kPrefix = "step-", kSuffix = ".ckpt", kTemporary = ".tmp-";
constexpr size_t kStepDigits = 9;

// Returns the step in a checkpoint's name, or nothing for other names.
std::optional<int64_t> StepOf(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(std::min(kSuffix.size(), name.size()));
  int64_t step = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  const bool whole = error == std::errc() && end == name.data() + name.size() && step >= 0;
  return whole && name.size() >= kStepDigits ? std::optional(step) : std::nullopt;
}

bool IsLeftover(const std::string& name, const WriterName& writer) {
  const auto its = FindWriter(name, kTemporary);
  return name.starts_with("." + std::string(kPrefix)) && its && writer.Supersedes(*its);
}

// Returns the names in the directory, or none if it does not exist.
Result<std::vector<std::string>> NamesIn(const storage::FileSystem& files,
                                         const std::string& directory) {
  auto names = files.Names(directory);
  if (!names.ok() && names.status().code() == StatusCode::kNotFound) {
    return std::vector<std::string>();
  }
  return names;
}

// Returns the names of checkpoints by step, newest first.
Result<std::vector<std::string>> NewestFirst(const storage::FileSystem& files,
                                             const std::string& directory) {
  ESPALIER_ASSIGN_OR_RETURN(auto names, NamesIn(files, directory));
  std::erase_if(names, [](const std::string& n) { return !StepOf(n); });
  std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return *StepOf(a) > *StepOf(b);
  });
  return names;
}

// Returns exactly `bytes` bytes, or kDataLoss.
Result<std::string> ReadExactly(const storage::ReadableFile& file, size_t bytes) {
  std::string out(bytes, '\0');
  ESPALIER_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, out));
  if (got != bytes) {
    return DataLoss("it ends after " + std::to_string(got) + " of " + std::to_string(bytes) +
                    " bytes");
  }
  return out;
}

// Reads one file. Invalid content is kDataLoss.
Result<Checkpoint> ReadOne(const storage::FileSystem& files, const std::string& path,
                           const CheckpointDemand& demand, CheckpointPart part) {
  ESPALIER_ASSIGN_OR_RETURN(const auto file, files.Open(path));
  const auto length = static_cast<uint64_t>(file->info().length);
  const size_t prefix_bytes = std::min<uint64_t>(length, kCheckpointPrefixBytes);
  ESPALIER_ASSIGN_OR_RETURN(const std::string prefix, ReadExactly(*file, prefix_bytes));
  ESPALIER_ASSIGN_OR_RETURN(const CheckpointParts parts, ParseCheckpointPrefix(prefix, length));
  if (parts.state_bytes > demand.state_bytes_max) {
    return DataLoss("its state has " + HumanBytes(parts.state_bytes) + ", the job's has at most " +
                    HumanBytes(demand.state_bytes_max));
  }
  if (part == CheckpointPart::kAll) {
    ESPALIER_ASSIGN_OR_RETURN(std::string bytes, ReadExactly(*file, length));
    return DecodeCheckpoint(std::move(bytes));
  }
  const size_t front = kCheckpointPrefixBytes + parts.header_bytes + sizeof(uint32_t);
  ESPALIER_ASSIGN_OR_RETURN(const std::string bytes, ReadExactly(*file, front));
  Checkpoint checkpoint;
  ESPALIER_ASSIGN_OR_RETURN(checkpoint.header, ParseCheckpointHeader(bytes));
  return checkpoint;
}

// Returns whether the error concerns only this file, so that an older one may work. All other
// errors come from the file system.
bool IsItsOwnFault(const Status& status) {
  return status.code() == StatusCode::kDataLoss || status.code() == StatusCode::kBadInput ||
         status.code() == StatusCode::kFailedPrecondition;
}

// Returns the reason why no checkpoint is usable: the error of the newest one. A complete
// checkpoint that does not match is more informative than a damaged one.
Status NothingFits(const std::string& directory, const std::vector<Status>& faults) {
  if (faults.empty()) return NotFound("no checkpoint found in " + directory);
  const Status* told = &faults.front();
  for (const Status& f : faults) {
    if (f.code() != StatusCode::kFailedPrecondition) continue;
    told = &f;
    break;
  }
  const bool whole = told->code() == StatusCode::kFailedPrecondition;
  const std::string message = "no checkpoint in " + directory + " can be resumed (found " +
                              Counted(std::ssize(faults), "checkpoint") + "): ";
  return {whole ? StatusCode::kFailedPrecondition : StatusCode::kDataLoss,
          message + told->message()};
}

bool IsOfSameJob(const CheckpointHeader& its, const CheckpointHeader& mine) {
  return its.job == mine.job && its.data_fingerprint == mine.data_fingerprint &&
         its.arithmetic_id == mine.arithmetic_id && its.accepted == mine.accepted;
}

// Returns whether the file system did not answer, so that a later try may read the file.
bool IsOfFileSystem(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded;
}

// Returns whether a job that was submitted after the writer's has written the checkpoint.
bool IsOfLaterJob(const CheckpointHeader& its, const WriterName& writer) {
  const auto its_writer = FindWriter(std::string(kTemporary) + its.writer, kTemporary);
  return its_writer && !its_writer->IsOf(writer.job, writer.submitted_ms) &&
         its_writer->Supersedes(writer);
}

// Deletes a file. A missing one is not an error. Stores whether it is a directory, which stays.
Status RemoveFile(const storage::FileSystem& files, const std::string& path, bool* stays) {
  *stays = false;
  const Status removed = files.Delete(path);
  if (removed.ok() || removed.code() == StatusCode::kNotFound) return {};
  const auto found = files.Stat(path);
  *stays = found.ok() && found->is_directory;
  return *stays ? Status() : removed;
}

Status RemoveLeftovers(const storage::FileSystem& files, const std::string& directory,
                       const WriterName& writer) {
  ESPALIER_ASSIGN_OR_RETURN(const auto names, NamesIn(files, directory));
  bool stays = false;
  for (const std::string& name : names) {
    if (!IsLeftover(name, writer)) continue;
    ESPALIER_RETURN_IF_ERROR(RemoveFile(files, directory + "/" + name, &stays));
  }
  return {};
}

Status Prune(const storage::FileSystem& files, const std::string& directory,
             const CheckpointHeader& mine, int64_t keep, const WriterName& writer) {
  ESPALIER_ASSIGN_OR_RETURN(const auto names, NewestFirst(files, directory));
  if (static_cast<int64_t>(names.size()) <= keep) return {};
  const std::string own = CheckpointFileName(mine.step);
  std::vector<std::pair<int, std::string>> ranked;
  for (const std::string& name : names) {
    if (name == own) {
      ranked.emplace_back(0, name);
      continue;
    }
    const auto its = ReadOne(files, directory + "/" + name, {}, CheckpointPart::kHeader);
    if (IsOfFileSystem(its.status())) return its.status();
    if (its.ok() && IsOfLaterJob(its->header, writer)) continue;
    ranked.emplace_back(its.ok() && IsOfSameJob(its->header, mine) ? 1 : 2, name);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  bool stays = false;
  for (size_t i = static_cast<size_t>(keep); i < ranked.size(); ++i) {
    ESPALIER_RETURN_IF_ERROR(RemoveFile(files, directory + "/" + ranked[i].second, &stays));
  }
  return {};
}

// Returns an error if a later job has written a checkpoint at this path.
Status CheckReplaceable(const storage::FileSystem& files, const std::string& path,
                        const WriterName& writer) {
  const auto its = ReadOne(files, path, {}, CheckpointPart::kHeader);
  if (IsOfFileSystem(its.status())) return its.status();
  if (!its.ok() || !IsOfLaterJob(its->header, writer)) return {};
  return FailedPrecondition("a later job with the same output has written a checkpoint there (" +
                            Printable(its->header.writer) +
                            "). Give each job an output that no other job uses.");
}

}  // namespace

std::string CheckpointDirectory(std::string run) {
  while (run.size() > 1 && run.back() == '/') run.pop_back();
  return run.ends_with(kCheckpointsSuffix) ? run : run + kCheckpointsSuffix;
}

std::string CheckpointFileName(int64_t step) {
  std::string digits = std::to_string(step);
  digits.insert(0, kStepDigits - std::min(kStepDigits, digits.size()), '0');
  return std::string(kPrefix) + digits + std::string(kSuffix);
}

bool IsCheckpointFileName(std::string_view name) { return StepOf(name).has_value(); }

Result<FoundCheckpoint> FindCheckpoint(const storage::FileSystem& files,
                                       const std::string& directory, const CheckpointDemand& demand,
                                       CheckpointPart part) {
  ESPALIER_ASSIGN_OR_RETURN(const auto names, NewestFirst(files, directory));
  FoundCheckpoint found;
  std::vector<Status> faults;
  for (const std::string& name : names) {
    found.path = directory + "/" + name;
    auto read = ReadOne(files, found.path, demand, part);
    Status fault = read.status();
    if (fault.code() == StatusCode::kNotFound) continue;  // it was just removed
    if (fault.ok()) {
      auto accepted = AcceptedDifferences(read->header, demand);
      fault = accepted.status();
      if (fault.ok()) {
        found.checkpoint = *std::move(read);
        found.accepted = found.checkpoint.header.accepted;
        for (std::string& a : *accepted) found.accepted.push_back(std::move(a));
        return found;
      }
    }
    if (!IsItsOwnFault(fault)) return fault.Wrap("cannot read the checkpoint " + found.path);
    found.skipped.push_back(found.path + " is not used: " + fault.message());
    faults.push_back(Status(fault.code(), found.path + ": " + fault.message()));
  }
  return NothingFits(directory, faults);
}

Result<std::string> WriteCheckpoint(const storage::FileSystem& files, const std::string& directory,
                                    const CheckpointHeader& header, std::string_view state,
                                    int64_t keep, const WriterName& writer) {
  const std::string path = directory + "/" + CheckpointFileName(header.step);
  CheckpointHeader whole = header;
  whole.writer = writer.Text();
  Status done = files.MakeDirectory(directory);
  if (done.ok()) done = RemoveLeftovers(files, directory, writer);
  if (done.ok()) done = CheckReplaceable(files, path, writer);
  if (done.ok()) {
    done = files.WriteAtomically(path, EncodeCheckpoint(whole, state), writer.Text());
  }
  if (!done.ok()) return done.Wrap("the checkpoint " + path + " could not be written");
  if (const Status pruned = Prune(files, directory, header, keep, writer); !pruned.ok()) {
    return pruned.Wrap("the checkpoint " + path +
                       " is written, but older ones could not be removed");
  }
  return path;
}

Status RemoveUncompared(const storage::FileSystem& files, const std::string& directory) {
  ESPALIER_ASSIGN_OR_RETURN(const auto names, NewestFirst(files, directory));
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    const auto read = ReadOne(files, path, {}, CheckpointPart::kHeader);
    const Status& why = read.status();
    if (why.code() == StatusCode::kNotFound || IsItsOwnFault(why)) continue;
    ESPALIER_RETURN_IF_ERROR(why);
    bool stays = false;
    if (!read->header.compared) ESPALIER_RETURN_IF_ERROR(RemoveFile(files, path, &stays));
  }
  return {};
}

Status RemoveCheckpoints(const storage::FileSystem& files, const std::string& directory,
                         const WriterName& writer) {
  ESPALIER_ASSIGN_OR_RETURN(const auto names, NamesIn(files, directory));
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    bool stays = false;
    if (StepOf(name)) {
      const auto its = ReadOne(files, path, {}, CheckpointPart::kHeader);
      if (IsOfFileSystem(its.status())) return its.status();
      stays = its.ok() && IsOfLaterJob(its->header, writer);
    } else {
      stays = !IsLeftover(name, writer);
    }
    if (!stays) ESPALIER_RETURN_IF_ERROR(RemoveFile(files, path, &stays));
  }
  // A later job may have begun in the meantime, and may write at any moment. So the directory is
  // removed only if the file system finds it empty.
  const Status removed = files.RemoveEmptyDirectory(directory);
  const StatusCode code = removed.code();
  const bool done = code == StatusCode::kNotFound || code == StatusCode::kFailedPrecondition;
  return done ? Status::Ok() : removed;
}

Status CheckBeginning(const storage::FileSystem& files, const spec::JobSpec& job) {
  if (job.resume) {
    CheckpointDemand demand;
    // Values that depend on the rows are compared after the rows have been read.
    const bool sized =
        job.train.batch > 0 && job.train.epochs != 0.0 && !job.data.validation.seeks_bounds();
    if (sized) demand.job = spec::CanonicalText(spec::Sized(job, 0));
    demand.accept_data = job.resume->accept_data;
    demand.accept_end = true;
    const std::string directory = CheckpointDirectory(job.resume->from);
    const auto found = FindCheckpoint(files, directory, demand, CheckpointPart::kHeader);
    if (found.ok()) return {};
    Status why = found.status();
    if (why.code() == StatusCode::kNotFound) {
      return NotFound("resume: " + why.message() +
                      "; set --resume (resume: in the job) to the output of a run that has "
                      "written checkpoints next to it");
    }
    return Status(why.code(), "resume: " + why.message());
  }
  if (job.output.overwrite) return {};
  const std::string directory = CheckpointDirectory(job.output.path);
  ESPALIER_ASSIGN_OR_RETURN(const auto names, NewestFirst(files, directory));
  if (names.empty()) return {};
  return AlreadyExists("output: an earlier run has left checkpoints, up to step " +
                       std::to_string(*StepOf(names.front())) + ", in " + directory +
                       "; continue from them with --resume " + job.output.path +
                       ", start over with output: {overwrite: true}, or remove that directory");
}

}  // namespace espalier::bundle
