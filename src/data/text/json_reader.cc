// A recursive descent over the line. The texts of values are views of the line, except those with
// escapes. Records usually have the same keys in the same order, so the column of the n-th value is
// first sought where it was in the record before.
#include "src/data/text/json_reader.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "src/base/text.h"
#include "src/data/table/number.h"

namespace espalier::data {
namespace {

// This delimiter and this quote never occur within a line, so each line is one field.
constexpr spec::CsvOptions kLines = {.header = false, .delimiter = '\n', .quote = '\n'};
constexpr size_t kNoColumn = SIZE_MAX;

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

void AppendUtf8(uint32_t code, std::string* text) {
  const auto tail = [&](int shift) { *text += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    *text += static_cast<char>(code);
  } else if (code < 0x800) {
    *text += static_cast<char>(0xC0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    *text += static_cast<char>(0xE0 | (code >> 12));
    tail(6), tail(0);
  } else {
    *text += static_cast<char>(0xF0 | (code >> 18));
    tail(12), tail(6), tail(0);
  }
}

}  // namespace

void JsonKeys::Add(std::string_view name, bool null, bool array) {
  const auto [place, added] = places_.emplace(name, keys_.size());
  if (added) keys_.push_back({.name = std::string(name)});
  Key& key = keys_[place->second];
  key.valued = key.valued || !null;
  key.array = key.array || array;
}

void JsonKeys::Add(const JsonKeys& others) {
  for (const Key& key : others.keys_) Add(key.name, !key.valued, key.array);
}

std::vector<std::string> JsonKeys::Names() const {
  std::set<std::string_view> objects;  // names that are the beginning of a dotted name
  for (const Key& key : keys_) {
    for (size_t dot = key.name.find('.'); dot != std::string::npos;
         dot = key.name.find('.', dot + 1)) {
      objects.insert(std::string_view(key.name).substr(0, dot));
    }
  }
  std::vector<std::string> names;
  for (const Key& key : keys_) {
    if (key.valued || !objects.contains(key.name)) names.push_back(key.name);
  }
  return names;
}

std::vector<std::string> JsonKeys::Arrays() const {
  std::vector<std::string> names;
  for (const Key& key : keys_) {
    if (key.array) names.push_back(key.name);
  }
  return names;
}

JsonReader::JsonReader(const storage::ReadableFile& file, const CsvRange& range,
                       std::span<const std::string> names, int64_t window_bytes)
    : lines_(file, kLines, range, window_bytes),
      names_(names.begin(), names.end()),
      value_of_(names.size(), -1) {
  for (size_t i = 0; i < names_.size(); ++i) columns_.emplace(names_[i], i);
  ends_.resize(std::max<size_t>(names_.size(), 1));
}

int64_t JsonReader::field_offset(size_t i) const {
  if (i >= value_of_.size() || value_of_[i] < 0) return record_offset_;
  const std::string_view token = values_[static_cast<size_t>(value_of_[i])].token;
  return lines_.field_offset(0) + (token.data() - line_.data());
}

bool JsonReader::Bad(const std::string& why, size_t place) {
  constexpr size_t kShown = 60;
  error_ = BadInput(why + " (expected one JSON object on each line)")
               .At({.file = lines_.file_path(),
                    .offset = lines_.field_offset(0) + static_cast<int64_t>(place),
                    .text = Printable(line_.substr(place, kShown))});
  return false;
}

RecordReader::Outcome JsonReader::Next() {
  for (;;) {
    const Outcome outcome = lines_.Next();
    record_offset_ = lines_.record_offset();
    if (outcome == Outcome::kBadRecord || outcome == Outcome::kFailed) error_ = lines_.error();
    if (outcome != Outcome::kRecord) return outcome;
    line_ = lines_.field(0);
    if (!Trimmed(line_).empty()) return Take();
  }
}

RecordReader::Outcome JsonReader::Take() {
  place_ = 0;
  values_.clear();
  scratch_.clear();
  scratch_.reserve(line_.size());  // views of it must stay valid
  dotted_.clear();
  dotted_bytes_ = 0;
  SkipBlanks();
  if (Peek() == '[') {
    Bad("the line is an array. Write one row on each line, for example by `jq -c '.[]'`");
    return Outcome::kBadRecord;
  }
  if (!TakeObject("", 1)) return Outcome::kBadRecord;
  SkipBlanks();
  if (place_ < line_.size()) {
    Bad("the line continues after the object");
    return Outcome::kBadRecord;
  }
  if (!Place()) return Outcome::kBadRecord;
  Write();
  return Outcome::kRecord;
}

void JsonReader::SkipBlanks() {
  while (place_ < line_.size() && IsBlank(line_[place_])) ++place_;
}

bool JsonReader::Expect(char c, const char* name) {
  SkipBlanks();
  if (place_ >= line_.size()) {
    return Bad(std::string("the line ends before ") + name +
                   ". Write each row on one line, for example by `jq -c .`",
               line_.size());
  }
  if (line_[place_] != c) return Bad(std::string(name) + " is missing");
  ++place_;
  return true;
}

bool JsonReader::TakeObject(std::string_view prefix, int depth) {
  if (!Expect('{', "the opening brace")) return false;
  SkipBlanks();
  if (Peek() == '}') {
    ++place_;
    return true;
  }
  for (;;) {
    if (!TakeMember(prefix, depth)) return false;
    SkipBlanks();
    if (Peek() != ',') return Expect('}', "the closing brace");
    ++place_;
  }
}

bool JsonReader::TakeMember(std::string_view prefix, int depth) {
  std::string_view key, name;
  if (!Expect('"', "the quote of a key")) return false;
  if (!TakeString(&key) || !DottedName(prefix, key, &name)) return false;
  if (!Expect(':', "the colon after a key")) return false;
  return TakeValue(name, depth);
}

bool JsonReader::DottedName(std::string_view prefix, std::string_view key, std::string_view* name) {
  *name = key;
  if (prefix.empty()) return true;
  dotted_bytes_ += prefix.size() + 1 + key.size();
  if (dotted_bytes_ > static_cast<size_t>(CsvReader::kRecordBytesMax)) {
    return Bad("the dotted names of the nested keys have more than " +
               std::to_string(CsvReader::kRecordBytesMax) + " bytes");
  }
  std::string& dotted = dotted_.emplace_back(prefix);
  dotted += '.';
  dotted += key;
  *name = dotted;
  return true;
}

bool JsonReader::TakeValue(std::string_view name, int depth) {
  SkipBlanks();
  if (depth > kJsonNestingMax) {
    return Bad("the values are nested more than " + std::to_string(kJsonNestingMax) + " deep");
  }
  const size_t begin = place_;
  if (Peek() == '{') {
    if (columns_.contains(name)) {
      return Bad("the column '" + Printable(name) + "' has an object here, and values elsewhere");
    }
    return TakeObject(name, depth + 1);
  }
  Value value{.name = name};
  if (Peek() == '[') {
    value.array = true;
    if (!TakeArray(depth + 1)) return false;
    value.text = line_.substr(begin, place_ - begin);
  } else if (!TakeScalar(&value)) {
    return false;
  }
  value.token = line_.substr(begin, place_ - begin);
  values_.push_back(value);
  return true;
}

bool JsonReader::TakeArray(int depth) {
  ++place_;
  SkipBlanks();
  if (Peek() == ']') {
    ++place_;
    return true;
  }
  for (;;) {
    if (!TakeElement(depth)) return false;
    SkipBlanks();
    if (Peek() != ',') return Expect(']', "the closing bracket");
    ++place_;
  }
}

// Checks an element of an array. Its objects have no columns.
bool JsonReader::TakeElement(int depth) {
  SkipBlanks();
  if (depth > kJsonNestingMax) {
    return Bad("the values are nested more than " + std::to_string(kJsonNestingMax) + " deep");
  }
  if (Peek() == '[') return TakeArray(depth + 1);
  if (Peek() != '{') {
    Value value;
    return TakeScalar(&value);
  }
  ++place_;
  SkipBlanks();
  if (Peek() == '}') {
    ++place_;
    return true;
  }
  for (;;) {
    std::string_view key;
    if (!Expect('"', "the quote of a key") || !TakeString(&key)) return false;
    if (!Expect(':', "the colon after a key") || !TakeElement(depth + 1)) return false;
    SkipBlanks();
    if (Peek() != ',') return Expect('}', "the closing brace");
    ++place_;
  }
}

bool JsonReader::TakeScalar(Value* value) {
  if (Peek() == '"') {
    ++place_;
    return TakeString(&value->text);
  }
  const std::string_view rest = line_.substr(place_);
  for (const std::string_view word : {"true", "false", "null", "NaN", "Infinity", "-Infinity"}) {
    if (!rest.starts_with(word)) continue;
    place_ += word.size();
    value->null = word == "null";
    if (!value->null) value->text = word;
    return true;
  }
  const size_t begin = place_;
  if (!TakeNumber()) return false;
  value->text = line_.substr(begin, place_ - begin);
  return true;
}

bool JsonReader::TakeDigits() {
  if (!IsDigit(Peek())) {
    if (place_ < line_.size()) return Bad("this is not a JSON value");
    return Expect('0', "a value");
  }
  while (IsDigit(Peek())) ++place_;
  return true;
}

bool JsonReader::TakeNumber() {
  const size_t begin = place_;
  if (Peek() == '-') ++place_;
  const bool zero = Peek() == '0';
  if (!TakeDigits()) return false;
  if (zero && place_ > begin + (line_[begin] == '-' ? 2 : 1)) {
    return Bad("a number starts with 0. Write it in quotes if it is a text", begin);
  }
  if (Peek() == '.') {
    ++place_;
    if (!TakeDigits()) return false;
  }
  if (Peek() == 'e' || Peek() == 'E') {
    ++place_;
    if (Peek() == '+' || Peek() == '-') ++place_;
    if (!TakeDigits()) return false;
  }
  return true;
}

bool JsonReader::TakeString(std::string_view* text) {
  const size_t begin = place_;
  const size_t decoded = scratch_.size();
  bool escaped = false;
  for (size_t copied = begin;;) {
    while (place_ < line_.size() && line_[place_] != '"' && line_[place_] != '\\' &&
           static_cast<unsigned char>(line_[place_]) >= 0x20) {
      ++place_;
    }
    if (place_ >= line_.size()) return Expect('"', "the closing quote of a string");
    const char c = line_[place_];
    if (c != '"' && c != '\\') return Bad("a string contains a control character");
    if (c == '"' && !escaped) {
      *text = line_.substr(begin, place_ - begin);
      ++place_;
      return true;
    }
    scratch_ += line_.substr(copied, place_ - copied);
    ++place_;
    if (c == '"') {
      *text = std::string_view(scratch_).substr(decoded);
      return true;
    }
    escaped = true;
    if (!TakeEscape()) return false;
    copied = place_;
  }
}

// Takes the escape after a backslash.
bool JsonReader::TakeEscape() {
  static constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  if (const size_t i = kEscapes.find(Peek()); i != std::string_view::npos) {
    scratch_ += kMeanings[i];
    ++place_;
    return true;
  }
  const size_t begin = place_ - 1;
  uint32_t code = 0;
  if (Peek() != 'u') return Bad("a string has an unknown escape", begin);
  if (!TakeUnit(&code)) return false;
  if (code == 0) return Bad("a string contains a NUL character", begin);
  const bool high = code >= 0xD800 && code < 0xDC00;
  if (high && line_.substr(place_).starts_with("\\u")) {
    ++place_;
    uint32_t low = 0;
    if (!TakeUnit(&low)) return false;
    if (low < 0xDC00 || low >= 0xE000) return Bad("a string has half a surrogate pair", begin);
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  } else if (code >= 0xD800 && code < 0xE000) {
    return Bad("a string has half a surrogate pair", begin);
  }
  AppendUtf8(code, &scratch_);
  return true;
}

// Takes `uXXXX`.
bool JsonReader::TakeUnit(uint32_t* unit) {
  const std::string_view digits = line_.substr(std::min(place_ + 1, line_.size()), 4);
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, *unit, 16);
  if (digits.size() != 4 || parsed.ptr != end) {
    return Bad("a string has an unknown escape", place_ - 1);
  }
  place_ += 5;
  return true;
}

// Assigns the values to columns.
bool JsonReader::Place() {
  std::fill(value_of_.begin(), value_of_.end(), -1);
  for (size_t i = 0; i < values_.size(); ++i) {
    const size_t column = ColumnOf(values_[i].name, i);
    if (column == kNoColumn) continue;
    if (value_of_[column] >= 0) {
      return Bad("the key '" + Printable(values_[i].name) + "' is in the record twice",
                 static_cast<size_t>(values_[i].token.data() - line_.data()));
    }
    value_of_[column] = static_cast<int32_t>(i);
  }
  return true;
}

// Returns the column of the n-th value, or kNoColumn.
size_t JsonReader::ColumnOf(std::string_view name, size_t nth) {
  if (nth >= usual_.size()) usual_.resize(nth + 1, kNoColumn);
  if (usual_[nth] != kNoColumn && names_[usual_[nth]] == name) return usual_[nth];
  const auto found = columns_.find(name);
  return found == columns_.end() ? kNoColumn : usual_[nth] = found->second;
}

void JsonReader::Write() {
  fields_text_.assign(kReadable, '\0');
  for (size_t i = 0; i < value_of_.size(); ++i) {
    if (i > 0) fields_text_ += '\n';
    if (value_of_[i] >= 0) fields_text_ += values_[static_cast<size_t>(value_of_[i])].text;
    ends_[i] = static_cast<uint32_t>(fields_text_.size() - kReadable);
  }
  text_ = fields_text_.data() + kReadable;
  fields_ = value_of_.size();
}

void JsonReader::AddKeys(JsonKeys* keys) const {
  for (const Value& value : values_) keys->Add(value.name, value.null, value.array);
}

}  // namespace espalier::data
