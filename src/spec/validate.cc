// JobSpec::Validate checks the bounds and conditions of each Key, then the other conditions between
// fields. `model` and `train` are in validate_train.cc.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "src/base/text.h"
#include "src/spec/findings.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/spec/names.h"

namespace espalier::spec {
namespace {

constexpr size_t kColumnsMax = 1 << 20;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string Shown(const ColumnRef& column) {
  if (const auto* name = std::get_if<std::string>(&column)) return Quoted(*name);
  return "position " + std::to_string(std::get<int64_t>(column));
}

void CheckColumn(Findings& f, const std::string& path, const ColumnRef& column, bool header) {
  if (const auto* position = std::get_if<int64_t>(&column)) {
    return f.Whole(path, *position, 0, int64_t{kColumnsMax} - 1);
  }
  const std::string& name = std::get<std::string>(column);
  f.Expect(!name.empty() && name.size() <= kTextMax, path, Quoted(name),
           "the name of a column or its position");
  f.Expect(header || std::all_of(name.begin(), name.end(), IsDigit), path,
           "the name " + Quoted(name) + " although the files have no header",
           "a position, counted from 0 (or set data.csv.header: true)");
}

void CheckScale(Findings& f, const std::string& path, const Scale& scale) {
  f.Expect(scale.kind != ScaleKind::kDivide || (std::isfinite(scale.divisor) && scale.divisor != 0),
           path + ".divide", ShortestDouble(scale.divisor), "a number other than 0");
}

void CheckNulls(Findings& f, const std::string& path, const NullPolicy& nulls) {
  f.Expect(std::isfinite(nulls.constant), path + ".constant", ShortestDouble(nulls.constant),
           "a finite number");
}

void CheckColumns(Findings& f, const DataSpec& data, const std::string& path,
                  const std::vector<ColumnPattern>& columns) {
  f.Expect(columns.size() <= kColumnsMax, path, std::to_string(columns.size()) + " entries",
           "at most " + std::to_string(kColumnsMax) + "; use ranges such as \"1..784\"");
  for (const auto& entry : columns) {
    if (const auto* range = std::get_if<ColumnRange>(&entry)) {
      const std::string shown =
          "'" + std::to_string(range->first) + ".." + std::to_string(range->last) + "'";
      f.Expect(
          range->first >= 0 && range->first <= range->last && range->last < int64_t{kColumnsMax},
          path, shown, "first..last, counted from 0, both included, below 1048576");
      for (const ColumnRef& label : data.label) {
        const auto* p = std::get_if<int64_t>(&label);
        f.Expect(!p || *p < range->first || *p > range->last, path, shown,
                 "features without the label, which is " + Shown(label));
      }
      continue;
    }
    const ColumnRef column = std::holds_alternative<int64_t>(entry)
                                 ? ColumnRef(std::get<int64_t>(entry))
                                 : ColumnRef(std::get<std::string>(entry));
    CheckColumn(f, path, column, HasHeader(data));
    for (const ColumnRef& label : data.label) {
      f.Expect(label != column, path, Shown(column), "features without the label");
    }
  }
}

// Checks that the format consists of the directives of data/features/dates.h. `clock`: a time
// without a day is enough.
void CheckDateFormat(Findings& f, const std::string& path, const std::string& format, bool clock) {
  if (format.empty() || format == "auto") return;
  const std::string expected =
      "a format such as '%d/%m/%Y %H:%M', of %Y %y %m %d %j %b %B %H %I %M %S %f %p %z %Z %a %A %F "
      "%T %%";
  bool known = format.size() <= kTextMax;
  std::string seen;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') continue;
    const char directive = ++i < format.size() ? format[i] : '\0';
    known = known && directive != '\0' &&
            std::string("YymdjbBHIMSfpzZaAFT%").find(directive) != std::string::npos;
    seen += directive;
  }
  const auto has = [&](const char* any) { return seen.find_first_of(any) != std::string::npos; };
  const bool complete = has("YyF") || (clock && has("HIT") && !has("mdjbB"));
  const std::string missing = clock ? ", with a year, or with a time alone" : ", with a year";
  f.Expect(known && complete, path, Quoted(format), complete ? expected : expected + missing);
}

void CheckEncoding(Findings& f, const std::string& path, const CategoryOptions& options) {
  f.Expect(options.one_hot_max == 0 || (options.embedding > 0 && options.hash == 0),
           path + ".one_hot_max", std::to_string(options.one_hot_max),
           "0 unless `encode: {embedding: 8}` is with it, and no `hash`");
  f.Expect(!options.zero_rare || options.hash == 0, path + ".zero_rare", "true",
           "false with `hash`, which has no vocabulary");
  f.Expect(options.hash == 0 || options.min_count == 1, path + ".min_count",
           std::to_string(options.min_count), "1 with `hash`, which has no vocabulary");
}

void CheckCategories(Findings& f, const std::string& path, const FeatureGroup& group) {
  const NullKind nulls = group.nulls ? group.nulls->kind : NullKind::kCategory;
  f.Expect(nulls == NullKind::kCategory || nulls == NullKind::kFail || nulls == NullKind::kDrop,
           path + ".nulls", NameOf(nulls),
           "category, fail or drop: categories have no mean or median");
  CheckEncoding(f, path, group);
}

void CheckGroup(Findings& f, const DataSpec& data, const std::string& path,
                const FeatureGroup& group) {
  f.Expect(!group.columns.empty(), path + ".columns", "nothing", "the columns of the group");
  CheckColumns(f, data, path + ".columns", group.columns);
  if (group.type == FeatureType::kCategorical) return CheckCategories(f, path, group);
  if (group.scale) CheckScale(f, path + ".scale", *group.scale);
  const NullPolicy& nulls = group.nulls ? *group.nulls : data.features.nulls;
  CheckNulls(f, path + ".nulls", nulls);
  f.Expect(nulls.kind != NullKind::kCategory, path + ".nulls", "category",
           "`type: categorical` with it");
  f.Expect(!group.log1p || nulls.kind != NullKind::kConstant || nulls.constant > -1,
           path + ".nulls", "{constant: " + ShortestDouble(nulls.constant) + "}",
           "a constant above -1 with `log1p: true`, which makes log(1 + x) of it, too");
  f.Expect(!group.null_indicator || FillsNulls(nulls.kind), path + ".null_indicator",
           std::string("true with `nulls: ") + NameOf(nulls.kind) + "`",
           "`nulls: mean`, `median` or `{constant: 0}`, so that rows with nulls are kept");
  CheckDateFormat(f, path + ".date_format", group.date_format, true);
  f.Expect(group.type != FeatureType::kDate || !group.parts.empty(), path + ".parts", "none",
           "at least one, such as year");
  for (const DatePart part : group.parts) {
    f.Expect(std::count(group.parts.begin(), group.parts.end(), part) == 1, path + ".parts",
             std::string(NameOf(part)) + " twice", "each part once");
  }
}

// Checks that the features of an autoencoder are plain numbers of columns, because those are its
// outputs.
void CheckPlainFeatures(Findings& f, const FeatureSpec& features) {
  f.Expect(features.scale.kind != ScaleKind::kRobustSmoothClip, "data.features.scale",
           NameOf(features.scale.kind), "another scale with task autoencoder");
  for (size_t i = 0; i < features.groups.size(); ++i) {
    const FeatureGroup& group = features.groups[i];
    const std::string path = "data.features.groups[" + std::to_string(i) + "]";
    f.Expect(group.type == FeatureType::kNumeric || group.type == FeatureType::kBoolean,
             path + ".type", NameOf(group.type),
             "numeric or boolean with task autoencoder, which gives back numbers");
    f.Expect(!group.scale || group.scale->kind != ScaleKind::kRobustSmoothClip, path + ".scale",
             "robust_smooth_clip", "another scale with task autoencoder");
  }
}

void CheckExcluded(Findings& f, const std::vector<ColumnPattern>& columns) {
  const std::string path = "data.features.exclude";
  f.Expect(columns.size() <= kColumnsMax, path, std::to_string(columns.size()) + " entries",
           "at most " + std::to_string(kColumnsMax) + "; use ranges such as \"1..784\"");
  for (const ColumnPattern& entry : columns) {
    if (const auto* name = std::get_if<std::string>(&entry)) {
      f.Expect(name->size() <= kTextMax, path,
               "a text of " + std::to_string(name->size()) + " bytes",
               "the name of a column, its position or a pattern such as id_*");
      continue;
    }
    const auto* position = std::get_if<int64_t>(&entry);
    const ColumnRange range =
        position ? ColumnRange{*position, *position} : std::get<ColumnRange>(entry);
    f.Expect(range.first >= 0 && range.first <= range.last && range.last < int64_t{kColumnsMax},
             path, std::to_string(range.first) + ".." + std::to_string(range.last),
             "first..last, counted from 0, both included, below 1048576");
  }
}

void CheckFeatures(Findings& f, const DataSpec& data) {
  const FeatureSpec& features = data.features;
  CheckColumns(f, data, "data.features.columns", features.columns);
  CheckExcluded(f, features.exclude);
  CheckDateFormat(f, "data.features.date_format", features.date_format, false);
  CheckScale(f, "data.features.scale", features.scale);
  CheckNulls(f, "data.features.nulls", features.nulls);
  f.Expect(features.nulls.kind != NullKind::kCategory, "data.features.nulls", "category",
           "fail, mean, median, drop or {constant: 0}; `category` is for a group of categorical "
           "columns");
  f.Expect(!features.null_indicators || FillsNulls(features.nulls.kind),
           "data.features.null_indicators",
           std::string("true with `nulls: ") + NameOf(features.nulls.kind) + "`",
           "`nulls: mean`, `median` or `{constant: 0}`, so that rows with nulls are kept");
  CheckEncoding(f, "data.features.categories", features.categories);
  for (size_t i = 0; i < features.groups.size(); ++i) {
    CheckGroup(f, data, "data.features.groups[" + std::to_string(i) + "]", features.groups[i]);
  }
}

// Checks validation rows by group or time.
void CheckPlaces(Findings& f, const DataSpec& data) {
  const ValidationSpec& v = data.validation;
  f.Expect(!(v.group && v.time), "data.validation", "group and time", "one of them");
  f.Expect(!v.column || !v.by_place(), "data.validation", "column with group or time",
           "one of them");
  f.Expect(!v.by_place() || v.draws() || v.bounded(), v.deciding_key(), "no share",
           "`fraction` or `fold` with it, as in `{group: customer, fraction: 0.1}`");
  const char* fixed = v.stratify ? "stratify" : v.exact ? "exact" : "seed";
  f.Expect(!v.by_place() || !(v.stratify || v.exact || (v.seed && v.time)),
           std::string("data.validation.") + fixed, "it with `group` or `time`",
           v.seed && v.time ? "none, because time alone chooses the rows"
                            : "none, because groups and times stay together");
  f.Expect(!v.bounded() || v.by_place(), v.from ? "data.validation.from" : "data.validation.to",
           "a number", "`group` or `time` with it");
  for (const auto& [name, bound] : {std::pair("from", v.from), std::pair("to", v.to)}) {
    f.Expect(!bound || std::isfinite(*bound), std::string("data.validation.") + name,
             bound ? ShortestDouble(*bound) : "", "a number");
  }
  f.Expect(!(v.from && v.to) || *v.from < *v.to, "data.validation.to",
           v.to ? ShortestDouble(*v.to) : "", "a larger number than `from`");
}

// Checks the strata of validation rows.
void CheckStrata(Findings& f, const DataSpec& data, Task task) {
  const ValidationSpec& v = data.validation;
  const bool numbers = task == Task::kRegression && data.label.size() <= 1;
  f.Expect(!v.stratify || task == Task::kClassification || numbers, "data.validation.stratify",
           "true", "it with one label: a class or a number");
  const std::string key = "data.validation.strata";
  f.Expect(v.strata.empty() || (v.stratify && numbers), key, "numbers",
           "`stratify: true` and `model.task: regression` with them");
  const auto falls = [](double a, double b) { return !(a < b); };
  const bool finite = std::all_of(v.strata.begin(), v.strata.end(),
                                  [](double bound) { return std::isfinite(bound); });
  const bool increasing =
      std::adjacent_find(v.strata.begin(), v.strata.end(), falls) == v.strata.end();
  f.Expect(finite && increasing, key, "other numbers", "finite numbers that increase");
}

void CheckValidation(Findings& f, const DataSpec& data, Task task) {
  const ValidationSpec& v = data.validation;
  const int ways = (v.fraction > 0) + v.column.has_value() + !v.files.empty() + (v.fold || v.of) +
                   (v.bounded() && !v.draws());
  f.Expect(ways <= 1, "data.validation", std::to_string(ways) + " ways to choose the rows",
           "one of fraction, column, files and fold");
  f.Expect(v.fold.has_value() == v.of.has_value(), "data.validation",
           v.fold ? "fold without of" : "of without fold", "both, as in `{fold: 0, of: 5}`");
  if (v.fold && v.of) f.Whole("data.validation.fold", *v.fold, 0, *v.of - 1);
  f.Expect(!v.stratify || v.draws(), "data.validation.stratify", "true",
           "`fraction` or `fold` with it: the share of each class");
  f.Expect(!v.exact || v.draws(), "data.validation.exact", "true",
           "`fraction` or `fold` with it: it applies to their share");
  f.Expect(!v.seed || v.draws(), "data.validation.seed", "a number",
           "`fraction` or `fold` with it: it chooses their rows");
  CheckPlaces(f, data);
  CheckStrata(f, data, task);
  if (const auto& column = v.deciding()) {
    CheckColumn(f, v.deciding_key(), *column, HasHeader(data));
    f.Expect(std::find(data.label.begin(), data.label.end(), *column) == data.label.end(),
             v.deciding_key(), Shown(*column), "another column than the label");
  }
  f.Paths("data.validation.files", v.files);
}

void CheckCsv(Findings& f, const CsvOptions& csv) {
  const auto usable = [](char c) {
    return c == '\t' || (c >= 0x20 && c < 0x7F && !std::isalnum(static_cast<unsigned char>(c)) &&
                         c != '.' && c != '+' && c != '-');
  };
  const std::string expected = "one character that cannot be part of a number";
  const bool control = csv.delimiter > 0 && csv.delimiter < 0x20 && csv.delimiter != '\n' &&
                       csv.delimiter != '\r';  // Hive uses \x01
  const bool blanks = csv.delimiter == CsvOptions::kBlanks;
  const bool no_quote = csv.quote == CsvOptions::kNoQuote;
  f.Expect(blanks || control || usable(csv.delimiter), "data.csv.delimiter",
           Quoted(std::string(1, csv.delimiter)), expected + ", or whitespace");
  f.Expect(no_quote || usable(csv.quote), "data.csv.quote", Quoted(std::string(1, csv.quote)),
           expected + ", or none");
  const auto divides = [&](char c) { return blanks ? c == ' ' || c == '\t' : c == csv.delimiter; };
  f.Expect(no_quote || !divides(csv.quote), "data.csv.quote", Quoted(std::string(1, csv.quote)),
           "another character than the delimiter");
  const char escape = csv.escape.value_or(CsvOptions::kNoEscape);
  if (escape != CsvOptions::kNoEscape) {
    f.Expect(usable(escape) && !divides(escape), "data.csv.escape", Quoted(std::string(1, escape)),
             expected + ", other than the delimiter, or none");
    f.Expect(!(blanks && no_quote), "data.csv.escape", Quoted(std::string(1, escape)),
             "none where delimiter is whitespace and quote is none");
  }
  if (csv.comment) {
    const char comment = *csv.comment;
    f.Expect(usable(comment) && !divides(comment) && comment != csv.quote && comment != escape,
             "data.csv.comment", Quoted(std::string(1, comment)),
             expected + ", other than delimiter, quote and escape");
  }
  f.Expect(csv.header || csv.extra_field != ExtraField::kFirst, "data.csv.extra_field", "first",
           "last or none, since files without header do not say how many fields there are");
  const char decimal = csv.decimal.value_or('.'), thousands = csv.thousands.value_or('\0');
  f.Expect(decimal == '.' || decimal == ',', "data.csv.decimal", Quoted(std::string(1, decimal)),
           "'.' or ','");
  f.Expect(!csv.thousands || std::string(",. '_").find(thousands) != std::string::npos,
           "data.csv.thousands", Quoted(std::string(1, thousands)),
           "a comma, a point, a blank, an apostrophe or an underscore");
  f.Expect(thousands != decimal, "data.csv.thousands", Quoted(std::string(1, thousands)),
           "another character than that of data.csv.decimal");
}

void CheckNullValues(Findings& f, const DataSpec& data) {
  if (!data.null_values) return;
  const std::string path = "data.null_values";
  f.Expect(data.null_values->size() <= kListMax, path,
           std::to_string(data.null_values->size()) + " texts",
           "at most " + std::to_string(kListMax));
  for (const std::string& text : *data.null_values) {
    f.Expect(text.size() <= kTextMax, path, "a text of " + std::to_string(text.size()) + " bytes",
             "at most " + std::to_string(kTextMax));
  }
}

// Checks LIBSVM text. Column 0 is the label, and column i is the feature with index i.
void CheckLibsvm(Findings& f, const DataSpec& data) {
  if (FormatOf(data) != DataFormat::kLibsvm) return;
  const std::vector<ColumnRef> first = {int64_t{0}};
  f.Expect(data.label.empty() || data.label == first, "data.label",
           data.label.empty() ? "nothing" : Shown(data.label[0]),
           "0: the label of LIBSVM text is its first field");
  f.Expect(!data.features.columns.empty(), "data.features.columns", "nothing",
           "the indices that are features, such as \"1..784\", since LIBSVM text does not say how "
           "many there are");
  f.Expect(!data.weight, "data.weight", "a column", "none: LIBSVM text has no weights");
  f.Expect(!data.validation.deciding(), data.validation.deciding_key(), "a column",
           "a fraction or files: LIBSVM text has only numbers");
}

void CheckData(Findings& f, const DataSpec& data, Task task) {
  f.Expect(!data.train.empty(), "data.train", "nothing",
           "the training files. Add `train: PATTERN` to data");
  f.Paths("data.train", data.train);
  f.Paths("data.test", data.test);
  CheckCsv(f, data.csv);
  CheckNullValues(f, data);
  CheckLibsvm(f, data);
  const bool itself = task == Task::kAutoencoder;
  f.Expect(itself || !data.label.empty(), "data.label", "nothing",
           "the column to predict. Add `label: NAME_OR_POSITION` to data");
  f.Expect(!itself || data.label.empty(), "data.label",
           std::to_string(data.label.size()) + (data.label.size() == 1 ? " column" : " columns"),
           "nothing for task autoencoder, which gives back its features; leave label out");
  f.Expect(task != Task::kClassification || data.label.size() <= 1, "data.label",
           std::to_string(data.label.size()) + " columns",
           "one for classification (several are for model.task: regression or multilabel)");
  for (size_t i = 0; i < data.label.size(); ++i) {
    CheckColumn(f, "data.label", data.label[i], HasHeader(data));
    f.Expect(std::count(data.label.begin(), data.label.end(), data.label[i]) == 1, "data.label",
             Shown(data.label[i]) + " twice", "each column once");
  }
  if (data.weight) {
    CheckColumn(f, "data.weight", *data.weight, HasHeader(data));
    f.Expect(std::find(data.label.begin(), data.label.end(), *data.weight) == data.label.end(),
             "data.weight", Shown(*data.weight), "another column than the label");
  }
  CheckFeatures(f, data);
  if (itself) CheckPlainFeatures(f, data.features);
  CheckValidation(f, data, task);
  if (data.bad_rows.skip) {
    f.Whole("data.bad_rows.limit", data.bad_rows.limit, 1, kCountMax);
  } else {
    f.Expect(data.bad_rows.limit == 0, "data.bad_rows.limit", std::to_string(data.bad_rows.limit),
             "none with `policy: fail`; write `policy: skip` to tolerate bad rows");
  }
}

}  // namespace

Status ValidateFormat(const DataSpec& data) {
  if (FormatOf(data) != DataFormat::kLibsvm) return {};
  Findings f;
  CheckLibsvm(f, data);
  for (const ColumnRef& label : data.label) CheckColumn(f, "data.label", label, HasHeader(data));
  CheckFeatures(f, data);
  return f.Take();
}

Status JobSpec::Validate() const {
  Findings f;
  f.Expect(!name.empty() && name.size() <= 128 &&
               std::none_of(name.begin(), name.end(),
                            [](unsigned char c) { return c < 0x20 || c == 0x7F; }),
           "name", Quoted(name), "1 to 128 bytes without control characters");
  CheckFields(f, *this);
  // The checks below compute with these values.
  if (const Status status = f.Take(); !status.ok()) return status;
  CheckData(f, data, model.task);
  CheckModel(f, model);
  CheckTrain(f, *this);
  if (resume) f.Paths("resume.from", {resume->from});
  f.Expect(workers.max == 0 || workers.max >= workers.min, "workers.max",
           std::to_string(workers.max),
           "at least workers.min, which is " + std::to_string(workers.min));
  f.Expect(!output.path.empty(), "output", "nothing",
           "the directory for the trained model. Add `output: PATH`");
  f.Paths("output",
          output.path.empty() ? std::vector<std::string>{} : std::vector<std::string>{output.path});
  return f.Take();
}

}  // namespace espalier::spec
