#include "tests/data/fixture.h"
#include "tests/fuzz/mutate.h"
#include "tests/testing/scale.h"

namespace espalier {
namespace {

// Checks that the file is either refused with its name, or read with the same number of rows for
// large and tiny shards. Returns whether it was read.
bool CheckText(data::DataFixture& f, const std::string& text, const std::string& name) {
  const std::string path = f.Train(text, name);
  f.job.data.shard_bytes = 1 << 20;
  const auto whole = f.Profile();
  if (!whole.ok()) {
    REQUIRE_FALSE(whole.status().message().empty());
    const std::string told = whole.status().ToString();
    REQUIRE((told.find(path) != std::string::npos || told.find("data.") != std::string::npos));
    return false;
  }
  f.job.data.shard_bytes = 7;
  const auto cut = f.Profile();
  INFO(cut.status().ToString());
  REQUIRE(cut.ok());
  REQUIRE(cut->train_rows == whole->train_rows);
  REQUIRE(cut->skipped_rows == whole->skipped_rows);
  return true;
}

TEST_CASE("mutated CSV reads the same for any shard cut") {
  const std::string seeds[] = {
      "y,a,b\n0,1.5,2\n1,-3e2,0.25\r\n0,,7\n1,123456789012,1e-300\n",
      "y,\"a\",b\n\"0\",\"1\"\"5\",2\n1,\"4\",\"\"\n\n0,7,8",
      "\xef\xbb\xbfy,a,b\n1,0,255\n0,255,0\n",
  };
  int read = 0;
  for (uint64_t i = 0; i < 900 * FuzzScale(); ++i) {
    data::DataFixture f;
    f.job.data.features.columns = {std::string("a"), std::string("b")};
    f.job.data.features.nulls.kind = i % 2 == 0 ? spec::NullKind::kMean : spec::NullKind::kFail;
    if (i % 3 == 0) f.job.data.bad_rows = {.skip = true, .limit = 100};
    INFO("mutation " << i);
    const std::string& seed = seeds[i % 3];
    const bool original = i == 0;  // a valid file
    const std::string text = original ? seed : Mutated(seed, ",\"\n\r.-+eE0123456789 ", i);
    const bool whole = CheckText(f, text, "t.csv");
    if (original) REQUIRE(whole);
    read += whole;
  }
  CHECK(read > 1);  // some edits keep it valid
}

TEST_CASE("mutated JSON reads the same for any shard cut") {
  const std::string seed =
      "{\"y\":0,\"a\":1.5,\"u\":{\"b\":[1,{\"c\":null}],\"d\":\"x\\u00e4\"}}\r\n"
      "{\"a\":-3e2,\"y\":\"1\",\"u\":null}\n\n{\"y\":true,\"a\":null}\n{\"y\":0,\"a\":7}";
  int read = 0;
  for (uint64_t i = 0; i < 900 * FuzzScale(); ++i) {
    data::DataFixture f;
    f.job.data.features.columns = {std::string("a")};
    f.job.data.features.nulls.kind = i % 2 == 0 ? spec::NullKind::kMean : spec::NullKind::kFail;
    if (i % 3 != 1) f.job.data.bad_rows = {.skip = true, .limit = 100};
    INFO("mutation " << i);
    const bool original = i == 0;  // a valid file
    const bool whole =
        CheckText(f, original ? seed : Mutated(seed, "{}[]:,\"\\un\n\r.-+eE019", i), "t.jsonl");
    if (original) REQUIRE(whole);
    read += whole;
  }
  CHECK(read > 100);
}

TEST_CASE("mutated LIBSVM text reads the same for any shard cut") {
  const std::string narrow = "+1 3:0.5 7:2 # a\n-1 1:-1e2\t2:7\r\n\n+1 5:1\n-1 1:3 2:4 3:5\n";
  const std::string wide =
      "+1 3:0.5 1007:2 # a\n-1 1:-1e2\t1024:7\r\n\n+1\n-1 998:nan 999:4 1100:5\n";
  int read[2] = {};  // dense and sparse files
  for (uint64_t i = 0; i < 900 * FuzzScale(); ++i) {
    const bool sparse = i % 2 != 0;  // rows this wide are decoded as sparse rows
    data::DataFixture f;
    f.job.data.label = {int64_t{0}};
    f.job.data.features.columns = {spec::ColumnRange{1, sparse ? 1100 : 7}};
    if (i % 3 == 0) f.job.data.features.nulls.kind = spec::NullKind::kMean;
    if (i % 5 == 0) f.job.data.bad_rows = {.skip = true, .limit = 100};
    INFO("mutation " << i);
    const std::string& seed = sparse ? wide : narrow;
    const bool original = i == 0 || i == 15;  // a valid file of each width
    const std::string text = original ? seed : Mutated(seed, ":# \t\n\r.-+e0123456789", i);
    const bool whole = CheckText(f, text, "t.libsvm");
    if (original) REQUIRE(whole);
    read[sparse] += whole;
  }
  CHECK(read[0] > 1);  // some edits keep it valid
  CHECK(read[1] > 1);
}

}  // namespace
}  // namespace espalier
