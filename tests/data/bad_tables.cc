// Cases of bad tables and their errors.
#include "tests/data/bad_input.h"

namespace espalier::data {
namespace {

// Returns column names as "0,1,...,".
std::string Columns(int count) {
  std::string header;
  for (int i = 0; i < count; ++i) header += std::to_string(i) + ",";
  return header;
}

std::string Identifiers(int rows) {
  std::string text = "a,y\n";
  for (int i = 0; i < rows; ++i) text += std::to_string(i) + ",id" + std::to_string(i) + "\n";
  return text;
}

// Makes the rows where v is true the validation rows.
Given Validated(std::string content) {
  return With(Csv(std::move(content)),
              [](spec::JobSpec& job) { job.data.validation.column = std::string("v"); });
}

// Returns two files. The first one is good.
Given More(std::string content) {
  return [=](DataFixture& f) {
    f.Train(kStart);
    f.job.data.train.push_back(f.dir.Put("more.csv", content));
  };
}

std::function<void(spec::JobSpec&)> FeatureList(decltype(spec::FeatureSpec::columns) columns) {
  return [=](spec::JobSpec& job) { job.data.features.columns = columns; };
}

void Drop(spec::JobSpec& job) { job.data.features.nulls.kind = spec::NullKind::kDrop; }

std::function<void(spec::JobSpec&)> Skip(int64_t limit) {
  return [=](spec::JobSpec& job) { job.data.bad_rows = {.skip = true, .limit = limit}; };
}

void Doubles(spec::JobSpec& job) {
  job.model.precision = spec::Precision::kFloat64;
  job.data.features.scale.kind = spec::ScaleKind::kStandard;
}

// Returns cases of first records that are damaged or have another form.
std::vector<BadCase> OddHeaders() {
  return {
      {"a name that is not UTF-8", Csv("a,b\xE9,y\n1,2,0\n"), StatusCode::kInvalidArgument,
       "the header: the text is not UTF-8 (byte 0xe9)", At(1, "b\\xe9", 2, "b\\xe9")},
      {"two byte order marks",
       Csv("\xEF\xBB\xBF\xEF\xBB\xBF"
           "a,b,y\n1,2,0\n"),
       StatusCode::kInvalidArgument, "the name of a column starts with a byte order mark",
       At(1, "\\xef\\xbb\\xbfa", 3, "\\xef\\xbb\\xbfa")},
      {"mixed line ends in the header", Csv("a,b,y\r1,2,0\n3,4,1\n"), StatusCode::kInvalidArgument,
       "the name of a column contains a carriage return", At(1, "y\\x0d1", 4, "y\\x0d1")},
      {"another delimiter than the usual ones",
       Csv("a\x01"
           "b\x01y\n1\x01"
           "2\x01"
           "0\n"),
       StatusCode::kInvalidArgument,
       "data.label: column 'y' does not exist ... the delimiter seems to be \"\\x01\", not \",\": "
       "set "
       "data.csv.delimiter",
       At(1, "y", 0, "a\\x01b\\x01y")},
      {"a delimiter of two bytes", Csv("a||b||y\n1||2||0\n"), StatusCode::kInvalidArgument,
       "data.label: column 'y' does not exist ... \"||\", but only single bytes",
       At(1, "y", 0, "a||b||y")},
      {"quotes around the whole line", Csv("\"a,b,y\"\n\"1,2,0\"\n"), StatusCode::kInvalidArgument,
       "data.label: column 'y' does not exist ... the whole line is one field in quotes",
       At(1, "y", 0, "a,b,y")},
  };
}

// Returns cases of bad first records and of bad columns in the job.
std::vector<BadCase> Headers() {
  return {
      {"a column twice", Csv("a,b,a,y\n1,2,3,0\n"), StatusCode::kInvalidArgument,
       "the header names 'a' twice, in columns 0 and 2 ... csv.header: false", At(1, "a", 4, "a")},
      {"two columns without a name", Csv("a,,,y\n1,2,3,0\n"), StatusCode::kInvalidArgument,
       "the header has no name for columns 1 and 2 ... csv.header: false",
       InputPosition{.file = "DIR/train.csv", .row = 1, .offset = 3}},
      {"a NUL byte in the header", Csv(std::string("a,\0b,y\n1,2,0\n", 13)), StatusCode::kBadInput,
       "the header: the record ... NUL byte ... UTF-16", At(1, "", 0, "a,\\x00b,y")},
      {"UTF-16 without a mark", Csv(std::string("a\0,\0y\0\n\0", 8)), StatusCode::kBadInput,
       "the header: the record ... NUL byte ... UTF-16", At(1, "", 0, "a\\x00,\\x00y\\x00")},
      {"a quote left open in the header", Csv("a,\"b,y\n1,2,0\n"), StatusCode::kBadInput,
       "the header: a quoted field ... not closed ... csv.multiline: true", At(1, "", 2, "\"b,y")},
      {"more columns than any table has", Csv(Columns(1 << 20) + "y\n"),
       StatusCode::kInvalidArgument, "the files have 1048577 columns ... 1048576",
       At(1, "", 0,
          "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,...")},
      {"no label column", Csv("a,b,Y\n1,2,0\n"), StatusCode::kInvalidArgument,
       "data.label: column 'y' does not exist ... 3 columns: 'a', 'b', 'Y'; did you mean 'Y'?",
       At(1, "y", 0, "a,b,Y")},
      {"no label column, by another delimiter", Csv("a;b;y\n1;2;0\n"), StatusCode::kInvalidArgument,
       "data.label: column 'y' does not exist ... 1 column: 'a;b;y'; the delimiter seems to be "
       "\";\", not \",\": set data.csv.delimiter",
       At(1, "y", 0, "a;b;y")},
      {"a comment in the first line", Csv("# made by x\na,b,y\n1,2,0\n"),
       StatusCode::kInvalidArgument,
       "data.label: column 'y' does not exist ... seems to be a comment: set data.csv.comment: "
       "\"#\"",
       At(1, "y", 0, "# made by x")},
      {"a title in the first line", Csv("My report\na,b,y\n1,2,0\n"), StatusCode::kInvalidArgument,
       "data.label: column 'y' does not exist ... rows after the first line have 3 fields ... "
       "title",
       At(1, "y", 0, "My report")},
      {"no label column, by blanks", Csv("a b y\n1,5 2,5 0\n"), StatusCode::kInvalidArgument,
       "data.label: column 'y' does not exist ... seems to be \" \", not \",\": set "
       "data.csv.delimiter",
       At(1, "y", 0, "a b y")},
      {"a label position beyond the columns",
       With(Csv(kStart), [](spec::JobSpec& j) { j.data.label = {int64_t{3}}; }),
       StatusCode::kInvalidArgument, "data.label: column 3 does not exist ... 3 columns ... from 0",
       At(1, "3", 0, "a,b,y")},
      {"a label by name without a header",
       With(Csv("1,2,0\n"), [](spec::JobSpec& j) { j.data.csv.header = false; }),
       StatusCode::kInvalidArgument,
       "data.label: column 'y' does not exist ... 3 columns: '0', '1', '2'",
       At(1, "y", 0, "1,2,0")},
      {"a label twice",
       With(Csv(kStart),
            [](spec::JobSpec& j) {
              j.data.label = {std::string("y"), int64_t{2}};
            }),
       StatusCode::kInvalidArgument, "data.label: column 'y' is named twice", At(1, "y", 4, "y")},
      {"no such feature", With(Csv("width,y\n1,0\n"), FeatureList({std::string("widht")})),
       StatusCode::kInvalidArgument,
       "data.features.columns: column 'widht' does not exist ... 2 columns: 'width', 'y'; did you "
       "mean 'width'?",
       At(1, "widht", 0, "width,y")},
  };
}

std::vector<BadCase> MoreHeaders() {
  return {
      {"a range beyond the columns", With(Csv(kStart), FeatureList({spec::ColumnRange{0, 9}})),
       StatusCode::kInvalidArgument,
       "data.features.columns: column 9 does not exist ... 3 columns ... from 0",
       At(1, "9", 0, "a,b,y")},
      {"a feature twice", With(Csv(kStart), FeatureList({std::string("a"), int64_t{0}})),
       StatusCode::kInvalidArgument, "data.features.columns: column 'a' is named twice",
       At(1, "a", 0, "a")},
      {"the label among the features", With(Csv(kStart), FeatureList({spec::ColumnRange{0, 2}})),
       StatusCode::kInvalidArgument,
       "data.features.columns: column 'y' is the label ... Leave it out", At(1, "y", 4, "y")},
      {"the validation column among the features",
       With(Validated("a,v,y\n1,0,0\n"), FeatureList({spec::ColumnRange{0, 1}})),
       StatusCode::kInvalidArgument,
       "data.features.columns: column 'v' ... (data.validation.column) ... Leave it out",
       At(1, "v", 2, "v")},
      {"no weight column",
       With(Csv(kStart), [](spec::JobSpec& j) { j.data.weight = std::string("w"); }),
       StatusCode::kInvalidArgument,
       "data.weight: column 'w' does not exist ... 3 columns: 'a', 'b', 'y'",
       At(1, "w", 0, "a,b,y")},
      {"no validation column", Validated(kStart), StatusCode::kInvalidArgument,
       "data.validation.column: column 'v' does not exist ... 3 columns: 'a', 'b', 'y'",
       At(1, "v", 0, "a,b,y")},
      {"no column left for features", Csv("y\n0\n1\n"), StatusCode::kInvalidArgument,
       "data.features.columns: no column is left ... 1 column: 'y'", At(1, "", 0, "y")},
      {"a further file without a column", More("b,y\n2,0\n"), StatusCode::kInvalidArgument,
       "the header has no column 'a' ... 'DIR/train.csv' ... same columns",
       At(1, "a", 0, "b,y", "DIR/more.csv")},
      {"a further file with another column", More("a,b,color,y\n1,2,3,0\n"),
       StatusCode::kInvalidArgument,
       "the header has 'color' in column 2 ... 'DIR/train.csv' ... same columns",
       At(1, "color", 4, "color", "DIR/more.csv")},
      {"a further file with a misspelt column", More("a,bb,y\n1,2,0\n"),
       StatusCode::kInvalidArgument,
       "the header has 'bb' in column 1 ... 'DIR/train.csv' ... (it has 'b')",
       At(1, "bb", 2, "bb", "DIR/more.csv")},
      {"a further file with a column twice", More("a,b,y,b\n1,2,0,2\n"),
       StatusCode::kInvalidArgument, "the header has 'b' in column 3 ... column 1 ... once",
       At(1, "b", 6, "b", "DIR/more.csv")},
      {"a further file without header", More("1,2,0\n"), StatusCode::kInvalidArgument,
       "the header has '1' in column 0 ... 'DIR/train.csv' ... same columns",
       At(1, "1", 0, "1", "DIR/more.csv")},
  };
}

// Returns cases of well-formed files that no model can be trained on.
std::vector<BadCase> SetCases() {
  return {
      {"an empty file", Csv(""), StatusCode::kBadInput,
       "data.train: 'DIR/train.csv' has no record ... a header", InFile()},
      {"lines without a byte", Csv("\n\n\r\n"), StatusCode::kBadInput,
       "data.train: 'DIR/train.csv' has no record ... a header", InFile()},
      {"a header alone", Csv("a,y\n"), StatusCode::kBadInput,
       "data.train: no training rows ... only a header",
       InputPosition{.file = "DIR/train.csv", .row = 1, .offset = 0}},
      {"two empty files",
       [](DataFixture& f) {
         f.Train("");
         f.job.data.train.push_back(f.dir.Put("more.csv", ""));
       },
       StatusCode::kBadInput, "data.train: all 2 files ... no record ... a header", InFile()},
      {"every row dropped", With(Csv("a,y\n,1\n,2\n"), Drop), StatusCode::kBadInput,
       "data.features.nulls: no training rows ... drop left out all 2 ... {constant: V}", InFile()},
      {"every row skipped",
       With(With(Csv("a,y\nx,1\nx,2\n"), Skip(9)), FeatureList({std::string("a")})),
       StatusCode::kBadInput,
       "data.bad_rows: no training rows: all 2 rows ... skipped ... policy: fail", InFile()},
      {"more bad rows than the limit",
       With(With(Csv("a,y\nx,1\n1,2\nz,2\n"), Skip(1)), FeatureList({std::string("a")})),
       StatusCode::kBadInput,
       "more than 1 bad row, ... data.bad_rows ... not a number ... data.null_values",
       At(4, "a", 12, "z")},
      {"every row for validation", Validated("a,v,y\n1,1,1\n2,1,0\n"), StatusCode::kBadInput,
       "data.validation.column: no training rows: all 2 rows ... validation ... false (0)",
       InColumn("v")},
      {"no row for validation", Validated("a,v,y\n1,0,1\n2,0,0\n"), StatusCode::kBadInput,
       "data.validation.column: no row of 2 ... true (1) ... data.validation.fraction",
       InColumn("v")},
      {"neither true nor false", Validated("a,v,y\n1,0,0\n1,maybe,1\n"), StatusCode::kBadInput,
       "the validation column ... neither true nor false", At(3, "v", 14, "maybe")},
      {"a fraction that gives no row",
       With(Csv("a,y\n1,0\n2,1\n3,0\n"),
            [](spec::JobSpec& j) { j.data.validation.fraction = 0.001; }),
       StatusCode::kBadInput,
       "data.validation.fraction: 0.001 of 3 rows gave no row ... train.seed", InFile()},
      {"a test set without rows",
       [](DataFixture& f) {
         f.Train("a,y\n1,0\n2,1\n");
         f.job.data.test = {f.dir.Put("test.csv", "a,y\n")};
       },
       StatusCode::kBadInput, "data.test: the files ... no rows ... leave data.test out",
       InputPosition{.file = "DIR/test.csv", .row = 1, .offset = 0}},
  };
}

std::vector<BadCase> MoreSets() {
  return {
      {"validation files without rows",
       [](DataFixture& f) {
         f.Train("a,y\n1,0\n2,1\n");
         f.job.data.validation.files = {f.dir.Put("v.csv", "")};
       },
       StatusCode::kBadInput,
       "data.validation.files: the files ... no rows ... data.validation.fraction",
       InFile("DIR/v.csv")},
      {"a label only validation has", Validated("a,v,y\n1,0,cat\n2,0,dog\n3,1,cow\n4,1,cow\n"),
       StatusCode::kBadInput, "the label 'cow' is in 2 ... no training row", At(4, "y", 26, "cow")},
      {"a label for all rows", Csv("a,y\n1,0\n2,0\n3,0\n"), StatusCode::kBadInput,
       "all 3 training rows ... label '0' ... two classes", InColumn("y")},
      {"a label for each row", Csv(Identifiers(10001)), StatusCode::kBadInput,
       "the label ... more than 10000 different values ... model.task: regression", InColumn("y")},
      {"three classes for a loss of two",
       With(Csv("a,y\n1,0\n2,1\n3,2\n"),
            [](spec::JobSpec& j) { j.model.loss = spec::Loss::kBinaryCrossEntropy; }),
       StatusCode::kInvalidArgument,
       "model.loss: binary_cross_entropy ... the label has 3 ... softmax_cross_entropy",
       InColumn("y")},
      {"a column of nulls",
       With(Csv("a,b,y\n1,,0\n2,,1\n"),
            [](spec::JobSpec& j) { j.data.features.nulls.kind = spec::NullKind::kMean; }),
       StatusCode::kBadInput,
       "the column has no value ... data.features.exclude ... data.features.columns",
       InColumn("b")},
      {"statistics that overflow", With(Csv("a,y\n1.7e308,0\n-1.7e308,1\n"), Doubles),
       StatusCode::kBadInput,
       "the statistics ... overflow ... from -1.7e+308 to 1.7e+308 ... data.features.scale",
       InColumn("a")},
      {"statistics of the label that overflow",
       With(Csv("a,y\n1,1e-300\n2,2e-300\n"),
            [](spec::JobSpec& j) {
              j.model.task = spec::Task::kRegression;
              j.model.precision = spec::Precision::kFloat64;
              j.model.target_scale = spec::TargetScale::kStandard;
            }),
       StatusCode::kBadInput,
       "the statistics ... from 1e-300 to 2e-300. Scale the target, or set model.target_scale: "
       "none",
       InColumn("y")},
  };
}

}  // namespace

std::vector<BadCase> BadTables() {
  std::vector<BadCase> all;
  Append(&all, OddHeaders());
  Append(&all, Headers());
  Append(&all, MoreHeaders());
  Append(&all, SetCases());
  Append(&all, MoreSets());
  return all;
}

}  // namespace espalier::data
