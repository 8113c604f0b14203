// espalier-coordinator that kills itself (SIGKILL) at a step of its journal.
//   ESPALIER_MORTAL="before JobAccepted" | "after GenerationStarted" | ...
// It dies before or after the first append with an entry of that kind. It never sends what depends
// on these entries.
#include <csignal>
#include <cstdlib>
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

std::unique_ptr<Journal> Wrap(std::unique_ptr<Journal> journal) {
  const char* when = std::getenv("ESPALIER_MORTAL");
  return std::make_unique<MortalJournal>(std::move(journal), when == nullptr ? "" : when);
}

}  // namespace
}  // namespace espalier::coordinator

int main(int argc, char** argv) {
  return espalier::coordinator::CoordinatorMain(argc, argv, espalier::coordinator::Wrap);
}
