// Directories as Spark and Hive write them: many parts, with and without compression, with columns
// in any order.
#include <filesystem>
#include <random>
#include <utility>

#include "tests/data/compress.h"
#include "tests/data/fixture.h"

namespace espalier::data {
namespace {

// Returns the job's training rows as a network gets them.
Gathered Rows(DataFixture* f) {
  const auto profile = f->Profile();
  INFO(profile.status().ToString());
  REQUIRE(profile.ok());
  const auto store =
      LoadRows({*f->files, f->plan, f->job}, *profile, DataFixture::All(*profile), f->shards, {});
  REQUIRE(store.ok());
  return GatherAll(**store, spec::FileRole::kTrain);
}

std::string Table(int rows, int seed, const std::string& header = "a,b,y\n") {
  std::mt19937_64 random(seed);
  std::string text = header;
  for (int i = 0; i < rows; ++i) {
    text += std::to_string(random() % 1000) + "," + std::to_string(random() % 100'000) + ".25," +
            std::to_string(random() % 2) + "\n";
  }
  return text;
}

TEST_CASE("a compressed file gives the rows and statistics of text") {
  DataFixture f;
  const std::string text = Table(20'000, 1);
  f.job.data.features.scale.kind = spec::ScaleKind::kStandard;
  f.job.data.validation.fraction = 0.25;
  f.Train(text);
  const auto plain = f.Profile();
  REQUIRE(plain.ok());
  const Gathered expected = Rows(&f);
  const std::map<std::string, std::string> packed = {
      {"a.csv.gz", Gzip(text)}, {"a.csv.zst", Zstd(text)}, {"part-0", Gzip(text)}};
  for (const auto& [name, content] : packed) {
    for (const int64_t shard_bytes : {1 << 10, 1 << 20}) {
      INFO(name << " with shards of " << shard_bytes);
      f.job.data.shard_bytes = shard_bytes;
      f.Train(content, name);
      const auto profile = f.Profile();
      REQUIRE(profile.ok());
      CHECK(f.plan.shards.size() == 1);
      CHECK(profile->shards[0].checksum == plain->shards[0].checksum);
      CHECK(profile->preprocessing == plain->preprocessing);
      CHECK(profile->validation_rows == plain->validation_rows);
      CHECK((Rows(&f) == expected));
    }
  }
}

TEST_CASE("a file that may not belong to the table is named") {
  DataFixture f;
  std::filesystem::create_directories(f.dir / "d");
  f.dir.Put("d/a.csv", Table(20, 1));
  f.dir.Put("d/b.csv", Table(20, 2));
  f.dir.Put("d/README.md", "# About\n\nThis is a table.\n");
  f.job.data.train = {f.dir / "d"};
  const std::string advice = "Use a pattern such as '" + f.dir / "d/*.csv" + "'";
  const std::string readme = f.dir / "d/README.md";
  const auto error = [&] {
    const Status status = f.Plan().status();
    CHECK(status.code() == StatusCode::kInvalidArgument);
    REQUIRE(status.position());
    CHECK_THAT(status.message(), Catch::EndsWith(advice));
    return std::pair(status.position()->file, status.message());
  };
  // The first file has no label.
  CHECK(error().first == readme);
  CHECK_THAT(error().second, Catch::Contains("'" + readme + "' may not belong to the table. "));
  // Another header than the first file.
  f.job.data.label.clear();
  f.job.model.task = spec::Task::kAutoencoder;
  CHECK(error().first == readme);
  CHECK_THAT(error().second,
             Catch::StartsWith("'" + readme + "' does not have the columns of '" +
                               f.dir / "d/a.csv" + "' (found '# About', expected 'a', 'b', 'y')"));
  std::filesystem::rename(readme, f.dir / "d/notes.txt");
  CHECK(error().first == f.dir / "d/notes.txt");
  CHECK_THAT(error().second, Catch::Contains("notes.txt' may not belong to the table. "));
  f.job.data.train = {f.dir / "d/*.csv"};
  CHECK(f.Plan().ok());
}

TEST_CASE("a compressed shard is read again after its rows were freed") {
  DataFixture f;
  f.Train(Gzip(Table(5000, 2)), "a.csv.gz");
  const Gathered expected = Rows(&f);
  const auto profile = f.Profile();
  f.shards[0].rows = {};
  f.shards[0].has_rows = false;
  const auto store =
      LoadRows({*f.files, f.plan, f.job}, *profile, DataFixture::All(*profile), f.shards, {});
  REQUIRE(store.ok());
  CHECK((GatherAll(**store, spec::FileRole::kTrain) == expected));
}

TEST_CASE("a bad compressed row has its position in the plain text") {
  DataFixture f;
  const std::string text = Table(30'000, 3);
  const std::string bad = text + "1,x,0\n" + Table(10, 4, "");
  for (const std::string& content : {Gzip(bad), Zstd(bad)}) {
    const std::string path = f.Train(content, "a.bin");
    const Status error = f.Profile().status();
    CHECK(error.message().find("is not a number") != std::string::npos);
    CHECK(error.position() == InputPosition{.file = path,
                                            .row = 30'002,
                                            .column = "b",
                                            .offset = static_cast<int64_t>(text.size()) + 2,
                                            .text = "x"});
  }
  // Several bad rows are tolerated, and good rows follow them.
  f.job.data.bad_rows = {true, 5};
  f.Train(Gzip(text + "1,x,0\n" + Table(10'000, 5, "") + "1,2\n3,3,1\n"), "a.csv.gz");
  const auto profile = f.Profile();
  REQUIRE(profile.ok());
  CHECK(profile->skipped_rows == 2);
  CHECK(profile->train_rows == 40'001);
  CHECK(profile->shards[0].skipped[1].position()->row == 40'003);
}

TEST_CASE("a damaged compressed file among good ones is named") {
  DataFixture f;
  const std::string packed = Gzip(Table(50'000, 6));
  const std::string good = f.dir.Put("a.csv.gz", packed);
  f.job.data.train = {good, f.dir.Put("b.csv.gz", packed.substr(0, packed.size() - 5))};
  Status error = f.Profile().status();
  CHECK(error.code() == StatusCode::kBadInput);
  CHECK(error.position()->file == f.dir / "b.csv.gz");
  CHECK(error.message().find("ends in the middle") != std::string::npos);
  f.dir.Put("b.csv.gz", "a,b,y\n1,2,0\n");
  error = f.Plan().status();
  CHECK(error.position()->file == f.dir / "b.csv.gz");
  CHECK(error.message().find("not what its name says") != std::string::npos);
}

TEST_CASE("columns in another order are matched by name, file by file") {
  DataFixture f;
  f.job.data.label = {std::string("y")};
  f.job.data.weight = std::string("w");
  f.job.data.validation.column = std::string("v");
  const auto use = [&f](const std::string& b, const std::string& c) {
    f.job.data.train = {f.dir.Put("a.csv", "p,q,y,w,v\n1,2,0,0.5,0\n3,4,1,1.5,0\n"),
                        f.dir.Put("b.csv", b), f.dir.Put("c.csv", c)};
  };
  const auto both = [&f] {
    const auto profile = f.Profile();
    INFO(profile.status().ToString());
    REQUIRE(profile.ok());
    const auto store =
        LoadRows({*f.files, f.plan, f.job}, *profile, DataFixture::All(*profile), f.shards, {});
    return std::pair(GatherAll(**store, spec::FileRole::kTrain),
                     GatherAll(**store, spec::FileRole::kValidation));
  };
  use("p,q,y,w,v\n5,6,0,2.5,0\n7,8,0,3.5,1\n", "p,q,y,w,v\n9,10,1,4,0\n");
  const auto expected = both();
  CHECK(expected.first.inputs == std::vector<double>{1, 2, 3, 4, 5, 6, 9, 10});
  use("y,v,q,w,p\n0,0,6,2.5,5\n0,1,8,3.5,7\n", Gzip("w,p,v,q,y\n4,9,0,10,1\n"));
  CHECK((both() == expected));
  CHECK(f.plan.files[0].columns.empty());
  CHECK(f.plan.files[1].columns == std::vector<int32_t>{2, 4, 1, 3, 0});
  // The spec's positions are positions in the first file.
  f.job.data.label = {int64_t{2}};
  CHECK((both() == expected));
  // An error gives the position in its own file.
  use("y,v,q,w,p\n0,0,6,2.5,bad\n", "p,q,y,w,v\n");
  const Status error = f.Profile().status();
  CHECK(
      error.position() ==
      InputPosition{.file = f.dir / "b.csv", .row = 2, .column = "p", .offset = 20, .text = "bad"});
}

TEST_CASE("thousands of parts are read, without hidden files") {
  DataFixture f;
  REQUIRE(f.files->MakeDirectory(f.dir / "t").ok());
  const auto name = [](int i) {
    const std::string digits = std::to_string(i);
    return "t/part-" + std::string(5 - digits.size(), '0') + digits;
  };
  std::string all = "a,b,y\n";
  for (int i = 0; i < 3000; ++i) {
    const std::string rows = i % 7 == 0 ? "" : Table(3, i, "");
    const std::string part = i % 11 == 0 && rows.empty() ? "" : "a,b,y\n" + rows;
    all += rows;
    switch (i % 3) {
      case 0:
        f.dir.Put(name(i) + ".csv", part);
        break;
      case 1:
        f.dir.Put(name(i) + ".csv.gz", part.empty() ? "" : Gzip(part));
        break;
      default:
        f.dir.Put(name(i) + ".csv.zst", Zstd(part));
    }
  }
  f.dir.Put("t/_SUCCESS", "");
  f.dir.Put("t/_committed_1", "garbage\n");
  f.dir.Put("t/.part-00000.csv.crc", std::string("crc\0\0", 5));
  f.dir.Put("t/part-99999.csv._COPYING_", "a,b,y\nhalf,of,");
  f.Train(all);
  const Gathered expected = Rows(&f);
  CHECK(expected.labels.size() > 7000);
  f.job.data.train = {f.dir / "t"};
  CHECK((Rows(&f) == expected));
  CHECK(f.plan.files.size() == 3000);
  for (const char* pattern : {"t/*", "t/part-*"}) {
    f.job.data.train = {f.dir / pattern};
    const auto plan = f.Plan();
    REQUIRE(plan.ok());
    CHECK(plan->files == f.plan.files);
    CHECK(plan->shards == f.plan.shards);
  }
}

TEST_CASE("empty parts among full ones are fine; only empty ones fail") {
  DataFixture f;
  const std::string full = "a,b,y\n1,2,0\n3,4,1\n";
  const std::string empties[] = {"", "\n\n", "a,b,y\n", "a,b,y"};
  for (const std::string& empty : empties) {
    for (const std::string& content : {empty, empty.empty() ? "" : Gzip(empty), Zstd(empty)}) {
      f.job.data.train = {f.dir.Put("1", content), f.dir.Put("2", full), f.dir.Put("3", content),
                          f.dir.Put("4", full)};
      CHECK(Rows(&f).labels == std::vector<int32_t>{0, 1, 0, 1});
      f.job.data.train = {f.dir / "1", f.dir / "3"};
      CHECK(f.Profile().status().code() == StatusCode::kBadInput);
    }
  }
}

TEST_CASE("with multiline a compressed file's fields hold line breaks") {
  DataFixture f;
  f.job.data.csv.multiline = true;
  f.job.data.label = {std::string("y")};
  f.job.data.features.columns = {std::string("a")};
  const std::string text = "a,note,y\n1,\"two\nlines, \"\"quoted\"\"\",p\n2,\"\r\n\",q\n3,x,p\n";
  f.Train(text);
  const Gathered expected = Rows(&f);
  CHECK(expected.inputs == std::vector<double>{1, 2, 3});
  for (const std::string& content : {Gzip(text), Zstd(text)}) {
    f.Train(content, "a.bin");
    CHECK((Rows(&f) == expected));
  }
  f.Train(Gzip(text + "4,\"never closed\n5,6,p\n"), "a.csv.gz");
  CHECK(f.Profile().status().message().find("not closed before the end") != std::string::npos);
}

}  // namespace
}  // namespace espalier::data
