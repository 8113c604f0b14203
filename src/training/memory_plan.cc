#include "src/training/memory_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "src/base/text.h"
#include "src/model/leaf_pass.h"
#include "src/model/metrics.h"
#include "src/model/optimizer.h"
#include "src/plan/rows.h"

namespace espalier::training {
namespace {

// Returns the largest number of rows that a leaf has in a step.
int64_t LeafStepRows(const TrainingPlan& plan) {
  const auto ceil = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  return ceil(ceil(plan.train_rows, spec::LeafCount(plan.train)),
              std::max<int64_t>(1, plan.StepsPerEpoch()));
}

// Returns the number of parameter-sized vectors in one job state (training_state.h). With several
// fits, it is the number at the end.
int64_t StateVectors(const spec::TrainSpec& train, bool accumulates) {
  const bool best = train.early_stopping && train.early_stopping->restore_best;
  const bool averages = train.averaging.kind != spec::AveragingKind::kNone;
  const int64_t fits = spec::Assembles(train) ? 2 * train.ensemble.fits : 0;
  return 1 + model::SlotCount(train.optimizer) + accumulates + averages + best + fits;
}

// Returns the number of parameter-sized vectors on a worker. It has those of its states and encoded
// states, its own and the summed gradient, and for each pusher the parameters sent to it and the
// gradient received.
int64_t VectorCount(int64_t state_vectors, const MemoryPart& part) {
  return (part.states + part.encoded) * state_vectors + 2 + 2 * part.pushers;
}

// Returns the count of numbers that a leaf keeps for its rows of a step: the inputs, and for each
// unit its output, derivative and delta.
int64_t LeafNumbers(const TrainingPlan& plan) {
  const model::NetworkShape& shape = plan.shape;
  int64_t a_row = shape.sparse ? 0 : shape.row_numbers();
  // Embedded inputs and their deltas. For a scaling layer, all inputs before and after it.
  if (shape.numbers.count > 0) a_row += 2 * shape.layers.front().in;
  if (shape.scaling_layer) a_row += 3 * shape.fan_in(0);
  for (const model::LayerShape& layer : plan.shape.layers) a_row += 3 * layer.out;
  return LeafStepRows(plan) * a_row;
}

std::string Shown(double bytes) { return HumanBytes(static_cast<uint64_t>(bytes)); }

}  // namespace

MemoryPlan PlanMemory(const TrainingPlan& plan, const MemoryPart& part, int64_t element_bytes) {
  const int64_t vectors = VectorCount(StateVectors(plan.train, plan.Accumulates()), part);
  const bool evaluates = plan.HoldsOut() || plan.test_rows > 0;
  const auto element = static_cast<double>(element_bytes);
  MemoryPlan out;
  out.parameters = model::ParameterCount(plan.shape);
  out.model_bytes = static_cast<double>(out.parameters) * static_cast<double>(vectors) * element;
  out.rows_bytes =
      static_cast<double>(LeafNumbers(plan)) * static_cast<double>(part.leaves) * element;
  if (spec::FoldsOf(plan.train) > 0) {  // FoldRows (worker/fold_rows.h)
    const double share =
        static_cast<double>(part.leaves) / static_cast<double>(spec::LeafCount(plan.train));
    out.rows_bytes += static_cast<double>(plan.train_rows) * share * 2 * sizeof(int32_t);
  }
  if (evaluates) {
    const int64_t bytes =
        part.leaves * plan.EvaluationNumbersMax() * static_cast<int64_t>(sizeof(double));
    out.totals_bytes = static_cast<double>(bytes);
  }
  return out;
}

int64_t BudgetedBytes(double bytes) {
  constexpr double kMost = 9e18;
  return std::max<int64_t>(0, static_cast<int64_t>(std::min(bytes, kMost)) - kModelAllowance);
}

Status CheckMemory(const MemoryPlan& plan, const MemoryPart& part, int64_t budget) {
  if (BudgetedBytes(plan.total_bytes()) <= budget) return {};
  const std::string where = part.pushers == 0 ? ""
                                              : " (this worker exchanges with " +
                                                    std::to_string(part.pushers) + " others)";
  return ResourceExhausted(
      "the model exceeds the memory limit of this worker (found " + Shown(plan.total_bytes()) +
      ": model " + Shown(plan.model_bytes) + " for " + HumanCount(plan.parameters) + " parameters" +
      where + ", rows of a step " + Shown(plan.rows_bytes) + ", evaluation " +
      Shown(plan.totals_bytes) + "; expected at most " +
      Shown(static_cast<double>(budget + kModelAllowance)) + ": memory_bytes_max and " +
      Shown(kModelAllowance) + "). Use a smaller model, a lower train.batch or fewer train.leaves" +
      (part.pushers > 0 ? ", use fewer workers" : "") +
      ", raise memory_bytes_max, or use workers with more memory.");
}

Status CheckLeafRows(const TrainingPlan& plan) {
  const int64_t all = plan.train_rows / spec::LeafCount(plan.train);
  if (spec::FoldsOf(plan.train) > 0 && all >= std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("train.ensemble: a leaf has " + HumanCount(all) +
                           " rows, expected fewer than 2^31 with folds: raise train.leaves, or set "
                           "train.ensemble.over: seeds");
  }
  const int64_t rows = LeafStepRows(plan);
  if (rows < model::kLeafRowsMax) return {};
  return InvalidArgument("train.batch: a leaf has " + HumanCount(rows) +
                         " rows of a step, expected fewer than " + HumanCount(model::kLeafRowsMax) +
                         ": lower train.batch or raise train.leaves");
}

Status CheckHeldOutRows(const TrainingPlan& plan) {
  const double level = plan.train.intervals;
  if (level == 0) return {};
  const int64_t folds = spec::FoldsOf(plan.train), fits = plan.train.ensemble.fits;
  const int64_t rows = folds > 0 ? plan.train_rows * fits / folds : plan.validation_rows;
  const auto least = static_cast<int64_t>(std::ceil(level / (1 - level) - 1e-9));
  if (rows >= least) return {};
  return InvalidArgument("train.intervals: " + ShortestDouble(level) + " requires at least " +
                         HumanCount(least) + " held-out rows, and this job has " +
                         HumanCount(rows) + ". " +
                         (folds > 0 ? "Use more training rows or fits" : "Raise data.validation") +
                         ", or lower train.intervals.");
}

int64_t LeastModelBytes(const spec::JobSpec& job) {
  double weights = 0;
  const std::vector<int64_t>& hidden = job.model.hidden;
  for (size_t i = 1; i < hidden.size(); ++i) {
    weights += static_cast<double>(hidden[i - 1]) * static_cast<double>(hidden[i]);
  }
  const bool searches = job.train.optimizer.kind == spec::OptimizerKind::kLbfgs;
  // One worker is the root, and writes the state at which the job stops.
  const int64_t vectors = VectorCount(StateVectors(job.train, searches), {.encoded = 2});
  const double element = job.model.precision == spec::Precision::kFloat64 ? 8 : 4;
  return BudgetedBytes(weights * static_cast<double>(vectors) * element);
}

}  // namespace espalier::training
