// Plays scenario commands on a WorkerCore. See tests/scenarios/README.txt for the commands.
#pragma once

#include <string>
#include <vector>

#include "src/cluster/worker_core.h"
#include "tests/cluster/script.h"

namespace espalier::cluster::script {

class WorkerPlayer : public Player {
 public:
  WorkerPlayer();
  std::vector<std::string> Play(const Command& command) override;

 private:
  void Feed(const WorkerEvent& event);
  void Pass(int64_t ms);
  void Link(const Command& c);
  ToWorker Order(const Command& c);
  FromWorker Own(const Command& c);
  std::string Tell(const FromWorker& message);
  std::string Tell(const WorkerAction& action);

  WorkerCore core_;
  int64_t now_ms_ = 1'000'000;
  uint64_t attempt_ = 0;
  int64_t step_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace espalier::cluster::script
