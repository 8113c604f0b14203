// The simulated storage of bundles, their temporary files and checkpoints. It performs each action
// of bundle/output_commit.h in one atomic step.
//
// Thread rule: one thread.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "src/bundle/output_commit.h"
#include "tests/sim/dice.h"

namespace espalier::sim {

class World;

struct SimBundle {
  std::string hash;  // hash of the weights
  JobId job;
  Generation generation;
};

class Outputs {
 public:
  explicit Outputs(World& world) : world_(world) {}

  void Reserve(const std::string& output, const bundle::WriterName& writer);
  // Performs an action. `own`: the bundle of the action's writer, if the action uses it.
  bundle::OutputResult Perform(const std::string& output, const bundle::OutputAction& action,
                               const SimBundle& own = {});
  // Overwrites the output without a commit, as a bug does.
  void Overwrite(const std::string& output, const SimBundle& bundle);
  const SimBundle* Find(const std::string& output) const;

  // A checkpoint of a job.
  struct Checkpoint {
    int64_t step = 0;
    std::string bytes;
    bool compared = true;  // all members had this state
  };
  // Adds a checkpoint, in the order of steps. Replaces one of the same step.
  void Keep(const std::string& job, Checkpoint checkpoint);
  // Removes the checkpoints except that of `step` and the newest other one.
  void Prune(const std::string& job, int64_t step);
  const std::deque<Checkpoint>& Checkpoints(const std::string& job) { return checkpoints_[job]; }
  void DropUncompared(const std::string& job);
  // Flips a bit of a job's newest checkpoint or truncates it. Returns false if there is none.
  bool Damage(Dice& dice);

 private:
  struct Slot {
    std::optional<SimBundle> fresh, old;
  };
  struct Place {
    std::optional<SimBundle> output;
    std::map<bundle::WriterName, Slot> slots, fenced;
    std::map<bundle::WriterName, SimBundle> drafts;
    bool swaps = false;  // the storage supports kExchange
  };
  Place& At(const std::string& output);
  bundle::OutputResult List(const Place& place) const;
  Status Move(std::optional<SimBundle>* from, std::optional<SimBundle>* to);
  void Appears(const std::string& output, const Place& place);

  World& world_;
  std::map<std::string, Place> places_;
  std::map<std::string, std::deque<Checkpoint>> checkpoints_;
};

}  // namespace espalier::sim
