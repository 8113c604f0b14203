#include "tests/data/crafted_parquet.h"
#include "tests/data/fixture.h"
#include "tests/fuzz/mutate.h"
#include "tests/testing/scale.h"

namespace espalier {
namespace {

// Bytes that occur in a footer and in page headers: Thrift's field headers, small numbers and the
// ends of structs.
const std::string kThrift(
    "\x00\x01\x02\x03\x05\x06\x08\x09\x0C\x12\x15\x16\x18\x19\x1C\x25"
    "\x26\x2C\x35\x48\x4C\x7F\x80\xFC\xFF",
    25);

std::vector<std::string> Seeds() {
  data::Crafted two_groups, snappy, dictionary;
  two_groups.groups = 2;
  two_groups.footer_rows = 4;
  snappy.codec = 1;
  dictionary.encoding = 8;
  return {data::CraftedParquet({}), data::CraftedParquet(two_groups), data::CraftedParquet(snappy),
          data::CraftedParquet(dictionary), data::NestedParquet(6)};
}

TEST_CASE("a mutated Parquet file is read or refused with its name") {
  const std::vector<std::string> seeds = Seeds();
  int read = 0;
  for (uint64_t i = 0; i < 3000 * FuzzScale(); ++i) {
    data::DataFixture f;
    f.job.model.task = spec::Task::kRegression;
    const std::string& seed = seeds[i % seeds.size()];
    // Half of the mutations keep the end of the file and store the correct length of the footer, so
    // that the reader parses the footer.
    std::string file = Mutated(seed, kThrift, i);
    if (i % 2 == 0) {
      const size_t size = data::FooterBytes(seed), begin = seed.size() - 8 - size;
      const std::string footer = Mutated(seed.substr(begin, size), kThrift, i);
      file = data::WithFooter(seed.substr(0, begin), footer);
    }
    INFO("mutation " << i);
    const std::string path = f.Train(file, "t.parquet");
    const auto profile = f.Profile();
    read += profile.ok() ? 1 : 0;
    if (profile.ok()) continue;
    const std::string told = profile.status().ToString();
    INFO(told);
    REQUIRE(profile.status().code() != StatusCode::kInternal);
    REQUIRE((told.find(path) != std::string::npos || told.find("data.") != std::string::npos));
    REQUIRE(told.find('\n') == std::string::npos);
  }
  CHECK(read > 0);  // some edits keep it valid
}

}  // namespace
}  // namespace espalier
