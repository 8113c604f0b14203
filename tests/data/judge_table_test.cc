// A provisional plan that all rows of the table confirm or change.
#include "src/data/input/judge_table.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "src/data/input/column_sample.h"
#include "src/data/input/complete_job.h"
#include "src/spec/inferred_text.h"
#include "src/spec/shard_sums.h"
#include "tests/data/fixture.h"

namespace espalier::data {
namespace {

// Returns whether a row is in a sampled block of a file with `rows` rows of 16 bytes.
bool IsSampled(int64_t row, int64_t rows) {
  const int64_t step = rows / (kBlocks - 1);
  return row % step < 2 * kBlockRows || row > rows - 2 * kBlockRows;
}

constexpr int64_t kRows = 2 * kWholeTableBytes / 16;

// Returns a table with the columns a, b and y. Its rows have 16 bytes.
std::string Table(const std::function<std::string(int64_t row, bool sampled)>& row,
                  int64_t rows = kRows) {
  std::string content = "a,b,y         \n";
  for (int64_t i = 0; i < rows; ++i) {
    std::string line = row(i, IsSampled(i, rows));
    const size_t label = line.rfind(',');
    line.insert(label, 15 - line.size(), ' ');
    content += line + "\n";
  }
  return content;
}

std::string Number(int64_t i) { return std::to_string(i % 977); }
std::string Label(int64_t i) { return i % 3 == 0 ? "p" : "q"; }

// A job over a table, and the results of its profiling passes.
class JudgedJob {
 public:
  explicit JudgedJob(const std::string& content, const std::string& more = "") {
    f.Train(content);
    asked = "data: {train: " + f.job.data.train.front() +
            ", label: 'y         ', shard_bytes: " + std::to_string(shard_bytes) + more +
            "}\noutput: m\n";
    auto done = Completion().Complete(*f.files);
    INFO(done.status().ToString());
    REQUIRE(done.ok());
    completed = *std::move(done);
  }

  JobCompletion Completion() const {
    auto completion = JobCompletion::Read(asked, "job.yaml");
    INFO(completion.status().ToString());
    REQUIRE(completion.ok());
    return *std::move(completion);
  }

  // Runs one profiling pass and replaces the profiles.
  void Pass() {
    profiles.clear();
    const auto reader = MakeShardReader({*f.files, completed.input, completed.job});
    for (size_t i = 0; i < completed.input.shards.size(); ++i) {
      auto shard = ProfileShard(*reader, static_cast<int>(i));
      INFO(shard.status().ToString());
      REQUIRE(shard.ok());
      profiles.push_back(std::move(shard->profile));
    }
  }

  Result<std::optional<JobCompletion::Completed>> Judge() {
    Pass();
    return Completion().Judge(completed.input, completed.yaml, profiles);
  }

  Result<spec::TableProfile> Merge() {
    return MergeShardProfiles(completed.input, completed.job, profiles, f.files.get());
  }

  // Runs profiling passes until the plan is final.
  spec::TableProfile Finish() {
    REQUIRE(completed.input.provisional);
    auto judged = Judge();
    INFO(judged.status().ToString());
    REQUIRE(judged.ok());
    if (*judged) {
      completed = **std::move(judged);
      CHECK_FALSE(completed.input.provisional);
      Pass();
    }
    auto merged = Merge();
    INFO(merged.status().ToString());
    REQUIRE(merged.ok());
    return *std::move(merged);
  }

  static inline int64_t shard_bytes = 1 << 18;
  DataFixture f;
  std::string asked;
  JobCompletion::Completed completed;
  std::vector<spec::ShardProfile> profiles;
};

TEST_CASE("a plan that all rows confirm is kept") {
  JudgedJob job(
      Table([](int64_t i, bool) { return Number(i) + "," + Number(7 * i) + "," + Label(i); }));
  CHECK(job.completed.input.provisional);
  const auto judged = job.Judge();
  REQUIRE(judged.ok());
  CHECK_FALSE(judged->has_value());
  for (const spec::ShardProfile& shard : job.profiles) CHECK(shard.evidence.empty());
  CHECK(job.Merge().ok());
}

TEST_CASE("columns that all rows judge equally share a note") {
  JudgedJob job(Table([](int64_t i, bool sampled) {
    const std::string text = sampled || i % 5 < 2 ? Number(i) : "t" + std::to_string(i % 9);
    return text + "," + text + "," + Label(i);
  }));
  (void)job.Finish();
  CHECK(job.completed.input.notes ==
        std::vector<std::string>{"2 columns are categorical by all training rows, although the "
                                 "sampled rows looked numeric: 'a', 'b'"});
}

TEST_CASE("judging keeps the notes on the files") {
  JudgedJob job(Table([](int64_t i, bool sampled) {
    return (sampled || i % 5 < 2 ? Number(i) : "t" + std::to_string(i % 9)) + "," + Number(i) +
           "," + Label(i);
  }));
  job.completed.input.notes = {"a note on the files"};
  (void)job.Finish();
  REQUIRE(job.completed.input.notes.size() == 2);
  CHECK(job.completed.input.notes[0] == "a note on the files");
}

TEST_CASE("text between the sampled rows makes a category") {
  std::vector<spec::InputPlan> plans;
  for (const int64_t bytes : {1 << 17, 1 << 20}) {
    JudgedJob::shard_bytes = bytes;
    JudgedJob job(Table([](int64_t i, bool sampled) {
      return (sampled || i % 5 < 2 ? Number(i) : "t" + std::to_string(i % 9)) + "," + Number(i) +
             "," + Label(i);
    }));
    CHECK(job.completed.input.schema.rules.empty());
    const spec::TableProfile merged = job.Finish();
    CHECK(spec::InferredText(job.completed.input.schema) == "categorical: a; numeric: 1 other");
    REQUIRE(job.completed.input.notes.size() == 1);
    CHECK(job.completed.input.notes[0] ==
          "column 'a' is categorical by all training rows, although the sampled rows looked "
          "numeric");
    CHECK(merged.preprocessing.features[0].codes > 9);
    job.completed.input.shards.clear();
    plans.push_back(job.completed.input);
  }
  JudgedJob::shard_bytes = 1 << 18;
  CHECK(plans[0].schema == plans[1].schema);
  CHECK(plans[0].notes == plans[1].notes);
}

TEST_CASE("advice about directory names has no key of CSV") {
  spec::InputPlan plan;
  plan.files = {{.path = "t/k=1/0.csv"}};
  plan.schema.names = {"a", "y", "k"};
  plan.schema.features = {0, 2};
  plan.schema.label = {1};
  plan.schema.partitions = 1;
  spec::JobSpec job;
  job.data.label = {std::string("y")};
  spec::ShardProfile profile;
  profile.features.resize(2);
  spec::ColumnEvidence evidence = {.column = 2, .rows = 2};
  spec::AddText("1,5", 1, &evidence.texts);
  spec::AddText("2,5", 1, &evidence.texts);
  profile.evidence = {evidence};
  const Status error = JudgeTable(plan, job, {&profile, 1}, false).status();
  CHECK_THAT(error.message(), Catch::Contains("column 'k' holds numbers with a decimal comma"));
  CHECK_THAT(error.message(), !Catch::Contains("data.csv"));
}

TEST_CASE("a few bad values stay bad rows, with their place") {
  const std::string content = Table([](int64_t i, bool) {
    return (i == 70'000 || i == 90'001 ? "oops" : Number(i)) + "," + Number(i) + "," + Label(i);
  });
  JudgedJob job(content);
  const Status failed = job.Judge().status();
  CHECK(failed.code() == StatusCode::kBadInput);
  REQUIRE(failed.position());
  CHECK(failed.position()->row == 70'002);
  CHECK(failed.position()->text == "oops");
  JudgedJob skips(content, ", bad_rows: {policy: skip, limit: 5}");
  const spec::TableProfile merged = skips.Finish();
  CHECK(merged.skipped_rows == 2);
  CHECK(skips.completed.input.notes.empty());
}

TEST_CASE("columns without information in all rows are left out") {
  JudgedJob job(
      Table([](int64_t i, bool) { return "7,," + std::to_string(i % 50) + "." + Number(i); }));
  const auto judged = job.Judge();
  CHECK_THAT(judged.status().message(), Catch::Contains("no column is left") &&
                                            Catch::Contains("constant") &&
                                            Catch::Contains("empty"));
  JudgedJob other(Table([](int64_t i, bool) { return "7," + Number(i) + "," + Label(i); }));
  other.Finish();
  CHECK(spec::InferredText(other.completed.input.schema) ==
        "numeric: 1 other; left out: a (constant)");
  JudgedJob text(Table([](int64_t i, bool sampled) {
    return (sampled ? "id" : "x" + std::to_string(i)) + "," + Number(i) + "," + Label(i);
  }));
  text.Finish();
  CHECK(spec::InferredText(text.completed.input.schema) ==
        "numeric: 1 other; left out: a (different in nearly every row)");
}

TEST_CASE("all labels decide the task") {
  JudgedJob numbers(Table([](int64_t i, bool sampled) {
    return Number(i) + "," + Number(3 * i) + "," +
           (sampled ? std::to_string(i % 3) : "0." + Number(i));
  }));
  CHECK(numbers.completed.job.model.task == spec::Task::kClassification);
  const spec::TableProfile regression = numbers.Finish();
  CHECK(numbers.completed.job.model.task == spec::Task::kRegression);
  CHECK(numbers.completed.job.model.clip_predictions);
  CHECK(regression.preprocessing.targets.size() == 1);
  REQUIRE(numbers.completed.input.notes.size() == 1);
  CHECK(numbers.completed.input.notes[0] ==
        "the task is regression: the label has numbers with fractions, although the sampled rows "
        "meant classification");
  JudgedJob texts(Table([](int64_t i, bool sampled) {
    return Number(i) + "," + Number(3 * i) + "," + (sampled ? std::to_string(i % 25) : Label(i));
  }));
  CHECK(texts.completed.job.model.task == spec::Task::kRegression);
  const spec::TableProfile classes = texts.Finish();
  CHECK(texts.completed.job.model.task == spec::Task::kClassification);
  CHECK(classes.preprocessing.classes.size() > 2);
}

TEST_CASE("labels written as numbers in all rows are refused") {
  const auto row = [](int64_t i, bool sampled) {
    return Number(i) + "," + Number(3 * i) + "," +
           (sampled ? Label(i) : "$" + std::to_string(i % 50));
  };
  JudgedJob job(Table(row));
  const Status refused = job.Judge().status();
  CHECK(refused.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(refused.message(),
             Catch::StartsWith("data.label: ") && Catch::Contains("model.task: classification"));
}

}  // namespace
}  // namespace espalier::data
