#include "src/data/text/libsvm_reader.h"

#include <random>

#include "src/data/profile/table_scan.h"
#include "tests/data/compress.h"
#include "tests/data/fixture.h"
#include "tests/data/scan_rows.h"

namespace espalier::data {
namespace {

class LibsvmFixture : public DataFixture {
 public:
  LibsvmFixture() {
    job.data.label = {int64_t{0}};
    job.data.features.columns = {spec::ColumnRange{1, 7}};
  }
};

TEST_CASE("LIBSVM text is a dense table") {
  LibsvmFixture f;
  f.Train(
      "+1 3:0.5 7:2 # a comment\n"
      "# nothing else\n\n   \n"
      "-1\t1:-1e2  2:7 \r\n"
      "1\n"
      "-1 7:1 1:3",
      "a.libsvm");
  const Gathered rows = f.AllRows();
  CHECK(f.classes == std::vector<std::string>{"-1", "1"});
  CHECK(rows.labels == std::vector<int32_t>{1, 0, 1, 0});
  CHECK(rows.inputs == std::vector<double>{0,    0, 0.5, 0, 0, 0, 2,  //
                                           -100, 7, 0,   0, 0, 0, 0,  //
                                           0,    0, 0,   0, 0, 0, 0,  //
                                           3,    0, 0,   0, 0, 0, 1});
}

TEST_CASE("a zero-based index i is the column i + 1") {
  DataFixture f;
  f.job.data.label = {int64_t{0}};
  f.job.data.features.columns = {spec::ColumnRange{1, 3}};
  f.Train("1 0:5 2:7\n0 1:6\n", "a.libsvm");
  CHECK(f.Profile().status().message().find("data.libsvm.zero_based: true") != std::string::npos);
  f.job.data.libsvm.zero_based = true;
  CHECK(f.AllRows().inputs == std::vector<double>{5, 0, 7, 0, 6, 0});
}

TEST_CASE("LIBSVM text gives the rows of the same CSV, however cut") {
  std::mt19937_64 random(2);
  std::string csv, libsvm;
  for (int row = 0; row < 2000; ++row) {
    const std::string label = std::to_string(random() % 3);
    csv += label;
    libsvm += label;
    for (int i = 1; i <= 7; ++i) {
      const int64_t value = random() % 3 == 0 ? static_cast<int64_t>(random() % 900) - 300 : 0;
      csv += "," + std::to_string(value);
      if (value != 0) libsvm += " " + std::to_string(i) + ":" + std::to_string(value);
    }
    csv += "\n";
    libsvm += "\n";
  }
  LibsvmFixture f;
  f.job.data.csv.header = false;
  f.Train(csv);
  const Gathered expected = f.AllRows();
  f.job.data.csv.header = true;  // ignored for LIBSVM text
  for (const int64_t shard_bytes : {1000, 7777, 1 << 20}) {
    f.job.data.shard_bytes = shard_bytes;
    f.Train(libsvm, "a.svm");
    CHECK((f.AllRows() == expected));
  }
  f.Train(Gzip(libsvm), "a.libsvm.gz");
  CHECK((f.AllRows() == expected));
  f.job.data.format = spec::DataFormat::kLibsvm;
  f.Train(libsvm, "part-00000");
  CHECK((f.AllRows() == expected));
}

TEST_CASE("columns of groups are features next to the listed ones") {
  LibsvmFixture f;
  f.job.data.features.columns = {spec::ColumnRange{1, 2}};
  f.job.data.features.groups = {{.columns = {int64_t{4}}}};
  f.Train("+1 2:7 4:3\n-1 1:5\n", "a.libsvm");
  CHECK(f.AllRows().inputs == std::vector<double>{0, 7, 3, 5, 0, 0});
}

TEST_CASE("a bad row of LIBSVM text is named exactly") {
  struct Row {
    std::string line, message, column;
    int64_t offset;
    std::string text;
  };
  const Row rows[] = {
      {"1:2 2:3", "starts with a pair", "", 0, "1:2"},
      {"1,2 2:3", "the row has several labels", "", 0, "1,2"},
      {"1 2:3 x", "a field without a colon", "", 6, "x"},
      {"1 qid:4 2:3", "query id (qid)", "", 2, "qid:4"},
      {"1 a:4", "before the colon", "", 2, "a:4"},
      {"1 1.5:4", "before the colon", "", 2, "1.5:4"},
      {"1 :4", "before the colon", "", 2, ":4"},
      {"1 -1:4", "before the colon", "", 2, "-1:4"},
      {"1 0:4", "data.libsvm.zero_based: true", "", 2, "0:4"},
      {"1 2:3 8:4", "the index is above 7", "", 6, "8:4"},
      {"1 99999999999999999999:4", "the index is above 7", "", 2, "99999999999999999999:4"},
      {"1 2: 3:4", "nothing follows the colon", "", 2, "2:"},
      {"1 2:3 3:4 2:3", "in the row twice", "", 10, "2:3"},
      {"1 2:3 5:abc", "is not a number", "5", 6, "abc"},
      {"1 5:inf", "the value is infinite", "5", 2, "inf"},
      {"1 5:nan", "the value is missing", "5", 2, "nan"},
      {std::string("1 5:\0", 5), "a NUL byte", "", 0, "1 5:\\x00"},
  };
  LibsvmFixture f;
  const std::string start = "0 1:1\n# two\n";
  for (const Row& row : rows) {
    const std::string path = f.Train(start + row.line + "\n", "a.libsvm");
    const Status error = f.Profile().status();
    INFO(row.line << ": " << error.ToString());
    CHECK(error.code() == StatusCode::kBadInput);
    CHECK(error.message().find(row.message) != std::string::npos);
    REQUIRE(error.position().has_value());
    CHECK(*error.position() ==
          InputPosition{.file = path,
                        .row = 3,
                        .column = row.column,
                        .offset = static_cast<int64_t>(start.size()) + row.offset,
                        .text = row.text});
  }
}

// Rows of a scored file as a model of 7 features reads them, and the errors of the others.
struct Scored {
  std::vector<double> rows;
  std::vector<std::string> kept;  // the column of the label
  std::vector<Status> rejects;
};

Scored ScanOf(const LibsvmFixture& f, const std::string& path, bool labels) {
  const spec::Schema schema = {
      {"0", "1", "2", "3", "4", "5", "6", "7"}, {1, 2, 3, 4, 5, 6, 7}, {0}};
  const ScanRequest request = {f.job, schema, {path}, labels, {"0"}, {}, 1 << 20};
  const auto scan = PlanScan(*f.files, request);
  INFO(scan.status().ToString());
  REQUIRE(scan.ok());
  Scored found;
  const Status read = ScanRows(*f.files, *scan, 0, [&](const RowPiece& piece) -> Status {
    const size_t begin = found.rows.size();
    found.rows.resize(begin + 7 * static_cast<size_t>(piece.rows().rows));
    Widen(piece.rows().type, piece.rows().features.data(), spec::StorageType::kFloat64,
          found.rows.data() + begin, 7 * piece.rows().rows);
    for (int64_t r = 0; r < piece.rows().rows; ++r) {
      std::string scratch;
      const int64_t slot = piece.slots[static_cast<size_t>(r)];
      found.kept.emplace_back(piece.kept.Text(slot, 0, &scratch));
    }
    found.rejects.insert(found.rejects.end(), piece.rejects.begin(), piece.rejects.end());
    return {};
  });
  INFO(read.ToString());
  REQUIRE(read.ok());
  return found;
}

TEST_CASE("scored LIBSVM text may omit labels line by line") {
  LibsvmFixture f;
  const std::string path = f.Train(
      "1:0.5 7:2\n"
      "\n"
      "+1 1:5 3:7\n"
      "  3:1 2:4 # a comment\n"
      "what? 6:9\n"
      "1,2 4:1\n"
      "-1\n"
      "qid:3 1:1\n"
      "0:1 2:3\n"
      "5:1 x\n",
      "a.libsvm");
  const Scored scored = ScanOf(f, path, false);
  CHECK(scored.rows == std::vector<double>{0.5, 0, 0, 0, 0, 0, 2,  //
                                           5,   0, 7, 0, 0, 0, 0,  //
                                           0,   4, 1, 0, 0, 0, 0,  //
                                           0,   0, 0, 0, 0, 9, 0,  //
                                           0,   0, 0, 1, 0, 0, 0,  //
                                           0,   0, 0, 0, 0, 0, 0});
  CHECK(scored.kept == std::vector<std::string>{"", "1", "", "what?", "1,2", "-1"});
  REQUIRE(scored.rejects.size() == 3);
  CHECK(scored.rejects[0].message().find("query id (qid)") != std::string::npos);
  CHECK(scored.rejects[0].position()->row == 8);
  CHECK(scored.rejects[1].message().find("the index is 0") != std::string::npos);
  CHECK(scored.rejects[2].message().find("without a colon") != std::string::npos);
  // Evaluations need labels.
  const Scored evaluated = ScanOf(f, f.Train("1:0.5 7:2\n\n+1 1:5 3:7\n", "b.libsvm"), true);
  CHECK(evaluated.rows == std::vector<double>{5, 0, 7, 0, 0, 0, 0});
  REQUIRE(evaluated.rejects.size() == 1);
  CHECK(evaluated.rejects[0].position()->row == 1);
  CHECK(evaluated.rejects[0].message().find("starts with a pair") != std::string::npos);
}

TEST_CASE("sparse LIBSVM records without labels equal those with them") {
  LibsvmFixture f;
  const std::string lines[] = {"1:0.5 7:2\n", "3:1\n"};
  const auto records = [&](const std::string& label, bool labels) {
    const std::string path = f.dir.Put("s.libsvm", label + lines[0] + label + lines[1]);
    const auto file = f.files->Open(path);
    REQUIRE(file.ok());
    LibsvmReader reader(**file, {}, {0, (*file)->info().length, false}, 8, CsvReader::kWindowBytes,
                        true, labels);
    std::string text;
    while (reader.Next() == RecordReader::Outcome::kRecord) {
      for (size_t i = 1; i < 8; ++i) text += std::string(reader.shown(i)) + " ";
      text += "of '" + std::string(reader.shown(0)) + "'\n";
    }
    return text;
  };
  CHECK(records("", false) == "0.5 0 0 0 0 0 2 of ''\n0 0 1 0 0 0 0 of ''\n");
  CHECK(records("+1 ", false) == "0.5 0 0 0 0 0 2 of '1'\n0 0 1 0 0 0 0 of '1'\n");
  CHECK(records("+1 ", true) == records("+1 ", false));
  CHECK(records("", true).empty());
}

TEST_CASE("a job on LIBSVM text needs indices and no other columns") {
  LibsvmFixture f;
  f.Train("1 2:3\n0 1:1\n", "a.libsvm");
  CHECK(f.job.Validate().ToString() == "OK");
  const auto message = [&f](auto change) {
    spec::JobSpec job = f.job;
    change(job.data);
    return job.Validate().message();
  };
  CHECK(message([](spec::DataSpec& d) {
          d.features.columns.clear();
        }).find("data.features.columns: found nothing, expected the indices") != std::string::npos);
  CHECK(message([](spec::DataSpec& d) {
          d.label = {int64_t{3}};
        }).find("the label of LIBSVM text") != std::string::npos);
  CHECK(message([](spec::DataSpec& d) { d.weight = int64_t{1}; }).find("has no weights") !=
        std::string::npos);
  CHECK(message([](spec::DataSpec& d) { d.validation.column = int64_t{1}; }).find("only numbers") !=
        std::string::npos);
}

}  // namespace
}  // namespace espalier::data
