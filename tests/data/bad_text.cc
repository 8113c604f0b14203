// Cases of bad text and their errors.
#include "tests/data/bad_input.h"

namespace espalier::data {
namespace {

const std::string kNotNumber =
    "the value ... not a number ... data.null_values ... data.features.groups";

const std::string kOtherForm =
    "the value ... not a plain number ... data.csv.decimal ... data.csv.thousands";

const std::string kUnit =
    "the value ... not a plain number ... signs and units ... data.features.groups";

const std::string kMissing = "the value is missing ... data.features.nulls";

const std::string kInfinite = "the value is infinite ... finite number";

// Returns a file with this row after three good lines.
Given Row(const std::string& content) { return Csv(kStart + content); }

void Multiline(spec::JobSpec& job) { job.data.csv.multiline = true; }

void NoHeader(spec::JobSpec& job) {
  job.data.csv.header = false;
  job.data.label = {int64_t{0}};
}

// Makes the job a regression of y with the weight w.
Given Priced(std::string content) {
  return With(Csv(std::move(content)), [](spec::JobSpec& job) {
    job.model.task = spec::Task::kRegression;
    job.data.weight = std::string("w");
  });
}

// Returns LIBSVM text whose first two lines, 12 bytes, are good.
Given Svm(std::string content) {
  return With(Named("a.libsvm", "0 1:1\n# two\n" + content), [](spec::JobSpec& job) {
    job.data.label = {int64_t{0}};
    job.data.features.columns = {spec::ColumnRange{1, 7}};
  });
}

// Returns cases of bad feature values. Rows 1 to 3 of the file are good.
std::vector<BadCase> Values() {
  return {
      {"text for a number", Row("1,x2,1\n"), StatusCode::kBadInput, kNotNumber,
       At(4, "b", 15, "x2")},
      {"nothing", Row("1,,1\n"), StatusCode::kBadInput, kMissing, At(4, "b", 15, "")},
      {"blanks", Row("1,  ,1\n"), StatusCode::kBadInput, kMissing, At(4, "b", 15, "  ")},
      {"nan", Row("nan,2,1\n"), StatusCode::kBadInput, kMissing, At(4, "a", 13, "nan")},
      {"NULL", Row("NULL,2,1\n"), StatusCode::kBadInput, kMissing, At(4, "a", 13, "NULL")},
      {"infinite", Row("inf,2,1\n"), StatusCode::kBadInput, kInfinite, At(4, "a", 13, "inf")},
      {"too large for a double", Row("1,1e999,1\n"), StatusCode::kBadInput, kInfinite,
       At(4, "b", 15, "1e999")},
      {"too large for a float", Row("1,-4e38,1\n"), StatusCode::kBadInput,
       "the value ... does not fit float32 ... 3.4e38 ... model.precision: float64",
       At(4, "b", 15, "-4e38")},
      {"a hexadecimal number", Row("1,0x10,1\n"), StatusCode::kBadInput, kNotNumber,
       At(4, "b", 15, "0x10")},
      {"a number with thousands", Row("1,\"1,000\",1\n"), StatusCode::kBadInput, kOtherForm,
       At(4, "b", 15, "1,000")},
      {"a decimal comma", Row("1,\"2,5\",1\n"), StatusCode::kBadInput, kOtherForm,
       At(4, "b", 15, "2,5")},
      {"two points", Row("1,1.2.3,1\n"), StatusCode::kBadInput, kNotNumber,
       At(4, "b", 15, "1.2.3")},
  };
}

std::vector<BadCase> MoreValues() {
  return {
      {"a sign alone", Row("1,-,1\n"), StatusCode::kBadInput,
       "the value is missing ... data.features.nulls", At(4, "b", 15, "-")},
      {"two signs", Row("1,+-2,1\n"), StatusCode::kBadInput, kNotNumber, At(4, "b", 15, "+-2")},
      {"a unit", Row("1,2kg,1\n"), StatusCode::kBadInput, kUnit, At(4, "b", 15, "2kg")},
      {"a date", Row("2024-01-31,2,1\n"), StatusCode::kBadInput, kNotNumber,
       At(4, "a", 13, "2024-01-31")},
      {"a boolean", Row("1,true,1\n"), StatusCode::kBadInput, kNotNumber, At(4, "b", 15, "true")},
      {"quoted text", Row("1,\"x\",1\n"), StatusCode::kBadInput, kNotNumber, At(4, "b", 15, "x")},
      {"UTF-8", Row("1,größer,1\n"), StatusCode::kBadInput, kNotNumber, At(4, "b", 15, "größer")},
      {"bytes that are no UTF-8", Row("\xff\xfe,2,1\n"), StatusCode::kBadInput, kNotNumber,
       At(4, "a", 13, "\\xff\\xfe")},
      {"a mark that turns the direction of writing", Row("1,\u202e2,1\n"), StatusCode::kBadInput,
       kNotNumber, At(4, "b", 15, "\\xe2\\x80\\xae2")},
      {"an escape sequence", Row("1,\x1b[31m2,1\n"), StatusCode::kBadInput, kNotNumber,
       At(4, "b", 15, "\\x1b[31m2")},
      {"a huge string", Row("1," + std::string(1 << 20, 'x') + ",1\n"), StatusCode::kBadInput,
       kNotNumber, At(4, "b", 15, std::string(80, 'x') + "...")},
      {"no line end at the file's end", Row("1,2,0\r\n1,x,1"), StatusCode::kBadInput, kNotNumber,
       At(5, "b", 22, "x")},
  };
}

std::vector<BadCase> OtherValues() {
  return {
      {"a byte order mark in the middle", Row("\ufeff1,2,1\n"), StatusCode::kBadInput,
       "the row ... byte order mark ... data.bad_rows", At(4, "", 13, "\\xef\\xbb\\xbf1,2,1")},
      {"the header again", Row("a,b,y\n"), StatusCode::kBadInput,
       "the row repeats the header ... data.bad_rows", At(4, "", 13, "a,b,y")},
  };
}

// Returns cases of bad records and labels in the same file.
std::vector<BadCase> Records() {
  return {
      {"few fields", Row("1,2\n"), StatusCode::kBadInput,
       "the row has 2 fields, expected 3 ... the header ... delimiter missing ... that hold one)? "
       "Correct the row",
       At(4, "", 13, "1,2")},
      {"many fields", Row("1,2,3,4\n"), StatusCode::kBadInput,
       "the row has 4 fields, expected 3 ... the header ... delimiter missing",
       At(4, "", 13, "1,2,3,4")},
      {"another delimiter", Row("1;2;3\n"), StatusCode::kBadInput,
       "the row has 1 field, expected 3 ... the header ... delimiter missing",
       At(4, "", 13, "1;2;3")},
      {"blanks alone", Row("  \n"), StatusCode::kBadInput,
       "the row has 1 field, expected 3 ... the header ... delimiter missing", At(4, "", 13, "  ")},
      {"a quote left open", Row("1,\"2,1\n3,4,0\n"), StatusCode::kBadInput,
       "a quoted field ... not closed ... csv.multiline: true", At(4, "", 15, "\"2,1")},
      {"blanks before an opening quote", Row("1, \"2\",1\n"), StatusCode::kBadInput,
       "blanks precede the opening quote ... data.csv.quote: none", At(4, "", 15, " \"2\",1")},
      {"a line in the middle of which a line ends in a carriage return", Row("1,2,1\r2,3,0\n"),
       StatusCode::kBadInput, "the row has 5 fields, expected 3 ... carriage return ... line ends",
       At(4, "", 13, "1,2,1\\x0d2,3,0")},
      {"text after a closing quote", Row("1,\"2\"3,1\n"), StatusCode::kBadInput,
       "text follows a closing quote ... Write a quote inside a quoted field twice",
       At(4, "", 15, "\"2\"3,1")},
      {"a NUL byte", Row(std::string("1,2\0,1\n", 7)), StatusCode::kBadInput,
       "the record ... NUL byte ... UTF-16", At(4, "", 13, "1,2\\x00,1")},
      {"a record without end", Row("1,2," + std::string(17 << 20, '7')), StatusCode::kBadInput,
       "a record ... longer than 16.0 MiB ... quote left open",
       At(4, "", 13, "1,2," + std::string(76, '7') + "...")},
      {"no label", Row("1,2,\n"), StatusCode::kBadInput,
       "the label is empty ... class). Correct the row ... data.bad_rows: {policy: skip",
       At(4, "y", 17, "")},
      {"a blank label", Row("1,2,  \n"), StatusCode::kBadInput, "the label is empty ... class",
       At(4, "y", 17, "  ")},
      {"a label in Latin-1", Row("1,2,caf\xe9\n"), StatusCode::kBadInput,
       "the text is not UTF-8 (byte 0xe9) ... iconv -f latin1 -t utf8", At(4, "y", 17, "caf\\xe9")},
      {"a category in Latin-1", WithCategory(Row("caf\xe9,2,1\n")), StatusCode::kBadInput,
       "the text is not UTF-8 (byte 0xe9) ... iconv", At(4, "a", 13, "caf\\xe9")},
      {"a label too long", Row("1,2," + std::string(300, 'l') + "\n"), StatusCode::kBadInput,
       "the label has 300 bytes ... at most 256", At(4, "y", 17, std::string(80, 'l') + "...")},
  };
}

// Returns cases of fields whose quotes or escapes may differ from the job's.
std::vector<BadCase> Escapes() {
  const std::string advice = " ... backslashes ... data.csv.escape: \"\\\\\"";
  const auto no_quote = [](spec::JobSpec& job) {
    job.data.csv.quote = spec::CsvOptions::kNoQuote;
    job.data.csv.escape = '\\';
  };
  return {
      {"a quote behind a backslash", Row("1,\"a\\\"b\",1\n"), StatusCode::kBadInput,
       "text follows a closing quote ... Write a quote inside a quoted field twice" + advice,
       At(4, "", 15, "\"a\\\"b\",1")},
      {"a quote behind a backslash at the end", Row("1,\"5\\\"\",1\n"), StatusCode::kBadInput,
       "a quoted field ... not closed ... csv.multiline: true" + advice,
       At(4, "", 15, "\"5\\\"\",1")},
      {"a delimiter behind a quote and a backslash", Row("1,\"5\\\", 6\",1\n"),
       StatusCode::kBadInput,
       "the row has 4 fields, expected 3 ... backslash ... data.csv.escape: \"\\\\\" ... "
       "data.csv.quote: none",
       At(4, "", 13, "1,5\\, 6\",1")},
      {"two backslashes before a closing quote", Row("1,\"C:\\\\\",1\n"), StatusCode::kBadInput,
       "a quoted field ... two backslashes ... data.csv.escape: \"\\\\\" ... data.csv.escape: none",
       At(4, "", 13, "1,\"C:\\\\\",1")},
      {"a line that ends in an escape", With(Row("1,2\\\n3,1\n"), no_quote), StatusCode::kBadInput,
       "the line ends ... escape character ... as \\n", At(4, "", 13, "1,2\\")},
      {"a delimiter at one line's end", Row("1,2,1,\n"), StatusCode::kBadInput,
       "the row has 4 fields, expected 3 ... ends with a delimiter", At(4, "", 13, "1,2,1,")},
      {"a value in the field without a name",
       With(Csv("a,b,y,\n1,2,0,\n3,4,1,5\n"),
            [](spec::JobSpec& job) { job.data.csv.extra_field = spec::ExtraField::kLast; }),
       StatusCode::kBadInput, "the last field ... no name ... data.csv.extra_field: none",
       At(3, "", 14, "3,4,1,5")},
  };
}

// Returns cases of fields over several lines.
std::vector<BadCase> Lines() {
  return {
      {"a quote left open with multiline", With(Csv(kStart + "1,\"2\n3,4,0\n"), Multiline),
       StatusCode::kBadInput, "a quoted field ... end of the file", At(4, "", 15, "\"2\\x0a3,4,0")},
      {"text after a closing quote with multiline", With(Csv(kStart + "1,\"2\n\"3,1\n"), Multiline),
       StatusCode::kBadInput,
       "text follows a closing quote ... Write a quote inside a quoted field twice",
       At(4, "", 15, "\"2\\x0a\"3,1")},
      {"a line break in a number", With(Csv(kStart + "1,\"2\n3\",1\n"), Multiline),
       StatusCode::kBadInput, kNotNumber, At(4, "b", 15, "2\\x0a3")},
  };
}

void Multilabel(spec::JobSpec& job) { job.model.task = spec::Task::kMultilabel; }

std::vector<BadCase> Regression() {
  return {
      {"no target", Priced("a,w,y\n1,1,\n"), StatusCode::kBadInput,
       "the label is missing ... a number", At(2, "y", 10, "")},
      {"a target that is text", Priced("a,w,y\n1,1,cat\n"), StatusCode::kBadInput,
       "the label ... not a number ... 2.5", At(2, "y", 10, "cat")},
      {"a target that is nan", Priced("a,w,y\n1,1,nan\n"), StatusCode::kBadInput,
       "the label is missing ... a number", At(2, "y", 10, "nan")},
      {"an infinite target", Priced("a,w,y\n1,1,-inf\n"), StatusCode::kBadInput,
       "the label is infinite ... finite number", At(2, "y", 10, "-inf")},
      {"a target too large for a float", Priced("a,w,y\n1,1,1e39\n"), StatusCode::kBadInput,
       "the label ... does not fit float32 ... 3.4e38 ... model.precision: float64",
       At(2, "y", 10, "1e39")},
      {"a label that is neither 0 nor 1", With(Priced("a,w,y\n1,1,0\n1,1,2\n"), Multilabel),
       StatusCode::kBadInput, "the label ... neither 0 nor 1 ... model.task: multilabel",
       At(3, "y", 16, "2")},
      {"a label between 0 and 1", With(Priced("a,w,y\n1,1,0.5\n"), Multilabel),
       StatusCode::kBadInput, "the label ... neither 0 nor 1 ... model.task: multilabel",
       At(2, "y", 10, "0.5")},
      {"a label that is null", With(Priced("a,w,y\n1,1,\n"), Multilabel), StatusCode::kBadInput,
       "the label is missing ... a number", At(2, "y", 10, "")},
      {"a negative weight", Priced("a,w,y\n1,-1,2\n"), StatusCode::kBadInput,
       "the weight is negative ... at least 0", At(2, "w", 8, "-1")},
      {"no weight", Priced("a,w,y\n1,,2\n"), StatusCode::kBadInput,
       "the weight is missing ... a number", At(2, "w", 8, "")},
      {"a weight that is text", Priced("a,w,y\n1,much,2\n"), StatusCode::kBadInput,
       "the weight ... not a number ... 2.5", At(2, "w", 8, "much")},
      {"an infinite weight", Priced("a,w,y\n1,inf,2\n"), StatusCode::kBadInput,
       "the weight is infinite ... finite number", At(2, "w", 8, "inf")},
      {"a weight that is none in a float", Priced("a,w,y\n1,1e-40,2\n"), StatusCode::kBadInput,
       "the weight ... 0 in float32 ... 1.2e-38 ... model.precision: float64",
       At(2, "w", 8, "1e-40")},
      {"weights that add up to nothing", Priced("a,w,y\n1,0,2\n2,0,3\n"), StatusCode::kBadInput,
       "data.weight: no training rows: all 2 rows ... `nulls: drop` ... weight above 0",
       InColumn("w")},
      {"a column that is text all the way",
       With(Priced("a,w,y\nred,1,2\nblue,1,3\n"),
            [](spec::JobSpec& j) { j.data.features.columns = {std::string("a")}; }),
       StatusCode::kBadInput, kNotNumber, At(2, "a", 6, "red")},
  };
}

// Returns cases of files without a header, whose columns have no names.
std::vector<BadCase> Positions() {
  return {
      {"text for a number without header", With(Csv("1,2\n0,x\n"), NoHeader), StatusCode::kBadInput,
       kNotNumber, At(2, "1", 6, "x")},
      {"few fields without header", With(Csv("1,2\n0\n"), NoHeader), StatusCode::kBadInput,
       "the row has 1 field, expected 2 ... the first row ... delimiter missing",
       At(2, "", 4, "0")},
  };
}

// Returns cases of LIBSVM text.
std::vector<BadCase> Svm() {
  return {
      {"a pair without label", Svm("1:2 2:3\n"), StatusCode::kBadInput,
       "the line starts ... a pair ... index:value", At(3, "", 12, "1:2", "DIR/a.libsvm")},
      {"several labels", Svm("1,2 2:3\n"), StatusCode::kBadInput, "the row has several labels",
       At(3, "", 12, "1,2", "DIR/a.libsvm")},
      {"a field without colon", Svm("1 2:3 x\n"), StatusCode::kBadInput,
       "the row ... without a colon ... index:value", At(3, "", 18, "x", "DIR/a.libsvm")},
      {"a query id", Svm("1 qid:4 2:3\n"), StatusCode::kBadInput,
       "the row ... query id (qid) ... not supported", At(3, "", 14, "qid:4", "DIR/a.libsvm")},
      {"an index that is text", Svm("1 a:4\n"), StatusCode::kBadInput,
       "... before the colon ... whole number ... index:value",
       At(3, "", 14, "a:4", "DIR/a.libsvm")},
      {"a negative index", Svm("1 -1:4\n"), StatusCode::kBadInput,
       "... before the colon ... whole number ... index:value",
       At(3, "", 14, "-1:4", "DIR/a.libsvm")},
      {"an index of 0", Svm("1 0:4\n"), StatusCode::kBadInput,
       "the index is 0 ... data.libsvm.zero_based: true", At(3, "", 14, "0:4", "DIR/a.libsvm")},
      {"an index beyond the last, counted from 0",
       With(Svm("1 0:3 7:4\n"), [](spec::JobSpec& job) { job.data.libsvm.zero_based = true; }),
       StatusCode::kBadInput, "the index is above 6 ... column 7 ... data.features.columns",
       At(3, "", 18, "7:4", "DIR/a.libsvm")},
      {"an index beyond the last", Svm("1 2:3 8:4\n"), StatusCode::kBadInput,
       "the index is above 7 ... data.features.columns", At(3, "", 18, "8:4", "DIR/a.libsvm")},
      {"an index beyond all numbers", Svm("1 99999999999999999999:4\n"), StatusCode::kBadInput,
       "the index is above 7 ... data.features.columns",
       At(3, "", 14, "99999999999999999999:4", "DIR/a.libsvm")},
      {"no value", Svm("1 2: 3:4\n"), StatusCode::kBadInput,
       "nothing follows the colon ... index:value", At(3, "", 14, "2:", "DIR/a.libsvm")},
      {"an index twice", Svm("1 2:3 3:4 2:3\n"), StatusCode::kBadInput,
       "the index ... in the row twice", At(3, "", 22, "2:3", "DIR/a.libsvm")},
      {"a value that is text", Svm("1 2:3 5:abc\n"), StatusCode::kBadInput, kNotNumber,
       At(3, "5", 18, "abc", "DIR/a.libsvm")},
  };
}

std::vector<BadCase> MoreSvm() {
  return {
      {"an infinite value", Svm("1 5:inf\n"), StatusCode::kBadInput, kInfinite,
       At(3, "5", 14, "inf", "DIR/a.libsvm")},
      {"CSV for LIBSVM", Svm("1,2,3\n"), StatusCode::kBadInput, "the row has several labels",
       At(3, "", 12, "1,2,3", "DIR/a.libsvm")},
  };
}

}  // namespace

std::vector<BadCase> BadText() {
  std::vector<BadCase> all;
  Append(&all, Values());
  Append(&all, MoreValues());
  Append(&all, OtherValues());
  Append(&all, Records());
  Append(&all, Escapes());
  Append(&all, Lines());
  Append(&all, Regression());
  Append(&all, Positions());
  Append(&all, Svm());
  Append(&all, MoreSvm());
  return all;
}

}  // namespace espalier::data
