// Jobs as a watcher sees them, for the tests of views.
#pragma once

#include "src/cluster/messages.h"

namespace espalier::cli {

inline spec::JobSnapshot QueuedJob() {
  spec::JobSnapshot job;
  job.job = JobId{17};
  job.name = "digits";
  job.output = "/models/digits";
  job.waiting_because = "1 of 2 workers have registered";
  job.submitted_ms = 1'000'000;
  return job;
}

inline spec::JobSnapshot TrainingJob() {
  spec::JobSnapshot job = QueuedJob();
  job.state = spec::JobState::kTraining;
  job.waiting_because.clear();
  job.workers = {"local-1", "local-2"};
  job.leaves = 4;
  job.input_bytes = 4096;
  job.profiling_bytes_done = 4096;
  job.progress.step = 300;
  job.progress.steps_total = 3760;
  job.progress.epoch = 1.5957;
  job.progress.epochs_total = 20;
  job.progress.loss = 0.21014;
  job.progress.accuracy = 0.938;
  job.progress.learning_rate = 1e-3;
  job.progress.rows_per_second = 52345.4;
  job.progress.phase = "training";
  return job;
}

inline spec::Metrics TwoClassMetrics(double accuracy) {
  spec::Metrics m;
  m.rows = 10;
  m.weight = 10;
  m.loss = 0.25;
  m.accuracy = accuracy;
  m.precision = m.recall = m.f1 = accuracy;
  m.auc = 0.975;
  m.classes = {{0.8, 1, 0.888889, 4}, {1, 0.833333, 0.909091, 6}};
  m.confusion = {4, 0, 1, 5};
  return m;
}

inline spec::HistoryRow EvaluationRow(double epoch, int64_t step) {
  spec::HistoryRow row;
  row.epoch = epoch;
  row.step = step;
  row.learning_rate = 1e-3;
  row.train = TwoClassMetrics(0.879);
  row.validation = TwoClassMetrics(0.942);
  return row;
}

inline spec::JobSnapshot SucceededJob() {
  spec::JobSnapshot job = TrainingJob();
  job.state = spec::JobState::kSucceeded;
  job.start_phase_ms = 250;
  job.profiling_phase_ms = 500;
  job.train_phase_ms = 1250;
  spec::TrainingResult r;
  r.steps = 3760;
  r.epochs = 20;
  r.rows_per_epoch = 48000;
  r.train = TwoClassMetrics(0.95);
  r.validation = TwoClassMetrics(0.94);
  r.test = TwoClassMetrics(0.9);
  r.classes = {"no", "yes"};
  r.weights_sha256 = "ab12";
  r.bundle = "/models/digits";
  r.stopped_because = "epochs";
  r.step_ms_p50 = 3.125;
  r.step_ms_p99 = 4.5;
  job.result = r;
  return job;
}

}  // namespace espalier::cli
