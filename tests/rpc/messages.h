// One sample of each message with every field filled.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/cluster/coordinator_actions.h"
#include "src/cluster/messages.h"
#include "src/cluster/packed_plan.h"

namespace espalier::rpc {

inline Status SampleError() {
  return BadInput("'x' is not a number")
      .At({"/data/\xff.csv", 17, "pixel 3", 1234, "x"})
      .Wrap("shard 4 cannot be read")
      .Wrap("the profiling pass failed");
}

inline spec::Metrics SampleMetrics() {
  spec::Metrics m;
  m.rows = 10, m.weight = 9.5, m.loss = 0.25;
  m.accuracy = 0.5, m.precision = 0.6, m.recall = 0.7, m.f1 = 0.8, m.auc = 0.9;
  m.classes = {{0.1, 0.2, 0.3, 4}, {0.5, 0.6, 0.7, 8}};
  m.confusion = {1, 2, 3, 4};
  m.rmse = 1.5, m.mae = 2.5, m.r2 = 3.5, m.classification = true;
  m.f1_micro = 0.11, m.f1_macro = 0.12;
  m.unknown_labels = 6, m.targets = {{"y\xff", 1, 2, 3, true, 0.5}};
  m.average_precision = 0.13, m.coverage = 0.14;
  return m;
}

inline spec::HistoryRow SampleRow(int64_t step = 40) {
  return {1.5, step, 0.001, SampleMetrics(), SampleMetrics(), 2, 0.5};
}

inline spec::JobProgress SampleProgress() {
  return {12, 100, 0.5, 5, 0.3, 0.9, 0.001, 5000, "evaluating", 0.25, 2, 5, 0.5};
}

inline spec::TrainingResult SampleResult() {
  spec::TrainingResult r;
  r.steps = 100, r.epochs = 5, r.rows_per_epoch = 48'000;
  r.train = SampleMetrics(), r.validation = SampleMetrics(), r.test = SampleMetrics();
  r.classes = {"zero", "\xfe"};
  r.weights_sha256 = "abc", r.bundle = "/out/\xff", r.stopped_because = "epochs";
  r.step_ms_p50 = 1.25, r.step_ms_p99 = 2.5, r.skipped_rows = 3;
  r.best_epochs = {2.5, 4}, r.fits = 2, r.skipped_steps = 4;
  r.threshold = {"f1", 0.25, 0.5, 0.375, true}, r.positive = "yes";
  r.intervals = {.level = 0.75, .half_widths = {2.5}};
  r.accepted = {"end of training: train.epochs: 5 in the checkpoint, 10 in this job"};
  r.async = spec::AsyncCounts{6, 7};
  return r;
}

inline spec::ScoringResult SampleScoring(
    decltype(spec::ScoringResult::work) work = spec::EvaluationResult{SampleMetrics(),
                                                                      {"zero", "\xfe"}}) {
  return {17, 2, {BadInput("y"), SampleError()}, "/out/\xff", {{"city\xff", 5}}, std::move(work)};
}
inline spec::ScoringResult SamplePrediction() {
  return SampleScoring(spec::PredictionResult{4, 2, "parquet"});
}

inline spec::ShardProfile SampleShard(int32_t shard = 1) {
  spec::ShardProfile s;
  s.shard = shard, s.checksum = 0xdeadbeef;
  s.train_rows = 1, s.validation_rows = 2, s.test_rows = 3, s.dropped_rows = 4, s.skipped_rows = 5;
  s.skipped = {SampleError()};
  s.storage = spec::StorageType::kFloat64;
  s.features = {{5, 1, 0.5, 2.5, -1, 3}};
  s.targets = {{6, 2, 0.25, 1.5, -2, 4}};
  s.labels = {{"a\xff", 3}, {"b", 2}};
  s.evaluation_labels = {{"c", 1}};
  s.categories = {{}, {{"", 2}, {"x\xff", 3}}};
  s.train_weight = 5.5;
  s.nonzeros = 77;
  s.sample = {{1, 7}, {0.5, -2}, true};
  s.evidence = {{2, 9, 1, 5, 4, 3, 2, -1, 3, {{{"x\xff", 3}}, true, 4}}};
  s.failure = SampleError();
  s.alike = {{3, 9}, {1, 2}, {4, 5}};
  s.probe = {{2, 8}, {1.5, 3}, true};
  s.places = {{3, 9}, {0.5, 0.25}, true};
  return s;
}

inline spec::ShardScore SampleScore(int32_t shard,
                                    decltype(spec::ShardScore::work) work = spec::EvaluatedShard{
                                        {0.5, -1}}) {
  return {shard, 8, 1, {SampleError()}, 3, {{"x", 2}}, std::move(work)};
}

inline spec::InputPlan SamplePlan() {
  spec::InputPlan p;
  p.files = {{"/data/\xff.csv", 100, 1'700'000'000'000, spec::FileRole::kTest},
             {"/data/b.csv", 50, 5, spec::FileRole::kTrain, {3, 0, 2, 1}}};
  p.shards = {{0, 0, 60}, {0, 60, 100}, {1, 10, 50}};
  p.schema = {{"l", "f\xff", "w", "v"}, {1}, {3}, 2, 3, 1};
  p.schema.rules = {{spec::FeatureType::kDate, 3, spec::DatePart::kHour}};
  p.schema.left_out = {{2, spec::LeftOutReason::kEmpty}};
  p.provisional = true;
  p.notes = {"a is categorical"};
  return p;
}

inline spec::TableProfile SampleProfile() {
  spec::TableProfile r;
  r.shards = {SampleShard(0), SampleShard(1)};
  r.preprocessing = {{{"f", 0.5, 2, 1.5, true, 3, 8, true, {"x\xff", ""}},
                      {"n", 0.5, 2, 1.5, true, 0, 8, false, {}, true, {-1, 2}}},
                     {{"t", 0.25, 4, {-3, 5}, 1.5}},
                     {"0", "1"},
                     {0.5, 2},
                     0.1};
  r.storage = spec::StorageType::kUint8;
  r.train_rows = 10, r.validation_rows = 2, r.test_rows = 3, r.skipped_rows = 1;
  r.sparse = true;
  r.data_fingerprint = "f00d";
  r.warnings = {"one class"};
  return r;
}

inline spec::StorageTokens SampleTokens() {
  return {{"hdfs://ns", "dG9rZW4"}, {"webhdfs://h:1", "eA"}};
}

inline std::vector<cluster::FromWorker> SamplesFromWorker() {
  return {
      cluster::Hello{
          "0.1.0", "arithmetic", "session", {5}, {2}, "name", "host:1", 4, 1 << 30, {7}, {3}, true},
      cluster::Heartbeat{{7}, {3}, 12, "hdfs://n is away"},
      cluster::ProfilingProgress{{7}, {3}, 4096},
      cluster::ProfilePart{
          {7},
          {3},
          {std::make_shared<const spec::ShardResult>(SampleScore(4)),
           std::make_shared<const spec::ShardResult>(SampleScore(6, spec::PredictedShard{2, 1})),
           std::make_shared<const spec::ShardResult>(SampleShard(5))}},
      cluster::MemberReady{{7}, {3}, 41},
      cluster::LinkBroken{{7}, {3}, {9}, SampleError()},
      cluster::Switched{{7}, {4}, 41},
      cluster::StatesDiffer{{7}, {3}, 40, {1, 2}},
      cluster::Uneven{{7}, {3}, 40, {0.5, 1.5}},
      cluster::Leaving{"SIGTERM"},
      cluster::Progress{{7}, {3}, SampleProgress()},
      cluster::HistoryEntry{{7}, {3}, SampleRow(), 9, 4},
      cluster::JobDone{{7}, {3}, SampleResult()},
      cluster::JobFailed{{7}, {3}, SampleError()},
      cluster::Goodbye{"SIGSEGV", true},
      cluster::StateKept{{7}, {3}, 40, "/models/m.checkpoints", SampleError()},
      cluster::TokenRefused{{7}, "hdfs://ns"}};
}

inline std::vector<cluster::ToWorker> SamplesToWorker() {
  return {cluster::Welcome{{2}, {5}, 1000, 5000},
          cluster::Refused{SampleError()},
          cluster::StartProfiling{{2},
                                  {7},
                                  {3},
                                  "name: x",
                                  std::make_shared<const spec::InputPlan>(SamplePlan()),
                                  {0, 2},
                                  SampleTokens(),
                                  "request",
                                  "c0de"},
          cluster::StartTraining{{2},
                                 {7},
                                 {3},
                                 {{{5}, "a", "host:1"}, {{6}, "b", "host:2"}},
                                 std::make_shared<const spec::TableProfile>(SampleProfile()),
                                 {{0, 9}, {9, 16}},
                                 true,
                                 1,
                                 true,
                                 1'700'000'000'000},
          cluster::SwitchOver{{2}, {7}, {3}, {4}},
          cluster::Proceed{{2}, {7}, {3}, 41, 1, true},
          cluster::Release{{2}, {7}, {3}, "done"},
          cluster::Dismiss{"bye"},
          cluster::Pulse{{2}},
          cluster::ProfileTaken{{2}, {7}, {3}, 12},
          cluster::EndTraining{{2}, {7}, {3}},
          cluster::KeepState{{2}, {7}, {3}, true},
          cluster::NewTokens{{2}, {7}, SampleTokens()}};
}

inline spec::JobSnapshot SampleSnapshot() {
  spec::JobSnapshot s;
  s.job = {7}, s.kind = spec::JobKind::kEvaluate, s.name = "mnist",
  s.state = spec::JobState::kFailed, s.waiting_because = "no workers";
  s.trouble = "its token ends", s.owner = "anna";
  s.output = "/out/\xff", s.workers = {"a", "b"}, s.leaves = 16, s.generation = {3};
  s.input_bytes = 1000, s.profiling_bytes_done = 500, s.progress = SampleProgress();
  s.result = SampleResult(), s.error = SampleError();
  s.submitted_ms = 1, s.started_ms = 2, s.training_ms = 3, s.ended_ms = 4;
  s.inferred = "date: day; numeric: 2 others";
  s.notes = {"one class"};
  s.losses = 2, s.last_loss = "a left";
  s.start_phase_ms = 5, s.profiling_phase_ms = 6, s.train_phase_ms = 7;
  return s;
}

inline spec::JobUpdate SampleUpdate() { return {SampleSnapshot(), {SampleRow(), SampleRow(41)}}; }

inline spec::JobUpdate LongUpdate(int64_t rows) {
  spec::JobUpdate update{SampleSnapshot(), {}};
  for (int64_t row = 0; row < rows; ++row) update.history.push_back(SampleRow(40 + row));
  return update;
}

inline spec::WorkerSnapshot SampleWorker() {
  return {{5}, "a", "host:1", "0.1.0", "arithmetic", 4, 1 << 30, {7}, 1, 2};
}

inline cluster::Submission SampleSubmission() {
  spec::InputPlan input = SamplePlan();
  input.hosts = {{"a", "b"}, {}, {"c"}};
  auto packed = std::make_shared<const std::string>(cluster::PackPlan(input));
  return {.client_request_id = "request",
          .job_yaml = "name: x",
          .name = "x",
          .output = "/out/\xff",
          .workers_min = 2,
          .workers_max = 5,
          .leaves = 16,
          .input = std::make_shared<const spec::InputPlan>(std::move(input)),
          .tokens = SampleTokens(),
          .work = cluster::ScoringSubmission{spec::JobKind::kPredict, "c0de"},
          .output_place = "/place",
          .owner = "ann\xff",
          .asked_yaml = "name: y",
          .packed_input = std::move(packed)};
}

// Returns one entry of each kind, in the order of the variant.
inline std::vector<cluster::JournalEntry> SampleEntries() {
  return {
      cluster::WorkerIdGiven{{5}},
      cluster::JobAccepted{{7}, 1'700'000'000'000, SampleSubmission()},
      cluster::GenerationStarted{{7},
                                 {3},
                                 {{{5}, "a", "host:1"}, {{6}, "b", "host:2"}},
                                 {{0, 9}, {9, 16}},
                                 12,
                                 "haswell",
                                 true},
      cluster::ProfileRecorded{{7}, std::make_shared<const spec::TableProfile>(SampleProfile())},
      cluster::HistoryRecorded{{7}, SampleRow(), 9},
      cluster::TrainingStarted{{7}, 14},
      cluster::JobEnded{SampleSnapshot()},
      cluster::JobForgotten{{7}},
      cluster::IncarnationTaken{{9}},
      cluster::GenerationReserved{{7}, {4}},
      cluster::TokensReplaced{{7}, SampleTokens()},
      cluster::MergeTried{{7}, 2},
      cluster::JobReplanned{{7}, {"name: x", SampleSubmission().input, 3}},
      cluster::MemberCrashed{{7}, "a", "a (worker-1, a:9000) by SIGSEGV"},
      cluster::JobSetAside{{7}, "it crashed"}};
}

}  // namespace espalier::rpc
