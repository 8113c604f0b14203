// Each kind of bad input has one clear error: file, row, column, byte offset, text and words. The
// cases are in bad_text.cc, bad_tables.cc and bad_files.cc.
#include "tests/data/bad_input.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>

#include "tests/testing/says.h"

namespace espalier::data {
namespace {

// Drops root's right to read all files, until destruction. Applies to this thread and the threads
// that it starts.
class AsAnyUser {
 public:
  AsAnyUser() {
    REQUIRE(syscall(SYS_capget, &header_, before_) == 0);
    __user_cap_data_struct now[2] = {before_[0], before_[1]};
    now[0].effective &= ~(1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH);
    REQUIRE(syscall(SYS_capset, &header_, now) == 0);
  }
  ~AsAnyUser() { syscall(SYS_capset, &header_, before_); }

 private:
  __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct before_[2] = {};
};

TEST_CASE("each kind of bad input has one error") {
  std::vector<BadCase> all = BadText();
  Append(&all, BadTables());
  Append(&all, BadFiles());
  CHECK(CheckAnswers(all) >= 150);
}

TEST_CASE("a file that the user may not read is reported as such") {
  for (const BadCase& c : ForbiddenFiles()) {
    DataFixture f;
    c.given(f);
    Status error;
    {
      const AsAnyUser user;
      error = AnswerTo(f);
    }
    std::error_code none;
    std::filesystem::permissions(f.dir / "d", std::filesystem::perms::owner_all, none);
    CheckAnswer(c, f, error);
  }
}

TEST_CASE("a bad row has the same error for any shard cut") {
  std::string content = "a,b,y\n";
  for (int i = 0; i < 1000; ++i) content += std::to_string(i) + ".5,2,1\n";
  const int64_t offset = static_cast<int64_t>(content.size());
  content += "7,oops,1\n1,1,0\n";
  for (const int64_t shard_bytes : {100, 1000, 7777, 1 << 20}) {
    DataFixture f;
    f.job.data.shard_bytes = shard_bytes;
    f.Train(content);
    const Status error = AnswerTo(f);
    INFO(error.ToString());
    REQUIRE(error.position());
    CHECK(error.position()->row == 1002);
    CHECK(error.position()->column == "b");
    CHECK(error.position()->offset == offset + 2);
    CHECK(error.position()->text == "oops");
  }
}

TEST_CASE("float64 accepts numbers that float32 refuses") {
  DataFixture f;
  f.job.model.precision = spec::Precision::kFloat64;
  f.Train("a,y\n1e39,0\n-2e300,1\n");
  const auto profile = f.Profile();
  REQUIRE(profile.ok());
  CHECK(profile->storage == spec::StorageType::kFloat64);
}

TEST_CASE("bad rows are skipped, counted and described up to the limit") {
  DataFixture f;
  f.job.data.bad_rows = {.skip = true, .limit = 3};
  f.Train("a,y\n1,0\nx,1\n2,1\n3\n4,0\n\"5,1\n");
  const auto profile = f.Profile();
  REQUIRE(profile.ok());
  CHECK(profile->train_rows == 3);
  CHECK(profile->skipped_rows == 3);
  REQUIRE(profile->shards[0].skipped.size() == 3);
  CHECK(profile->shards[0].skipped[0].position()->row == 3);
  CHECK(profile->shards[0].skipped[1].position()->row == 5);
  CHECK(profile->shards[0].skipped[2].position()->row == 7);
}

TEST_CASE("one bad row above the limit ends the profiling pass") {
  std::string content = "a,y\n";
  for (int i = 0; i < 600; ++i) content += i % 100 == 50 ? "x,1\n" : std::to_string(i) + ",0\n";
  for (const int64_t shard_bytes : {64, 1 << 20}) {
    DataFixture f;
    f.job.data.shard_bytes = shard_bytes;
    f.job.data.bad_rows = {.skip = true, .limit = 5};
    f.Train(content + "1,1\n");
    const Status error = f.Profile().status();
    CHECK(error.code() == StatusCode::kBadInput);
    CHECK(error.message().find("bad_rows") != std::string::npos);
    CHECK(error.position()->row.has_value());
    CHECK(error.position()->text == "x");
    f.job.data.bad_rows.limit = 6;
    CHECK(f.Profile().ok());
  }
}

TEST_CASE("a file that changes after the listing is data loss") {
  DataFixture f;
  const std::string path = f.Train("a,y\n1,0\n2,1\n");
  f.plan = *f.Plan();
  f.dir.Put("train.csv", "a,y\n1,0\n2,1\n3,1\n");
  const Status error = ProfileShard(*MakeShardReader({*f.files, f.plan, f.job}), 0).status();
  CHECK(error.code() == StatusCode::kDataLoss);
  CHECK_THAT(error.message(), Says("'" + path +
                                   "' is not ... the coordinator listed it ... 12 bytes ... 16 ... "
                                   "again ... all hosts share"));
}

TEST_CASE("labels with too many values suggest a regression") {
  std::string many = "a,y\n";
  for (int i = 0; i < 10'001; ++i) many += std::to_string(i) + ",id" + std::to_string(i) + "\n";
  DataFixture f;
  f.Train(many);
  f.job.data.shard_bytes = 20'000;
  CHECK_THAT(AnswerTo(f).message(),
             Says("the label has 10,001 different values ... 10,000 ... model.task: regression"));
}

TEST_CASE("labels that differ in nearly every row are refused") {
  DataFixture f;
  const auto answer = [&](int rows, const std::function<std::string(int)>& label) {
    std::string content = "a;y\n";
    for (int i = 0; i < rows; ++i) content += std::to_string(i) + ";" + label(i) + "\n";
    f.job.data.csv.delimiter = ';';
    f.Train(content);
    return f.Profile().status();
  };
  const auto number = [](int i) { return std::to_string(i); };
  const Status numbers = answer(20, number);
  CHECK(numbers.code() == StatusCode::kBadInput);
  REQUIRE(numbers.position());
  CHECK(numbers.position()->column == "y");
  CHECK_THAT(numbers.message(), Says("data.label: ... 20 ... 20 ... model.task: regression"));
  CHECK(answer(19, number).ok());
  CHECK(answer(20, [](int i) { return std::to_string(i % 18); }).ok());
  const auto text = [](int i) { return "id" + std::to_string(i); };
  CHECK_THAT(answer(30, text).message(), Says("data.label: ... Choose another label column"));
  const auto fraction = [](int i) { return std::to_string(i) + ",5"; };
  CHECK_THAT(answer(100, fraction).message(), Says("data.label: ... data.csv.decimal: ','"));
  CHECK(answer(100, [](int i) { return std::to_string(i % 4) + ",5"; }).ok());
  CHECK(f.Profile()->warnings.empty());
  CHECK(answer(100, [](int i) { return std::to_string(i % 25) + ",5"; }).ok());
  CHECK_THAT(f.Profile()->warnings.front(), Says("25 classes: ... data.csv.decimal: ','"));
  f.job.data.csv.decimal = ',';
  CHECK_THAT(answer(100, fraction).message(), Says("data.label: ... model.task: regression"));
  f.job.data.csv.decimal.reset();
  const auto day = [](int i) { return "2024-01-" + std::to_string(10 + i % 20); };
  CHECK(answer(100, day).ok());
  CHECK_THAT(answer(21, day).message(), Says("data.label: ... holds dates"));
}

}  // namespace
}  // namespace espalier::data
