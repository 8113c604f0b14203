// Trainer: the evaluation of a set.
#include <utility>

#include "src/model/metrics.h"
#include "src/worker/trainer.h"

namespace espalier::worker {

template <typename T>
Result<training::Action> Trainer<T>::Perform(const training::EvaluateAction& evaluate) {
  const int64_t size = machine_.EvaluationSize(evaluate.measure);
  const bool tries = evaluate.measure == training::Measure::kTrials;
  const Measured measured{evaluate.measure, size, tries ? machine_.Trials() : model::Trials()};
  reducer_.BeginRound(machine_.state().round, {{0, size}});
  Report(true, 0);
  const auto parts = machine_.EvaluationParts();
  const auto totals = work_.Evaluate(
      evaluate.set, parts, measured, [this] { return aborted_.load(); },
      [this](double share) { ReportEvaluation(share); });
  if (totals.empty()) {  // some rows were skipped: the sum must not be sent
    std::lock_guard lock(abort_mutex_);
    return abort_reason_;
  }
  AlignedVector<double> nodes;
  for (const std::vector<double>& node : totals) {
    nodes.insert(nodes.end(), node.begin(), node.end());
  }
  reducer_.Contribute(0, collective::MakePayload(std::move(nodes)));
  ESPALIER_ASSIGN_OR_RETURN(auto sums, WaitTotals());
  const auto* sum = reinterpret_cast<const double*>(sums[0].data);
  training::Action next = machine_.OnEvaluation(std::vector<double>(sum, sum + size));
  last_step_us_ = hooks_.now_us();  // an evaluation is not part of the next step's time
  return next;
}

// Reports an evaluation. Its time does not count for the pace of steps.
template <typename T>
void Trainer<T>::ReportEvaluation(double evaluated_share) {
  const int64_t now = hooks_.now_us();
  if (now - last_report_us_ < options_.report_interval_us) return;
  last_report_us_ = now;
  last_report_rows_ = rows_done_;
  Report(true, evaluated_share);
}

template Result<training::Action> Trainer<float>::Perform(const training::EvaluateAction&);
template void Trainer<float>::ReportEvaluation(double);
template Result<training::Action> Trainer<double>::Perform(const training::EvaluateAction&);
template void Trainer<double>::ReportEvaluation(double);

}  // namespace espalier::worker
