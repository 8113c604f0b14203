#include "src/cli/result_view.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>

#include "src/cli/exit_code.h"
#include "src/cli/format.h"
#include "tests/cli/jobs.h"

namespace espalier::cli {
namespace {

TEST_CASE("a classification's result shows metrics, time and bundle") {
  const std::string text = ResultText(SucceededJob(), 250);
  CHECK_THAT(text,
             Catch::Contains("job-17 'digits' succeeded: 20 epochs of 48,000 rows, 3,760 steps"));
  CHECK_THAT(text, Catch::Contains("test accuracy 90.00 % (10 rows)\n"));
  CHECK_THAT(text, Catch::Contains(
                       "              loss  accuracy  precision   recall       f1     auc  rows\n"
                       "  train       0.2500"));
  CHECK_THAT(text, Catch::Contains("  class  precision    recall       f1  rows\n"
                                   "  no       80.00 %  100.00 %  88.89 %     4\n"));
  CHECK_THAT(text, Catch::Contains("       no  yes\n"
                                   "  no    4    0\n"
                                   "  yes   1    5\n"));
  CHECK_THAT(text,
             Catch::Contains("time     start 500 ms, profile 500 ms, training 1.2 s, total "
                             "2.2 s\nstep     3.1250 ms (median), 4.5000 ms (99th percentile)\n"));
  CHECK_THAT(text, Catch::Contains("bundle   /models/digits\n") &&
                       Catch::Contains("weights  sha256 ab12\n") &&
                       Catch::Contains("what to try next"));
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK_THAT(ResultText(SucceededJob(), 0, {.drawing = {.color = true}}),
             Catch::Contains("\x1b[32msucceeded\x1b[0m"));
}

TEST_CASE("a regression's result shows rmse, mae and r2") {
  spec::JobSnapshot job = SucceededJob();
  spec::Metrics m;
  m.classification = false;
  m.rows = 1200;
  m.weight = 1200;
  m.rmse = 2.5;
  m.mae = 1.25;
  m.r2 = 0.75;
  job.trained()->train = job.trained()->validation.emplace(m);
  job.trained()->test.reset();
  const std::string text = ResultText(job, 0);
  CHECK_THAT(text, Catch::Contains("validation rmse 2.5000, mae 1.2500, r2 0.7500 (1,200 rows)"));
  CHECK_THAT(text, Catch::Contains("rmse     mae      r2   rows"));
  CHECK(text.find("accuracy") == std::string::npos);
  CHECK(text.find("confusion") == std::string::npos);
}

TEST_CASE("epochs of the weights have at most two decimals") {
  spec::JobSnapshot job = SucceededJob();
  job.trained()->best_epochs = {46.26315789473684};
  CHECK_THAT(ResultText(job, 0),
             Catch::Contains("the weights are those after epoch 46.26, those of"));
  job.trained()->best_epochs = {22, 23.5};
  job.trained()->fits = 2;
  CHECK_THAT(ResultText(job, 0), Catch::Contains("with the weights after epoch 22, 23.50\n"));
}

TEST_CASE("tables by class are left out beyond twenty classes") {
  spec::JobSnapshot job = SucceededJob();
  job.trained()->test->classes.resize(21);
  job.trained()->test->confusion.resize(21 * 21);
  const std::string text = ResultText(job, 0);
  CHECK_THAT(text, Catch::Contains("21 classes") && Catch::Contains("model.json"));
  CHECK(text.find("confusion matrix") == std::string::npos);
}

TEST_CASE("missing validation and skipped rows are reported") {
  spec::JobSnapshot job = SucceededJob();
  job.trained()->validation.reset();
  job.trained()->test.reset();
  job.trained()->skipped_rows = 7;
  CHECK_THAT(ResultText(job, 0),
             Catch::Contains("skipped 7 bad rows") && Catch::Contains("set data.validation"));
}

TEST_CASE("a validation loss that rises at the end gets advice") {
  spec::JobSnapshot job = SucceededJob();
  job.trained()->best_epochs = {18};
  spec::JobSpec spec;
  spec.data.train = {"t.csv"};
  spec.model.hidden = {8};
  const auto with_end = [&](double validation) {
    return ResultText(
        job, 0, {.curve = {{1, 0.5, 0.5}, {18, 0.2, 0.4}, {20, 0.1, validation}}, .job = &spec});
  };
  CHECK_THAT(with_end(0.41), !Catch::Contains("val_loss ends"));
  CHECK_THAT(with_end(0.8), Catch::Contains("val_loss ends 100 % above its best: try dropout or "
                                            "weight_decay\n"));
  spec.train.weight_decay = 0.02;
  CHECK_THAT(with_end(0.8), Catch::Contains("above its best: try dropout\n"));
  spec.model.dropout = {0.1};
  CHECK_THAT(with_end(0.8), !Catch::Contains("val_loss ends"));
  job.trained()->best_epochs.clear();
  CHECK_THAT(with_end(0.8), Catch::Contains("above its best: try early_stopping\n"));
  spec.train.early_stopping.emplace();
  CHECK_THAT(with_end(0.8), Catch::Contains("above its best: try restore_best\n"));
}

TEST_CASE("of several fits the last one decides whether the loss rises") {
  spec::JobSnapshot job = SucceededJob();  // 20 epochs
  job.trained()->fits = 2;
  job.trained()->best_epochs = {2, 2};
  spec::JobSpec spec;
  spec.data.train = {"t.csv"};
  spec.model.hidden = {8};
  const auto with_end = [&](double validation) {
    return ResultText(
        job, 0,
        {.curve = {{2, 0.5, 0.2}, {10, 0.1, 0.9}, {12, 0.5, 0.4}, {20, 0.1, validation}},
         .job = &spec});
  };
  CHECK_THAT(with_end(0.41), !Catch::Contains("\n  tune"));
  CHECK_THAT(with_end(0.8), Catch::Contains("val_loss ends 100 % above its best"));
}

TEST_CASE("asynchronous training warns about reproducibility and lag") {
  spec::JobSnapshot job = SucceededJob();
  CHECK(ResultText(job, 0).find("asynchronous") == std::string::npos);
  job.trained()->async = spec::AsyncCounts{5, 1200};
  CHECK_THAT(
      ResultText(job, 0),
      Catch::Contains("asynchronous: another run gives other weights; gradients were applied "
                      "at most 5 steps late, 1,200 came later and were computed again\n"));
}

TEST_CASE("an error is shown with its full position and the text found") {
  const Status error =
      BadInput("expected a number")
          .At({.file = "/data/a.csv", .row = 12, .column = "age", .offset = 345, .text = "x\ty"})
          .Wrap("profile failed");
  CHECK(ErrorText(error, false) ==
        "error: profile failed <- expected a number\n"
        "  file    /data/a.csv\n"
        "  row     12 (line of the file)\n"
        "  column  age\n"
        "  offset  345 bytes\n"
        "  found   'x\\x09y'\n");
  CHECK(ErrorText(InvalidArgument("no such key"), false) == "error: no such key\n");
  CHECK(ErrorText(Unavailable("refused").Wrap("cannot reach a:1"), false) ==
        "error: cannot reach a:1 <- refused\n");
}

TEST_CASE("jobs and workers are listed as tables") {
  CHECK(JobTable({}, 0) == "no jobs\n");
  const std::string jobs = JobTable({QueuedJob(), TrainingJob(), SucceededJob()}, 1'005'000);
  CHECK_THAT(
      jobs,
      Catch::Contains("job-17  train  digits  QUEUED     5.0 s  0        waiting because: 1 of 2"));
  CHECK_THAT(jobs,
             Catch::StartsWith("JOB     KIND   NAME    STATE      TIME   WORKERS  DETAILS\n"));
  CHECK_THAT(jobs, Catch::Contains("epoch 2/20, loss 0.2101"));
  CHECK_THAT(jobs, Catch::Contains("test accuracy 90.00 %"));
  CHECK(WorkerTable({}) == "no workers are attached\n");
  spec::WorkerSnapshot worker;
  worker.worker = WorkerId{3};
  worker.name = "node-1";
  worker.address = "10.0.0.1:7000";
  worker.threads = 4;
  worker.memory_bytes = int64_t{8} << 30;
  worker.last_heard_ms = 500;
  worker.version = "0.1.0";
  CHECK_THAT(WorkerTable({worker}),
             Catch::Contains(
                 "worker-3  node-1  10.0.0.1:7000  4        8.0 GiB  free  500 ms ago  0.1.0"));
}

TEST_CASE("the owner of a job is shown where jobs have owners") {
  spec::JobSnapshot anns = QueuedJob(), done = SucceededJob();
  CHECK(JobTable({anns, done}, 0).find("OWNER") == std::string::npos);
  CHECK(StatusText(done, 0, false).find("owner") == std::string::npos);
  anns.owner = done.owner = "anna\x1b";
  const std::string jobs = JobTable({anns, SucceededJob()}, 0);
  CHECK_THAT(jobs, Catch::Contains("JOB     KIND   NAME    OWNER     STATE"));
  CHECK_THAT(jobs, Catch::Contains("job-17  train  digits  anna\\x1b  QUEUED"));
  CHECK_THAT(StatusText(anns, 0, false), Catch::Contains("owner   anna\\x1b\n"));
  CHECK_THAT(StatusText(done, 0, false), Catch::StartsWith("owner  anna\\x1b\n"));
}

TEST_CASE("a status names the newest loss of workers") {
  for (spec::JobSnapshot job : {TrainingJob(), SucceededJob()}) {
    CHECK(StatusText(job, 0, false).find("of workers: ") == std::string::npos);
    job.losses = 2, job.last_loss = "node-1 (worker-3) left: it is over";
    CHECK_THAT(StatusText(job, 0, false),
               Catch::Contains("losses") &&
                   Catch::Contains("of workers: 2; the last: node-1 (worker-3) left"));
  }
}

TEST_CASE("a status shows why a job waits and how far it is") {
  CHECK_THAT(StatusText(QueuedJob(), 1'005'000, false),
             Catch::Contains("why") && Catch::Contains("1 of 2 workers have registered"));
  CHECK_THAT(StatusText(TrainingJob(), 1'005'000, false),
             Catch::Contains("epoch 2/20") && Catch::Contains("local-2"));
  std::istringstream lines(StatusText(TrainingJob(), 1'005'000, false));
  for (std::string line; std::getline(lines, line);) CHECK(line.size() < 80);
  spec::JobSnapshot failed = TrainingJob();
  failed.state = spec::JobState::kFailed;
  failed.error = BadInput("not a number");
  CHECK_THAT(StatusText(failed, 1'005'000, false), Catch::Contains("error: not a number"));
}

TEST_CASE("the newest of many evaluations are shown") {
  spec::JobUpdate job{TrainingJob(), {}};
  CHECK(LastEvaluations(job, "all").empty());
  for (int i = 1; i <= 10; ++i) job.history.push_back({.epoch = 1.0 * i, .step = i});
  const std::string ten = LastEvaluations(job, "all");
  CHECK(std::count(ten.begin(), ten.end(), '\n') == 10);
  for (int i = 11; i <= 1010; ++i) job.history.push_back({.epoch = 1.0 * i, .step = i});
  const std::string last = LastEvaluations(job, "espalier watch job-1 --json");
  CHECK(std::count(last.begin(), last.end(), '\n') == 11);
  CHECK_THAT(last, Catch::StartsWith("1,000 earlier evaluations: see `espalier watch job-1 "
                                     "--json`\n") &&
                       Catch::Contains("epoch 1010/20 ") && !Catch::Contains("epoch 1000/20 "));
  job.snapshot.result = SucceededJob().result;
  CHECK_THAT(LastEvaluations(job, "all"), Catch::Contains("/history.csv, or `all`\n"));
}

TEST_CASE("exit codes follow the contract") {
  CHECK(ExitCodeOf(SucceededJob()) == 0);
  spec::JobSnapshot job = TrainingJob();
  job.state = spec::JobState::kCancelled;
  job.error = Cancelled("by a client");
  CHECK(ExitCodeOf(job) == 1);
  job.state = spec::JobState::kFailed;
  job.error = BadInput("row 3");
  CHECK(ExitCodeOf(job) == 1);
  job.error = Unavailable("a worker died");
  CHECK(ExitCodeOf(job) == 1);
  job.error = InvalidArgument("output: the file system takes no such name");
  CHECK(ExitCodeOf(job) == 1);
  CHECK(ExitCodeOf(Unavailable("refused")) == 3);
  CHECK(ExitCodeOf(DeadlineExceeded("silent")) == 3);
  CHECK(ExitCodeOf(NotFound("file")) == 2);
  CHECK(ExitCodeOf(FailedPrecondition("versions differ")) == 2);
  CHECK(SubmitExitCode(BadInput("header")) == 2);
}

TEST_CASE("a line is cut to its width") {
  CHECK(Fit("abcdef", 6) == "abcdef");
  CHECK(Fit("abcdef", 5) == "ab...");
  CHECK(Fit("abcdef", 2) == "ab");
  CHECK(Fit("Größen", 6) == "Größen");
  CHECK(Fit("Größen", 5) == "Gr...");
  CHECK(Fit("ab\ncd", 9) == "ab");
}

}  // namespace
}  // namespace espalier::cli
