#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>

#include "src/data/text/csv_reader.h"
#include "src/scoring/csv_text.h"
#include "src/scoring/residuals.h"
#include "src/scoring/svg_chart.h"
#include "tests/scoring/fixture.h"

namespace espalier::scoring {
namespace {

TEST_CASE("names of parts sort in the order of rows") {
  std::vector<std::string> names;
  for (const int64_t shard : {0, 1, 9, 10, 99'999, 100'000, 123'456}) {
    for (const int64_t piece : {0, 1, 2, 10, 9999}) {
      names.push_back(PartName(shard, 123'457, piece, spec::PartFormat::kCsv));
    }
  }
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK(PartName(3, 10, 0, spec::PartFormat::kParquet) == "part-00003.parquet");
  CHECK(PartName(3, 10, 2, spec::PartFormat::kCsv) == "part-00003_0002.csv");
  CHECK(names[0] == "part-000000.csv");
}

TEST_CASE("fields of CSV read back unchanged") {
  const storage::TemporaryDirectory dir;
  const auto files = storage::MakeFileSystem();
  const std::vector<std::string> fields = {"plain", "",       "a,b",     "say \"x\"", "two\nlines",
                                           " left", "right ", "caf\xe9", "\"",        "\r"};
  std::string text;
  for (size_t i = 0; i < fields.size(); ++i) AppendCsvField(fields[i], i == 0, &text);
  text += '\n';
  const auto file = files->Open(dir.Put("f.csv", text));
  REQUIRE(file.ok());
  spec::CsvOptions options;
  options.multiline = true;
  data::CsvReader reader(**file, options, {0, static_cast<int64_t>(text.size()), false});
  REQUIRE(reader.Next() == data::RecordReader::Outcome::kRecord);
  REQUIRE(reader.fields() == fields.size());
  for (size_t i = 0; i < fields.size(); ++i) CHECK(reader.field(i) == fields[i]);
}

TEST_CASE("text that a spreadsheet may run gets an apostrophe") {
  for (const std::string field : {"=1+1",     "=cmd|'/C calc'!A0",
                                  "+1+1",     "-2+3",
                                  "@SUM(A1)", "\t=1",
                                  "\r=1",     "\n=1",
                                  "=",        "+",
                                  "-",        "--1",
                                  "+-1",      "-inf",
                                  "+nan",     "-1 ",
                                  "- 1",      "-1,5",
                                  "+0x10",    "-1e999"}) {
    CAPTURE(field);
    CHECK(MayBeFormula(field));
    std::string safe, quoted;
    AppendSpreadsheetField(field, true, &safe);
    AppendCsvField("'" + field, true, &quoted);
    CHECK(safe == quoted);
  }
  for (const std::string field :
       {"", "a=1", " =1", "'=1", "0", "-1", "+1", "-1.5", "+.5e3", "-1e-300", "5-3", "\"=1\""}) {
    CAPTURE(field);
    CHECK_FALSE(MayBeFormula(field));
    std::string safe, plain;
    AppendSpreadsheetField(field, false, &safe);
    AppendCsvField(field, false, &plain);
    CHECK(safe == plain);
  }
}

TEST_CASE("numbers of CSV are the shortest that read back equal") {
  std::string text;
  AppendCsvNumber(static_cast<double>(0.1f), true, true, &text);
  AppendCsvNumber(0.1, false, false, &text);
  AppendCsvNumber(-3, false, false, &text);
  AppendCsvNumber(std::nan(""), true, false, &text);
  CHECK(text == "0.1,0.1,-3,nan");
  std::mt19937_64 chance(7);
  for (int i = 0; i < 1000; ++i) {
    const double value = std::ldexp(static_cast<double>(chance()), -60 - i % 90);
    std::string wide, narrow;
    AppendCsvNumber(value, false, true, &wide);
    AppendCsvNumber(value, true, true, &narrow);
    double read = 0;
    std::from_chars(wide.data(), wide.data() + wide.size(), read);
    CHECK(read == value);
    float small = 0;
    std::from_chars(narrow.data(), narrow.data() + narrow.size(), small);
    CHECK(small == static_cast<float>(value));
  }
}

TEST_CASE("counts of residuals do not depend on order or division") {
  std::mt19937_64 chance(11);
  std::vector<std::pair<double, double>> rows;
  for (int i = 0; i < 500; ++i) {
    const double scale = i < 300 ? 1 : i < 499 ? 1000 : 1e9;
    rows.emplace_back((static_cast<double>(chance() % 2001) - 1000) * scale / 7,
                      (static_cast<double>(chance() % 2001) - 1000) * scale / 9);
  }
  ResidualGrid grid;
  ResidualBins bins;
  for (const auto& [truth, said] : rows) {
    grid.Add(truth, said);
    bins.Add(said - truth);
  }
  CHECK(grid.rows() == 500);
  for (int round = 0; round < 5; ++round) {
    std::shuffle(rows.begin(), rows.end(), chance);
    ResidualGrid grids[3];
    ResidualBins parts[3];
    for (size_t i = 0; i < rows.size(); ++i) {
      grids[i % 3].Add(rows[i].first, rows[i].second);
      parts[i % 3].Add(rows[i].second - rows[i].first);
    }
    for (int k : {1, 2}) {
      grids[0].Add(grids[k]);
      parts[0].Add(parts[k]);
    }
    CHECK(grids[0] == grid);
    CHECK(parts[0] == bins);
  }
  int64_t sum = 0;
  for (int64_t b = -ResidualBins::kBins / 2; b < ResidualBins::kBins / 2; ++b) sum += bins.at(b);
  CHECK(sum == 500);
}

TEST_CASE("a residual is counted in one cell; NaN is not counted") {
  ResidualGrid grid;
  grid.Add(100, -3);
  const double w = grid.width();
  CHECK(grid.at(static_cast<int64_t>(std::floor(100 / w)),
                static_cast<int64_t>(std::floor(-3 / w))) == 1);
  CHECK(128 * w > 100);
  CHECK(64 * w <= 100);
  for (const double odd : {std::nan(""), HUGE_VAL, -HUGE_VAL, 1e301}) {
    grid.Add(odd, 1);
    grid.Add(1, odd);
  }
  CHECK(grid.rows() == 1);
  grid.Add(0, 0);
  grid.Add(1e300, -1e300);
  CHECK(grid.rows() == 3);
  CHECK(ResidualGrid().rows() == 0);
}

TEST_CASE("ticks are round and within the axis") {
  CHECK(RoundTicks(0, 1, 5) == std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1});
  CHECK(RoundTicks(-30, 95, 5) == std::vector<double>{0, 50});
  for (const double scale : {1e-300, 1e-9, 1.0, 3e7, 1e300}) {
    const auto ticks = RoundTicks(-0.7 * scale, 1.3 * scale, 6);
    CHECK(ticks.size() >= 3);
    CHECK(ticks.size() <= 8);
    CHECK(ticks.front() >= -0.7 * scale * (1 + 1e-9));
    CHECK(ticks.back() <= 1.3 * scale * (1 + 1e-9));
  }
}

TEST_CASE("a chart of nothing, one value or gaps is drawn") {
  SvgChart chart("t", "x", "y", 1, 1, 0, 0);
  chart.Line("a", {});
  chart.Line("b", {{1, 0}, {std::nan(""), 1}, {2, HUGE_VAL}});
  chart.Line("<c>", {{0, 0}, {1, 1}});
  const std::string html = chart.Html();
  CHECK(html.starts_with("<svg"));
  CHECK(html.find("nan") == std::string::npos);
  CHECK(html.find("inf") == std::string::npos);
  CHECK(html.find("&lt;c&gt;") != std::string::npos);
}

}  // namespace
}  // namespace espalier::scoring
