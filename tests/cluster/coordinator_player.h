// Plays scenario commands on a CoordinatorCore. See tests/scenarios/README.txt for the commands.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/cluster/coordinator_core.h"
#include "tests/cluster/script.h"

namespace espalier::cluster::script {

class CoordinatorPlayer : public Player {
 public:
  CoordinatorPlayer();
  std::vector<std::string> Play(const Command& command) override;

 private:
  struct Stream {
    std::string name;    // name in the script
    std::string worker;  // worker of the stream
    bool open = true;
    bool silent = false;  // sends no heartbeats
    JobPoint at;
    int32_t self = 0;  // index among the members
    std::vector<int32_t> shards;
    int64_t features = 2;
  };
  void Open(const Command& c, bool hello);
  void Speak(const Command& c);
  void DoSubmit(const Command& c);
  static Requester By(const Command& c);
  void Quotas(const Command& c);
  void Merged(const Command& c);
  void Fenced(const Command& c);
  void Checked(const Command& c);
  void Restart(const Command& c);
  void Pass(int64_t ms);
  void Show(const std::string& what);
  void ShowHistory(JobId job);
  bool General(const Command& c);
  FromWorker Message(const Command& c, const Stream& stream);
  WorkerId Named(const std::string& wanted) const;
  JobFailed Failure(const Command& c, JobPoint at);
  ProfilePart Profile(const Command& c, const Stream& stream, JobPoint at);

  void Feed(const CoordinatorEvent& event);
  void Tell(const JournalEntry& entry);
  void Tell(SendToWorker& send);
  void Tell(const JobChanged& changed);
  void Say(std::string line) { lines_.push_back(std::move(line)); }
  Stream& Find(const std::string& worker);

  CoordinatorCoreOptions options_;
  std::unique_ptr<CoordinatorCore> core_;
  std::vector<JournalEntry> journal_;  // all persisted entries
  int64_t now_ms_ = 1'000'000;
  std::map<SessionId, Stream> streams_;
  std::map<WorkerId, std::string> names_;
  std::map<JobId, std::vector<int64_t>> evaluated_;  // reported steps
  std::vector<std::string> lines_;
  bool check_later_ = false;  // the script answers the next check of an output
};

}  // namespace espalier::cluster::script
