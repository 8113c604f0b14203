// The commit of a job's output as state machines without I/O: results in, actions out. The worker
// (bundle/output.h), the coordinator and the simulator perform the actions, one at a time.
//
// Names next to an output OUT, for the writer W (WriterName::Text):
//   OUT.writing-W         slot: the permission of W to commit. Created before W reports that it is
//                         ready, so before any later generation begins
//   OUT.writing-W/new     the complete bundle of W, once it is filled
//   OUT.writing-W/old     the bundle that W replaces, if that takes two renames
//   OUT.draft-W           files that W is writing
//   OUT.fenced-W          a slot that a later writer or the coordinator has taken
//   OUT.kept-W            users' files that were in a slot; no program removes them
//
// Fencing renames a slot, in one atomic step. Every change of W to OUT begins or ends in its slot.
// Each of these steps therefore fails for a fenced W, however long W was paused. Nothing from W
// becomes visible after the fence, on any storage with atomic renames.
// - A worker fences the writers that it supersedes (writer_name.h) before it commits.
// - The coordinator fences those of a job that is being cancelled or has ended.
//
// Replacing a bundle is one step if the storage can swap two directories (RENAME_EXCHANGE). On
// other storage (HDFS) it takes two renames, and OUT does not exist between them. If W dies there,
// the next fence moves the old bundle back.
//
// Before a slot is removed, users' data in it is moved to OUT.kept-W: an old bundle that was not
// replaced, or a directory with files that are not part of a bundle.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "src/base/status.h"
#include "src/bundle/writer_name.h"

namespace espalier::bundle {

enum class OutputOp : uint8_t {
  kList,          // lists slots, drafts and fenced slots of all writers
  kFence,         // renames the slot to the fenced slot
  kRestore,       // renames old in the fenced slot to the output
  kRemoveFenced,  // keeps users' data, then removes the fenced slot
  kRemoveDraft,   // removes the draft
  kInspect,       // reads the contents of the output
  kWriteDraft,    // writes all files of the bundle to the draft
  kFill,          // renames the draft to new
  kPut,           // renames new to the output
  kExchange,      // swaps new and the output; kUnimplemented if not supported
  kSetAside,      // renames the output to old
  kPutBack,       // renames old to the output
  kRemoveSlot,    // keeps users' data, then removes the slot
};
const char* OutputOpName(OutputOp op);
// Returns whether a stopped writer still has to perform the action.
bool IsCleaning(OutputOp op);

struct OutputAction {
  OutputOp op = OutputOp::kList;
  WriterName writer;  // owner of the slot or draft
};

struct OutputLeftover {
  enum class Kind : uint8_t { kFenced, kSlot, kDraft };  // in the order of the sweep
  Kind kind = Kind::kSlot;
  WriterName writer;
};

enum class OutputContent : uint8_t {
  kNothing,      // the output does not exist
  kReplaceable,  // a bundle or an empty directory, and the job may overwrite it
  kOwn,          // a bundle of this job with other weights
  kDone,         // the bundle of this job with these weights
  kNewer,        // a bundle of a newer generation of this job with other weights
};

// The result of an action. Renames never replace anything: kAlreadyExists if the target exists,
// kNotFound if the source or the directory of the target does not.
struct OutputResult {
  Status status;
  std::vector<OutputLeftover> leftovers;            // for kList
  OutputContent content = OutputContent::kNothing;  // for kInspect
};

// Fences writers and removes their leftovers. The old bundle is never lost.
class OutputSweep {
 public:
  // `stale` selects the writers.
  explicit OutputSweep(std::function<bool(const WriterName&)> stale) : stale_(std::move(stale)) {}

  // Returns the next action. `last` is the result of the previous action, or empty at first.
  // Returns nothing at the end, when `status` contains the result.
  std::optional<OutputAction> Next(const OutputResult& last);
  const Status& status() const { return status_; }

 private:
  void Plan(std::vector<OutputLeftover> leftovers);

  const std::function<bool(const WriterName&)> stale_;
  std::optional<OutputAction> last_;
  std::deque<OutputAction> todo_;
  Status status_;
};

// Puts the bundle of one writer in place. The writer's slot already exists.
class OutputCommit {
 public:
  explicit OutputCommit(WriterName self);

  // Works like OutputSweep::Next. The final status is kAborted if the writer was fenced or is
  // superseded.
  std::optional<OutputAction> Next(const OutputResult& last);
  const Status& status() const { return status_; }
  // Returns whether the storage refused to move the old bundle back. Removing the slot then keeps
  // it as OUT.kept-W.
  bool old_is_aside() const { return aside_; }

 private:
  enum class Stage : uint8_t { kSweeping, kCommitting, kCleaning };

  std::optional<OutputAction> Do(OutputOp op);
  std::optional<OutputAction> Inspected(const OutputResult& last);
  std::optional<OutputAction> Place();
  std::optional<OutputAction> Check(const Status& attempt);
  std::optional<OutputAction> End(Status status);

  const WriterName self_;
  OutputSweep sweep_;
  Stage stage_ = Stage::kSweeping;
  OutputOp last_ = OutputOp::kList;
  OutputContent content_ = OutputContent::kNothing;
  bool drafted_ = false;      // a draft may exist
  bool filled_ = false;       // new exists
  bool aside_ = false;        // old may exist
  bool put_ = false;          // the last attempt to replace the output succeeded
  bool swaps_ = true;         // the storage may support kExchange
  bool remove_slot_ = false;  // while cleaning
  int inspections_ = 0;
  Status problem_;  // reason why the last attempt failed
  Status status_;
};

}  // namespace espalier::bundle
