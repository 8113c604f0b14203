#include "src/scoring/predict.h"

#include <cmath>
#include <filesystem>
#include <sstream>

#include "src/model/leaf_pass.h"
#include "src/scoring/csv_text.h"
#include "src/storage/passing_files.h"
#include "tests/data/scan_rows.h"
#include "tests/scoring/fixture.h"
#include "tests/testing/says.h"

namespace espalier::scoring {
namespace {

std::vector<std::vector<std::string>> Cells(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(field);
  }
  return rows;
}

// Runs a prediction of the fixture into the output.
Result<spec::ScoringResult> PredictInto(const ScoringFixture& f, const TrainedModel& model,
                                        const data::ScanPlan& scan, PredictSpec spec,
                                        int threads = 1) {
  const ScoringRun run = f.Run(model, scan, threads);
  ESPALIER_RETURN_IF_ERROR(CheckPrediction(*f.files, model, scan.input, spec));
  ESPALIER_RETURN_IF_ERROR(BeginPredictions(*f.files, spec.output).status());
  return Predict(run, spec);
}

// Computes the network's output for one row without the code of scoring/.
std::vector<float> Direct(const TrainedModel& model, double a, double b) {
  const auto& fitted = model.document.preprocessing.features;
  model::LeafPass<float> pass(model.shape, 1);
  pass.inputs()[0] = static_cast<float>((a - fitted[0].shift) * fitted[0].factor);
  pass.inputs()[1] = static_cast<float>((b - fitted[1].shift) * fitted[1].factor);
  std::vector<float> out(static_cast<size_t>(model.width()));
  pass.Predict(std::get<AlignedVector<float>>(model.parameters).data(), 1, out.data());
  return out;
}

TEST_CASE("classes, probabilities and kept columns keep the row order") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(ClassesDocument());
  const std::string csv = f.dir.Put("new.csv", AnswersCsv(700, false));
  const auto scan = f.Scan(model, {csv}, false, {"b", "id"});
  INFO(scan.status().ToString());
  REQUIRE(scan.ok());
  const auto result = PredictInto(f, model, *scan, {.output = f.dir / "out", .keep = {"b", "id"}});
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  CHECK(result->rows == 700);
  CHECK(result->predicted()->parts == 1);
  const auto parts = f.Parts(f.dir / "out");
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].first == "part-00000.csv");
  const auto rows = Cells(parts[0].second), given = Cells(storage::Content(csv));
  REQUIRE(rows.size() == 701);
  CHECK(rows[0] == std::vector<std::string>{"b", "id", "prediction", "probability_no",
                                            "probability_so so", "probability_yes", "error"});
  for (size_t r = 1; r < rows.size(); ++r) {
    CHECK(rows[r][0] == given[r][2]);
    CHECK(rows[r][1] == given[r][0]);
    const auto wanted = Direct(model, std::stod(given[r][1]), std::stod(given[r][2]));
    const auto best = std::max_element(wanted.begin(), wanted.end()) - wanted.begin();
    CHECK(rows[r][2] == model.document.preprocessing.classes[static_cast<size_t>(best)]);
    for (size_t k = 0; k < 3; ++k) {
      CHECK(std::fabs(std::stof(rows[r][3 + k]) - wanted[k]) <= 1e-6f);
    }
  }
  CHECK(f.files->Stat(f.dir / "out/_SUCCESS").ok());
  CHECK(f.files->Stat(f.dir / "out/_rejects").status().code() == StatusCode::kNotFound);
}

TEST_CASE("regression predicts in the units of the targets") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(NumbersDocument());
  const auto scan = f.Scan(model, {f.dir.Put("x.csv", "b,a\n2,1\n-3,0.5\n")}, false);
  REQUIRE(scan.ok());
  REQUIRE(PredictInto(f, model, *scan, {.output = f.dir / "out"}).ok());
  const auto rows = Cells(f.Parts(f.dir / "out")[0].second);
  CHECK(rows[0] == std::vector<std::string>{"prediction_u", "prediction_v", "error"});
  const double given[][2] = {{1, 2}, {0.5, -3}};
  for (size_t r = 0; r < 2; ++r) {
    const auto wanted = Direct(model, given[r][0], given[r][1]);
    CHECK(std::stod(rows[r + 1][0]) == Approx(wanted[0] / 0.5 + 100).epsilon(1e-6));
    CHECK(std::stod(rows[r + 1][1]) == Approx(wanted[1] / 4.0 - 3).epsilon(1e-6));
  }
}

TEST_CASE("the output of a table without rows has its columns") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(ClassesDocument());
  const auto scan = f.Scan(model, {f.dir.Put("none.csv", "id,a,b\n")}, false, {"b", "id"});
  REQUIRE(scan.ok());
  const PredictSpec csv{.output = f.dir / "out", .keep = {"b", "id"}};
  const auto result = PredictInto(f, model, *scan, csv);
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  CHECK(result->rows == 0);
  CHECK(result->predicted()->parts == 1);
  const auto parts = f.Parts(f.dir / "out");
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].first == "part-00000.csv");
  CHECK(parts[0].second ==
        "b,id,prediction,probability_no,probability_so so,probability_yes,error\n");
  PredictSpec parquet = csv;
  parquet.format = spec::PartFormat::kParquet;
  parquet.overwrite = true;
  REQUIRE(PredictInto(f, model, *scan, parquet).ok());
  const auto written = f.Parts(f.dir / "out");
  REQUIRE(written.size() == 1);
  CHECK(written[0].first == "part-00000.parquet");
  CHECK(written[0].second.starts_with("PAR1"));
  CHECK(written[0].second.find("probability_yes") != std::string::npos);
}

TEST_CASE("predictions are the same bytes for any number of threads") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(ClassesDocument());
  for (int i = 0; i < 4; ++i) {
    f.dir.Put("t" + std::to_string(i) + ".csv", AnswersCsv(3000 + 100 * i));
  }
  const auto scan = f.Scan(model, {f.dir / "t*.csv"}, false, {"id"}, 20'000);
  REQUIRE(scan.ok());
  REQUIRE(scan->input.shards.size() > 8);
  for (const spec::PartFormat format : {spec::PartFormat::kCsv, spec::PartFormat::kParquet}) {
    std::vector<std::pair<std::string, std::string>> first;
    for (const int threads : {1, 2, 5}) {
      const auto result = PredictInto(
          f, model, *scan,
          {.output = f.dir / "out", .format = format, .overwrite = true, .keep = {"id"}}, threads);
      INFO(result.status().ToString());
      REQUIRE(result.ok());
      CHECK(result->rows == 12'600);
      const auto parts = f.Parts(f.dir / "out");
      CHECK(parts.size() == scan->input.shards.size());
      if (first.empty()) first = parts;
      CHECK(parts == first);
    }
  }
}

TEST_CASE("rows that cannot be scored are rejects with a reason") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(ClassesDocument());
  const std::string csv = f.dir.Put(
      "bad.csv", "id,a,b\n1,1,2\n2,x,2\n3,1\n4,,2\n5,inf,2\n6,2,\"say \"\"3\"\"\"\n7,0,0\n");
  const auto scan = f.Scan(model, {csv}, false, {"id"});
  REQUIRE(scan.ok());
  const spec::OnBadRow reject = spec::OnBadRow::kReject;
  const auto result =
      PredictInto(f, model, *scan, {.output = f.dir / "out", .keep = {"id"}, .on_bad_row = reject});
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  CHECK(result->rows == 2);
  CHECK(result->predicted()->reject_parts == 1);
  CHECK(result->rejected == 5);
  const auto scored = Cells(f.Parts(f.dir / "out")[0].second);
  REQUIRE(scored.size() == 3);
  CHECK(scored[0].back() == "probability_yes");
  CHECK(scored[1][0] == "1");
  CHECK(scored[2][0] == "7");
  const std::string rejects = storage::Content(f.dir / "out/_rejects/part-00000.csv");
  INFO(rejects);
  CHECK(rejects.starts_with("file,row,offset,column,text,reason\n" + csv + ",3,15,a,x,"));
  CHECK(rejects.find(csv + ",4,") != std::string::npos);
  CHECK(rejects.find(",b,\"say \"\"3\"\"\",") != std::string::npos);

  SECTION("more of them than the limit are an error with the first one's place") {
    const auto few =
        PredictInto(f, model, *scan, {.output = f.dir / "few", .keep = {"id"}, .rejects_max = 4});
    CHECK(few.status().code() == StatusCode::kBadInput);
    CHECK(few.status().message().find("more than 4 rows") != std::string::npos);
    REQUIRE(few.status().position());
    CHECK(few.status().position()->row == 3);
    CHECK(!f.files->Stat(f.dir / "few/_SUCCESS").ok());
  }
  SECTION("nothing but rejects is an error") {
    const auto all = f.Scan(model, {f.dir.Put("all.csv", "a,b\nx,1\ny,2\n")}, false);
    REQUIRE(all.ok());
    const auto none = PredictInto(f, model, *all, {.output = f.dir / "none"});
    CHECK(none.status().message().find("no row can be scored (found 2 rows)") != std::string::npos);
  }
}

// Writes a table with every kind of bad row between good ones.
std::string PutBadRows(const ScoringFixture& f) {
  return f.dir.Put("bad.csv",
                   "id,a,b\n1,1,2\n2,x,2\n3,1\n4,,2\n5,3e38,1\n6,2,\"open\n7,0,0\n8,1,2,3\n");
}

TEST_CASE("a row that cannot be scored is a line with its reason") {
  const ScoringFixture f;
  const bool classes = GENERATE(true, false);
  const TrainedModel model = f.Model(classes ? ClassesDocument() : NumbersDocument());
  const auto scan = f.Scan(model, {PutBadRows(f)}, false, {"id"});
  REQUIRE(scan.ok());
  const auto result = PredictInto(f, model, *scan, {.output = f.dir / "out", .keep = {"id"}});
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  CHECK(result->rows == 2);
  CHECK(result->rejected == 6);
  CHECK(result->predicted()->reject_parts == 0);
  CHECK(f.files->Stat(f.dir / "out/_rejects").status().code() == StatusCode::kNotFound);
  std::istringstream lines(f.Parts(f.dir / "out")[0].second);
  std::vector<std::string> line(1);
  while (std::getline(lines, line.back())) line.emplace_back();
  line.pop_back();
  REQUIRE(line.size() == 9);
  CHECK(line[0].ends_with(",error"));
  const std::string empty = classes ? ",,,," : ",,";
  const char* reasons[] = {"a: the value ... not a number ... (found 'x')",
                           "the row has 2 fields",
                           "a: the value is missing, and the model",
                           "the model's answer is not a finite number",
                           "",
                           "the row has 4 fields"};
  const char* ids[] = {"2", "3", "4", "5", "", "8"};
  size_t bad = 0;
  for (const size_t r : {2, 3, 4, 5, 6, 8}) {
    INFO(line[r]);
    const std::string begin = (bad == 4 ? "\"\"" : ids[bad]) + empty + ",";
    CHECK(line[r].starts_with(begin));
    CHECK_THAT(line[r], Says("... " + std::string(reasons[bad++])));
    CHECK(line[r].find("data.") == std::string::npos);
  }
  for (const size_t r : {1, 7}) {
    CHECK(line[r].ends_with(","));
    CHECK(line[r].find(empty) == std::string::npos);
  }
}

TEST_CASE("with fail the first bad row ends a prediction") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(ClassesDocument());
  const auto scan = f.Scan(model, {PutBadRows(f)}, false);
  REQUIRE(scan.ok());
  const auto failed =
      PredictInto(f, model, *scan, {.output = f.dir / "out", .on_bad_row = spec::OnBadRow::kFail});
  CHECK(failed.status().code() == StatusCode::kBadInput);
  CHECK(failed.status().message().find("on_bad_row is fail") != std::string::npos);
  REQUIRE(failed.status().position());
  CHECK(failed.status().position()->row == 3);
  CHECK(failed.status().position()->column == "a");
}

TEST_CASE("each row has one line, however the table is cut") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(ClassesDocument());
  std::string text = "id,a,b\n";
  for (int i = 0; i < 5000; ++i) {
    const std::string a = i % 7 == 0 ? "x" : i % 11 == 0 ? "3e38" : std::to_string(i % 9);
    text += std::to_string(i) + "," + a + ",1\n";
  }
  const std::string csv = f.dir.Put("t.csv", text);
  for (const int64_t shard_bytes : {1000, 1 << 20}) {
    const auto scan = f.Scan(model, {csv}, false, {"id"}, shard_bytes);
    REQUIRE(scan.ok());
    const auto result = PredictInto(
        f, model, *scan, {.output = f.dir / "out", .overwrite = true, .keep = {"id"}}, 2);
    INFO(result.status().ToString());
    REQUIRE(result.ok());
    CHECK(result->rows + result->rejected == 5000);
    int next = 0;
    for (const auto& [name, content] : f.Parts(f.dir / "out")) {
      const auto rows = Cells(content);
      for (size_t r = 1; r < rows.size(); ++r, ++next) {
        REQUIRE(rows[r][0] == std::to_string(next));
        CHECK(rows[r][1].empty() == (next % 7 == 0 || next % 11 == 0));
      }
    }
    CHECK(next == 5000);
  }
}

TEST_CASE("a spreadsheet-safe prediction has no formula") {
  const ScoringFixture f;
  bundle::ModelDocument document = ClassesDocument();
  document.preprocessing.classes = {"=no", "-so so", "@yes"};
  const TrainedModel model = f.Model(document);
  const std::string csv = f.dir.Put("new.csv", "=id,a,b\n=1+1,1,2\n-3,3,4\n+x,0,=1\n");
  const auto scan = f.Scan(model, {csv}, false, {"=id", "a"});
  INFO(scan.status().ToString());
  REQUIRE(scan.ok());
  PredictSpec spec{
      .output = f.dir / "plain", .keep = {"=id", "a"}, .on_bad_row = spec::OnBadRow::kReject};
  REQUIRE(PredictInto(f, model, *scan, spec).ok());
  const auto plain = Cells(f.Parts(f.dir / "plain")[0].second);
  spec.output = f.dir / "safe";
  spec.spreadsheet_safe = true;
  REQUIRE(PredictInto(f, model, *scan, spec).ok());
  const auto safe = Cells(f.Parts(f.dir / "safe")[0].second);
  CHECK(plain[1][0] == "=1+1");
  CHECK(safe[0][0] == "'=id");
  CHECK(safe[1][0] == "'=1+1");
  CHECK(safe[2][0] == "-3");
  REQUIRE(safe.size() == 3);
  REQUIRE(plain.size() == 3);
  for (size_t r = 0; r < safe.size(); ++r) {
    REQUIRE(safe[r].size() == plain[r].size());
    for (size_t c = 0; c < safe[r].size(); ++c) {
      CHECK(safe[r][c] == (MayBeFormula(plain[r][c]) ? "'" : "") + plain[r][c]);
    }
    if (r > 0) CHECK(safe[r][2].starts_with("'"));  // the class
  }
  const std::string rejects = storage::Content(f.dir / "safe/_rejects/part-00000.csv");
  INFO(rejects);
  CHECK(rejects.find(",b,'=1,") != std::string::npos);
}

TEST_CASE("a row whose prediction overflows is a reject in row order") {
  const ScoringFixture f;
  const bool classes = GENERATE(true, false);
  const TrainedModel model = f.Model(classes ? ClassesDocument() : NumbersDocument());
  std::string text = "id,a,b\n";
  std::vector<std::string> scored, rejected;
  for (int i = 0; i < 1300; ++i) {  // several batches
    const std::string id = std::to_string(i);
    const bool bad = i % 400 == 7, overflows = i % 400 == 0 || i % 400 == 8 || i == 1299;
    const std::string a = bad ? "x" : overflows ? "3e38" : std::to_string(i % 9);
    if (overflows) REQUIRE_FALSE(std::isfinite(Direct(model, 3e38, 1)[0]));
    (bad || overflows ? rejected : scored).push_back(bad || overflows ? std::to_string(i + 2) : id);
    text += id + "," + a + ",1\n";
  }
  const std::string csv = f.dir.Put("far.csv", text);
  const auto in_csv = f.Scan(model, {csv}, false, {"id"});
  REQUIRE(in_csv.ok());
  ScoringProgress progress;
  ScoringRun run = f.Run(model, *in_csv);
  run.progress = &progress;
  const PredictSpec spec{
      .output = f.dir / "out", .keep = {"id"}, .on_bad_row = spec::OnBadRow::kReject};
  REQUIRE(BeginPredictions(*f.files, spec.output).ok());
  const auto result = Predict(run, spec);
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  CHECK(result->rows == static_cast<int64_t>(scored.size()));
  CHECK(result->rejected == static_cast<int64_t>(rejected.size()));
  CHECK(progress.rows == result->rows);
  CHECK(progress.rejected == result->rejected);
  REQUIRE(result->first_rejects.size() == 10);
  CHECK(result->first_rejects[0].message().find("not a finite number") != std::string::npos);
  CHECK(result->first_rejects[0].position()->row == 2);
  const auto column = [](const std::string& part, size_t at) {
    std::vector<std::string> cells;
    for (const auto& row : Cells(part)) cells.push_back(row[at]);
    cells.erase(cells.begin());  // the header
    return cells;
  };
  CHECK(column(f.Parts(spec.output)[0].second, 0) == scored);
  CHECK(column(storage::Content(f.dir / "out/_rejects/part-00000.csv"), 1) == rejected);
  CHECK(f.Parts(spec.output)[0].second.find("nan") == std::string::npos);
}

TEST_CASE("nulls follow the model's rule: a value or no prediction") {
  const ScoringFixture f;
  const std::string csv = f.dir.Put("n.csv", "a,b\n1,\n1,7\n,3\n");
  bundle::ModelDocument document = ClassesDocument();
  document.job.data.features.nulls.kind = spec::NullKind::kMean;
  const TrainedModel means = f.Model(document);
  const auto scan = f.Scan(means, {csv}, false);
  REQUIRE(scan.ok());
  REQUIRE(PredictInto(f, means, *scan, {.output = f.dir / "mean"}).ok());
  const auto rows = Cells(f.Parts(f.dir / "mean")[0].second);
  REQUIRE(rows.size() == 4);
  CHECK(rows[1] == rows[2]);  // 7 replaces a missing b

  document.job.data.features.nulls.kind = spec::NullKind::kDrop;
  const TrainedModel drops = f.Model(document);
  const auto again = f.Scan(drops, {csv}, false);
  REQUIRE(again.ok());
  const auto dropped = PredictInto(f, drops, *again, {.output = f.dir / "drop"});
  REQUIRE(dropped.ok());
  CHECK(dropped->rows == 1);
  CHECK(dropped->rejected == 2);
  CHECK(dropped->first_rejects[0].message().find("trained without missing values") !=
        std::string::npos);
}

TEST_CASE("an existing output is refused; overwrite needs a prediction") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(ClassesDocument());
  const auto scan = f.Scan(model, {f.dir.Put("x.csv", "a,b\n1,2\n")}, false);
  REQUIRE(scan.ok());
  const PredictSpec spec{.output = f.dir / "out"};
  REQUIRE(PredictInto(f, model, *scan, spec).ok());
  const auto again = PredictInto(f, model, *scan, spec);
  CHECK(again.status().code() == StatusCode::kAlreadyExists);
  PredictSpec over = spec;
  over.overwrite = true;
  CHECK(PredictInto(f, model, *scan, over).ok());
  f.dir.Put("out/thesis.txt", "years of work");
  const auto refused = PredictInto(f, model, *scan, over);
  CHECK(refused.status().code() == StatusCode::kInvalidArgument);
  CHECK(refused.status().message().find("thesis.txt") != std::string::npos);
  CHECK(storage::Content(f.dir / "out/thesis.txt") == "years of work");
  // Part files of Spark or MapReduce are not a prediction either.
  for (const char* name : {"part-00000-8f1c-c000.snappy.parquet", "part-00000", "part-r-00000",
                           "._SUCCESS.crc", ".part-00000.csv.crc", "part-0.csv"}) {
    INFO(name);
    REQUIRE(f.files->MakeDirectory(f.dir / "table").ok());
    f.dir.Put(std::string("table/") + name, "precious");
    const PredictSpec table{.output = f.dir / "table", .overwrite = true};
    CHECK(CheckPrediction(*f.files, model, scan->input, table).message().find(name) !=
          std::string::npos);
    REQUIRE(f.files->RemoveTree(f.dir / "table").ok());
  }
  // Overwrites an interrupted prediction. The directory itself is kept, here a link.
  REQUIRE(f.files->MakeDirectory(f.dir / "real").ok());
  f.dir.Put("real/part-00007.csv", "x\n1\n");
  f.dir.Put("real/.part-00008_0001.csv.tmp-host-1", "x");
  std::filesystem::create_directory_symlink(f.dir / "real", f.dir / "link");
  PredictSpec linked = over;
  linked.output = f.dir / "link";
  CHECK(PredictInto(f, model, *scan, linked).ok());
  CHECK(std::filesystem::is_symlink(f.dir / "link"));
  CHECK(std::filesystem::exists(f.dir / "real/part-00000.csv"));
  CHECK_FALSE(std::filesystem::exists(f.dir / "real/part-00007.csv"));
  // Files that someone adds during the run are not removed.
  f.dir.Put("real/notes.txt", "precious");
  f.dir.Put("real/.part-00000.csv.crc", "precious");
  REQUIRE(DropPredictions(*f.files, linked.output, false).ok());
  CHECK(*f.files->Names(f.dir / "real") ==
        std::vector<std::string>{".part-00000.csv.crc", "notes.txt"});
  REQUIRE(f.files->Delete(f.dir / "real/notes.txt").ok());
  REQUIRE(f.files->Delete(f.dir / "real/.part-00000.csv.crc").ok());
  // The input directory may not be the output under another name.
  f.dir.Put("real/part-00000.csv", "a,b\n1,2\n");
  const auto own = f.Scan(model, {f.dir / "link"}, false);
  REQUIRE(own.ok());
  linked.output = f.dir / "real";
  CHECK(CheckPrediction(*f.files, model, own->input, linked).message().find("seems to be read") !=
        std::string::npos);
  const PredictSpec inside{.output = f.dir.path(), .overwrite = true};
  CHECK(
      CheckPrediction(*f.files, model, scan->input, inside).message().find("lies in the output") !=
      std::string::npos);
  const PredictSpec file{.output = f.dir / "x.csv", .overwrite = true};
  CHECK(CheckPrediction(*f.files, model, scan->input, file).code() == StatusCode::kAlreadyExists);
}

TEST_CASE("two columns with one name are refused") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(ClassesDocument());
  for (const std::string name : {"prediction", "probability_yes", "error"}) {
    const auto columns = PredictionColumns(model, {.output = "o", .keep = {name}});
    CHECK(columns.status().code() == StatusCode::kInvalidArgument);
    CHECK(columns.status().message().find("'" + name + "'") != std::string::npos);
  }
  CHECK(
      PredictionColumns(model, {.output = "o", .keep = {"prediction"}, .prediction = false}).ok());
  CHECK(PredictionColumns(model,
                          {.output = "o", .keep = {"error"}, .on_bad_row = spec::OnBadRow::kReject})
            .ok());
}

// Records the size of the largest file written.
class WatchedFiles final : public storage::PassingFiles {
 public:
  using storage::PassingFiles::PassingFiles;
  using storage::PassingFiles::WriteAtomically;
  Status WriteAtomically(const std::string& p, std::string_view content,
                         const std::string& writer) const override {
    largest = std::max(largest, content.size());
    return files_.WriteAtomically(p, content, writer);
  }

  mutable size_t largest = 0;
};

TEST_CASE("a large shard is read in pieces and written in small parts") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(ClassesDocument());
  std::string text = AnswersCsv(5000, false);
  const std::string body = text.substr(text.find('\n') + 1);
  for (int i = 0; i < 59; ++i) text += body;  // about 9 MB, 300,000 rows, one shard
  const auto scan = f.Scan(model, {f.dir.Put("large.csv", text)}, false, {"id"}, int64_t{1} << 30);
  REQUIRE(scan.ok());
  REQUIRE(scan->input.shards.size() == 1);
  size_t pieces = 0, features = 0, kept = 0;
  REQUIRE(data::ScanRows(*f.files, *scan, 0, [&](const data::RowPiece& piece) -> Status {
            ++pieces;
            features = std::max(features, piece.rows().features.size());
            kept = std::max(kept, piece.kept.bytes());
            return {};
          }).ok());
  CHECK(pieces > 8);
  CHECK(features <= (512 << 10) + 64);
  CHECK(kept <= (512 << 10) + 64);

  const WatchedFiles watched(*f.files);
  const PredictSpec spec{.output = f.dir / "out", .keep = {"id"}, .part_bytes = 1 << 20};
  REQUIRE(BeginPredictions(watched, spec.output).ok());
  const auto result = Predict(
      {.files = watched, .model = model, .reader = data::MakeScanReader(watched, *scan)}, spec);
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  CHECK(result->rows == 300'000);
  CHECK(result->predicted()->parts > 5);
  CHECK(watched.largest < (4 << 20));
  // Rows are in order over all parts.
  int64_t next = 0;
  const auto parts = f.Parts(spec.output);
  CHECK(parts[0].first == "part-00000.csv");
  CHECK(parts[1].first == "part-00000_0001.csv");
  for (const auto& [name, content] : parts) {
    std::istringstream lines(content);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      if (!line.starts_with("row " + std::to_string(next % 5000) + ",")) FAIL(name << ": " << line);
      ++next;
    }
  }
  CHECK(next == 300'000);
}

TEST_CASE("predictions of many classes are cut into parts") {
  const ScoringFixture f;
  bundle::ModelDocument document = ClassesDocument();
  document.preprocessing.classes.clear();
  for (int i = 0; i < 700; ++i) {
    document.preprocessing.classes.push_back("c" + std::to_string(1000 + i));
  }
  const TrainedModel model = f.Model(document);
  const auto scan = f.Scan(model, {f.dir.Put("t.csv", AnswersCsv(4000, false))}, false, {"id"});
  REQUIRE(scan.ok());
  for (const spec::PartFormat format : {spec::PartFormat::kCsv, spec::PartFormat::kParquet}) {
    const WatchedFiles watched(*f.files);
    const PredictSpec spec{
        .output = f.dir / "out", .format = format, .keep = {"id"}, .part_bytes = 1 << 20};
    REQUIRE(BeginPredictions(watched, spec.output).ok());
    const auto result = Predict(
        {.files = watched, .model = model, .reader = data::MakeScanReader(watched, *scan)}, spec);
    INFO(result.status().ToString());
    REQUIRE(result.ok());
    CHECK(result->rows == 4000);
    CHECK(result->predicted()->parts == 8);  // 512 rows each
    CHECK(watched.largest < (8 << 20));
    if (format == spec::PartFormat::kParquet) continue;
    int64_t next = 0;
    for (const auto& [name, content] : f.Parts(spec.output)) {
      const auto rows = Cells(content);
      for (size_t r = 1; r < rows.size(); ++r, ++next) {
        REQUIRE(rows[r].size() == 702);
        CHECK(rows[r][0] == "row " + std::to_string(next));
        const double a = static_cast<double>(next * 37 % 101) / 10 - 5;
        const double b = static_cast<double>(next * 53 % 97) / 7 - 6;
        CHECK(std::fabs(std::stof(rows[r][2 + 699]) - Direct(model, a, b)[699]) <= 1e-6f);
      }
    }
    CHECK(next == 4000);
  }
}

TEST_CASE("a run that is cancelled ends at the next piece") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(ClassesDocument());
  const auto scan = f.Scan(model, {f.dir.Put("x.csv", AnswersCsv(100))}, false);
  REQUIRE(scan.ok());
  ScoringRun run = f.Run(model, *scan);
  run.cancelled = [] { return true; };
  REQUIRE(BeginPredictions(*f.files, f.dir / "out").ok());
  CHECK(Predict(run, {.output = f.dir / "out"}).status().code() == StatusCode::kCancelled);
  CHECK(!f.files->Stat(f.dir / "out/_SUCCESS").ok());
}

}  // namespace
}  // namespace espalier::scoring
