// Features that differ from the numbers in their columns: groups, categories, dates, logarithms.
#include <catch2/catch.hpp>
#include <cmath>
#include <iterator>
#include <optional>

#include "src/base/text.h"
#include "src/data/features/feature_decoder.h"
#include "src/data/features/vocabulary.h"
#include "tests/data/fixture.h"
#include "tests/testing/says.h"

namespace espalier::data {
namespace {

using Strings = std::vector<std::string>;
using Doubles = std::vector<double>;
using Codes = std::vector<int32_t>;

spec::FeatureGroup Group(Strings columns, spec::FeatureType type = spec::FeatureType::kNumeric) {
  spec::FeatureGroup group;
  for (std::string& name : columns) group.columns.emplace_back(std::move(name));
  group.type = type;
  return group;
}

spec::FeatureGroup Categories(Strings columns) {
  return Group(columns, spec::FeatureType::kCategorical);
}

std::string ErrorOf(DataFixture& f) {
  const auto profile = f.Profile();
  return profile.ok() ? "" : profile.status().ToString();
}

TEST_CASE("MurmurHash3 matches its author's test values") {
  const auto hash = [](std::string_view text) { return HashedCode(text, int64_t{1} << 32); };
  CHECK(hash("") == 0);
  CHECK(hash("a") == 0x3c2569b2);
  CHECK(hash("abc") == 0xb3dd93fa);
  CHECK(hash("hello") == 0x248bfa47);
  CHECK(hash("Hello, world!") == 0xc0363e43);
  CHECK(hash("The quick brown fox jumps over the lazy dog") == 0x2e4ff723);
  CHECK(HashedCode("abc", 10) == 0xb3dd93fa % 10);
}

TEST_CASE("log1p equals the library's to a few units in the last place") {
  for (const double x :
       {0.0, 1e-300, 1e-17, -1e-9, 1e-4, 0.1,       -0.2, -0.3,  -0.9,    0.39,        0.41,
        0.5, 1.0,    2.0,   7.5,   1e3,  12345.678, 1e9,  1e100, 1.7e308, -0.999999999}) {
    INFO(x);
    CHECK(std::fabs(Log1p(x) - std::log1p(x)) <= 4e-16 * std::fabs(std::log1p(x)));
  }
}

TEST_CASE("dates give their parts, and bad dates are refused") {
  const double leap = *ParseDate("2024-02-29T23:59:58.5Z");
  CHECK(leap == 1709251198.5);
  CHECK(*ParseDate(" 1970-01-01 ") == 0);
  CHECK(*ParseDate("1969-12-31 23:00") == -3600);
  CHECK(*ParseDate("2024-03-01T00:59:58.5+01:00") == leap);
  CHECK(*ParseDate("2024-02-29T18:29:58.5-0530") == leap);
  CHECK(*ParseDate("0001-01-01") == -62135596800);
  CHECK(*ParseDate("9999-12-31") == 253402214400);
  for (const char* bad : {"", "2023-02-29", "2024-13-01", "2024-1-1", "24-01-01", "2024-01-01x",
                          "2024-01-01T", "2024-01-01T25:00", "2024-01-01T10", "2024-01-01T10:00+",
                          "01/02/2024", "0000-01-01", "2024-01-01T10:00:00.", "2024-00-10"}) {
    INFO(bad);
    CHECK_FALSE(ParseDate(bad));
  }
  const auto part = [&](spec::DatePart p) { return PartOf(leap, p); };
  CHECK(part(spec::DatePart::kYear) == 2024);
  CHECK(part(spec::DatePart::kMonth) == 2);
  CHECK(part(spec::DatePart::kDay) == 29);
  CHECK(part(spec::DatePart::kWeekday) == 3);  // a Thursday
  CHECK(part(spec::DatePart::kYearday) == 60);
  CHECK(part(spec::DatePart::kHour) == 23);
  CHECK(part(spec::DatePart::kMinute) == 59);
  CHECK(part(spec::DatePart::kSecond) == 58);
  CHECK(part(spec::DatePart::kEpoch) == leap);
  CHECK(PartOf(-1, spec::DatePart::kYear) == 1969);
  CHECK(PartOf(-1, spec::DatePart::kSecond) == 59);
  CHECK(PartOf(*ParseDate("0001-01-01"), spec::DatePart::kWeekday) == 0);
}

TEST_CASE("categories have vocabulary codes in training and validation") {
  DataFixture f;
  f.job.data.features.groups = {Categories({"c"})};
  f.job.data.validation.column = std::string("v");
  f.Train("a,c,v,y\n1,red,0,0\n2, blue ,0,1\n3,green,1,0\n4,,0,1\n5,red,0,1\n6,\\N,0,0\n");
  for (const int64_t shard_bytes : {1 << 20, 16}) {
    f.job.data.shard_bytes = shard_bytes;
    const auto profile = f.Profile();
    REQUIRE(profile.ok());
    const spec::FittedFeature& c = profile->preprocessing.features[1];
    CHECK(c.vocabulary == Strings{"", "blue", "red"});
    CHECK(c.codes == 3);  // training rows have no other value
    CHECK(spec::InputsOf(profile->preprocessing).dense == 1);
    CHECK(spec::InputsOf(profile->preprocessing).coded == std::vector<spec::CodedInput>{{3, 0}});
    auto shards = std::move(f.shards);
    const auto store = LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), shards, {});
    REQUIRE(store.ok());
    const Gathered train = GatherAll(**store, spec::FileRole::kTrain);
    CHECK(train.inputs == Doubles{1, 2, 4, 5, 6});
    CHECK(train.codes == Codes{2, 1, 0, 2, 0});
    CHECK(GatherAll(**store, spec::FileRole::kValidation).codes == Codes{-1});  // green
    // The rows are read again from the file.
    std::vector<ProfiledShard> none;
    const auto again = LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), none, {});
    REQUIRE(again.ok());
    CHECK((GatherAll(**again, spec::FileRole::kTrain) == train));
  }
}

TEST_CASE("rare values share one code, which unseen ones have too") {
  DataFixture f;
  f.job.data.features.groups = {Categories({"c"})};
  f.job.data.features.groups[0].min_count = 2;
  f.job.data.features.groups[0].embedding = 4;
  const std::string validation = f.dir.Put("v.csv", "c,y\nd,0\na,1\n,0\n");
  f.job.data.validation.files = {validation};
  f.Train("c,y\na,0\nb,1\na,0\nc,1\n,1\n");
  const auto profile = f.Profile();
  REQUIRE(profile.ok());
  CHECK(profile->preprocessing.features[0].vocabulary == Strings{"a"});
  CHECK(profile->preprocessing.features[0].codes == 2);
  CHECK(spec::InputsOf(profile->preprocessing).coded == std::vector<spec::CodedInput>{{2, 4}});
  const auto store = LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
  REQUIRE(store.ok());
  CHECK(GatherAll(**store, spec::FileRole::kTrain).codes == Codes{0, 1, 0, 1, 1});
  CHECK(GatherAll(**store, spec::FileRole::kValidation).codes == Codes{1, 0, 1});
}

TEST_CASE("whole numbers are ordered categories, also as floats") {
  spec::FittedFeature feature;
  FitVocabulary({{"10", 1}, {"9", 1}, {"9.0", 2}, {"", 1}}, {}, &feature);
  CHECK(feature.vocabulary == Strings{"", "9", "10"});
  spec::Preprocessing fitted;
  fitted.features = {{"plain"}, feature};
  LabelTexts texts;
  for (const char* text : {"11", "10.0"}) texts.IndexOf(text);
  CodeMaps maps;
  Vocabularies(fitted).Extend({texts}, &maps);
  texts.IndexOf("");
  Vocabularies(fitted).Extend({texts}, &maps);
  CHECK(maps == CodeMaps{{3, 2, 0}});  // 3: no code
  spec::FittedFeature mixed;
  FitVocabulary({{"10", 1}, {"9", 1}, {"x", 1}}, {}, &mixed);
  CHECK(mixed.vocabulary == Strings{"10", "9", "x"});
  spec::FittedFeature spelled;
  FitVocabulary({{"1", 1}, {"1.0", 2}, {"1.", 1}, {"2.5", 4}, {"x", 4}, {"x.0", 3}},
                {.min_count = 4}, &spelled);
  CHECK(spelled.vocabulary == Strings{"1", "2.5", "x"});
}

TEST_CASE("zero_rare gives rare values no code, few values are one-hot") {
  const std::map<std::string, int64_t> counts = {{"a", 9}, {"b", 30}, {"c", 31}, {"", 40}};
  spec::FittedFeature feature{.embedding = 8};
  FitVocabulary(counts, {.min_count = 30, .zero_rare = true}, &feature);
  CHECK(feature.vocabulary == Strings{"b", "c"});
  CHECK(feature.codes == 2);
  CHECK(feature.embedding == 8);
  spec::FittedFeature few{.embedding = 8};
  FitVocabulary(counts, {.min_count = 30, .one_hot_max = 3, .zero_rare = true}, &few);
  CHECK(few.vocabulary == Strings{"a", "b", "c"});
  CHECK(few.embedding == 0);
  spec::FittedFeature rare{.embedding = 8};
  FitVocabulary(counts, {.min_count = 99, .zero_rare = true}, &rare);
  CHECK(rare.vocabulary.empty());
  CHECK(rare.codes == 1);
  spec::Preprocessing fitted;
  fitted.features = {feature};
  LabelTexts texts;
  for (const char* text : {"a", "b", "", "unseen"}) texts.IndexOf(text);
  CodeMaps maps;
  Vocabularies(fitted).Extend({texts}, &maps);
  CHECK(maps == CodeMaps{{2, 0, 2, 2}});  // 2: no code
}

TEST_CASE("Parquet booleans are the categories True and FALSE of CSV") {
  spec::Preprocessing fitted;
  spec::FittedFeature& flag = fitted.features.emplace_back();
  FitVocabulary({{"True", 1}, {"FALSE", 1}, {"yes", 1}}, {}, &flag);
  LabelTexts texts;
  for (const char* text : {"true", "false", "True", "TRUE"}) texts.IndexOf(text);
  CodeMaps maps;
  Vocabularies(fitted).Extend({texts}, &maps);
  CHECK(maps == CodeMaps{{1, 0, 1, 3}});  // 3: no code
}

TEST_CASE("many categories make wider codes, and too many are refused") {
  DataFixture f;
  f.job.data.features.groups = {Categories({"c"})};
  const auto rows = [](int count) {
    std::string text = "c,y\n";
    for (int i = 0; i < count; ++i) {
      text += "v" + std::to_string(i) + "," + std::to_string(i % 2) + "\n";
    }
    return text;
  };
  f.job.data.shard_bytes = 512;  // small shards, whose codes are numbered separately
  f.Train(rows(700));
  const Gathered all = f.AllRows();
  std::vector<bool> seen(700);
  for (const int32_t code : all.codes) seen[static_cast<size_t>(code)] = true;
  CHECK(std::count(seen.begin(), seen.end(), true) == 700);
  f.job.data.shard_bytes = 1 << 14;
  f.Train(rows(10'001));
  const std::string many =
      "... the column ... more than 10,000 different values ... `type: categorical, hash: 1000` "
      "... `min_count: 5`";
  CHECK_THAT(ErrorOf(f), Says(many));
  f.job.data.shard_bytes = 1 << 20;
  CHECK_THAT(ErrorOf(f), Says(many));
  f.job.data.features.groups[0].hash = 50;
  const Gathered hashed = f.AllRows();
  CHECK(hashed.codes[7] == HashedCode("v7", 50));
  CHECK(*std::max_element(hashed.codes.begin(), hashed.codes.end()) == 49);
}

// Returns a table of column c: `frequent` values twice and `rare` values once, mixed.
std::string Frequencies(int frequent, int rare) {
  std::string first = "c,y\n", second;
  for (int i = 0; i < std::max(frequent, rare); ++i) {
    const std::string end = std::to_string(i) + "," + std::to_string(i % 2) + "\n";
    if (i < frequent) first += "f" + end, second += "f" + end;
    if (i < rare) second += "r" + end;
  }
  return first + second;
}

TEST_CASE("a vocabulary holds all values with min_count rows") {
  DataFixture f;
  f.job.data.features.groups = {Categories({"c"})};
  f.job.data.features.groups[0].min_count = 2;
  const std::string text = Frequencies(300, 25'000);
  f.Train(text);
  Strings expected;
  for (int i = 0; i < 300; ++i) expected.push_back("f" + std::to_string(i));
  std::sort(expected.begin(), expected.end());
  std::optional<Gathered> first;
  for (const size_t shards : {1, 3, 7}) {
    f.job.data.shard_bytes = static_cast<int64_t>(text.size() / shards + 1);
    const auto profile = f.Profile();
    REQUIRE(profile.ok());
    REQUIRE(f.shards.size() == shards);
    CHECK(profile->preprocessing.features[0].vocabulary == expected);
    CHECK(profile->preprocessing.features[0].codes == 301);
    for (const bool kept : {true, false}) {  // kept rows, or rows that are read again
      for (ProfiledShard& shard : f.shards) shard.has_rows = kept && shard.has_rows;
      const auto store =
          LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
      REQUIRE(store.ok());
      const Gathered all = GatherAll(**store, spec::FileRole::kTrain);
      if (!first) first = all;
      CHECK((all == *first));
    }
  }
  f.Train(Frequencies(10'001, 5));
  CHECK_THAT(ErrorOf(f), Says("... 10,001 values of the column ... 2 training rows ... min_count "
                              "... 10,000 ... Raise min_count"));
}

TEST_CASE("counted values of a column are bounded per shard and overall") {
  DataFixture f;
  f.job.data.features.groups = {Categories({"c"})};
  f.job.data.features.groups[0].min_count = 2;
  f.Train("c,y\na,0\na,1\n");
  REQUIRE(f.Profile().ok());
  const std::string many = "more than 1,000,000 different values, too many to count. Hash them";
  FeatureDecoder decoder(f.job.data, f.plan.schema, true);
  std::vector<spec::ShardProfile> profiles = {f.shards[0].profile};  // the shard of "a"
  auto& counts = profiles[0].categories[0];
  double code = 0;
  for (size_t i = 0; i < kCategoriesCountedMax; ++i) {
    const std::string text = std::to_string(1'000'000 + i);
    decoder.Decode(0, text, &code);
    counts.emplace_hint(std::prev(counts.end()), text, 1);
  }
  CHECK(decoder.CheckTexts("file", RowRules::kTraining).ok());
  decoder.Decode(0, "one more", &code);
  CHECK_THAT(decoder.CheckTexts("file", RowRules::kTraining).message(), Catch::Contains(many));
  CHECK_THAT(MergeShardProfiles(f.plan, f.job, std::move(profiles)).status().message(),
             Catch::Contains(many));
}

TEST_CASE("whole numbers written as floats hash as whole numbers") {
  DataFixture f;
  f.job.data.features.groups = {Categories({"c"})};
  f.job.data.features.groups[0].hash = 1'000'000;
  f.Train("c,y\n17,0\n17.0,1\n17.,0\n-0.0,1\n017.0,0\n17.5,1\n");
  Codes expected;
  for (const char* text : {"17", "17", "17", "0", "017.0", "17.5"}) {
    expected.push_back(static_cast<int32_t>(HashedCode(text, 1'000'000)));
  }
  CHECK(f.AllRows().codes == expected);
}

TEST_CASE("rows that are left out are bounded in their categories, too") {
  const std::string many = "the column has more than 10,000 different values";
  for (const bool dropped : {true, false}) {
    DataFixture f;
    f.job.data.features.groups = {Categories({"c"})};
    f.job.data.features.nulls.kind = spec::NullKind::kDrop;
    f.job.data.bad_rows = {true, 100'000};
    std::string text = "c,x,y\n";
    for (int i = 0; i <= 10'000; ++i) {
      text += "v" + std::to_string(i) + (dropped ? ",,1\n" : ",1,\n");  // a bad row has no label
    }
    f.Train(text + "v0,1,0\nv1,2,1\n");
    CHECK_THAT(ErrorOf(f), Says(many));
  }
}

TEST_CASE("booleans, dates and logarithms follow their group's rules") {
  DataFixture f;
  f.job.data.label = {std::string("y")};
  f.job.data.features.nulls.kind = spec::NullKind::kMean;
  spec::FeatureGroup logs = Group({"x"});
  logs.log1p = true;
  logs.null_indicator = true;
  logs.nulls = spec::NullPolicy{spec::NullKind::kConstant, 3};
  spec::FeatureGroup dates = Group({"d"}, spec::FeatureType::kDate);
  dates.parts = {spec::DatePart::kYear, spec::DatePart::kWeekday};
  f.job.data.features.groups = {logs, dates, Group({"b"}, spec::FeatureType::kBoolean)};
  f.Train("b,x,d,y\nyes,0,2024-02-29,0\n0,1,1970-01-01,1\nTRUE,,86400,1\n,7,,0\n");
  const Gathered all = f.AllRows();
  const double third = 2.0 / 3, year = (2024 + 1970 + 1970) / 3.0;
  const Doubles expected = {1,     0,        0, 2024, 3,  //
                            0,     Log1p(1), 0, 1970, 3,  //
                            1,     Log1p(3), 1, 1970, 4,  //
                            third, Log1p(7), 0, year, 10.0 / 3};
  REQUIRE(all.inputs.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) CHECK(all.inputs[i] == Approx(expected[i]));
  CHECK(all.codes.empty());
}

TEST_CASE("20240229 is a day; other numbers are seconds since 1970") {
  const auto seconds = [](const std::string& value) {
    DataFixture f;
    f.job.model.precision = spec::Precision::kFloat64;
    f.job.data.label = {std::string("y")};
    spec::FeatureGroup dates = Group({"d"}, spec::FeatureType::kDate);
    dates.parts = {spec::DatePart::kEpoch};
    dates.scale = spec::Scale{spec::ScaleKind::kNone};
    f.job.data.features.groups = {dates};
    f.Train("d,y\n" + value + ",0\n2000000000,1\n");
    return f.AllRows().inputs.front();
  };
  for (const auto& [number, day] :
       std::vector<std::pair<std::string, std::string>>{{"20240229", "2024-02-29"},
                                                        {" 19000101 ", "1900-01-01"},
                                                        {"21991231.0", "2199-12-31"},
                                                        {"19700101", "1970-01-01"}}) {
    CHECK(seconds(number) == *ParseDate(day));
  }
  for (const double number : {20230229.0, 20241301.0, 20240400.0, 20240431.0, 18991231.0,
                              22000101.0, 20240229.5, 2024022.0, -20240229.0}) {
    CHECK(seconds(ShortestDouble(number)) == number);
  }
}

TEST_CASE("a value that does not fit its column's type is a bad row") {
  const auto error = [](spec::FeatureGroup group, const std::string& value) {
    DataFixture f;
    f.job.data.features.groups = {std::move(group)};
    f.Train("c,y\n" + value + ",0\n" + value + ",1\n");
    return ErrorOf(f);
  };
  CHECK(error(Group({"c"}, spec::FeatureType::kBoolean), "maybe").find("neither true nor false") !=
        std::string::npos);
  CHECK(error(Group({"c"}, spec::FeatureType::kDate), "1/2/2024").find("is not a date") !=
        std::string::npos);
  CHECK(error(Group({"c"}, spec::FeatureType::kDate), "1e300").find("is not a date") !=
        std::string::npos);
  spec::FeatureGroup logs = Group({"c"});
  logs.log1p = true;
  CHECK(error(logs, "-1").find("expected a number above -1") != std::string::npos);
  CHECK(error(logs, "x").find("is not a number") != std::string::npos);
  spec::FeatureGroup strict = Categories({"c"});
  strict.nulls = spec::NullPolicy{spec::NullKind::kFail};
  CHECK(error(strict, "").find("the value is missing") != std::string::npos);
  CHECK(error(Categories({"c"}), std::string(257, 'x')).find("expected at most 256") !=
        std::string::npos);
  strict.nulls = spec::NullPolicy{spec::NullKind::kDrop};
  CHECK(error(strict, "").find("drop left out all 2") != std::string::npos);
}

TEST_CASE("groups name columns of the files, each once") {
  const auto error = [](std::vector<spec::FeatureGroup> groups) {
    DataFixture f;
    f.job.data.features.groups = std::move(groups);
    f.Train("a,b,y\n1,2,0\n2,3,1\n");
    return ErrorOf(f);
  };
  CHECK(error({Categories({"a"}), Categories({"b", "a"})})
            .find("data.features.groups[1].columns: column 'a' is already in groups[0]") !=
        std::string::npos);
  CHECK(error({Categories({"c"})})
            .find("data.features.groups[0].columns: column 'c' does not exist") !=
        std::string::npos);
  CHECK(error({Categories({"y"})}).find("column 'y' is the label") != std::string::npos);
}

TEST_CASE("columns of groups are features without being in `columns`") {
  DataFixture f;
  f.job.data.features.columns = {std::string("b")};
  f.job.data.features.groups = {Categories({"a"})};
  f.Train("a,b,x,y\nu,2,9,0\nv,3,9,1\n");
  const Gathered all = f.AllRows();
  CHECK(f.plan.schema.features == std::vector<int32_t>{1, 0});
  CHECK(all.inputs == Doubles{2, 3});
  CHECK(all.codes == Codes{0, 1});
}

}  // namespace
}  // namespace espalier::data
