#include "src/bundle/output.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/bundle/checkpoint_store.h"
#include "src/bundle/json.h"
#include "src/bundle/output_commit.h"
#include "src/storage/uri.h"

namespace espalier::bundle {
namespace {

constexpr std::string_view kWriting = ".writing-", kDraft = ".draft-", kFenced = ".fenced-";
constexpr std::string_view kKept = ".kept-";
constexpr const char* kNew = "/new";
constexpr const char* kOld = "/old";
constexpr int64_t kWriterBytesMax = 4096;

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// Keeps letters and digits, and replaces all other characters by '_'.
std::string PlainText(std::string text) {
  for (char& c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain) c = '_';
  }
  return text;
}

std::string SlotOf(const std::string& output, const WriterName& writer) {
  return output + std::string(kWriting) + writer.Text();
}
std::string DraftOf(const std::string& output, const WriterName& writer) {
  return output + std::string(kDraft) + writer.Text();
}
std::string FencedOf(const std::string& output, const WriterName& writer) {
  return output + std::string(kFenced) + writer.Text();
}
std::string KeptOf(const std::string& output, const WriterName& writer) {
  return output + std::string(kKept) + writer.Text();
}

bool IsBundleFile(const std::string& name) {
  return name == kWeightsFile || name == kModelFile || name == kHistoryFile ||
         name == kReadmeFile || name == kOnnxFile || name == kWriterFile;
}

std::string ParentOf(const std::string& output) {
  const size_t slash = output.rfind('/');
  return slash == std::string::npos ? "." : output.substr(0, slash + 1);
}

// Lists the leftovers of all writers next to an output.
Result<std::vector<OutputLeftover>> Leftovers(const storage::FileSystem& files,
                                              const std::string& output) {
  const size_t slash = output.rfind('/');
  const std::string base = output.substr(slash == std::string::npos ? 0 : slash + 1);
  ESPALIER_ASSIGN_OR_RETURN(const auto names, files.Names(ParentOf(output)));
  std::vector<OutputLeftover> found;
  using Kind = OutputLeftover::Kind;
  for (const std::string& name : names) {
    for (const auto& [marker, kind] :
         {std::pair(kWriting, Kind::kSlot), {kDraft, Kind::kDraft}, {kFenced, Kind::kFenced}}) {
      if (!name.starts_with(base + std::string(marker))) continue;
      const auto writer = FindWriter(name, marker);
      if (writer && name == base + std::string(marker) + writer->Text()) {
        found.push_back({kind, *writer});
      }
    }
  }
  return found;
}

std::string EncodeWriter(const OutputWriter& writer, const std::string& weights_sha256) {
  Json json;
  json["job"] = writer.name.job.value;
  json["generation"] = writer.name.generation.value;
  json["submitted_ms"] = static_cast<uint64_t>(std::max<int64_t>(0, writer.name.submitted_ms));
  json["incarnation"] = writer.incarnation.value;
  json["submission"] = TextToJson(writer.submission);
  json["weights_sha256"] = weights_sha256;
  return json.dump() + "\n";
}

// A bundle's record of its writer.
struct WriterRecord {
  WriterName name;
  std::string submission;
  std::string weights_sha256;
};

// Returns the record of the bundle at `output`, or nullopt for a bundle of version 0.1.0, a damaged
// record, or no bundle.
Result<std::optional<WriterRecord>> ReadWriter(const storage::FileSystem& files,
                                               const std::string& output) {
  const std::optional<WriterRecord> none;
  const auto text = files.ReadAll(output + "/" + kWriterFile, kWriterBytesMax);
  if (!text.ok()) {
    switch (text.status().code()) {
      case StatusCode::kUnavailable:
      case StatusCode::kDeadlineExceeded:
      case StatusCode::kResourceExhausted:
      case StatusCode::kCancelled:
      case StatusCode::kPermissionDenied:
        return text.status();
      default:
        return none;
    }
  }
  const Json json = ParseJson(*text);
  if (!json.is_object()) return none;
  for (const char* key : {"job", "generation", "submitted_ms"}) {
    if (!json.contains(key) || !json[key].is_number_unsigned()) return none;
  }
  if (!json.contains("submission") || !json.contains("weights_sha256") ||
      !json["weights_sha256"].is_string() || json["submitted_ms"].get<uint64_t>() > INT64_MAX) {
    return none;
  }
  auto submission = TextFromJson(json["submission"], "submission");
  if (!submission.ok()) return none;
  return std::optional(WriterRecord{{{json["job"].get<uint64_t>()},
                                     {json["generation"].get<uint64_t>()},
                                     0,
                                     json["submitted_ms"].get<int64_t>()},
                                    *std::move(submission),
                                    json["weights_sha256"].get<std::string>()});
}

// Returns kFailedPrecondition if the bundle belongs to a job that was submitted after the writer's.
Status CheckNotLater(const WriterRecord& record, const std::string& output,
                     const WriterName& writer) {
  const bool same_job = record.name.IsOf(writer.job, writer.submitted_ms);
  if (same_job || !record.name.Supersedes(writer)) return Status::Ok();
  return FailedPrecondition(
      "output: " + output + " holds the model of " + ToString(record.name.job) + ", submitted " +
      HumanDuration(record.name.submitted_ms - writer.submitted_ms) + " after " +
      ToString(writer.job) +
      ". Submit this job again to replace that model. If it was submitted first, synchronize the "
      "clocks of the coordinators.");
}

// Rejects names that other jobs create next to their outputs and remove.
Status CheckOutputName(const std::string& output) {
  const std::string path = WithoutSlashes(output);
  const std::string name = path.substr(path.rfind('/') + 1);
  const bool of_writer =
      std::ranges::any_of(std::array{kWriting, kDraft, kFenced},
                          [&](auto marker) { return FindWriter(name, marker).has_value(); });
  if (!of_writer && !name.ends_with(kCheckpointsSuffix) && !IsCheckpointFileName(name)) {
    return Status::Ok();
  }
  return InvalidArgument("output: " + output +
                         " is a name that jobs give to files next to their outputs, and remove. "
                         "Choose another name.");
}

// Performs the actions of a commit or a sweep on a file system.
class OutputShell {
 public:
  OutputShell(const storage::FileSystem& files, std::string output)
      : files_(files), output_(output) {}

  OutputResult List() const {
    auto found = Leftovers(files_, output_);
    if (!found.ok()) return {found.status(), {}, {}};
    return {Status::Ok(), *std::move(found), {}};
  }

  OutputResult Sweep(const OutputAction& action) const {
    const std::string fenced = FencedOf(output_, action.writer);
    switch (action.op) {
      case OutputOp::kList:
        return List();
      case OutputOp::kFence:
        return {files_.Rename(SlotOf(output_, action.writer), fenced), {}, {}};
      case OutputOp::kRestore:
        return {files_.Rename(fenced + kOld, output_), {}, {}};
      case OutputOp::kRemoveFenced:
        return {Discard(fenced, action.writer), {}, {}};
      case OutputOp::kRemoveDraft:
        return {Removed(DraftOf(output_, action.writer)), {}, {}};
      default:
        return {Internal("a sweep has no " + std::string(OutputOpName(action.op))), {}, {}};
    }
  }

 protected:
  Status Removed(const std::string& path) const {
    Status removed = files_.RemoveTree(path);
    if (!removed.ok()) LogWarning(removed.ToString());
    return removed;
  }

  // Removes a slot, after moving users' data out of it.
  Status Discard(const std::string& slot, const WriterName& writer) const {
    const auto held = files_.Names(slot);
    if (held.status().code() == StatusCode::kNotFound) return Status::Ok();
    ESPALIER_RETURN_IF_ERROR(held.status());
    const auto holds = [&](const char* part) {
      return std::find(held->begin(), held->end(), part + 1) != held->end();
    };
    const bool unreplaced = holds(kOld) && holds(kNew);
    for (const char* part : {kOld, kNew}) {
      if (!holds(part)) continue;
      const auto names = files_.Names(slot + part);
      const bool is_file = names.status().code() == StatusCode::kFailedPrecondition;
      if (!names.ok() && !is_file) return names.status();
      const bool ours = !is_file && std::all_of(names->begin(), names->end(), IsBundleFile);
      if (ours && !(part == kOld && unreplaced)) continue;
      const std::string kept = KeptOf(output_, writer);
      ESPALIER_RETURN_IF_ERROR(files_.Rename(slot + part, kept));
      LogWarning("output: " + kept + " is what was at " + output_ + " before" +
                 (ours ? "." : ". It holds files that are not part of a bundle."));
    }
    return Removed(slot);
  }

  const storage::FileSystem& files_;
  const std::string output_;
};

class CommitShell : private OutputShell {
 public:
  CommitShell(const storage::FileSystem& files, const spec::OutputSpec& output,
              const Bundle& bundle, const OutputWriter& writer, const CommitStop& stop)
      : OutputShell(files, output.path),
        overwrite_(output.overwrite),
        bundle_(bundle),
        writer_(writer),
        stop_(stop) {}

  OutputResult Perform(const OutputAction& action) const {
    if (!IsCleaning(action.op) && stopped()) return {Stopped(), {}, {}};
    const std::string slot = SlotOf(output_, writer_.name), draft = DraftOf(output_, writer_.name);
    switch (action.op) {
      case OutputOp::kInspect:
        return Inspect();
      case OutputOp::kWriteDraft:
        return {WriteDraft(draft), {}, {}};
      case OutputOp::kFill:
        return {files_.Rename(draft, slot + kNew), {}, {}};
      case OutputOp::kPut:
        return {files_.Rename(slot + kNew, output_), {}, {}};
      case OutputOp::kExchange:
        return {files_.Exchange(slot + kNew, output_), {}, {}};
      case OutputOp::kSetAside:
        return {files_.Rename(output_, slot + kOld), {}, {}};
      case OutputOp::kPutBack:
        return {files_.Rename(slot + kOld, output_), {}, {}};
      case OutputOp::kRemoveSlot:
        return {Discard(slot, action.writer), {}, {}};
      default:
        return Sweep(action);
    }
  }

 private:
  static Status Stopped() { return Cancelled("the job was asked to stop"); }
  bool stopped() const { return stop_.stopped && stop_.stopped(); }

  OutputResult Inspect() const {
    const auto content = [](OutputContent c) { return OutputResult{Status::Ok(), {}, c}; };
    const auto there = files_.Stat(output_);
    if (there.status().code() == StatusCode::kNotFound) return content(OutputContent::kNothing);
    const auto record = ReadWriter(files_, output_);
    if (!record.ok()) return {record.status(), {}, {}};
    if (const auto& of = *record; of && of->submission == writer_.submission) {
      if (of->weights_sha256 == bundle_.weights_sha256) return content(OutputContent::kDone);
      const bool newer = of->name.generation > writer_.name.generation;
      return content(newer ? OutputContent::kNewer : OutputContent::kOwn);
    } else if (of) {
      Status later = CheckNotLater(*of, output_, writer_.name);
      if (!later.ok()) return {std::move(later), {}, {}};
    }
    Status replaceable = CheckOutput(files_, {output_, overwrite_});
    return {std::move(replaceable), {}, OutputContent::kReplaceable};
  }

  Status WriteDraft(const std::string& draft) const {
    ESPALIER_RETURN_IF_ERROR(files_.RemoveTree(draft));
    ESPALIER_RETURN_IF_ERROR(files_.MakeDirectory(draft));
    for (const auto& [name, bytes] : bundle_.files) {
      if (stopped()) return Stopped();
      ESPALIER_RETURN_IF_ERROR(files_.WriteAtomically(draft + "/" + name, bytes));
    }
    return files_.WriteAtomically(draft + "/" + kWriterFile,
                                  EncodeWriter(writer_, bundle_.weights_sha256));
  }

  const bool overwrite_;
  const Bundle& bundle_;
  const OutputWriter& writer_;
  const CommitStop& stop_;
};

}  // namespace

Status CheckOutput(const storage::FileSystem& files, const spec::OutputSpec& output) {
  ESPALIER_RETURN_IF_ERROR(CheckOutputName(output.path));
  const Result<storage::FileInfo> found = files.Stat(output.path);
  if (!found.ok()) {
    if (found.status().code() == StatusCode::kNotFound) return Status::Ok();
    return found.status().Wrap("output");
  }
  if (!output.overwrite) {
    return AlreadyExists(
        "output: " + output.path +
        " already exists. Choose another path, or replace it with output: {path: " + output.path +
        ", overwrite: true}");
  }
  const std::string advice =
      "; overwrite replaces only a bundle: name another place for the output";
  if (!found->is_directory)
    return InvalidArgument("output: " + output.path + " is a file" + advice);
  ESPALIER_ASSIGN_OR_RETURN(const auto names, files.Names(output.path));
  if (const auto other = std::find_if_not(names.begin(), names.end(), IsBundleFile);
      other != names.end()) {
    return InvalidArgument("output: " + output.path + " holds '" + Printable(*other) +
                           "', which is not part of a bundle" + advice);
  }
  const bool is_bundle = std::find(names.begin(), names.end(), kModelFile) != names.end();
  if (!names.empty() && !is_bundle) {
    return InvalidArgument("output: " + output.path + " holds no " + kModelFile +
                           ", so it is not a bundle" + advice);
  }
  return Status::Ok();
}

Status ProbeOutput(const storage::FileSystem& files, const spec::OutputSpec& output,
                   const std::string& who) {
  ESPALIER_ASSIGN_OR_RETURN(const storage::Uri uri, storage::ParseUri(output.path));
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
  return done.Wrap("output: a job creates files next to " + output.path +
                   " with names that are up to " + std::to_string(kNameBytesAdded) +
                   " bytes longer, and this failed: choose another name for it");
}

Status ReserveOutput(const storage::FileSystem& files, const std::string& output,
                     const WriterName& writer) {
  const std::string path = WithoutSlashes(output);
  ESPALIER_ASSIGN_OR_RETURN(const auto record, ReadWriter(files, path));
  if (record) ESPALIER_RETURN_IF_ERROR(CheckNotLater(*record, path, writer));
  if (files.Stat(path).status().code() == StatusCode::kNotFound) {
    // An earlier generation of this job may still train during the preparation of this one.
    const auto stale = [&](const WriterName& w) {
      return writer.Supersedes(w) && !w.IsOf(writer.job, writer.submitted_ms);
    };
    if (Status s = FenceOutput(files, path, stale); !s.ok()) return s.Wrap("output");
  }
  return files.MakeDirectory(SlotOf(path, writer)).Wrap("output");
}

Status PutBundle(const storage::FileSystem& files, const Bundle& bundle,
                 const spec::OutputSpec& spec, const OutputWriter& writer, const CommitStop& stop) {
  const spec::OutputSpec output = {WithoutSlashes(spec.path), spec.overwrite};
  const CommitShell shell(files, output, bundle, writer, stop);
  const CommitShell cleaner(stop.cleaning == nullptr ? files : *stop.cleaning, output, bundle,
                            writer, stop);
  OutputCommit commit(writer.name);
  OutputResult last;
  while (const auto action = commit.Next(last)) {
    last = shell.Perform(*action);
    const bool interrupted = last.status.code() == StatusCode::kCancelled;
    if (interrupted && IsCleaning(action->op)) last = cleaner.Perform(*action);
  }
  if (commit.status().ok()) return {};
  std::string where;
  if (commit.old_is_aside()) {
    where = "; the bundle that was there before is in " + KeptOf(output.path, writer.name);
  }
  return commit.status().Wrap("the model is trained, but its bundle could not be written to " +
                              output.path + where);
}

Status FenceOutput(const storage::FileSystem& files, const std::string& output,
                   const std::function<bool(const WriterName&)>& stale) {
  const OutputShell shell(files, WithoutSlashes(output));
  OutputSweep sweep(stale);
  OutputResult last;
  while (const auto action = sweep.Next(last)) last = shell.Sweep(*action);
  return sweep.status();
}

Result<bool> HoldsModel(const storage::FileSystem& files, const std::string& output,
                        const WriterName& writer, const std::string& submission,
                        const std::string& weights_sha256) {
  const std::string path = WithoutSlashes(output);
  ESPALIER_RETURN_IF_ERROR(files.Names(ParentOf(path)).status());
  ESPALIER_ASSIGN_OR_RETURN(const auto record, ReadWriter(files, path));
  if (!record) return false;
  if (record->submission == submission) return record->weights_sha256 == weights_sha256;
  return record->name.Supersedes(writer);
}

Result<std::optional<Generation>> WrittenBy(const storage::FileSystem& files,
                                            const std::string& output,
                                            const std::string& submission) {
  ESPALIER_ASSIGN_OR_RETURN(const auto record, ReadWriter(files, WithoutSlashes(output)));
  const bool of_it = record && record->submission == submission;
  return of_it ? std::optional(record->name.generation) : std::nullopt;
}

}  // namespace espalier::bundle
