// Tiny jobs. All parts that determine a model's bits are real: rows, permutations, leaf passes, the
// step machine and the summation tree. A job computes the sums of a leaf once per state of the
// parameters, and all simulated members in that state share them. This makes a run cheap.
//
// The statistics of a round contain three more numbers for the checks: the counted leaves, the
// number of rows, and the sum of the rows' names. In the counted leaves, digit l in base 4 is the
// number of times that leaf l was counted.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/base/ids.h"
#include "src/collective/tree_reducer.h"
#include "src/member/member_core.h"
#include "src/model/leaf_pass.h"
#include "src/plan/ownership.h"
#include "src/plan/rows.h"
#include "src/spec/input.h"
#include "src/spec/metrics.h"
#include "src/training/step_machine.h"

namespace espalier::sim {

using Real = float;

enum Mark : int64_t { kMarkLeaves = 0, kMarkRows = 1, kMarkNames = 2, kMarks = 3 };

// A member's sums of one round: one payload per bucket, with the member's canonical nodes.
using Contribution = std::vector<collective::Payload>;

// How a member uses its leaves. Only planted bugs set members other than `own`.
struct LeafUse {
  plan::LeafSpan own;
  std::function<int32_t(int32_t leaf)> rows_of = {};  // leaf whose rows are used; -1: none
  int32_t counted_too = -1;                           // another leaf, added to the first
  bool in_order_of_arrival = false;
  bool plain() const { return !rows_of && counted_too < 0 && !in_order_of_arrival; }
};

// Steps between two comparisons of the members' states.
inline constexpr int64_t kAgreementSteps = 4;

class ToyJob {
 public:
  static constexpr int kKinds = 4;
  static constexpr int kLarge = kKinds;  // with leaves for a thousand members
  // Returns the job of that kind. Creates it at the first call.
  static ToyJob& Of(int kind);

  int kind() const { return kind_; }
  int32_t leaves() const { return leaves_; }
  const training::TrainingPlan& plan() const { return plan_; }
  member::MemberCoreOptions member_options() const;
  std::shared_ptr<const spec::InputPlan> input() const { return input_; }
  // Returns the profile of one shard.
  spec::ShardProfile Profile(int32_t shard) const;
  std::shared_ptr<const spec::TableProfile> profile() const { return profile_; }
  plan::Range RowsOf(spec::FileRole set, plan::LeafSpan own) const;

  collective::RoundShape ShapeOf(const training::Action& action) const;
  Contribution Contribute(const training::Action& action, const AlignedVector<Real>& parameters,
                          const LeafUse& use);
  // Returns the statistics at the end of the last bucket, without the marks.
  std::vector<double> Stats(const training::Action& action, const collective::Payload& last) const;
  // Writes a member's signals into the first node of its sums of a step. A job of a thousand
  // members has room only for the root's.
  void Say(const training::Action& action, const member::SendSums& signals, int32_t self,
           Contribution& sums) const;
  // Reads the signals of all members from the total. None: an evaluation has no signals.
  std::optional<training::StepSignals> Heard(const training::Action& action,
                                             const collective::Payload& last,
                                             int64_t members) const;
  // Returns the marks in the last bucket.
  const double* Marks(const training::Action& action, const collective::Payload& last) const;
  double AllLeaves() const;
  // Returns the number of rows of a round, and the sum of their names.
  std::pair<double, double> RowsIn(const training::Action& action) const;
  // Commits the totals of a gradient: applies the update and calls OnUpdated.
  training::Action Apply(training::StepMachine<Real>& machine, const training::UpdateAction& update,
                         const std::vector<collective::Payload>& totals) const;

  // Returns EncodeState of the undisturbed run of one worker in `round`, or null beyond the end.
  const std::string* StateAt(uint64_t round) const;
  const std::string& weights_hash() const { return weights_hash_; }
  const std::vector<spec::HistoryRow>& history() const { return history_; }
  uint64_t last_round() const { return last_round_; }

 private:
  explicit ToyJob(int kind);
  // Returns the number of a step, or a negative number for the set of an evaluation.
  static int64_t RoundName(const training::Action& action);
  static double RowName(spec::FileRole set, int64_t row);
  void MakeInput();
  void RunAlone();
  void CheckEpochs() const;
  double LeafMark(int32_t leaf) const;
  struct LeafSum {
    std::vector<std::vector<double>> stats;    // one vector, with the marks
    std::vector<AlignedVector<Real>> buckets;  // empty for a leaf without rows or an evaluation
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
  // Numbers of a round in the statistics: those for the step machine, then the members' signals,
  // then the marks.
  int64_t StatsSize(const training::Action& action) const;
  int64_t NumbersSize(const training::Action& action) const;

  const int kind_;
  int32_t leaves_ = 16;
  int32_t members_heard_ = 0;  // members whose reports have room
  plan::RowOrder order_ = plan::RowOrder::kFull;
  training::TrainingPlan plan_;
  std::shared_ptr<spec::InputPlan> input_;
  std::shared_ptr<const spec::TableProfile> profile_;
  std::vector<plan::Chunk> chunks_;
  plan::BucketTable table_;
  std::unique_ptr<model::LeafPass<Real>> pass_;
  std::map<Key, LeafSum> leaf_sums_;
  std::map<Key, Contribution> contributions_;
  std::vector<std::string> states_;                       // indexed by round
  std::map<int64_t, std::pair<double, double>> rows_in_;  // indexed by step or set
  std::string weights_hash_;
  std::vector<spec::HistoryRow> history_;
  uint64_t last_round_ = 0;
};

// Returns the tree over these intervals, from a cache.
std::shared_ptr<const member::Tree> SharedTree(const plan::Ownership& ownership, int32_t leaves);

// Returns the weights for an action: the parameters, or the averaged ones for an evaluation.
const AlignedVector<Real>& WeightsFor(const training::StepMachine<Real>& machine,
                                      const training::Action& action);
std::string WeightsHash(const AlignedVector<Real>& parameters);

}  // namespace espalier::sim
