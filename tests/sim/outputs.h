// The simulated storage: bundles and what lies beside them, and checkpoints. It performs the
// actions of bundle/output_commit.h, each in one atomic step.
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
  std::string hash;  // of its weights
  JobId job;
  Generation generation;
};

class Outputs {
 public:
  explicit Outputs(World& world) : world_(world) {}

  void Reserve(const std::string& output, const bundle::WriterName& writer);
  // `own`: the bundle of the action's writer, if it is about that.
  bundle::OutputResult Perform(const std::string& output, const bundle::OutputAction& action,
                               const SimBundle& own = {});
  // What a bug does.
  void Overwrite(const std::string& output, const SimBundle& bundle);
  const SimBundle* Find(const std::string& output) const;

  // Checkpoints of a job: the two newest are kept.
  struct Checkpoint {
    std::string bytes;
    bool compared = true;  // all members held it
  };
  void Keep(const std::string& job, Checkpoint checkpoint);
  const std::deque<Checkpoint>& Checkpoints(const std::string& job) { return checkpoints_[job]; }
  void DropUncompared(const std::string& job);
  // Flips a bit of, or cuts, the newest one of a job; false: there is none.
  bool Damage(Dice& dice);

 private:
  struct Slot {
    std::optional<SimBundle> fresh, old;
  };
  struct Place {
    std::optional<SimBundle> output;
    std::map<bundle::WriterName, Slot> slots, fenced;
    std::map<bundle::WriterName, SimBundle> drafts;
    bool swaps = false;  // the storage knows kExchange
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
