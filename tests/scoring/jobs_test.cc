// Predictions as jobs. Shards that were scored separately, in several generations, give the output
// of a local run, even after interruptions.
#include <filesystem>
#include <functional>
#include <map>
#include <vector>

#include "src/cluster/shard_totals.h"
#include "src/scoring/evaluate.h"
#include "tests/scoring/job_fixture.h"

namespace espalier::scoring {
namespace {

TEST_CASE("parts of several generations give the local prediction") {
  const JobFixture f;
  const auto scores = f.Score();
  f.dir.Put(".out.scoring-x", "");                                            // of another job
  const std::string late = PartsDirectory(f.staging, 1) + "/part-00001.csv";  // now in generation 2
  REQUIRE(f.files->WriteAtomically(late, "of one that was given up").ok());
  const auto merged = f.Merge(scores);
  INFO(merged.status().ToString());
  REQUIRE(merged.ok());
  CHECK(merged->rows == 899);
  CHECK(merged->rejected == 1);
  CHECK(merged->first_rejects.size() == 1);
  CHECK(merged->unseen.empty());
  CHECK(merged->predicted()->parts == static_cast<int64_t>(scores.size()));
  CHECK(merged->predicted()->format == "csv");
  CHECK(Tree(*f.files, f.dir / "out") == f.Local());
  REQUIRE(RemoveStaging(*f.files, f.dir / "out", f.staging, true).ok());
  CHECK_FALSE(f.files->Stat(f.staging).ok());
  CHECK(Tree(*f.files, f.dir / "out") == f.Local());
}

TEST_CASE("a merge interrupted anywhere, even twice, can be repeated") {
  for (const bool replaces : {false, true}) {
    const JobFixture f;
    spec::ScoringSpec spec = f.spec;
    spec.output.overwrite = replaces;
    const auto local = f.Local();
    bool died = true;
    for (int changes = 0; died; ++changes) {
      INFO(changes);
      REQUIRE(f.files->RemoveTree(f.dir / "out").ok());
      if (replaces) {
        REQUIRE(f.files->MakeDirectory(f.dir / "out").ok());
        f.dir.Put("out/part-00000.csv", "an earlier prediction\n");
      }
      const DyingFiles dying(*f.files, changes);
      died = !f.Merge(dying, f.Score(), spec).ok();
      CHECK(died == dying.died());
      // The coordinator restarts and all shards are scored again. The next merge is interrupted,
      // too.
      const DyingFiles again(*f.files, changes % 7);
      (void)f.Merge(again, f.Score(3), spec);
      const auto merged = f.Merge(*f.files, f.Score(5), spec);
      INFO(merged.status().ToString());
      REQUIRE(merged.ok());
      CHECK(Tree(*f.files, f.dir / "out") == local);
      REQUIRE(RemoveStaging(*f.files, f.dir / "out", f.staging, true).ok());
    }
  }
}

TEST_CASE("a failed job restores the output at any step of its merge") {
  for (const bool replaces : {false, true}) {
    const JobFixture f;
    spec::ScoringSpec spec = f.spec;
    spec.output.overwrite = replaces;
    bool died = true;
    for (int i = 0; died || i % 4 != 0; ++i) {
      INFO(i);
      if (replaces) {
        REQUIRE(f.files->MakeDirectory(f.dir / "out").ok());
        f.dir.Put("out/part-00000.csv", "an earlier prediction\n");
      }
      const DyingFiles dying(*f.files, i / 4);
      died = !f.Merge(dying, f.Score(), spec).ok();
      if (i % 4 > 0) {  // interrupts the repeated merge and the clearing early, too
        const DyingFiles again(*f.files, 3 * (i % 4) - 3);
        (void)f.Merge(again, f.Score(3), spec);
        const DyingFiles clears(*f.files, 3 * (i % 4) - 3);
        (void)RemoveStaging(clears, f.dir / "out", f.staging, false);
      }
      REQUIRE(RemoveStaging(*f.files, f.dir / "out", f.staging, false).ok());
      CHECK_FALSE(f.files->Stat(f.staging).ok());
      if (replaces) {
        CHECK(Tree(*f.files, f.dir / "out") ==
              std::map<std::string, std::string>{{"part-00000.csv", "an earlier prediction\n"}});
      } else {
        CHECK_FALSE(f.files->Stat(f.dir / "out").ok());
      }
    }
  }
}

TEST_CASE("an output that appeared during the job is not replaced") {
  const JobFixture f;
  const auto scores = f.Score();
  REQUIRE(f.files->MakeDirectory(f.dir / "out").ok());
  f.dir.Put("out/part-00000.csv", "somebody else's\n");
  const auto merged = f.Merge(scores);
  CHECK(merged.status().code() == StatusCode::kAlreadyExists);
  REQUIRE(RemoveStaging(*f.files, f.dir / "out", f.staging, false).ok());
  CHECK(storage::Content(f.dir / "out/part-00000.csv") == "somebody else's\n");
}

TEST_CASE("too many or only rejects give the local error") {
  JobFixture f;
  f.spec.prediction()->rejects_limit = 0;
  const auto merged = f.Merge(f.Score());
  PredictSpec predict = PredictSpecOf(*f.spec.prediction(), f.spec.output);
  REQUIRE(BeginPredictions(*f.files, predict.output).ok());
  const auto local = Predict(f.Run(f.model, f.scan), predict);
  CHECK(local.status().code() == StatusCode::kBadInput);
  CHECK(merged.status().ToString() == local.status().ToString());
  const std::vector<spec::ShardScore> nothing(1, {.rejected = 1, .first_rejects = {BadInput("x")}});
  f.spec.prediction()->rejects_limit.reset();
  CHECK(f.Merge(nothing).status().message() ==
        "no row can be scored (found 1 row); the first of them: x");
}

TEST_CASE("shards evaluated separately give the local metrics") {
  JobFixture f;
  f.spec.work = spec::EvaluationSpec();
  f.spec.output = {};
  const data::ScanPlan scan = *data::PlanScan(*f.files, ScanRequestOf(f.spec, f.model));
  const ScoringRun run = f.Run(f.model, scan, 2);
  const auto local = Evaluate(run, false);
  REQUIRE(local.ok());
  const data::ClassIndex index(f.model.document.preprocessing.classes);
  ScorerPool scorers(f.model);
  std::vector<spec::ShardScore> shards;
  cluster::ShardTotals totals(static_cast<int32_t>(run.shards()));
  for (int64_t i = run.shards() - 1; i >= 0; --i) {  // in reverse order
    shards.insert(shards.begin(), *EvaluateShard(run, index, i, &scorers, nullptr));
    totals.Add(static_cast<int32_t>(i), TakeTotals(&shards.front()));
  }
  ScoringMerge merge{
      .staging = "", .model_sha256 = f.model.sha256, .shards = shards, .totals = totals.Take()};
  const auto merged = MergeScores(*f.files, f.spec, merge);
  INFO(merged.status().ToString());
  REQUIRE(merged.ok());
  CHECK(merged->rows == local->rows);
  CHECK(merged->rejected == local->rejected);
  REQUIRE(merged->evaluated() != nullptr);
  CHECK(merged->evaluated()->classes == f.model.document.preprocessing.classes);
  CHECK(merged->evaluated()->metrics.loss == local->metrics.loss);
  CHECK(merged->evaluated()->metrics.accuracy == local->metrics.accuracy);
  CHECK(merged->evaluated()->metrics.confusion == local->metrics.confusion);
  ScoringMerge wrong = merge;
  wrong.totals.pop_back();
  CHECK(MergeScores(*f.files, f.spec, wrong).status().code() == StatusCode::kInternal);

  // The model has changed since the job.
  f.PutBundle(BundleOf(f.document, 6));
  const Status changed = MergeScores(*f.files, f.spec, merge).status();
  CHECK(changed.code() == StatusCode::kFailedPrecondition);
  CHECK(changed.message().find("has changed since the job") != std::string::npos);
  CHECK(changed.message().find(f.model.sha256) != std::string::npos);
  const auto loaded = LoadTrainedModel(*f.files, f.spec.model, f.model.sha256);
  CHECK(loaded.status().message() == changed.message());
  CHECK(LoadTrainedModel(*f.files, f.spec.model).ok());
}

TEST_CASE("an evaluation keeps a null word that is a class") {
  JobFixture f;
  CHECK_FALSE(ScanRequestOf(f.spec, f.model).null_classes);
  f.model.document.preprocessing.classes[0] = "None";
  CHECK(ScanRequestOf(f.spec, f.model).null_classes);
}

TEST_CASE("an evaluation of many labels names the labels") {
  const ScoringFixture f;
  bundle::ModelDocument document = NumbersDocument();
  document.job.model.task = spec::Task::kMultilabel;
  document.preprocessing.targets = {{"u"}, {"v"}};
  spec::ScoringSpec spec;
  spec.work = spec::EvaluationSpec();
  spec.model = f.PutBundle(BundleOf(document));
  const TrainedModel model = *LoadTrainedModel(*f.files, spec.model);
  spec.data = {f.dir.Put("t.csv", "a,b,u,v\n1,2,0,1\n2,1,1,1\n")};
  const auto plan = PlanScoring(*f.files, spec);
  INFO(plan.status().ToString());
  REQUIRE(plan.ok());
  CHECK(plan->model_sha256 == model.sha256);
  const data::ScanPlan scan = *data::ResumeScan(*f.files, ScanRequestOf(spec, model), plan->input);
  ScorerPool scorers(model);
  const data::ClassIndex index(std::vector<std::string>{});
  spec::ShardScore score = *EvaluateShard(f.Run(model, scan), index, 0, &scorers, nullptr);
  std::vector<double> totals = TakeTotals(&score);
  const auto merged = MergeScores(*f.files, spec,
                                  {.staging = "",
                                   .model_sha256 = plan->model_sha256,
                                   .shards = {score},
                                   .totals = std::move(totals)});
  INFO(merged.status().ToString());
  REQUIRE(merged.ok());
  REQUIRE(merged->evaluated() != nullptr);
  CHECK(merged->evaluated()->classes == std::vector<std::string>{"u", "v"});
  CHECK(merged->evaluated()->metrics.classes.size() == 2);
}

TEST_CASE("an existing output directory stays, because of its link") {
  namespace fs = std::filesystem;
  for (const bool replaces : {false, true}) {
    for (const bool succeeds : {false, true}) {
      const JobFixture f;
      spec::ScoringSpec spec = f.spec;
      spec.output.overwrite = replaces;
      REQUIRE(f.files->MakeDirectory(f.dir / "elsewhere").ok());
      fs::create_directory_symlink(f.dir / "elsewhere", f.dir / "out");
      if (replaces) {
        f.dir.Put("elsewhere/part-00000.csv", "an earlier prediction\n");
        f.dir.Put("elsewhere/_SUCCESS", "");
      }
      const auto before = Tree(*f.files, f.dir / "elsewhere");
      REQUIRE(ProbeStaging(*f.files, f.dir / "out", f.staging, "a").ok());
      CHECK(Tree(*f.files, f.dir / "elsewhere") == before);
      CHECK_FALSE(f.files->Stat(f.staging).ok());
      const auto merged = f.Merge(*f.files, f.Score(), spec);
      INFO(merged.status().ToString());
      REQUIRE(merged.ok());
      CHECK(fs::is_symlink(f.dir / "out"));
      CHECK(Tree(*f.files, f.dir / "elsewhere") == f.Local());
      REQUIRE(RemoveStaging(*f.files, f.dir / "out", f.staging, succeeds).ok());
      CHECK(fs::is_symlink(f.dir / "out"));
      CHECK(Tree(*f.files, f.dir / "elsewhere") == (succeeds ? f.Local() : before));
    }
  }
}

// Refuses renames like a mount point.
class ApartFiles final : public DyingFiles {
 public:
  explicit ApartFiles(const storage::FileSystem& files) : DyingFiles(files, 1'000'000) {}
  Status Rename(const std::string& from, const std::string&) const override {
    return Unavailable("cannot rename '" + from + "': Invalid cross-device link");
  }
};

TEST_CASE("repeated clearing spares an output of another job") {
  int interrupted = 0;  // clearings that had removed the output but not all of the staging
  for (int changes = 0; changes < 8; ++changes) {
    INFO(changes);
    const JobFixture f;
    REQUIRE(f.Merge(f.Score()).ok());
    const DyingFiles clears(*f.files, changes);
    (void)RemoveStaging(clears, f.dir / "out", f.staging, false);
    if (f.files->Stat(f.dir / "out").ok()) continue;  // not removed yet
    interrupted += clears.died();
    REQUIRE(f.files->MakeDirectory(f.dir / "out").ok());
    f.dir.Put("out/part-00000.csv", "another job's\n");
    REQUIRE(RemoveStaging(*f.files, f.dir / "out", f.staging, false).ok());
    CHECK(storage::Content(f.dir / "out/part-00000.csv") == "another job's\n");
  }
  CHECK(interrupted > 0);
}

// The merge of job A is interrupted at any step, with or without a first clearing. Job B then uses
// the output, and A is cleared much later.
TEST_CASE("late clearing does not change another job's output") {
  for (const bool stands : {false, true}) {
    bool died = true;
    for (int changes = 0; died; ++changes) {
      INFO(stands << " " << changes);
      JobFixture f;
      spec::ScoringSpec spec = f.spec;
      spec.output.overwrite = true;
      if (stands) {
        REQUIRE(f.files->MakeDirectory(f.dir / "out").ok());
        f.dir.Put("out/part-00000.csv", "an earlier prediction\n");
        f.dir.Put("out/_SUCCESS", "");
      }
      const DyingFiles dying(*f.files, changes);
      died = !f.Merge(dying, f.Score(), spec).ok();
      const DyingFiles clears(*f.files, changes % 3);
      (void)RemoveStaging(clears, f.dir / "out", f.staging, false);
      const std::string late = std::exchange(f.staging, StagingDirectory(f.dir / "out", "other"));
      const auto other = f.Merge(*f.files, f.Score(), spec);
      INFO(other.status().ToString());
      REQUIRE(other.ok());
      REQUIRE(RemoveStaging(*f.files, f.dir / "out", f.staging, true).ok());
      REQUIRE(RemoveStaging(*f.files, f.dir / "out", late, false).ok());
      CHECK(Tree(*f.files, f.dir / "out") == f.Local());
      CHECK_FALSE(f.files->Stat(late).ok());
    }
  }
}

TEST_CASE("a failed job restores what the interrupted one had replaced") {
  JobFixture f;
  spec::ScoringSpec spec = f.spec;
  spec.output.overwrite = true;
  REQUIRE(f.files->MakeDirectory(f.dir / "out").ok());
  f.dir.Put("out/part-00000.csv", "an earlier prediction\n");
  const DyingFiles dying(*f.files, 1'000'000);
  REQUIRE(f.Merge(dying, f.Score(), spec).ok());
  const std::string first = std::exchange(f.staging, StagingDirectory(f.dir / "out", "other"));
  REQUIRE(f.Merge(*f.files, f.Score(), spec).ok());
  REQUIRE(RemoveStaging(*f.files, f.dir / "out", f.staging, false).ok());
  CHECK(Tree(*f.files, f.dir / "out") == f.Local());  // output of the first job
  REQUIRE(RemoveStaging(*f.files, f.dir / "out", first, false).ok());
  CHECK(Tree(*f.files, f.dir / "out") ==
        std::map<std::string, std::string>{{"part-00000.csv", "an earlier prediction\n"}});
}

TEST_CASE("an interrupted probe does not refuse the same submission") {
  const JobFixture f;
  REQUIRE(f.files->MakeDirectory(f.dir / "out").ok());
  int died = 0;
  for (int changes = 0; changes < 5; ++changes) {
    const DyingFiles dying(*f.files, changes);
    died += !ProbeStaging(dying, f.dir / "out", f.staging, std::to_string(changes)).ok();
    CHECK(CheckPredictions(*f.files, f.dir / "out", false).ok());
  }
  CHECK(died == 5);
  CHECK_FALSE(Tree(*f.files, f.dir / "out").empty());
  // A probe does not harm the same submission's job, which another coordinator may have started.
  REQUIRE(f.files->MakeDirectory(PartsDirectory(f.staging, 1)).ok());
  REQUIRE(ProbeStaging(*f.files, f.dir / "out", f.staging, "x").ok());
  CHECK(f.files->Stat(PartsDirectory(f.staging, 1)).ok());
  REQUIRE(f.Merge(f.Score()).ok());
  CHECK(Tree(*f.files, f.dir / "out") == f.Local());
}

TEST_CASE("an output that parts cannot be moved into is refused early") {
  const JobFixture f;
  REQUIRE(f.files->MakeDirectory(f.dir / "out").ok());
  const Status refused = ProbeStaging(ApartFiles(*f.files), f.dir / "out", f.staging, "a");
  CHECK(refused.ToString().find(f.dir / "out") != std::string::npos);
  CHECK(refused.ToString().find("cross-device") != std::string::npos);
  CHECK(refused.ToString().find("cannot be moved into it") != std::string::npos);
  CHECK_FALSE(f.files->Stat(f.staging).ok());
  CHECK(Tree(*f.files, f.dir / "out").empty());
  CHECK(ProbeStaging(ApartFiles(*f.files), f.dir / "new", f.staging, "a").ok());
}

TEST_CASE("a cancelled output does not appear") {
  for (const bool stands : {false, true}) {
    for (int asked = 0;; ++asked) {
      const JobFixture f;
      if (stands) REQUIRE(f.files->MakeDirectory(f.dir / "out").ok());
      int left = asked;
      const auto scores = f.Score();
      const auto merged = f.Merge(*f.files, scores, f.spec, [&left] { return left-- > 0; });
      if (merged.ok()) {  // the callback was called before each file
        CHECK(asked > static_cast<int>(scores.size()) * (stands ? 2 : 1));
        break;
      }
      CHECK(merged.status().code() == StatusCode::kCancelled);
      CHECK_FALSE(f.files->Stat(f.dir / "out/_SUCCESS").ok());
      if (!stands) CHECK_FALSE(f.files->Stat(f.dir / "out").ok());
      REQUIRE(RemoveStaging(*f.files, f.dir / "out", f.staging, false).ok());
      CHECK(f.files->Stat(f.dir / "out").ok() == stands);
      if (stands) CHECK(Tree(*f.files, f.dir / "out").empty());
    }
  }
}

TEST_CASE("a plan that was sent equals the original plan") {
  JobFixture f;
  for (const bool evaluates : {false, true}) {
    if (evaluates) f.spec.work = spec::EvaluationSpec();
    const auto made = data::PlanScan(*f.files, ScanRequestOf(f.spec, f.model));
    REQUIRE(made.ok());
    const auto planned = PlanScoring(*f.files, f.spec);
    INFO(planned.status().ToString());
    REQUIRE(planned.ok());
    const auto resumed = data::ResumeScan(*f.files, ScanRequestOf(f.spec, f.model), planned->input);
    REQUIRE(resumed.ok());
    CHECK(planned->model_sha256 == f.model.sha256);
    CHECK(resumed->job == made->job);
    CHECK(resumed->kept == made->kept);
    CHECK(resumed->input.schema == made->input.schema);
    CHECK(resumed->input.files == made->input.files);
    CHECK(resumed->input.shards == made->input.shards);
  }
}

TEST_CASE("a staging directory is hidden and of one submission") {
  const std::string one = StagingDirectory("hdfs://ns/a/out", "x");
  CHECK(one.starts_with("hdfs://ns/a/.out.scoring-"));
  CHECK(one == StagingDirectory("hdfs://ns/a/out/", "x"));
  CHECK(one != StagingDirectory("hdfs://ns/a/out", "y"));
}

}  // namespace
}  // namespace espalier::scoring
