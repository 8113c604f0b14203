#include "src/cli/progress_view.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/cli/jobs.h"

namespace espalier::cli {
namespace {

TEST_CASE("the live line shows epoch, bar, step, loss and time left") {
  const std::string line = LiveLine(TrainingJob(), EvaluationRow(1, 188), 38'000, 200);
  CHECK(line ==
        "epoch 2/20  [=>                    ]   7 %  step 300/3,760  loss 0.2101  accuracy 93.80 %"
        "  val 94.20 %  52,345 rows/s  38 s left");
}

TEST_CASE("the live line never fills the last column of a terminal") {
  for (int width = 1; width <= 200; ++width) {
    const std::string line = LiveLine(TrainingJob(), EvaluationRow(1, 188), 38'000, width);
    INFO(width);
    CHECK(static_cast<int>(line.size()) <= std::max(1, width - 1));
    CHECK_FALSE(line.empty());
    if (width > 30)
      CHECK_THAT(line, Catch::Contains("epoch 2/20") && Catch::Contains("loss 0.2101"));
  }
  CHECK(LiveLine(TrainingJob(), std::nullopt, std::nullopt, 26) == "epoch 2/20  loss 0.2101");
  CHECK(LiveLine(TrainingJob(), EvaluationRow(1, 188), 83'000, 100) ==
        "epoch 2/20  [>          ]   7 %  step 300/3,760  loss 0.2101  val 94.20 %  52,345 rows/s"
        "  1:23 left");
  CHECK(LiveLine(TrainingJob(), EvaluationRow(1, 188), 83'000, 80) ==
        "epoch 2/20  [>     ]   7 %  step 300/3,760  loss 0.2101  val 94.20 %  1:23 left");
  CHECK_THAT(LiveLine(TrainingJob(), {}, 3'723'000, 80), Catch::EndsWith("1:02:03 left"));
}

TEST_CASE("the live line shows each state and phase") {
  CHECK(LiveLine(QueuedJob(), {}, {}, 80) == "waiting because: 1 of 2 workers have registered");
  spec::JobSnapshot job = TrainingJob();
  job.state = spec::JobState::kProfiling;
  job.profiling_bytes_done = 1024;
  CHECK_THAT(LiveLine(job, {}, {}, 80), Catch::StartsWith("reading the data") &&
                                            Catch::Contains(" 25 %") &&
                                            Catch::EndsWith("1.0 KiB of 4.0 KiB"));
  job.state = spec::JobState::kLoading;
  CHECK_THAT(LiveLine(job, {}, {}, 80), Catch::Contains("loading rows"));
  job.state = spec::JobState::kTraining;
  job.progress.phase = "evaluating";
  job.progress.phase_share = 0.4;
  CHECK_THAT(LiveLine(job, {}, {}, 160), Catch::Contains("evaluating 40 %"));
  job.progress.step = 0;
  CHECK(LiveLine(job, {}, {}, 160) == "starting the first step");
  job.progress.phase = "writing";
  CHECK(LiveLine(job, {}, {}, 80) == "writing the bundle");
}

TEST_CASE("a token warning is shown once per change and when over") {
  std::string plain, live;
  PlainView lines([&](std::string_view text) { plain += text; });
  LiveView view([&](std::string_view text) { live += text; }, [] { return 80; }, false);
  spec::JobSnapshot job = TrainingJob();
  for (const char* trouble : {"", "its token ends soon", "its token ends soon", ""}) {
    job.trouble = trouble;
    lines.OnUpdate({job, {}}, 0);
    view.OnUpdate({job, {}}, 0);
  }
  for (const std::string& text : {plain, live}) {
    const size_t told = text.find("job-17: its token ends soon\n");
    REQUIRE(told != std::string::npos);
    CHECK(text.find("ends soon", told + 20) == std::string::npos);
    CHECK_THAT(text, Catch::EndsWith("job-17 can use its tokens again\n"));
  }
}

TEST_CASE("the last epoch is the limit, and an unknown end is omitted") {
  spec::JobSnapshot job = TrainingJob();
  job.progress.epoch = 20;
  job.progress.step = 3760;
  CHECK_THAT(LiveLine(job, {}, {}, 160),
             Catch::Contains("epoch 20/20") && Catch::Contains("100 %"));
  job.progress.epochs_total = 0;
  job.progress.steps_total = 0;
  CHECK_THAT(LiveLine(job, {}, {}, 160),
             Catch::Contains("epoch 21  ") && Catch::Contains("step 3,760"));
}

TEST_CASE("a bar is full at one and survives invalid shares") {
  CHECK(Bar(0, 12) == "[>         ]");
  CHECK(Bar(0.5, 12) == "[=====>    ]");
  CHECK(Bar(1, 12) == "[==========]");
  CHECK(Bar(7, 12) == "[==========]");
  CHECK(Bar(-1, 4) == "[> ]");
  CHECK(Bar(0.0 / 0.0, 4) == "[> ]");
}

TEST_CASE("an evaluation's line has epoch, losses and accuracy") {
  spec::JobProgress progress = {.epochs_total = 20};
  CHECK(EvaluationLine(EvaluationRow(1, 188), progress, 80) ==
        "epoch 1/20  loss 0.2500 acc 87.90 %  val_loss 0.2500 val_acc 94.20 %");
  progress.epochs_total = 0;
  spec::HistoryRow row;
  row.epoch = 2.5;
  row.step = 1234;
  row.train.classification = false;
  row.train.loss = 1e-5;
  row.train.rmse = 0.5;
  row.train.weight = 2;
  CHECK(EvaluationLine(row, progress, 80) == "epoch 2.50  loss 1.000e-05 rmse 0.5000");
  row.train.weight = 0;
  CHECK(EvaluationLine(row, progress, 80) == "epoch 2.50  loss - rmse -");
}

TEST_CASE("an evaluation's line names the fit and fits the width") {
  const spec::JobProgress progress = {.epochs_total = 120, .fits = 5};
  spec::HistoryRow row = EvaluationRow(25, 625);
  row.fit = 2;
  row.fit_epoch = 1;
  CHECK(EvaluationLine(row, progress, 80) ==
        "fit 2/5 epoch 1/24  loss 0.2500 acc 87.90 %  val_loss 0.2500 val_acc 94.20 %");
  CHECK(EvaluationLine(row, {.epochs_total = 24, .fits = 1}, 80).starts_with("epoch 1/24  loss"));
  row.fit_epoch = 24;
  for (spec::Metrics* m : {&row.train, &*row.validation}) m->accuracy = 1;
  for (int width : {40, 60, 80}) {
    const std::string line = EvaluationLine(row, progress, width);
    INFO(line);
    CHECK(static_cast<int>(line.size()) < width);
    CHECK_THAT(line, Catch::StartsWith("fit 2/5 epoch 24/24  loss 0.2500"));
  }
  for (spec::Metrics* m : {&row.train, &*row.validation}) m->classification = false;
  CHECK(EvaluationLine(row, progress, 80) ==
        "fit 2/5 epoch 24/24  loss 0.2500  val_loss 0.2500 val_rmse 0.0000 val_r2 0.0000");
}

TEST_CASE("the live line has the epoch of the fit") {
  spec::JobSnapshot job = TrainingJob();
  job.progress.epochs_total = 100;
  job.progress.fit = 2;
  job.progress.fits = 5;
  job.progress.fit_epoch = 2.5;
  CHECK_THAT(LiveLine(job, {}, {}, 80), Catch::StartsWith("fit 2/5 epoch 3/20  ["));
  job.progress.fit_epoch = 20;
  CHECK(RunningEpoch(job.progress) == "fit 2/5 epoch 20/20");
  job.progress.fits = 1;
  job.progress.fit = 1;
  CHECK(RunningEpoch(job.progress) == "epoch 21/100");
}

TEST_CASE("an outage is shown once a second, live and in plain lines") {
  std::string plain, live;
  PlainView lines([&](std::string_view text) { plain += text; });
  lines.OnAway(1'000);
  lines.OnAway(1'100);
  lines.OnTick(0);
  lines.OnAway(2'000);
  CHECK(plain ==
        "The coordinator has been unreachable for 1 s; retrying\n"
        "The coordinator has been unreachable for 2 s; retrying\n");
  LiveView line([&](std::string_view text) { live += text; }, [] { return 80; }, false);
  line.OnAway(1'000);
  line.OnAway(2'000);
  CHECK(live ==
        "\rThe coordinator has been unreachable for 1 s; retrying\x1b[K"
        "\rThe coordinator has been unreachable for 2 s; retrying\x1b[K");
}

TEST_CASE("the time left follows the pace since the first step seen") {
  PaceEstimate pace;
  CHECK_FALSE(pace.LeftMs(0));
  pace.Observe(100, 1100, 10'000);
  CHECK_FALSE(pace.LeftMs(10'000));
  pace.Observe(200, 1100, 12'000);
  CHECK(pace.LeftMs(12'000) == 18'000);
  CHECK(pace.LeftMs(13'500) == 16'000);
  CHECK(pace.LeftMs(99'000) == 0);
  pace.Observe(300, 0, 14'000);
  CHECK_FALSE(pace.LeftMs(14'000));
}

TEST_CASE("without a terminal each state and evaluation is a line") {
  std::string out;
  PlainView view([&out](std::string_view text) { out += text; });
  view.OnUpdate({QueuedJob(), {}}, 0);
  view.OnUpdate({QueuedJob(), {}}, 1);
  view.OnUpdate({TrainingJob(), {}}, 2);
  spec::JobSnapshot later = TrainingJob();
  later.progress.step = 376;
  view.OnUpdate({later, {EvaluationRow(1, 188), EvaluationRow(2, 376)}}, 3);
  view.OnUpdate({SucceededJob(), {}}, 4);
  view.OnTick(5);
  CHECK(out ==
        "job-17 waiting because: 1 of 2 workers have registered\n"
        "job-17 training: 4 leaves on 2 workers (local-1, local-2)\n"
        "epoch 1/20  loss 0.2500 acc 87.90 %  val_loss 0.2500 val_acc 94.20 %\n"
        "epoch 2/20  loss 0.2500 acc 87.90 %  val_loss 0.2500 val_acc 94.20 %\n");
  CHECK(out.find('\r') == std::string::npos);
  CHECK(out.find('\x1b') == std::string::npos);
}

TEST_CASE("a lost worker is named once, before the recovery") {
  spec::JobSnapshot job = TrainingJob(), recovering = job, drained = job;
  recovering.state = spec::JobState::kRecovering;
  recovering.workers = {"local-2"};
  recovering.generation = {2};
  drained.workers = {"local-1"};
  std::string plain, live;
  PlainView lines([&](std::string_view text) { plain += text; });
  LiveView line([&](std::string_view text) { live += text; }, [] { return 80; }, false);
  for (const spec::JobSnapshot& update : {job, recovering, recovering}) {
    lines.OnUpdate({update, {}}, 0);
    line.OnUpdate({update, {}}, 0);
  }
  CHECK_THAT(plain, Catch::EndsWith("job-17 lost the worker local-1\n"
                                    "job-17 recovering: generation 2 on 1 worker (local-2)\n"));
  CHECK(live == "job-17 lost the worker local-1\n");
  std::vector<std::string> last = {"a", "b", "c"};
  recovering.workers = {"b"};
  CHECK(LostLine(recovering, &last) == "job-17 lost the workers a, c\n");
  CHECK(last == std::vector<std::string>{"b"});
  recovering.workers = {"d"};  // after a wait
  CHECK(LostLine(recovering, &last).empty());
  last = job.workers;
  CHECK(LostLine(drained, &last).empty());
}

TEST_CASE("the inferred features are shown once, before other lines") {
  spec::JobSnapshot job = QueuedJob();
  job.inferred = "categorical: city, \x1b; numeric: 2 others";
  const std::string told = "features: auto: categorical: city, \\x1b; numeric: 2 others\n";
  CHECK(InferredLine(QueuedJob()).empty());
  std::string plain, live;
  PlainView lines([&](std::string_view text) { plain += text; });
  LiveView line([&](std::string_view text) { live += text; }, [] { return 80; }, false);
  for (int i = 0; i < 2; ++i) {
    lines.OnUpdate({job, {}}, i);
    line.OnUpdate({job, {}}, i);
  }
  CHECK(plain == told + "job-17 waiting because: 1 of 2 workers have registered\n");
  CHECK(live == told);
}

TEST_CASE("a terminal redraws one line below the evaluations") {
  std::string out;
  const auto take = [&out] { return std::exchange(out, ""); };
  LiveView view([&out](std::string_view text) { out += text; }, [] { return 60; }, false);
  view.OnTick(0);
  CHECK(take().empty());
  view.OnUpdate({TrainingJob(), {}}, 0);
  view.OnTick(100);
  CHECK_THAT(take(), Catch::StartsWith("\repoch 2/20") && Catch::EndsWith("\x1b[K"));
  view.OnUpdate({TrainingJob(), {EvaluationRow(1, 188)}}, 200);
  CHECK_THAT(take(), Catch::StartsWith("\r\x1b[Kepoch 1/20  loss 0.2500") && Catch::EndsWith("\n"));
  view.OnTick(300);
  take();
  view.Pause();
  CHECK(take() == "\r\x1b[K");
  view.Pause();
  CHECK(take().empty());
  view.OnUpdate({SucceededJob(), {}}, 400);
  view.OnTick(400);
  CHECK(take().empty());
}

TEST_CASE("only the bar is colored, and only if requested") {
  std::string out;
  LiveView view([&out](std::string_view text) { out += text; }, [] { return 120; }, true);
  view.OnUpdate({TrainingJob(), {}}, 0);
  view.OnTick(0);
  CHECK_THAT(out, Catch::Contains("\x1b[36m[=>") && Catch::Contains("]\x1b[0m"));
}

}  // namespace
}  // namespace espalier::cli
