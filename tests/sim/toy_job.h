// Tiny jobs that are real in all that decides a model's bits: rows, permutations, leaf passes, step
// machine, summation tree. What leaves contribute is computed once for each state of the parameters
// and then shared by all simulated members that are in that state, so that a run is cheap.
//
// The statistics of a round carry three more numbers, for the checks: which leaves were counted
// (digit l in base 4: how often leaf l was), how many rows, and a sum over the rows' names. Those
// of a step also carry what worker/trainer.h lets members say of themselves.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/base/ids.h"
#include "src/collective/tree_reducer.h"
#include "src/model/leaf_pass.h"
#include "src/plan/ownership.h"
#include "src/plan/rows.h"
#include "src/spec/input.h"
#include "src/spec/metrics.h"
#include "src/training/step_machine.h"

namespace espalier::sim {

using Real = float;

inline constexpr size_t kWords = 2;  // of each member

enum Mark : int64_t { kMarkLeaves = 0, kMarkRows = 1, kMarkNames = 2, kMarks = 3 };

// A member's sums of one round: a payload each bucket, in its canonical nodes.
using Contribution = std::vector<collective::Payload>;

// Beside its sums, in a step: the generation that is to follow (the root, when so ordered), how
// long a leaf takes it, and a checksum of its state, or 0.
struct OwnWords {
  int32_t member = 0;
  Generation next;
  double leaf_ms = 0, checksum = 0;
};
// What all said, from the total. Only as long as that is kept.
struct AllWords {
  Generation next;
  const double* words = nullptr;  // none: the job has no room for them
  double leaf_ms(size_t member) const { return words[kWords * member]; }
  double checksum(size_t member) const { return words[kWords * member + 1]; }
};

// How a member uses its leaves; all but `own` differ from the norm in planted bugs only.
struct LeafUse {
  plan::LeafSpan own;
  std::function<int32_t(int32_t leaf)> rows_of = {};  // whose rows; -1: none
  int32_t counted_too = -1;                           // another leaf, added to the first
  bool in_order_of_arrival = false;
  bool plain() const { return !rows_of && counted_too < 0 && !in_order_of_arrival; }
};

class ToyJob {
 public:
  static constexpr int kKinds = 4;
  static constexpr int kLarge = kKinds;  // with leaves for a thousand members
  // One of a few jobs, made once.
  static ToyJob& Of(int kind);

  int kind() const { return kind_; }
  int32_t leaves() const { return leaves_; }
  const training::TrainingPlan& plan() const { return plan_; }
  std::shared_ptr<const spec::InputPlan> input() const { return input_; }
  // The profile of one shard, and of all.
  spec::ShardProfile Profile(int32_t shard) const;
  std::shared_ptr<const spec::TableProfile> profile() const { return profile_; }
  plan::Range RowsOf(spec::FileRole set, plan::LeafSpan own) const;

  collective::RoundShape ShapeOf(const training::Action& action) const;
  Contribution Contribute(const training::Action& action, const AlignedVector<Real>& parameters,
                          const LeafUse& use);
  // The statistics at the end of the last bucket, without and with the marks.
  std::vector<double> Stats(const training::Action& action, const collective::Payload& last) const;
  // What a member says of itself in a step's sums: written into its first node, and read from the
  // total. A job of a thousand members has room for `next` only.
  void Say(const training::Action& action, const OwnWords& words, Contribution& sums) const;
  AllWords Heard(const training::Action& action, const collective::Payload& last) const;
  const double* Marks(const training::Action& action, const collective::Payload& last) const;
  double AllLeaves() const;
  // The rows that a round counts, and the sum over their names.
  std::pair<double, double> RowsIn(const training::Action& action) const;
  // Commits the totals of a gradient: Update and OnUpdated.
  training::Action Apply(training::StepMachine<Real>& machine, const training::UpdateAction& update,
                         const std::vector<collective::Payload>& totals) const;

  // What an undisturbed run of one worker has, from round to round: EncodeState of the state in
  // which round r is in flight; none beyond the end.
  const std::string* StateAt(uint64_t round) const;
  const std::string& weights_hash() const { return weights_hash_; }
  const std::vector<spec::HistoryRow>& history() const { return history_; }
  uint64_t last_round() const { return last_round_; }

 private:
  explicit ToyJob(int kind);
  // A step's number, or of an evaluation a negative one a set.
  static int64_t RoundName(const training::Action& action);
  static double RowName(spec::FileRole set, int64_t row);
  void MakeInput();
  void RunAlone();
  void CheckEpochs() const;
  double LeafMark(int32_t leaf) const;
  struct LeafSum {
    std::vector<std::vector<double>> stats;    // one vector, with the marks
    std::vector<AlignedVector<Real>> buckets;  // empty when the leaf has no rows, or an evaluation
    bool empty = false;
  };
  using Key = std::tuple<int32_t, int32_t, int64_t, std::string>;
  const LeafSum& Leaf(const training::Action& action, int32_t leaf,
                      const AlignedVector<Real>& parameters, const std::string& state);
  LeafSum ComputeGradient(const training::GradientAction& step, int32_t leaf,
                          const AlignedVector<Real>& parameters);
  LeafSum ComputeEvaluation(const training::EvaluateAction& evaluate, int32_t leaf,
                            const AlignedVector<Real>& parameters);
  Contribution Join(const training::Action& action, const std::vector<const LeafSum*>& leaves,
                    const LeafUse& use) const;
  void Gather(spec::FileRole set, const std::vector<int64_t>& rows);
  int64_t SetRows(spec::FileRole set) const;
  int64_t StatsSize(const training::Action& action) const;

  const int kind_;
  int32_t leaves_ = 16;
  int32_t members_heard_ = 0;  // members that have room for words of their own
  plan::RowOrder order_ = plan::RowOrder::kFull;
  training::TrainingPlan plan_;
  std::shared_ptr<spec::InputPlan> input_;
  std::shared_ptr<const spec::TableProfile> profile_;
  std::vector<plan::Chunk> chunks_;
  plan::BucketTable table_;
  std::unique_ptr<model::LeafPass<Real>> pass_;
  std::map<Key, LeafSum> leaf_sums_;
  std::map<Key, Contribution> contributions_;
  std::vector<std::string> states_;                       // by round
  std::map<int64_t, std::pair<double, double>> rows_in_;  // by step, or set
  std::string weights_hash_;
  std::vector<spec::HistoryRow> history_;
  uint64_t last_round_ = 0;
};

// PlanTree, remembered.
const std::vector<plan::TreePlace>& TreeOf(const std::vector<plan::LeafSpan>& intervals,
                                           int32_t leaves);

// What an action is about: the parameters, or in an evaluation the averaged ones.
const AlignedVector<Real>& WeightsFor(const training::StepMachine<Real>& machine,
                                      const training::Action& action);
std::string WeightsHash(const AlignedVector<Real>& parameters);

}  // namespace espalier::sim
