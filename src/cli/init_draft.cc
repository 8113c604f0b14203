#include "src/cli/init_draft.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <variant>

#include "src/base/text.h"
#include "src/cli/format.h"
#include "src/cli/job_file.h"
#include "src/config/yaml_tree.h"
#include "src/data/features/column_judgement.h"
#include "src/data/input/column_types.h"
#include "src/data/input/complete_job.h"
#include "src/data/input/listing.h"
#include "src/data/profile/make_shard_reader.h"
#include "src/data/profile/merge.h"
#include "src/data/profile/profile_shard.h"
#include "src/data/table/advice.h"
#include "src/data/table/row_words.h"
#include "src/data/table/schema.h"
#include "src/spec/inferred_text.h"
#include "src/spec/names.h"
#include "src/storage/glob.h"

namespace espalier::cli {
namespace {

using Cells = std::vector<std::vector<std::string>>;

constexpr size_t kColumnsListed = 40;
constexpr size_t kCommentColumn = 34, kLineMax = 100;
constexpr size_t kCategoryValuesMin = 3;

// Returns a user's text as a YAML value on one line. An unquoted number would be a position.
std::string Quote(const std::string& text) {
  const bool word = !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) != 0 ||
                                      text[0] == '_' || text[0] == '/');
  return config::EmitScalar(config::ScalarNode(text, !word));
}

std::string Sign(char sign) { return config::EmitScalar(config::ScalarNode({sign}, true)); }

bool IsCsv(const TableLook& look) {
  return spec::FormatOf(look.data, look.input.files.front().path) == spec::DataFormat::kCsv;
}

// Returns a job's reference to this column: its position if the files have no header.
std::string Reference(const TableLook& look, size_t column) {
  const std::string& name = look.names()[column];
  return IsCsv(look) && !look.data.csv.header ? name : Quote(name);
}

size_t ColumnOf(const TableLook& look, const std::string& name) {
  const auto found = std::find(look.names().begin(), look.names().end(), name);
  return static_cast<size_t>(found - look.names().begin());
}

std::string CsvText(const TableLook& look) {
  std::string text;
  for (const auto& [key, value] : look.csv) {
    text += (text.empty() ? "" : ", ") + key + ": " + value;
  }
  return "{" + text + "}";
}

// Adds a key of data.csv, or replaces its value.
void SetCsv(const std::string& key, const std::string& value, TableLook* look) {
  for (auto& [known, old] : look->csv) {
    if (known == key) {
      old = value;
      return;
    }
  }
  look->csv.emplace_back(key, value);
}

// Returns an error about the table, without the key, which the user has not written.
Status AboutTable(const Status& error) {
  constexpr std::string_view kKey = "data.train: ";
  if (error.ok() || !error.message().starts_with(kKey)) return error;
  Status shown(error.code(), error.message().substr(kKey.size()));
  return error.position() ? std::move(shown).At(*error.position()) : shown;
}

// Reads the columns of the files with the currently known keys.
Status PlanColumns(const storage::FileSystem& files, TableLook* look) {
  std::string text = "{data: {train: [" + Quote(look->table) + "], csv: " + CsvText(*look) +
                     "}, model: {task: autoencoder}, output: model}";
  ESPALIER_ASSIGN_OR_RETURN(const auto job, data::JobCompletion::Read(text, "job"));
  look->data = job.job().data;
  ESPALIER_ASSIGN_OR_RETURN(look->input,
                            data::PlanTable(files, look->data, look->data.shard_bytes));
  return {};
}

// Tries each delimiter that occurs in the header's only name.
void TryDelimiters(const storage::FileSystem& files, TableLook* look) {
  const std::string line = look->names().front();
  for (const char delimiter : {';', '\t', '|', ' '}) {
    if (line.find(delimiter) == line.npos) continue;
    TableLook other;
    other.table = look->table;
    other.csv = look->csv;
    const char* tab = delimiter == '\t' ? "\"\\t\"" : nullptr;
    SetCsv("delimiter",
           delimiter == ' ' ? "whitespace"
           : tab != nullptr ? tab
                            : Sign(delimiter),
           &other);
    if (!PlanColumns(files, &other).ok() || other.names().size() < 2) continue;
    *look = std::move(other);
    return;
  }
}

// Returns an error for names that a job file, which is UTF-8, cannot hold.
Status CheckNames(const TableLook& look) {
  const std::string& file = look.input.files.front().path;
  for (const std::string& name : look.names()) {
    if (const auto fault = data::Utf8Fault(name)) {
      return BadInput("the header: " + *fault).At({.file = file, .text = Printable(name)});
    }
  }
  return {};
}

data::ColumnFacts FactsOf(const TableLook& look, size_t column) {
  return {.name = look.names()[column],
          .complete = look.sample.complete,
          .index = look.sample.index[column],
          .csv = IsCsv(look)};
}

data::Judgement JudgeColumn(const TableLook& look, size_t column) {
  return data::Judge(look.sample.columns[column], FactsOf(look, column));
}

// Sets the decimal and thousands separators in the values. Returns whether a key is new.
bool SetSigns(TableLook* look) {
  const size_t before = look->csv.size();
  for (size_t c = 0; c < look->names().size(); ++c) {
    const data::Judgement judgement = JudgeColumn(*look, c);
    const auto* undecided = std::get_if<data::Undecided>(&judgement);
    if (undecided == nullptr) continue;
    const bool decimal = undecided->why == data::Undecided::Why::kDecimalComma;
    const bool thousands = decimal || undecided->why == data::Undecided::Why::kThousands;
    if (decimal) SetCsv("decimal", Sign(','), look);
    if (thousands && undecided->thousands != 0) {
      SetCsv("thousands", Sign(undecided->thousands), look);
    }
  }
  return look->csv.size() > before;
}

Status Sample(const storage::FileSystem& files, TableLook* look) {
  ESPALIER_ASSIGN_OR_RETURN(look->sample, data::SampleColumns(files, look->data, look->input));
  ESPALIER_ASSIGN_OR_RETURN(look->types, data::ColumnTypes(files, look->data, look->input));
  for (size_t c = 0; c < look->types.size(); ++c) {
    const data::Judgement judged = JudgeColumn(*look, c);
    const auto* type = std::get_if<spec::FeatureType>(&judged);
    const bool numeric = type != nullptr && *type == spec::FeatureType::kNumeric;
    if (type != nullptr && (!numeric || look->types[c] == "text")) {
      look->types[c] = data::TypeWord(*type);
    }
  }
  return {};
}

// A key of data.csv, and how a message about a record that requires it names it.
struct KeyOfRecord {
  const char *words, *key, *value;
};
constexpr KeyOfRecord kEscape = {"set data.csv.escape: ", "escape", "\"\\\\\""};
constexpr KeyOfRecord kMultiline = {"Set csv.multiline: true", "multiline", "true"};

// Returns whether the error advises to set the key.
bool Advises(const Status& error, const KeyOfRecord& key) {
  return error.message().find(key.words) != std::string::npos;
}

// Sets the key that a bad record of the sample requires, if all sampled records can then be read.
void TryKeysOfRecords(const storage::FileSystem& files, TableLook* look) {
  for (const KeyOfRecord& key : {kEscape, kMultiline}) {
    if (!Advises(look->sample.bad, key)) continue;
    TableLook other;
    other.table = look->table;
    other.csv = look->csv;
    SetCsv(key.key, key.value, &other);
    const bool read = PlanColumns(files, &other).ok() && Sample(files, &other).ok();
    if (!read || !other.sample.bad.ok()) continue;
    *look = std::move(other);
    return;
  }
}

// The rows of a table with which a training ends.
struct UnreadableRows {
  int64_t rows = 0;
  Status first;
};

// Profiles a table whose sample has all rows, as `check` does, but leaves bad rows out. Returns
// them, or the error of a table that cannot be a training table.
Result<UnreadableRows> ProfileSmall(const storage::FileSystem& files,
                                    data::JobCompletion::Completed completed) {
  spec::JobSpec& job = completed.job;
  job.data.bad_rows.skip = true;
  job.data.bad_rows.limit = std::numeric_limits<int64_t>::max();
  const auto reader = data::MakeShardReader({files, completed.input, job});
  std::vector<spec::ShardProfile> profiles;
  UnreadableRows bad;
  int64_t train_rows = 0;
  for (size_t i = 0; i < completed.input.shards.size(); ++i) {
    ESPALIER_ASSIGN_OR_RETURN(data::ProfiledShard shard,
                              data::ProfileShard(*reader, static_cast<int>(i)));
    train_rows += shard.profile.train_rows;
    bad.rows += shard.profile.skipped_rows;
    if (bad.first.ok() && !shard.profile.skipped.empty()) bad.first = shard.profile.skipped[0];
    profiles.push_back(std::move(shard.profile));
  }
  if (train_rows == 0 && !bad.first.ok()) return bad.first;
  job = spec::Sized(std::move(job), train_rows);
  const Status merged =
      data::MergeShardProfiles(completed.input, job, std::move(profiles), &files).status();
  if (!merged.ok()) return merged;
  return bad;
}

// The feature settings of a job, and comments on columns that the user should check.
struct FeatureDraft {
  std::vector<std::string> excluded, groups;  // YAML
  std::vector<std::string> comments;
};

FeatureDraft DraftFeatures(const TableLook& look, size_t label) {
  FeatureDraft draft;
  for (size_t c = 0; c < look.names().size(); ++c) {
    if (c == label) continue;
    const data::Judgement judgement = JudgeColumn(look, c);
    const auto* undecided = std::get_if<data::Undecided>(&judgement);
    if (undecided == nullptr) continue;
    const std::string column = Reference(look, c);
    const bool clock = undecided->why == data::Undecided::Why::kTimeOfDay;
    if ((clock || undecided->why == data::Undecided::Why::kDateFormat) &&
        undecided->date_formats.size() == 1) {
      draft.groups.push_back("{columns: " + column + ", type: date, date_format: " +
                             Quote(undecided->date_formats.front()) +
                             (clock ? ", parts: [epoch]}" : "}"));
      continue;
    }
    draft.excluded.push_back(column);
    std::string why = data::UndecidedFault(look.names()[c], FactsOf(look, c), *undecided);
    if (why.starts_with("data.features: ")) why = why.substr(why.find(' ') + 1);
    draft.comments.push_back(Printable("left out: " + why, 600));
  }
  return draft;
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return "[" + text + "]";
}

// Returns the role of each column in the job.
std::vector<std::string> RolesOf(const TableLook& look, const spec::Schema& schema, size_t label) {
  std::vector<std::string> roles(look.names().size(), "left out");
  for (size_t i = 0; i < schema.features.size(); ++i) {
    roles[static_cast<size_t>(schema.features[i])] = data::TypeWord(schema.rule(i).type);
  }
  roles[label] = "label";
  return roles;
}

// Returns the error that a training has for labels and categories of text that is not UTF-8.
Status CheckTexts(const TableLook& look, const std::vector<std::string>& roles) {
  const bool parquet =
      spec::FormatOf(look.data, look.input.files.front().path) == spec::DataFormat::kParquet;
  for (size_t c = 0; c < roles.size() && !parquet; ++c) {
    const data::ColumnSample::Texts* texts = look.sample.columns[c].texts();
    if (texts == nullptr || (roles[c] != "label" && roles[c] != "category")) continue;
    for (const std::string& text : texts->different) {
      const bool whole = text.find('\0') == std::string::npos;  // a long text may be cut
      if (const auto fault = whole ? data::Utf8Fault(text) : std::nullopt) {
        return BadInput(*fault).At({.file = look.input.files.front().path,
                                    .column = Printable(look.names()[c]),
                                    .text = Printable(text)});
      }
    }
  }
  return {};
}

// Returns the first column of integers that may be identifiers of categories.
std::optional<size_t> LikelyCategory(const TableLook& look, const std::vector<std::string>& roles) {
  for (size_t c = 0; c < roles.size(); ++c) {
    const data::ColumnSample& sample = look.sample.columns[c];
    const size_t different = sample.different_numbers().size();
    if (roles[c] == "number" && sample.values() > 0 && sample.whole() &&
        different >= kCategoryValuesMin && different <= data::kWholeClassesMax) {
      return c;
    }
  }
  return std::nullopt;
}

std::string Commented(const std::string& text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    out += "#" + (end > begin ? " " + text.substr(begin, end - begin) : "") + "\n";
    begin = end + 1;
  }
  return out;
}

// Wraps words in lines of at most kLineMax columns, each after `start`.
std::string Wrapped(const std::string& text, const std::string& start) {
  std::string out, line;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!line.empty() && start.size() + line.size() + 1 + word.size() > kLineMax) {
      out += start + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return out + start + line + "\n";
}

// Returns a line of the job file with a comment, which is above the line if both are too long.
std::string Line(const std::string& code, const std::string& comment) {
  const size_t column = std::max(code.size() + 2, kCommentColumn);
  if (column + 2 + comment.size() > kLineMax) {
    return Wrapped(comment, std::string(code.find_first_not_of(' '), ' ') + "# ") + code + "\n";
  }
  return code + std::string(column - code.size(), ' ') + "# " + comment + "\n";
}

// Breaks YAML in flow style after commas outside quotes, so that lines have at most kLineMax
// columns. Further lines begin with `indent`.
std::string WrappedFlow(const std::string& text, const std::string& indent) {
  std::string out, line, item;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    item += text[i];
    if (text[i] == '\\' && quoted && i + 1 < text.size()) item += text[++i];
    if (text[i] == '"') quoted = !quoted;
    const bool ends = !quoted && text[i] == ',' && i + 1 < text.size() && text[i + 1] == ' ';
    if (!ends && i + 1 < text.size()) continue;
    if (!line.empty() && line.size() + item.size() > kLineMax) {
      out += line + "\n";
      line = indent;
      item.erase(0, item.find_first_not_of(' '));
    }
    line += item;
    item.clear();
  }
  return out + line + "\n";
}

std::string ColumnComment(const TableLook& look, const std::vector<std::string>& roles) {
  Cells rows;
  for (size_t c = 0; c < std::min(roles.size(), kColumnsListed); ++c) {
    rows.push_back({Printable(look.names()[c], 32), roles[c]});
  }
  std::string text = LeftTable(rows, "  ");
  if (roles.size() > kColumnsListed) {
    text += "  ... and " +
            Counted(static_cast<int64_t>(roles.size() - kColumnsListed), "more column") + "\n";
  }
  return "Columns, from a sample of the rows:\n" + text;
}

std::string FeatureLine(const FeatureDraft& features) {
  std::string text;
  if (!features.excluded.empty()) text = "exclude: " + Joined(features.excluded);
  if (!features.groups.empty()) {
    text += (text.empty() ? "" : ", ") + std::string("groups: ") + Joined(features.groups);
  }
  return text.empty() ? "" : WrappedFlow("  features: {" + text + "}", "    ");
}

// Optional keys for the job, each as a comment.
struct Suggestions {
  std::string features, bad_rows;  // lines of the job file; empty: none
  std::string validation;          // what a preset chooses in place of the key
  // Choice of the preset, or an alternative to it. The preset's choice with its reason.
  std::string task, task_comment;
};

std::string JobText(const TableLook& look, const FeatureDraft& features, const std::string& label,
                    const std::string& path, const std::string& output, const std::string& comment,
                    const Suggestions& more) {
  const std::string file = Printable(path, 400);
  std::string text =
      Wrapped("Job file for " + Printable(look.table, 400) +
                  ", written by `espalier init`. The preset good chooses the other keys.",
              "# ") +
      Commented("  espalier check " + file + "\n  espalier train " + file +
                "\n`espalier reference KEY` explains a key.\n\n" + comment);
  text += "name: " + Quote(JobNameOf(look.table)) + "\ndata:\n  train: " + Quote(look.table) + "\n";
  if (!look.csv.empty()) text += "  csv: " + CsvText(look) + "\n";
  text += "  label: " + Reference(look, ColumnOf(look, label)) + "\n";
  for (const std::string& why : features.comments) text += Wrapped(why, "  # ");
  text += FeatureLine(features);
  text += more.features + more.bad_rows;
  text += Line("  # test: other.csv", "rows for the final evaluation");
  text += Line("  # validation: {fraction: 0.2}", more.validation);
  text += Line("output: " + Quote(output), "a new directory for the model");
  text += Line("# preset: fast", "half of the epochs, one fit");
  text += Line("# model: {task: " + more.task + "}", more.task_comment);
  return text +
         Line("# train: {epochs: 50}", "for each fit; default: depends on the number of rows");
}

// Returns what the preset does in place of data.validation.
std::string ValidationDefault(const spec::JobSpec& job) {
  const int64_t folds = spec::FoldsOf(job.train);
  if (folds > 0) {
    return "one fit; default: " + std::to_string(job.train.ensemble.fits) +
           " fits that hold out 1/" + std::to_string(folds) + " of the rows each";
  }
  const double fraction = job.data.validation.fraction;
  if (fraction > 0) return "default: {fraction: " + ShortestDouble(fraction) + "}";
  return "default: none, because there are few rows";
}

// Returns another task that the label may be for.
std::optional<spec::Task> OtherTask(const data::ColumnSample& label, spec::Task task) {
  if (task == spec::Task::kClassification) {
    const bool numeric = label.values() > 0 && label.numbers() == label.values();
    return numeric ? std::optional(spec::Task::kRegression) : std::nullopt;
  }
  const double values = static_cast<double>(label.values());
  const bool repeats = label.different() <= data::kDifferentLabelsShare * values;
  return repeats ? std::optional(spec::Task::kClassification) : std::nullopt;
}

std::string FeatureSuggestion(const TableLook& look, const FeatureDraft& features,
                              const std::vector<std::string>& roles) {
  if (!FeatureLine(features).empty()) return "";
  const std::optional<size_t> category = LikelyCategory(look, roles);
  std::string comment = "columns that the model must not use";
  std::string excluded = "NAME";
  for (size_t c = roles.size(); c-- > 0;) {
    const bool number = roles[c] == "number";
    if (number && data::IdentifierNote(look.sample.columns[c], "")) excluded = Reference(look, c);
  }
  std::string keys = "exclude: [" + excluded + "]";
  if (category) {
    keys += ", groups: [{columns: " + Reference(look, *category) + ", type: categorical}]";
    comment = "columns not to use; numbers that are names";
  }
  return Line("  # features: {" + keys + "}", comment);
}

std::string UnreadableSuggestion(const UnreadableRows& bad) {
  if (bad.rows == 0) return "";
  return Line("  # bad_rows: {policy: skip, limit: " + std::to_string(bad.rows) + "}",
              "skips rows that cannot be read");
}

// Returns "2 rows cannot be read. The first is row 5, column 'day', found 'never': the value ...".
std::string UnreadableNote(const UnreadableRows& bad) {
  if (bad.rows == 0) return "";
  const auto position = bad.first.position().value_or(InputPosition{});
  std::string where = "row " + std::to_string(position.row.value_or(0));
  if (!position.column.empty()) where += ", column '" + Printable(position.column, 64) + "'";
  if (!position.text.empty()) where += ", found '" + position.text + "'";
  return "note: " + HumanCount(bad.rows) + (bad.rows == 1 ? " row" : " rows") +
         " cannot be read. The first is " + where + ": " +
         Printable(data::ForTraining(bad.first.message()), 1000) + "\n";
}

std::string Describe(const TableLook& look, const data::JobCompletion::Completed& done,
                     const std::string& label, const FeatureDraft& features,
                     const UnreadableRows& bad) {
  int64_t columns = 0;
  for (const std::string& role : RolesOf(look, done.input.schema, ColumnOf(look, label))) {
    columns += role != "left out" && role != "label";
  }
  std::string text = std::string(spec::NameOf(done.job.model.task)) + " of '" + Printable(label) +
                     "'" + (done.task_why.empty() ? "" : " (" + done.task_why + ")") + " from " +
                     Counted(columns, "column") + "\n";
  const std::string inferred = spec::InferredText(done.input.schema);
  if (!inferred.empty()) text += "  " + Printable(inferred, 2000) + "\n";
  if (!features.groups.empty()) {
    text += "  groups: " + Printable(Joined(features.groups), 2000) + "\n";
  }
  if (!look.csv.empty()) text += "  csv: " + CsvText(look) + "\n";
  for (const std::string& why : features.comments) text += "note: " + why + "\n";
  for (const std::string& note : done.input.notes) text += "note: " + Printable(note, 1000) + "\n";
  return text + UnreadableNote(bad);
}

}  // namespace

Result<TableLook> LookAtTable(const storage::FileSystem& files, const std::string& table) {
  TableLook look;
  look.table = table;
  const spec::DataSpec named = {.train = {table}};
  if (FindInvalidUtf8(table) != std::string::npos) {
    return InvalidArgument(QuotedPath(table) +
                           ": the name is not UTF-8, as a job file is. Rename the file");
  }
  if (spec::FormatOf(named) == spec::DataFormat::kLibsvm) {
    return InvalidArgument(
        QuotedPath(table) +
        ": LIBSVM text does not say how many features it has. Write the job by hand: data: {train: "
        "FILE, label: 0, features: \"1..N\"}, output: DIRECTORY");
  }
  Status planned = PlanColumns(files, &look);
  if (planned.message().find("seems to be data") != std::string::npos) {
    SetCsv("header", "false", &look);
    planned = PlanColumns(files, &look);
  }
  if (Advises(planned, kMultiline)) {
    SetCsv(kMultiline.key, kMultiline.value, &look);
    planned = PlanColumns(files, &look);
  }
  ESPALIER_RETURN_IF_ERROR(AboutTable(planned));
  if (look.names().size() == 1 && IsCsv(look)) TryDelimiters(files, &look);
  if (look.names().size() < 2) {
    return InvalidArgument(QuotedPath(table) + ": found one column, " +
                           Quoted(look.names().front()) +
                           ", expected at least two: a label and a feature")
        .At({.file = look.input.files.front().path});
  }
  ESPALIER_RETURN_IF_ERROR(CheckNames(look));
  ESPALIER_RETURN_IF_ERROR(AboutTable(Sample(files, &look)));
  if (IsCsv(look)) TryKeysOfRecords(files, &look);
  if (IsCsv(look) && SetSigns(&look)) {
    ESPALIER_RETURN_IF_ERROR(AboutTable(PlanColumns(files, &look)));
    ESPALIER_RETURN_IF_ERROR(AboutTable(Sample(files, &look)));
  }
  return look;
}

std::string LikelyLabel(const TableLook& look) {
  const auto named = [&look](std::string_view usual) -> const std::string* {
    for (const std::string& name : look.names()) {
      const bool same = std::equal(name.begin(), name.end(), usual.begin(), usual.end(),
                                   [](unsigned char a, char b) { return std::tolower(a) == b; });
      if (same) return &name;
    }
    return nullptr;
  };
  for (const char* usual : {"label", "target", "class", "outcome"}) {
    if (const std::string* name = named(usual)) return *name;
  }
  const std::string* y = named("y");
  return y != nullptr && named("x") == nullptr ? *y : look.names().back();  // not a coordinate
}

Status CheckLabel(const TableLook& look, const std::string& label) {
  if (ColumnOf(look, label) < look.names().size()) return {};
  return InvalidArgument("--label: " + data::NoSuchColumn(label, look.names()));
}

std::string ColumnList(const TableLook& look) {
  Cells rows;
  for (size_t c = 0; c < std::min(look.names().size(), kColumnsListed); ++c) {
    rows.push_back({Printable(look.names()[c], 32), Printable(look.types[c], 40)});
  }
  std::string text = LeftTable(rows, "  ");
  if (look.names().size() <= kColumnsListed) return text;
  return text + "  ... and " +
         Counted(static_cast<int64_t>(look.names().size() - kColumnsListed), "more column") + "\n";
}

std::string JobNameOf(const std::string& table) {
  std::vector<std::string> parts(1);
  for (const char c : table) {
    if (c == '/') {
      if (!parts.back().empty()) parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  while (parts.size() > 1 && (parts.back().empty() || storage::HasGlob(parts.back()))) {
    parts.pop_back();
  }
  const auto stem = [](const std::string& part) {
    const std::string name(spec::WithoutCodec(part));
    const size_t dot = name.rfind('.');
    return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
  };
  std::string name = stem(parts.back());
  const bool general = name == "train" || name == "training" || name == "data";
  if (general && parts.size() > 1 && parts[parts.size() - 2].find_first_not_of('.') != name.npos) {
    name = parts[parts.size() - 2];
  }
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') c = '_';
  }
  constexpr size_t kNameBytesMax = 64;
  name = name.substr(0, kNameBytesMax);
  return name.find_first_not_of('_') == name.npos ? "job" : name;
}

Result<JobDraft> DraftJob(const storage::FileSystem& files, const TableLook& look,
                          const std::string& label, const std::string& path,
                          const std::string& output) {
  const size_t column = ColumnOf(look, label);
  const FeatureDraft features = DraftFeatures(look, column);
  const std::string first = JobText(look, features, label, path, output, "", {});
  ESPALIER_ASSIGN_OR_RETURN(const auto job, data::JobCompletion::Read(first, path));
  auto completed = job.Complete(files);
  if (!completed.ok()) return AboutTable(completed.status());
  const std::vector<std::string> roles = RolesOf(look, completed->input.schema, column);
  ESPALIER_RETURN_IF_ERROR(CheckTexts(look, roles));
  const spec::Task task = completed->job.model.task;
  const std::optional<spec::Task> other = OtherTask(look.sample.columns[column], task);
  const std::string why = completed->task_why.empty() ? "" : ", because " + completed->task_why;
  UnreadableRows bad;
  if (look.sample.complete) {
    Result<UnreadableRows> found = ProfileSmall(files, *completed);
    if (!found.ok()) return AboutTable(found.status());
    bad = *std::move(found);
  }
  const Suggestions more = {
      FeatureSuggestion(look, features, roles), UnreadableSuggestion(bad),
      ValidationDefault(completed->job), spec::NameOf(other.value_or(task)),
      "default" + (other ? ": " + std::string(spec::NameOf(task)) : "") + why};
  return JobDraft{JobText(look, features, label, path, output, ColumnComment(look, roles), more),
                  Describe(look, *completed, label, features, bad)};
}

}  // namespace espalier::cli
