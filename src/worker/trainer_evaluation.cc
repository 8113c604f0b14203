// Trainer: the evaluation of a set.
#include <algorithm>
#include <utility>

#include "src/worker/trainer.h"

namespace espalier {
namespace {

// Rows of one evaluation call: a sparse network goes through its first weight once a call.
int64_t EvaluationRows(const NetworkShape& shape) { return (shape.sparse ? 8 : 1) * int64_t{128}; }

}  // namespace

template <typename T>
int64_t Trainer<T>::SetRows(FileRole set) const {
  const TrainingPlan& p = machine_.plan();
  if (set == FileRole::kValidation) return p.validation_rows;
  return set == FileRole::kTest ? p.test_rows : p.train_rows;
}

template <typename T>
Result<Action> Trainer<T>::Perform(const EvaluateAction& evaluate) {
  const int64_t size = TotalsSize(machine_.plan().shape, TotalsKind::kEvaluation);
  reducer_.BeginRound(machine_.state().round, {{0, size}});
  const int64_t rows = SetRows(evaluate.set);
  evaluated_rows_ = 0;
  evaluation_rows_ = LeafRows(rows, options_.leaves, options_.own.end - 1).end -
                     LeafRows(rows, options_.leaves, options_.own.begin).begin;
  Report(true, 0);
  std::vector<std::vector<double>> totals(passes_.size(), std::vector<double>(size, 0.0));
  pool_.ParallelFor(static_cast<int64_t>(passes_.size()), [&](int64_t i) {
    EvaluateLeaf(evaluate.set, rows, static_cast<int32_t>(i), totals[i]);
  });
  if (aborted_) {  // some rows were left out: such a sum must not go out
    std::lock_guard lock(abort_mutex_);
    return abort_reason_;
  }
  AlignedVector<double> nodes;
  for (const std::vector<double>& node : JoinStats(totals)) {
    nodes.insert(nodes.end(), node.begin(), node.end());
  }
  reducer_.Contribute(0, MakePayload(std::move(nodes)));
  ESPALIER_ASSIGN_OR_RETURN(auto sums, WaitTotals());
  const auto* sum = reinterpret_cast<const double*>(sums[0].data);
  Action next = machine_.OnEvaluation(std::vector<double>(sum, sum + size));
  last_step_us_ = hooks_.now_us();  // an evaluation is not part of the next step's time
  return next;
}

template <typename T>
void Trainer<T>::EvaluateLeaf(FileRole set, int64_t rows, int32_t own_index,
                              std::vector<double>& totals) {
  const Range range = LeafRows(rows, options_.leaves, options_.own.begin + own_index);
  std::unique_ptr<LeafPass<T>> pass = TakeEvaluationPass();
  std::vector<int64_t> indices;
  const int64_t call = EvaluationRows(machine_.plan().shape);
  for (int64_t begin = range.begin; begin < range.end && !aborted_; begin += call) {
    indices.clear();
    for (int64_t r = begin; r < std::min(range.end, begin + call); ++r) {
      indices.push_back(r);
    }
    rows_.Gather(set, indices, pass->inputs(), pass->codes(), pass->labels(), pass->targets(),
                 pass->weights(), &pass->sparse());
    pass->Evaluate(machine_.Evaluated().data(), static_cast<int64_t>(indices.size()),
                   totals.data());
    evaluated_rows_ += static_cast<int64_t>(indices.size());
    if (std::this_thread::get_id() == thread_) ReportEvaluation();
  }
  std::lock_guard lock(evaluation_mutex_);
  evaluation_passes_.push_back(std::move(pass));
}

template <typename T>
std::unique_ptr<LeafPass<T>> Trainer<T>::TakeEvaluationPass() {
  {
    std::lock_guard lock(evaluation_mutex_);
    if (!evaluation_passes_.empty()) {
      auto pass = std::move(evaluation_passes_.back());
      evaluation_passes_.pop_back();
      return pass;
    }
  }
  return std::make_unique<LeafPass<T>>(machine_.plan().shape,
                                       EvaluationRows(machine_.plan().shape));
}

// The time of an evaluation is not part of the steps' pace.
template <typename T>
void Trainer<T>::ReportEvaluation() {
  const int64_t now = hooks_.now_us();
  if (now - last_report_us_ < options_.report_interval_us) return;
  last_report_us_ = now;
  last_report_rows_ = rows_done_;
  Report(true, static_cast<double>(evaluated_rows_) /
                   static_cast<double>(std::max<int64_t>(1, evaluation_rows_)));
}

template int64_t Trainer<float>::SetRows(FileRole) const;
template Result<Action> Trainer<float>::Perform(const EvaluateAction&);
template void Trainer<float>::EvaluateLeaf(FileRole, int64_t, int32_t, std::vector<double>&);
template std::unique_ptr<LeafPass<float>> Trainer<float>::TakeEvaluationPass();
template void Trainer<float>::ReportEvaluation();
template int64_t Trainer<double>::SetRows(FileRole) const;
template Result<Action> Trainer<double>::Perform(const EvaluateAction&);
template void Trainer<double>::EvaluateLeaf(FileRole, int64_t, int32_t, std::vector<double>&);
template std::unique_ptr<LeafPass<double>> Trainer<double>::TakeEvaluationPass();
template void Trainer<double>::ReportEvaluation();

}  // namespace espalier
