#include "tests/sim/toy_job.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "src/base/check.h"
#include "src/base/checksum.h"
#include "src/base/random.h"
#include "src/model/arithmetic.h"
#include "src/training/state_codec.h"
#include "src/training/update.h"

namespace espalier::sim {
namespace {

constexpr int64_t kInputs = 4, kClasses = 3;
constexpr int64_t kShards = 7;
constexpr int64_t kBucketBytesOfToys = 128;  // small, so that a step has several buckets
constexpr int64_t kBatchRowsMax = 128;

spec::TrainSpec TrainOf(int kind) {
  spec::TrainSpec train;
  train.batch = 12;
  train.seed = 11 + static_cast<uint64_t>(kind);
  switch (kind) {
    case 0:  // Adam, with early stopping that restores the best weights
      train.epochs = 8;
      train.optimizer.learning_rate = 0.08;
      train.early_stopping =
          spec::EarlyStopping{.metric = "val_loss", .patience = 2, .min_delta = 0.02};
      break;
    case 1:
      train.optimizer.kind = spec::OptimizerKind::kMomentum;
      train.optimizer.learning_rate = 0.05;
      train.clip_norm = 1;
      train.epochs = 5;
      break;
    case 2:  // only steps, without evaluations
      train.optimizer.kind = spec::OptimizerKind::kNesterov;
      train.optimizer.learning_rate = 0.03;
      train.steps = 33;
      break;
    case ToyJob::kLarge:
      train.batch = 1500;
      train.steps = 5;
      break;
    default:  // a long job
      train.optimizer.kind = spec::OptimizerKind::kAdamW;
      train.optimizer.learning_rate = 0.01;
      train.weight_decay = 0.01;
      train.schedule.kind = spec::ScheduleKind::kCosine;
      train.accumulate_steps = 2;
      train.averaging = {spec::AveragingKind::kEma, 0.9, {}};
      train.steps = 90;
  }
  return train;
}

}  // namespace

ToyJob& ToyJob::Of(int kind) {
  static std::map<int, std::unique_ptr<ToyJob>> jobs;
  std::unique_ptr<ToyJob>& job = jobs[kind];
  if (!job) {
    model::PrepareComputeThread();
    job.reset(new ToyJob(kind));
  }
  return *job;
}

ToyJob::ToyJob(int kind) : kind_(kind) {
  if (kind == 1) leaves_ = 8;
  if (kind == 2) order_ = plan::RowOrder::kWindow;
  spec::ModelSpec model;
  model.hidden = {5};
  model.dropout = {kind == 1 ? 0.1 : 0.0};
  plan_.train = TrainOf(kind);
  plan_.shape = model::MakeNetworkShape(model, kInputs, kClasses).value();
  plan_.train_rows = 61;
  if (kind == kLarge) {
    leaves_ = 1024;
    plan_.train_rows = 3000;
  } else {
    members_heard_ = leaves_;
  }
  plan_.validation_rows = kind == 2 || kind == kLarge ? 0 : 19;
  plan_.test_rows = kind == 1 || kind == 0 ? 13 : 0;
  chunks_ = plan::MakeChunks(model::Dims(plan_.shape), sizeof(Real), 64);
  table_ = plan::MakeBuckets(chunks_, sizeof(Real), kBucketBytesOfToys);
  pass_ = std::make_unique<model::LeafPass<Real>>(plan_.shape, kBatchRowsMax);
  MakeInput();
  input_->provisional = kind % 3 == 1;  // the profiling pass then runs twice
  RunAlone();
}

void ToyJob::MakeInput() {
  input_ = std::make_shared<spec::InputPlan>();
  input_->files.push_back({.path = "toy", .length = kShards * 100});
  for (int64_t k = 0; k < kShards; ++k) input_->shards.push_back({0, k * 100, k * 100 + 100});
  auto profile = std::make_shared<spec::TableProfile>();
  for (int32_t k = 0; k < kShards; ++k) profile->shards.push_back(Profile(k));
  profile->train_rows = plan_.train_rows;
  profile->validation_rows = plan_.validation_rows;
  profile->test_rows = plan_.test_rows;
  profile_ = std::move(profile);
}

spec::ShardProfile ToyJob::Profile(int32_t shard) const {
  spec::ShardProfile profile;
  profile.shard = shard;
  profile.train_rows = plan::LeafRows(plan_.train_rows, kShards, shard).size();
  profile.validation_rows = plan::LeafRows(plan_.validation_rows, kShards, shard).size();
  profile.test_rows = plan::LeafRows(plan_.test_rows, kShards, shard).size();
  return profile;
}

int64_t ToyJob::SetRows(spec::FileRole set) const {
  if (set == spec::FileRole::kValidation) return plan_.validation_rows;
  return set == spec::FileRole::kTest ? plan_.test_rows : plan_.train_rows;
}

plan::Range ToyJob::RowsOf(spec::FileRole set, plan::LeafSpan own) const {
  const int64_t rows = SetRows(set);
  return {plan::LeafRows(rows, leaves_, own.begin).begin,
          plan::LeafRows(rows, leaves_, own.end - 1).end};
}

void ToyJob::Gather(spec::FileRole set, const std::vector<int64_t>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint64_t row = static_cast<uint64_t>(rows[i]) + static_cast<uint64_t>(set) * 1'000'000;
    const auto label = static_cast<int32_t>(Mix64(row) % kClasses);
    for (int64_t f = 0; f < kInputs; ++f) {
      pass_->inputs()[static_cast<int64_t>(i) * kInputs + f] = static_cast<Real>(
          UnitDouble(Mix64(row * 97 + static_cast<uint64_t>(f))) + (f == label ? 0.6 : 0.0));
    }
    pass_->labels()[i] = label;
    pass_->weights()[i] = row % 5 == 0 ? Real{0.5} : Real{1};
  }
}

// ---- leaves ----------------------------------------------------------------------------------

int64_t ToyJob::StatsSize(const training::Action& action) const {
  const bool step = std::holds_alternative<training::GradientAction>(action);
  const auto kind = step ? model::TotalsKind::kTraining : model::TotalsKind::kEvaluation;
  return model::TotalsSize(plan_.shape, kind) + (step ? int64_t{training::kStepExtras} : 0);
}

int64_t ToyJob::NumbersSize(const training::Action& action) const {
  const bool step = std::holds_alternative<training::GradientAction>(action);
  return StatsSize(action) + (step ? training::kMemberNumbers * members_heard_ : 0);
}

collective::RoundShape ToyJob::ShapeOf(const training::Action& action) const {
  collective::RoundShape shape;
  if (std::holds_alternative<training::GradientAction>(action)) {
    for (const plan::Bucket& b : table_.buckets) shape.push_back({b.size, 0});
  } else {
    shape.push_back({0, 0});
  }
  shape.back().doubles += NumbersSize(action) + kMarks;
  return shape;
}

ToyJob::LeafSum ToyJob::ComputeGradient(const training::GradientAction& step, int32_t leaf,
                                        const AlignedVector<Real>& parameters) {
  const plan::Range range = plan::LeafRows(plan_.train_rows, leaves_, leaf);
  const plan::Range positions =
      plan::StepPositions(range.size(), plan_.StepsPerEpoch(), step.step_of_epoch);
  const plan::RowPermutation order(order_, 4, range.size(), plan_.train.seed, step.epoch, leaf);
  const int64_t size = NumbersSize(step);
  std::vector<double> stats(static_cast<size_t>(size + kMarks), 0.0);
  std::vector<int64_t> rows;
  for (int64_t p = positions.begin; p < positions.end; ++p) {
    rows.push_back(range.begin + order.At(p));
    stats[static_cast<size_t>(size) + kMarkNames] += RowName(spec::FileRole::kTrain, rows.back());
  }
  stats[static_cast<size_t>(size) + kMarkLeaves] = LeafMark(leaf);
  stats[static_cast<size_t>(size) + kMarkRows] = static_cast<double>(rows.size());
  LeafSum sum;
  sum.empty = rows.empty();
  Gather(spec::FileRole::kTrain, rows);
  const model::DropoutKey key{plan_.train.seed, static_cast<uint64_t>(step.step),
                              static_cast<uint64_t>(leaf)};
  pass_->ForwardBackward(parameters.data(), static_cast<int64_t>(rows.size()), key, stats.data());
  sum.stats.push_back(std::move(stats));
  for (size_t b = 0; b < table_.buckets.size() && !sum.empty; ++b) {
    AlignedVector<Real> bucket(static_cast<size_t>(table_.buckets[b].size), Real{0});
    for (int32_t c = table_.buckets[b].chunk_begin; c < table_.buckets[b].chunk_end; ++c) {
      pass_->WeightGradient(chunks_[static_cast<size_t>(c)],
                            bucket.data() + table_.offset_of[static_cast<size_t>(c)], false);
    }
    sum.buckets.push_back(std::move(bucket));
  }
  return sum;
}

ToyJob::LeafSum ToyJob::ComputeEvaluation(const training::EvaluateAction& evaluate, int32_t leaf,
                                          const AlignedVector<Real>& parameters) {
  const plan::Range range = plan::LeafRows(SetRows(evaluate.set), leaves_, leaf);
  const int64_t size = NumbersSize(evaluate);
  std::vector<double> stats(static_cast<size_t>(size + kMarks), 0.0);
  std::vector<int64_t> rows;
  for (int64_t r = range.begin; r < range.end; ++r) {
    rows.push_back(r);
    stats[static_cast<size_t>(size) + kMarkNames] += RowName(evaluate.set, r);
  }
  stats[static_cast<size_t>(size) + kMarkLeaves] = LeafMark(leaf);
  stats[static_cast<size_t>(size) + kMarkRows] = static_cast<double>(rows.size());
  Gather(evaluate.set, rows);
  pass_->Evaluate(parameters.data(), static_cast<int64_t>(rows.size()), stats.data());
  LeafSum sum;
  sum.stats.push_back(std::move(stats));
  return sum;
}

const ToyJob::LeafSum& ToyJob::Leaf(const training::Action& action, int32_t leaf,
                                    const AlignedVector<Real>& parameters,
                                    const std::string& state) {
  const auto* step = std::get_if<training::GradientAction>(&action);
  const auto* evaluate = std::get_if<training::EvaluateAction>(&action);
  const Key key{leaf, -1, ToyJob::RoundName(action), state};
  auto it = leaf_sums_.find(key);
  if (it == leaf_sums_.end()) {
    it = leaf_sums_
             .emplace(key, step ? ComputeGradient(*step, leaf, parameters)
                                : ComputeEvaluation(*evaluate, leaf, parameters))
             .first;
  }
  return it->second;
}

// ---- a member's part -------------------------------------------------------------------------

// Joins single leaves by PlanJoin, in the same order of additions as worker/trainer.cc.
Contribution ToyJob::Join(const training::Action& action, const std::vector<const LeafSum*>& leaves,
                          const LeafUse& use) const {
  std::vector<plan::TreeNode> singles;
  for (int32_t l = use.own.begin; l < use.own.end; ++l) singles.push_back({0, l});
  plan::JoinPlan join = plan::PlanJoin(singles, leaves_);
  if (use.in_order_of_arrival) {
    // Reverses the additions into each position.
    std::reverse(join.steps.begin(), join.steps.end());
    std::vector<int32_t> home(singles.size());
    for (size_t i = 0; i < home.size(); ++i) home[i] = static_cast<int32_t>(i);
    for (const plan::JoinStep& s : join.steps) home[static_cast<size_t>(s.from)] = s.into;
    for (plan::JoinStep& s : join.steps) {
      while (home[static_cast<size_t>(s.into)] != s.into)
        s.into = home[static_cast<size_t>(s.into)];
    }
  }
  const collective::RoundShape shape = ShapeOf(action);
  Contribution out;
  for (size_t b = 0; b < shape.size(); ++b) {
    const auto bytes = static_cast<size_t>(shape[b].bytes());
    std::vector<AlignedVector<std::byte>> value(leaves.size(), AlignedVector<std::byte>(bytes));
    for (size_t i = 0; i < leaves.size(); ++i) {
      auto* reals = reinterpret_cast<Real*>(value[i].data());
      std::fill(reals, reals + shape[b].floats, Real{-0.0f});
      if (!leaves[i]->buckets.empty()) {
        std::copy(leaves[i]->buckets[b].begin(), leaves[i]->buckets[b].end(), reals);
      }
      if (shape[b].doubles > 0) {
        std::memcpy(value[i].data() + shape[b].float_bytes(), leaves[i]->stats[0].data(),
                    leaves[i]->stats[0].size() * sizeof(double));
      }
    }
    for (const plan::JoinStep& s : join.steps) {
      auto* into = reinterpret_cast<Real*>(value[static_cast<size_t>(s.into)].data());
      const auto* from = reinterpret_cast<Real*>(value[static_cast<size_t>(s.from)].data());
      for (int64_t e = 0; e < shape[b].floats; ++e) into[e] += from[e];
      auto* sums = reinterpret_cast<double*>(into + shape[b].floats);
      const auto* more = reinterpret_cast<const double*>(from + shape[b].floats);
      for (int64_t e = 0; e < shape[b].doubles; ++e) sums[e] += more[e];
    }
    collective::MutablePayload nodes = collective::AllocatePayload(join.kept.size() * bytes);
    for (size_t k = 0; k < join.kept.size(); ++k) {
      std::memcpy(nodes.data + k * bytes, value[static_cast<size_t>(join.kept[k])].data(), bytes);
    }
    out.push_back(std::move(nodes).Freeze());
  }
  return out;
}

Contribution ToyJob::Contribute(const training::Action& action,
                                const AlignedVector<Real>& parameters, const LeafUse& use) {
  const int64_t round = ToyJob::RoundName(action);
  const std::string state(reinterpret_cast<const char*>(parameters.data()),
                          parameters.size() * sizeof(Real));
  const Key key{use.own.begin, use.own.end, round, state};
  if (use.plain()) {
    const auto it = contributions_.find(key);
    if (it != contributions_.end()) return it->second;
  }
  LeafSum none{
      {std::vector<double>(static_cast<size_t>(NumbersSize(action) + kMarks), 0.0)}, {}, true};
  std::vector<const LeafSum*> leaves;
  LeafSum twice;
  for (int32_t l = use.own.begin; l < use.own.end; ++l) {
    const int32_t rows_of = use.rows_of ? use.rows_of(l) : l;
    leaves.push_back(rows_of < 0 ? &none : &Leaf(action, rows_of, parameters, state));
  }
  if (use.counted_too >= 0) {
    twice = *leaves[0];
    const LeafSum& more = Leaf(action, use.counted_too, parameters, state);
    for (size_t i = 0; i < twice.stats[0].size(); ++i) twice.stats[0][i] += more.stats[0][i];
    leaves[0] = &twice;
  }
  Contribution out = Join(action, leaves, use);
  if (use.plain()) contributions_.emplace(key, out);
  return out;
}

const double* ToyJob::Marks(const training::Action& action, const collective::Payload& last) const {
  return reinterpret_cast<const double*>(last.data + ShapeOf(action).back().float_bytes()) +
         NumbersSize(action);
}

std::vector<double> ToyJob::Stats(const training::Action& action,
                                  const collective::Payload& last) const {
  const double* begin = Marks(action, last) - NumbersSize(action);
  return {begin, begin + StatsSize(action)};
}

std::pair<double, double> ToyJob::RowsIn(const training::Action& action) const {
  const auto it = rows_in_.find(ToyJob::RoundName(action));
  return it == rows_in_.end() ? std::pair{-1.0, -1.0} : it->second;
}

double ToyJob::LeafMark(int32_t leaf) const {
  if (leaves_ <= 16) return std::ldexp(1.0, 2 * leaf);
  return static_cast<double>(Mix64(static_cast<uint64_t>(leaf)) >> 40);
}

double ToyJob::AllLeaves() const {
  double all = 0;
  for (int32_t l = 0; l < leaves_; ++l) all += LeafMark(l);
  return all;
}

training::Action ToyJob::Apply(training::StepMachine<Real>& machine,
                               const training::UpdateAction& update,
                               const std::vector<collective::Payload>& totals) const {
  const auto total = [&](int64_t c) {
    const auto chunk = static_cast<size_t>(c);
    const auto bucket = static_cast<size_t>(table_.bucket_of[chunk]);
    return reinterpret_cast<const Real*>(totals[bucket].data) + table_.offset_of[chunk];
  };
  const model::ForEach each = [](int64_t n, const auto& body) {
    for (int64_t i = 0; i < n; ++i) body(i);
  };
  if (!training::PerformUpdate<Real>(plan_, update, chunks_, total, each, machine.state())) {
    return machine.OnNonfiniteGradient();
  }
  return machine.OnUpdated();
}

}  // namespace espalier::sim
