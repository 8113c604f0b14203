// espalier-coordinator that kills itself (SIGKILL) at a step of its journal.
//   ESPALIER_MORTAL="before JobAccepted" | "after GenerationStarted" | ...
// It dies before or after the first append with an entry of that kind. It never sends what depends
// on these entries.
//   ESPALIER_MORTAL="replay SIGKILL 2" | "replay SIGABRT 2" | "replay SIGSEGV 2"
// It dies while it replays the acceptance of job 2, if that has an input.
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "src/coordinator/program.h"

namespace espalier::coordinator {
namespace {

const char* KindOf(const cluster::JournalEntry& entry) {
  static constexpr const char* kKinds[] = {
      "WorkerIdGiven",    "JobAccepted",        "GenerationStarted", "ProfileRecorded",
      "HistoryRecorded",  "TrainingStarted",    "JobEnded",          "JobForgotten",
      "IncarnationTaken", "GenerationReserved", "TokensReplaced",    "MergeTried",
      "JobReplanned",     "MemberCrashed",      "JobSetAside"};
  static_assert(std::size(kKinds) == std::variant_size_v<cluster::JournalEntry>);
  return kKinds[entry.index()];
}

class MortalJournal : public Journal {
 public:
  MortalJournal(std::unique_ptr<Journal> journal, std::string when)
      : journal_(std::move(journal)), when_(std::move(when)) {}

  Status Append(const std::vector<cluster::JournalEntry>& entries) override {
    bool fatal = false;
    for (const cluster::JournalEntry& e : entries) fatal = fatal || when_.ends_with(KindOf(e));
    if (fatal && when_.starts_with("before ")) std::raise(SIGKILL);
    const Status appended = journal_->Append(entries);
    if (fatal) std::raise(SIGKILL);
    return appended;
  }
  Status Rewrite(const std::vector<cluster::JournalEntry>& entries) override {
    return journal_->Rewrite(entries);
  }
  bool wants_rewrite() const override { return journal_->wants_rewrite(); }
  bool durable() const override { return journal_->durable(); }
  bool GiveBackReserve() override { return journal_->GiveBackReserve(); }
  Status SetReserveAside() override { return journal_->SetReserveAside(); }

 private:
  const std::unique_ptr<Journal> journal_;
  const std::string when_;
};

// Dies in the way that `when` names.
void Die(const std::string& when) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (when.find("SIGKILL") != std::string::npos) std::raise(SIGKILL);
  if (when.find("SIGABRT") != std::string::npos) throw std::logic_error("planted");
  static char* volatile nowhere = nullptr;
  *nowhere = 1;
}

void Wrap(OpenedJournal& opened) {
  const char* variable = std::getenv("ESPALIER_MORTAL");
  const std::string when = variable == nullptr ? "" : variable;
  opened.journal = std::make_unique<MortalJournal>(std::move(opened.journal), when);
  if (!when.starts_with("replay ")) return;
  opened.replaying = [when, replaying = opened.replaying](JobId job,
                                                          const cluster::JournalEntry* entry) {
    if (replaying) replaying(job, entry);
    const auto* accepted = entry == nullptr ? nullptr : std::get_if<cluster::JobAccepted>(entry);
    const bool fatal = accepted != nullptr && accepted->submission.packed_input != nullptr;
    if (fatal && when.ends_with(" " + std::to_string(job.value))) Die(when);
  };
}

}  // namespace
}  // namespace espalier::coordinator

int main(int argc, char** argv) {
  return espalier::coordinator::CoordinatorMain(argc, argv, espalier::coordinator::Wrap);
}
