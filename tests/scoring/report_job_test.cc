// The report of an evaluation job: the page of a local run, from the files of the members.
#include <functional>
#include <string>
#include <vector>

#include "src/cluster/shard_totals.h"
#include "src/scoring/evaluate.h"
#include "src/scoring/report.h"
#include "src/scoring/report_file.h"
#include "src/scoring/residual_file.h"
#include "src/scoring/scoring_job.h"
#include "src/scoring/staging.h"
#include "tests/scoring/fixture.h"
#include "tests/scoring/job_fixture.h"
#include "tests/testing/says.h"

namespace espalier::scoring {
namespace {

// Returns two targets whose residuals have very different sizes.
std::string NumbersCsv() {
  std::string text = "a,b,u,v\n";
  for (int i = 0; i < 800; ++i) {
    text += std::to_string(i % 7) + "," + std::to_string(i % 11) + "," +
            std::to_string(i * i % 211) + "," + std::to_string(-i) + "\n";
  }
  return text;
}

class ReportFixture : public ScoringFixture {
 public:
  explicit ReportFixture(bool numbers) {
    bundle::ModelDocument document = numbers ? NumbersDocument() : ClassesDocument();
    document.job.data.shard_bytes = 1024;
    spec.work = spec::EvaluationSpec();
    spec.model = PutBundle(BundleOf(document));
    std::string text = numbers ? NumbersCsv() : AnswersCsv(300);
    text += numbers ? "1,x,3,4\n" : "late,1,x,no\n";  // not a number
    spec.data = {dir.Put("t.csv", text)};
    spec.output.path = dir.Put("report.html", "an earlier page\n");
    model = *LoadTrainedModel(*files, spec.model);
    scan = *data::PlanScan(*files, ScanRequestOf(spec, model));
    REQUIRE(scan.input.shards.size() > 5);
    staging = StagingDirectory(spec.output.path, "request");
  }

  // Returns the report of a local run.
  std::string Local(bool classes_too = false) const {
    const auto local = Evaluate(Run(model, scan, 2), true);
    REQUIRE(local.ok());
    CHECK(local->residuals.size() == (classes_too ? 0 : 2));
    return ReportHtml(
        {model, *local, spec.model, spec.data[0], storage::Content(spec.model + "/history.csv")});
  }

  std::string PathOf(int64_t shard, uint64_t generation) const {
    return PartsDirectory(staging, generation) + "/" + ResidualName(shard);
  }

  // Scores the shards by several members, the last run of shards first. Every second shard belongs
  // to generation 2. Its file of generation 1 must not be counted.
  ScoringMerge Score(int64_t members) const {
    const ScoringRun run = Run(model, scan);
    const data::ClassIndex index(model.document.preprocessing.classes);
    for (const uint64_t generation : {1, 2}) {
      REQUIRE(files->MakeDirectory(PartsDirectory(staging, generation)).ok());
    }
    cluster::ShardTotals totals(static_cast<int32_t>(run.shards()));
    ScoringMerge merge{.staging = staging, .model_sha256 = model.sha256, .shards = {}};
    merge.shards.resize(static_cast<size_t>(run.shards()));
    for (int64_t m = members - 1; m >= 0; --m) {
      ScorerPool scorers(model);
      for (int64_t i = m * run.shards() / members; i < (m + 1) * run.shards() / members; ++i) {
        std::vector<TargetResiduals> residuals;
        spec::ShardScore score = *EvaluateShard(run, index, i, &scorers, &residuals);
        totals.Add(static_cast<int32_t>(i), TakeTotals(&score));
        score.generation = 1 + static_cast<uint64_t>(i % 2);
        if (TellsResiduals(spec, model)) {
          REQUIRE(files->WriteAtomically(PathOf(i, 1), "given up").ok());
          REQUIRE(
              files->WriteAtomically(PathOf(i, score.generation), EncodeResiduals(residuals)).ok());
        }
        merge.shards[static_cast<size_t>(i)] = std::move(score);
      }
    }
    merge.totals = totals.Take();
    return merge;
  }

  spec::ScoringSpec spec;
  TrainedModel model;
  data::ScanPlan scan;
  std::string staging;
};

TEST_CASE("a job's report is the local page for any member count") {
  for (const bool numbers : {true, false}) {
    const ReportFixture f(numbers);
    CHECK(TellsResiduals(f.spec, f.model) == numbers);
    const std::string local = f.Local(!numbers);
    for (const int64_t members : {1, 2, 3, 5}) {
      const auto merged = MergeScores(*f.files, f.spec, f.Score(members));
      INFO(members << ": " << merged.status().ToString());
      REQUIRE(merged.ok());
      CHECK(merged->rejected == 1);
      CHECK(storage::Content(f.spec.output.path) == local);
      REQUIRE(RemoveStaging(*f.files, f.spec.output.path, f.staging, true).ok());
      CHECK(storage::Content(f.spec.output.path) == local);
      CHECK_FALSE(f.files->Stat(f.staging).ok());
    }
  }
}

TEST_CASE("without a report no residuals or page are written") {
  ReportFixture f(true);
  f.spec.output = {};
  CHECK_FALSE(TellsResiduals(f.spec, f.model));
  const auto before = Tree(*f.files, f.dir.path());
  CHECK(before.at("report.html") == "an earlier page\n");
  CHECK(MergeScores(*f.files, f.spec, f.Score(2)).ok());
  CHECK(Tree(*f.files, f.dir.path()) == before);
}

TEST_CASE("missing or damaged residuals fail and keep the old page") {
  const ReportFixture f(true);
  const ScoringMerge merge = f.Score(3);
  const std::string path = f.PathOf(3, 2);
  const std::string good = storage::Content(path);
  const auto fails = [&](StatusCode code) {
    const Status error = MergeScores(*f.files, f.spec, merge).status();
    INFO(error.ToString());
    CHECK(error.code() == code);
    CHECK_THAT(error.message(), Says("the report ... put together"));
    CHECK(error.ToString().find(path) != std::string::npos);
    CHECK(storage::Content(f.spec.output.path) == "an earlier page\n");
  };
  REQUIRE(f.files->Delete(path).ok());
  fails(StatusCode::kNotFound);
  REQUIRE(f.files->WriteAtomically(path, good.substr(0, good.size() / 2)).ok());
  fails(StatusCode::kDataLoss);
  // More rows than in the shard's score.
  std::vector<TargetResiduals> more(2);
  for (int i = 0; i < 1000; ++i) more[1].bins.Add(i);
  REQUIRE(f.files->WriteAtomically(path, EncodeResiduals(more)).ok());
  fails(StatusCode::kDataLoss);
  REQUIRE(f.files->WriteAtomically(path, good).ok());
  CHECK(MergeScores(*f.files, f.spec, merge).ok());
}

TEST_CASE("a cancelled report is not written") {
  for (const bool numbers : {true, false}) {
    const ReportFixture f(numbers);
    ScoringMerge merge = f.Score(2);
    for (const int asked : {0, 3}) {
      int left = numbers ? asked : 0;
      merge.wanted = [&left] { return left-- > 0; };
      const auto merged = MergeScores(*f.files, f.spec, merge);
      CHECK(merged.status().code() == StatusCode::kCancelled);
    }
    CHECK(storage::Content(f.spec.output.path) == "an earlier page\n");
  }
}

TEST_CASE("an output that a report cannot replace is refused early") {
  ReportFixture f(true);
  CHECK(PlanScoring(*f.files, f.spec).ok());
  const auto refused = [&](const std::string& path) {
    f.spec.output.path = path;
    const auto plan = PlanScoring(*f.files, f.spec);
    REQUIRE_FALSE(plan.ok());
    CHECK(plan.status().code() == StatusCode::kInvalidArgument);
    CHECK(plan.status().message().find(path) != std::string::npos);
    return plan.status().message();
  };
  REQUIRE(f.files->MakeDirectory(f.dir / "page").ok());
  CHECK(refused(f.dir / "page").find("is a directory") != std::string::npos);
  CHECK(refused(f.spec.data[0]).find("seems to be read, too") != std::string::npos);
  CHECK(refused(f.dir / "page/../t.csv").find("seems to be read, too") != std::string::npos);
  f.spec.output.path = f.dir / "new.html";
  CHECK(PlanScoring(*f.files, f.spec).ok());
}

}  // namespace
}  // namespace espalier::scoring
