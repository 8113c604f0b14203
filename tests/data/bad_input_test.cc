// Every kind of bad input has one clear answer: file, row, column, byte offset, text and words.
#include <catch2/catch.hpp>

#include "tests/data/fixture.h"

namespace espalier {
namespace {

struct Case {
  const char* what;
  std::string content;
  std::string message;  // a part of it
  int64_t row;          // 0: of the job as a whole
  std::string column;
  int64_t offset;
  std::string text;
};

void Check(DataFixture* f, const Case& c) {
  INFO(c.what);
  const std::string path = f->Train(c.content);
  const auto survey = f->Survey();
  REQUIRE_FALSE(survey.ok());
  const Status error = survey.status();
  INFO(error.ToString());
  CHECK(error.code() == StatusCode::kBadInput);
  CHECK(error.message().find(c.message) != std::string::npos);
  REQUIRE(error.position().has_value());
  CHECK(error.position()->file == path);
  CHECK(error.position()->row.value_or(0) == c.row);
  CHECK(error.position()->column == c.column);
  CHECK(error.position()->offset.value_or(0) == c.offset);
  CHECK(error.position()->text == c.text);
}

const char* const kMissing = "the value is missing; choose data.features.nulls";

TEST_CASE("a bad row of a classification job is named exactly") {
  const std::string start = "a,b,y\n1,2,0\n\n";  // 13 bytes, 3 lines
  const std::vector<Case> cases = {
      {"text", start + "1,x2,1\n", "the value is not a number", 4, "b", 15, "x2"},
      {"empty", start + "1,,1\n", kMissing, 4, "b", 15, ""},
      {"nan", start + "nan,2,1\n", kMissing, 4, "a", 13, "nan"},
      {"inf", start + "inf,2,1\n", "the value is infinite", 4, "a", 13, "inf"},
      {"too large for a double", start + "1,1e999,1\n", "the value is infinite", 4, "b", 15,
       "1e999"},
      {"too large for a float", start + "1,-4e38,1\n", "does not fit float32", 4, "b", 15, "-4e38"},
      {"no label", start + "1,2,\n", "the label is empty", 4, "y", 17, ""},
      {"blank label", start + "1,2,  \n", "the label is empty", 4, "y", 17, "  "},
      {"few fields", start + "1,2\n", "the row has 2 fields, expected 3 as in the header", 4, "",
       13, "1,2"},
      {"many fields", start + "1,2,3,4\n", "the row has 4 fields, expected 3", 4, "", 13,
       "1,2,3,4"},
      {"quote left open", start + "1,\"2,1\n3,4,0\n", "a quoted field is not closed on its line", 4,
       "", 15, "\"2,1"},
      {"text after a quote", start + "1,\"2\"3,1\n", "text follows a closing quote", 4, "", 15,
       "\"2\"3,1"},
      {"a NUL byte", start + std::string("1,2\0,1\n", 7), "a NUL byte", 4, "", 13, "1,2\\x00,1"},
      {"in quotes", start + "1,\"x\",1\n", "the value is not a number", 4, "b", 15, "x"},
      {"no line end", start + "1,2,0\r\n1,x,1", "the value is not a number", 5, "b", 22, "x"},
      {"high bytes", start + "\xff\xfe,2,1\n", "the value is not a number", 4, "a", 13,
       "\\xff\\xfe"},
  };
  for (const Case& c : cases) {
    DataFixture f;
    Check(&f, c);
  }
}

TEST_CASE("a bad row is named alike however the file is cut") {
  std::string content = "a,b,y\n";
  for (int i = 0; i < 1000; ++i) content += std::to_string(i) + ".5,2,1\n";
  const int64_t offset = static_cast<int64_t>(content.size());
  content += "7,oops,1\n1,1,0\n";
  for (const int64_t shard_bytes : {100, 1000, 7777, 1 << 20}) {
    DataFixture f;
    f.job.data.shard_bytes = shard_bytes;
    Check(&f, {"cut", content, "the value is not a number", 1002, "b", offset + 2, "oops"});
  }
}

TEST_CASE("without a header columns are named by position") {
  DataFixture f;
  f.job.data.csv.header = false;
  f.job.data.label = {int64_t{0}};
  Check(&f, {"text", "1,2\n0,x\n", "not a number", 2, "1", 6, "x"});
  Check(&f, {"ragged", "1,2\n0\n", "the row has 1 fields, expected 2 as in the first row", 2, "", 4,
             "0"});
}

TEST_CASE("a bad row of a regression job is named exactly") {
  DataFixture f;
  f.job.model.task = Task::kRegression;
  f.job.data.weight = std::string("w");
  Check(&f, {"label", "a,w,y\n1,1,\n", "the label is missing", 2, "y", 10, ""});
  Check(&f, {"label", "a,w,y\n1,1,cat\n", "the label is not a number", 2, "y", 10, "cat"});
  Check(&f, {"label", "a,w,y\n1,1,nan\n", "the label is missing", 2, "y", 10, "nan"});
  Check(&f, {"label", "a,w,y\n1,1,1e39\n", "the label does not fit float32", 2, "y", 10, "1e39"});
  Check(&f, {"weight", "a,w,y\n1,-1,2\n", "the weight is negative", 2, "w", 8, "-1"});
  Check(&f, {"weight", "a,w,y\n1,,2\n", "the weight is missing", 2, "w", 8, ""});
  Check(&f, {"weight", "a,w,y\n1,inf,2\n", "the weight is infinite", 2, "w", 8, "inf"});
  Check(&f, {"weights", "a,w,y\n1,0,2\n2,0,3\n", "the weights of all training rows add up to 0", 0,
             "w", 0, ""});
}

TEST_CASE("float64 takes what float32 does not") {
  DataFixture f;
  f.job.model.precision = Precision::kFloat64;
  f.Train("a,y\n1e39,0\n-2e300,1\n");
  const auto survey = f.Survey();
  REQUIRE(survey.ok());
  CHECK(survey->storage == StorageType::kFloat64);
}

TEST_CASE("a validation column holds true or false") {
  DataFixture f;
  f.job.data.validation.column = std::string("v");
  Check(&f, {"word", "a,v,y\n1,0,0\n1,maybe,1\n",
             "the validation column holds neither true (1) nor false (0)", 3, "v", 14, "maybe"});
}

TEST_CASE("bad rows are skipped, counted and described up to the limit") {
  DataFixture f;
  f.job.data.bad_rows = {.skip = true, .limit = 3};
  f.Train("a,y\n1,0\nx,1\n2,1\n3\n4,0\n\"5,1\n");
  const auto survey = f.Survey();
  REQUIRE(survey.ok());
  CHECK(survey->train_rows == 3);
  CHECK(survey->skipped_rows == 3);
  REQUIRE(survey->shards[0].skipped.size() == 3);
  CHECK(survey->shards[0].skipped[0].position()->row == 3);
  CHECK(survey->shards[0].skipped[1].position()->row == 5);
  CHECK(survey->shards[0].skipped[2].position()->row == 7);
}

TEST_CASE("one bad row more than the limit ends the survey, in one shard or over all") {
  std::string content = "a,y\n";
  for (int i = 0; i < 600; ++i) content += i % 100 == 50 ? "x,1\n" : std::to_string(i) + ",0\n";
  for (const int64_t shard_bytes : {64, 1 << 20}) {
    DataFixture f;
    f.job.data.shard_bytes = shard_bytes;
    f.job.data.bad_rows = {.skip = true, .limit = 5};
    f.Train(content + "1,1\n");
    const Status error = f.Survey().status();
    CHECK(error.code() == StatusCode::kBadInput);
    CHECK(error.message().find("bad_rows") != std::string::npos);
    CHECK(error.position()->row.has_value());
    CHECK(error.position()->text == "x");
    f.job.data.bad_rows.limit = 6;
    CHECK(f.Survey().ok());
  }
}

TEST_CASE("a file that changes after the listing is data loss") {
  DataFixture f;
  const std::string path = f.Train("a,y\n1,0\n2,1\n");
  f.plan = *f.Plan();
  f.dir.Put("train.csv", "a,y\n1,0\n2,1\n3,1\n");
  const Status error = SurveyShard(*f.files, f.plan, f.job, 0).status();
  CHECK(error.code() == StatusCode::kDataLoss);
  CHECK(error.message() ==
        "'" + path +
            "' changed after it was listed: it had 12 bytes and now has 16; submit the job "
            "again when its input is at rest");
}

TEST_CASE("a label that only validation has is an error with its place") {
  DataFixture f;
  f.job.data.validation.column = std::string("v");
  Check(&f, {"unseen", "a,v,y\n1,0,cat\n2,0,dog\n3,1,cow\n4,1,cow\n",
             "the label 'cow' is in 2 validation or test rows and in no training row", 4, "y", 26,
             "cow"});
}

TEST_CASE("data that cannot train a model says why") {
  DataFixture f;
  Check(&f,
        {"header only", "a,y\n",
         "data.train: no training rows: the files hold a header and nothing else", 1, "", 0, ""});
  Check(&f, {"empty", "", "has no record", 0, "", 0, ""});
  Check(&f, {"blank", "\n\n\r\n", "has no record", 0, "", 0, ""});
  f.job.data.features.nulls.kind = NullKind::kDrop;
  Check(&f, {"all dropped", "a,y\n,1\n,2\n",
             "data.features.nulls: no training rows: drop left out all 2", 0, "", 0, ""});
  f.job.data.bad_rows = {.skip = true, .limit = 9};
  Check(&f, {"all bad", "a,y\nx,1\nx,2\n",
             "data.bad_rows: no training rows: all 2 rows were bad and skipped", 0, "", 0, ""});
  f.job.data.validation.column = std::string("v");
  Check(&f,
        {"all validate", "a,v,y\n1,1,1\n2,1,0\n",
         "data.validation.column: no training rows: all 2 rows went to validation", 0, "v", 0, ""});
}

TEST_CASE("sets without rows and labels without classes say so") {
  const auto message = [](DataFixture& f) { return f.Survey().status().message(); };
  {
    DataFixture f;
    f.Train("a,y\n1,0\n2,0\n3,0\n");
    CHECK(message(f) ==
          "all 3 training rows have the label '0'; a classifier needs two classes or more");
    f.job.data.validation.fraction = 0.001;
    CHECK(message(f) ==
          "data.validation.fraction: 0.001 of 3 rows gave no row; choose a larger fraction or "
          "another train.seed, or leave validation out");
    f.job.data.validation = {.column = std::string("a")};
    f.Train("a,y,b\n0,0,1\n0,1,1\n");
    CHECK(message(f) == "data.validation.column: no row of 2 is marked true (1)");
  }
  DataFixture f;
  f.Train("a,y\n1,0\n2,1\n");
  f.job.data.test = {f.dir.Put("test.csv", "a,y\n")};
  CHECK(message(f) == "the files of data.test hold no rows");
  f.job.data.test.clear();
  f.job.data.validation.files = {f.dir.Put("v.csv", "")};
  CHECK(message(f) == "the files of data.validation.files hold no rows");
  f.job.data.validation.files.clear();
  f.job.model.loss = Loss::kBinaryCrossEntropy;
  f.Train("a,y\n1,0\n2,1\n3,2\n");
  CHECK(f.Survey().status().code() == StatusCode::kInvalidArgument);
  std::string many = "a,y\n";
  for (int i = 0; i < 10'001; ++i) many += "1,id" + std::to_string(i) + "\n";
  f.Train(many);
  CHECK(message(f) ==
        "the label has more than 10000 different values; is it a number (model.task: "
        "regression) or an identifier?");
  f.job.data.shard_bytes = 20'000;
  CHECK(message(f).starts_with("the label has 10,001 different values"));
}

TEST_CASE("statistics that overflow name the column") {
  DataFixture f;
  f.job.data.features.scale.kind = ScaleKind::kStandard;
  f.job.model.precision = Precision::kFloat64;
  f.Train("a,y\n1.7e308,0\n-1.7e308,1\n");
  const Status error = f.Survey().status();
  CHECK(error.message().starts_with("the statistics of the column overflow"));
  CHECK(error.position()->column == "a");
}

}  // namespace
}  // namespace espalier
