#include "tests/data/random_table.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <utility>

namespace espalier::data {
namespace {

using Strings = std::vector<std::string>;

constexpr size_t kWholeRows = 5;  // rows without nulls; the last one is a validation row
constexpr size_t kValidationRow = kWholeRows - 1;

enum class Profile { kBytes, kDecimals, kFarFromZero, kWild, kConstant };

// The distribution of a column's values.
struct Source {
  Profile profile = Profile::kDecimals;
  int exponent_max = 0;  // largest power of 2 of kWild
  Strings words;         // categories of training rows
  Strings others;        // further categories of validation rows
};

std::string Digits(double x, std::chars_format format) {
  char text[64];
  const auto end = format == std::chars_format::general
                       ? std::to_chars(text, text + sizeof text, x).ptr
                       : std::to_chars(text, text + sizeof text, x, format).ptr;
  return {text, end};
}

double DrawNumber(Draw& draw, const Source& source, bool validation) {
  const auto decimal = [&] { return (static_cast<double>(draw.Below(20'001)) - 10'000) / 1000; };
  switch (source.profile) {
    case Profile::kBytes:
      return static_cast<double>(draw.Below(validation ? 300 : 256));
    case Profile::kFarFromZero:
      return 1e6 + static_cast<double>(draw.Below(1000)) / 8;
    case Profile::kConstant:
      return validation && draw.OneIn(2) ? -3.5 : 2.5;
    case Profile::kDecimals:
      return decimal();
    case Profile::kWild:
      break;
  }
  if (!draw.OneIn(8)) return decimal();
  if (draw.OneIn(6)) return -0.0;
  const bool huge = draw.OneIn(2);
  const int exponent = huge ? source.exponent_max - static_cast<int>(draw.Below(80))
                            : -1074 + static_cast<int>(draw.Below(900));
  return std::ldexp(draw.OneIn(2) ? -1 - draw.Unit() : 1 + draw.Unit(), exponent);
}

std::string WriteNumber(Draw& draw, double x) {
  if (draw.OneIn(6)) return Digits(x, std::chars_format::scientific);
  std::string text = Digits(x, std::chars_format::general);
  const bool digits = text.find_first_not_of("-0123456789") == std::string::npos;
  if (digits && draw.OneIn(6)) text += draw.OneIn(2) ? ".0" : ".";
  if (!std::signbit(x) && draw.OneIn(8)) text = "+" + text;
  return draw.OneIn(8) ? " " + text + "  " : text;
}

// Draws a moment in the years 2 to 9998, in half seconds.
double DrawMoment(Draw& draw) {
  using namespace std::chrono;
  const year_month ym{year(2 + static_cast<int>(draw.Below(9997))),
                      month(1 + static_cast<unsigned>(draw.Below(12)))};
  const unsigned last = static_cast<unsigned>((ym / std::chrono::last).day());
  const unsigned of_month = draw.OneIn(4) ? last : 1 + static_cast<unsigned>(draw.Below(last));
  const auto days = sys_days(ym / day(of_month)).time_since_epoch().count();
  const double midnight = static_cast<double>(days) * 86'400;
  return draw.OneIn(3) ? midnight : midnight + static_cast<double>(draw.Below(172'800)) / 2;
}

std::string WriteMoment(Draw& draw, double seconds) {
  using namespace std::chrono;
  if (draw.OneIn(6)) return Digits(seconds, std::chars_format::general);
  const bool midnight = std::fmod(seconds, 86'400) == 0;
  const std::pair<const char*, int> zones[] = {{"", 0},        {"", 0},         {"Z", 0},
                                               {"+01:00", 60}, {"-0530", -330}, {"+12", 720}};
  const auto [zone, minutes] = midnight && draw.OneIn(2) ? zones[0] : draw.Of(zones);
  const auto half = static_cast<int64_t>(std::floor((seconds + minutes * 60) * 2));
  const int64_t whole = half >= 0 ? half / 2 : (half - 1) / 2;
  const sys_days day = floor<days>(sys_seconds(std::chrono::seconds(whole)));
  const year_month_day date(day);
  const auto of_day = whole - day.time_since_epoch().count() * int64_t{86'400};
  char text[80];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  const std::string written = text;
  if (of_day == 0 && half % 2 == 0 && *zone == 0 && draw.OneIn(2)) return written;
  std::snprintf(text, sizeof text, "%c%02d:%02d", draw.OneIn(2) ? 'T' : ' ',
                static_cast<int>(of_day / 3600), static_cast<int>(of_day / 60 % 60));
  std::string time = text;
  if (of_day % 60 != 0 || half % 2 != 0 || draw.OneIn(2)) {
    std::snprintf(text, sizeof text, ":%02d%s", static_cast<int>(of_day % 60),
                  half % 2 != 0 ? ".5" : "");
    time += text;
  }
  return written + time + zone;
}

Cell DrawCell(Draw& draw, spec::FeatureType type, const Source& source, bool log1p,
              bool validation) {
  Cell cell;
  switch (type) {
    case spec::FeatureType::kNumeric:
      cell.number = DrawNumber(draw, source, validation);
      if (log1p && cell.number <= -1) cell.number = -cell.number;
      cell.written = WriteNumber(draw, cell.number);
      break;
    case spec::FeatureType::kBoolean: {
      const Strings yes = {"true", "True", "TRUE", "yes", "Yes", "YES", "1", "1.0", " true "};
      const Strings no = {"false", "False", "FALSE", "no", "No", "NO", "0", "0.0"};
      cell.number = draw.OneIn(2) ? 1 : 0;
      cell.written = draw.Of(cell.number == 1 ? yes : no);
      break;
    }
    case spec::FeatureType::kDate:
      cell.number = DrawMoment(draw);
      cell.written = WriteMoment(draw, cell.number);
      break;
    case spec::FeatureType::kCategorical: {
      cell.text = validation && draw.OneIn(4) ? draw.Of(source.others) : draw.Of(source.words);
      cell.written = cell.text;
      const bool digits = cell.text.find_first_not_of("-0123456789") == std::string::npos;
      if (digits && draw.OneIn(3)) cell.written += draw.OneIn(2) ? ".0" : ".";
      if (draw.OneIn(8)) cell.written = " " + cell.written + " ";
      break;
    }
  }
  return cell;
}

Cell DrawNull(Draw& draw, spec::FeatureType type) {
  const Strings numbers = {"", "nan", "NaN", "NAN", "NA", "null", "NULL", "\\N", "  "};
  const Strings categories = {"", "\\N", " "};
  return {.null = true,
          .written = draw.Of(type == spec::FeatureType::kCategorical ? categories : numbers)};
}

spec::Scale DrawScale(Draw& draw) {
  const spec::ScaleKind kinds[] = {spec::ScaleKind::kNone, spec::ScaleKind::kStandard,
                                   spec::ScaleKind::kMinMax, spec::ScaleKind::kDivide,
                                   spec::ScaleKind::kRobust};
  spec::Scale scale{draw.Of(kinds)};
  if (scale.kind == spec::ScaleKind::kDivide) scale.divisor = draw.OneIn(2) ? 255 : -0.3;
  return scale;
}

spec::NullPolicy DrawNulls(Draw& draw, bool log1p = false) {
  const spec::NullKind kinds[] = {spec::NullKind::kFail,     spec::NullKind::kMean,
                                  spec::NullKind::kMean,     spec::NullKind::kConstant,
                                  spec::NullKind::kConstant, spec::NullKind::kDrop};
  spec::NullPolicy nulls{draw.Of(kinds)};
  const double constants[] = {0, 7, -0.25, 1e6, log1p ? 3.0 : -40.0};
  if (nulls.kind == spec::NullKind::kConstant) nulls.constant = draw.Of(constants);
  return nulls;
}

// Draws the rules of a group. `numbers` selects only types that an autoencoder takes.
spec::FeatureGroup DrawGroup(Draw& draw, const spec::FeatureSpec& all, bool numbers) {
  const spec::FeatureType types[] = {
      spec::FeatureType::kNumeric,     spec::FeatureType::kBoolean,     spec::FeatureType::kNumeric,
      spec::FeatureType::kCategorical, spec::FeatureType::kCategorical, spec::FeatureType::kDate};
  spec::FeatureGroup group;
  group.type = types[draw.Below(numbers ? 3 : std::size(types))];
  if (group.type == spec::FeatureType::kCategorical) {
    const spec::NullKind kinds[] = {spec::NullKind::kCategory, spec::NullKind::kFail,
                                    spec::NullKind::kDrop};
    if (draw.OneIn(2)) group.nulls = spec::NullPolicy{draw.Of(kinds)};
    if (draw.OneIn(2)) group.embedding = 1 + static_cast<int64_t>(draw.Below(4));
    if (draw.OneIn(3)) {
      group.hash = 1 + static_cast<int64_t>(draw.Below(400));
    } else {
      group.min_count = 1 + static_cast<int64_t>(draw.Below(4));
    }
    return group;
  }
  if (draw.OneIn(2)) group.scale = DrawScale(draw);
  group.log1p = !numbers && group.type == spec::FeatureType::kNumeric && draw.OneIn(2);
  if (group.log1p || draw.OneIn(2)) group.nulls = DrawNulls(draw, group.log1p);
  const spec::NullKind nulls = group.nulls.value_or(all.nulls).kind;
  const bool kept = nulls == spec::NullKind::kMean || nulls == spec::NullKind::kConstant;
  group.null_indicator = !numbers && kept && draw.OneIn(2);
  if (group.type != spec::FeatureType::kDate) return group;
  group.parts.clear();
  for (int part = 0; part <= static_cast<int>(spec::DatePart::kEpoch); ++part) {
    if (draw.OneIn(2)) group.parts.push_back(static_cast<spec::DatePart>(part));
  }
  if (group.parts.empty()) group.parts = {spec::DatePart::kEpoch};
  return group;
}

Source DrawSource(Draw& draw, spec::Precision precision) {
  const Profile profiles[] = {Profile::kBytes,       Profile::kBytes, Profile::kDecimals,
                              Profile::kFarFromZero, Profile::kWild,  Profile::kConstant};
  Source source{draw.Of(profiles), precision == spec::Precision::kFloat32 ? 100 : 400};
  const Strings words = {"red",  "gr\xC3\xBCn", "say \"hi\"", "a,b",  "x;y", "NA",
                         "null", "\xC3\xBF",    "two words",  "0x1F", "12",  "#"};
  const Strings numbers = {"0", "3", "-7", "10", "9", "100", "25", "2024"};
  const bool whole = draw.OneIn(3);  // all words are numbers
  const size_t count = 2 + draw.Below(6);
  for (size_t i = 0; i < count; ++i) {
    source.words.push_back(draw.Of(whole || draw.OneIn(3) ? numbers : words));
  }
  source.others = {"unseen", "77", draw.Of(numbers), draw.Of(words)};
  return source;
}

void FillColumn(Draw& draw, const RandomTable& table, RandomColumn* column) {
  const spec::FeatureOptions& options = column->options;
  const Source source = DrawSource(draw, table.job.model.precision);
  const spec::NullKind nulls = options.nulls->kind;
  const uint64_t rarity = nulls == spec::NullKind::kDrop ? 12 : 2 + draw.Below(6);
  const bool any = nulls != spec::NullKind::kFail && !draw.OneIn(4);
  for (size_t r = 0; r < table.rows(); ++r) {
    const bool null = any && r >= kWholeRows && draw.OneIn(rarity);
    column->cells.push_back(
        null ? DrawNull(draw, options.type)
             : DrawCell(draw, options.type, source, options.log1p, table.validation[r]));
  }
}

void AddColumns(Draw& draw, RandomTable* table) {
  spec::FeatureSpec& features = table->job.data.features;
  features.scale = DrawScale(draw);
  features.nulls = DrawNulls(draw);
  const bool numbers = table->job.model.task == spec::Task::kAutoencoder;
  const size_t count = 1 + draw.Below(6);
  for (size_t i = 0; i < count; ++i) {
    std::string name = "c" + std::to_string(i);
    if (draw.OneIn(5)) name += ", \"\xC3\xA9\"";
    spec::FeatureOptions options;
    if (i == 0 || draw.OneIn(4)) {  // the spec needs at least one column outside the groups
      features.columns.emplace_back(name);
    } else {
      if (features.groups.empty() || !draw.OneIn(4)) {
        features.groups.push_back(DrawGroup(draw, features, numbers));
      }
      features.groups.back().columns.emplace_back(name);
      options = features.groups.back();
    }
    const bool categorical = options.type == spec::FeatureType::kCategorical;
    if (!options.scale) options.scale = features.scale;
    if (!options.nulls && categorical) options.nulls = spec::NullPolicy{spec::NullKind::kCategory};
    if (!options.nulls) options.nulls = features.nulls;
    table->columns.push_back({std::move(name), std::move(options), {}});
    FillColumn(draw, *table, &table->columns.back());
  }
}

void AddClasses(Draw& draw, RandomTable* table) {
  const std::vector<Strings> sets = {
      {"no", "yes"}, {"b", "a,b", "say \"c\""}, {"10", "-1", "9", "0"}, {"\xC3\xBE", "x y"}};
  const Strings classes = draw.Of(sets);
  for (size_t r = 0; r < table->rows(); ++r) {
    table->labels.push_back(r < classes.size() ? classes[r] : draw.Of(classes));
  }
  table->job.data.label = {std::string("y0")};
  if (classes.size() == 2 && draw.OneIn(2)) table->job.model.loss = spec::Loss::kBinaryCrossEntropy;
  table->job.train.class_weight.balanced = draw.OneIn(3);
}

void AddTargets(Draw& draw, RandomTable* table) {
  spec::ModelSpec& model = table->job.model;
  const bool numbers = model.task == spec::Task::kRegression;
  const size_t count = 1 + draw.Below(2);
  const spec::Loss losses[] = {spec::Loss::kMse, spec::Loss::kMae, spec::Loss::kHuber,
                               spec::Loss::kQuantile, spec::Loss::kPoisson};
  if (numbers) model.loss = draw.Of(losses);
  const bool counts = model.loss == spec::Loss::kPoisson;
  if (numbers && !counts && draw.OneIn(2)) {
    model.target_scale = draw.OneIn(2) ? spec::TargetScale::kNone : spec::TargetScale::kStandard;
  }
  for (size_t i = 0; i < count; ++i) {
    table->job.data.label.emplace_back("y" + std::to_string(i));
  }
  const Source far{Profile::kFarFromZero, 0}, near{Profile::kDecimals, 0};
  for (size_t r = 0; r < table->rows(); ++r) {
    std::vector<double>& row = table->targets.emplace_back();
    for (size_t i = 0; i < count; ++i) {
      const bool small = counts || !numbers;
      row.push_back(small ? static_cast<double>(draw.Below(numbers ? 9 : 2))
                          : DrawNumber(draw, i == 0 ? near : far, false));
    }
  }
}

std::string Field(const spec::DataSpec& data, const std::string& text, bool quoted) {
  const bool must =
      text.find(data.csv.delimiter) != std::string::npos || text.find('"') != std::string::npos;
  if (!must && !quoted) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? "\"\"" : std::string(1, c);
  return field + "\"";
}

}  // namespace

bool RandomTable::Dropped(size_t row) const {
  return std::any_of(columns.begin(), columns.end(), [row](const RandomColumn& c) {
    return c.options.nulls->kind == spec::NullKind::kDrop && c.cells[row].null;
  });
}

std::string RandomTable::Line(size_t row) const {
  std::string line;
  size_t fields = 0;
  const auto add = [&](const std::string& text) {
    if (fields > 0) line += job.data.csv.delimiter;
    line += Field(job.data, text, (row + fields++) % 7 == 0);
  };
  for (const RandomColumn& c : columns) add(c.cells[row].written);
  add(validation[row] ? "true" : "0");
  if (!labels.empty()) add(labels[row]);
  if (!targets.empty()) {
    for (const double y : targets[row]) add(Digits(y, std::chars_format::general));
  }
  if (!weights.empty()) add(Digits(weights[row], std::chars_format::general));
  return line + "\n";
}

std::string RandomTable::Text() const {
  std::string text;
  for (const RandomColumn& c : columns) {
    text += Field(job.data, c.name, false) + job.data.csv.delimiter;
  }
  text += "v";
  for (const spec::ColumnRef& y : job.data.label)
    text += job.data.csv.delimiter + std::get<std::string>(y);
  if (!weights.empty()) text += job.data.csv.delimiter + std::string("w");
  text += "\n";
  for (size_t r = 0; r < rows(); ++r) text += Line(r);
  return text;
}

RandomTable DrawTable(uint64_t seed) {
  Draw draw(seed);
  RandomTable table;
  const char delimiters[] = {',', ';', '\t'};
  const spec::Task tasks[] = {spec::Task::kClassification, spec::Task::kRegression,
                              spec::Task::kMultilabel, spec::Task::kAutoencoder};
  table.job.data.csv.delimiter = draw.Of(delimiters);
  table.job.data.validation.column = std::string("v");
  table.job.model.task = draw.Of(tasks);
  table.job.model.precision = draw.OneIn(2) ? spec::Precision::kFloat64 : spec::Precision::kFloat32;
  const size_t rows = 12 + draw.Below(40);
  for (size_t r = 0; r < rows; ++r) {
    table.validation.push_back(r == kValidationRow || (r >= kWholeRows && draw.OneIn(4)));
  }
  AddColumns(draw, &table);
  switch (table.job.model.task) {
    case spec::Task::kClassification:
      AddClasses(draw, &table);
      break;
    case spec::Task::kAutoencoder:
      break;
    default:
      AddTargets(draw, &table);
  }
  if (!draw.OneIn(3)) return table;
  table.job.data.weight = std::string("w");
  for (size_t r = 0; r < rows; ++r) {
    table.weights.push_back(static_cast<double>(1 + draw.Below(8)) / 4);
  }
  return table;
}

}  // namespace espalier::data
