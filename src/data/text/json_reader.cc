// A recursive descent over the line. The texts of values are views of the line, except those with
// escapes. Records usually have the same keys in the same order, so the column of the n-th value is
// first sought where it was in the record before.
#include "src/data/text/json_reader.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "src/base/text.h"
#include "src/data/table/number.h"
#include "src/data/table/schema.h"
#include "src/spec/findings.h"

namespace espalier::data {
namespace {

// This delimiter and this quote never occur within a line, so each line is one field.
constexpr spec::CsvOptions kLines = {.header = false, .delimiter = '\n', .quote = '\n'};
constexpr size_t kNoColumn = SIZE_MAX;
constexpr size_t kNameBytesMax = 16 << 20;  // of all names

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

bool JsonKeys::Add(std::string_view name, bool null, bool array) {
  auto place = index_.find(std::string(name));
  if (place == index_.end()) {
    if (name.size() > spec::kTextMax || FindInvalidUtf8(name) != std::string_view::npos) {
      return true;
    }
    bytes_ += name.size();
    if (keys_.size() >= kColumnsMax || bytes_ > kNameBytesMax) return false;
    keys_.push_back({.name = std::string(name)});
    place = index_.emplace(name, keys_.size() - 1).first;
  }
  Key& key = keys_[place->second];
  key.valued = key.valued || !null;
  key.array = key.array || array;
  return true;
}

bool JsonKeys::Add(const JsonKeys& others) {
  return std::all_of(others.keys_.begin(), others.keys_.end(),
                     [this](const Key& key) { return Add(key.name, !key.valued, key.array); });
}

std::vector<std::string> JsonKeys::Names() const {
  std::set<std::string_view> sorted;
  for (const Key& key : keys_) sorted.insert(key.name);
  std::vector<std::string> names;
  for (const Key& key : keys_) {
    const std::string nested = key.name + '.';
    const auto below = key.valued ? sorted.end() : sorted.lower_bound(nested);
    if (below == sorted.end() || !below->starts_with(nested)) names.push_back(key.name);
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
      values_(names.size()) {
  for (size_t i = 0; i < names_.size(); ++i) {
    const std::string_view name = names_[i];
    columns_.emplace(name, i);
    size_t dot = name.find('.');
    for (int level = 1; level < kJsonNestingMax && dot != std::string_view::npos; ++level) {
      objects_.insert(name.substr(0, dot));
      dot = name.find('.', dot + 1);
    }
  }
  ends_.resize(std::max<size_t>(names_.size(), 1));
}

JsonReader::JsonReader(const storage::ReadableFile& file, const CsvRange& range, JsonKeys* keys,
                       int64_t window_bytes)
    : JsonReader(file, range, std::span<const std::string>(), window_bytes) {
  keys_ = keys;
}

int64_t JsonReader::field_offset(size_t i) const {
  if (i >= values_.size() || values_[i].token.empty()) return record_offset_;
  return lines_.field_offset(0) + (values_[i].token.data() - line_.data());
}

bool JsonReader::Bad(const std::string& why, size_t place) {
  constexpr size_t kShown = 60;
  error_ = BadInput(why).At({.file = lines_.file_path(),
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
  place_ = kept_ = 0;
  std::fill(values_.begin(), values_.end(), Value());
  scratch_.clear();
  scratch_.reserve(line_.size());  // views of it must stay valid
  SkipBlanks();
  if (Peek() == '[') {
    Bad("the line is an array (expected one JSON object on each line). Write one row on each line, "
        "for example by `jq -c '.[]'`");
    return Outcome::kBadRecord;
  }
  if (!TakeObject("", 1)) return keys_full_ ? Outcome::kFailed : Outcome::kBadRecord;
  SkipBlanks();
  if (place_ < line_.size()) {
    Bad("the line continues after the object (expected one JSON object on each line)");
    return Outcome::kBadRecord;
  }
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
                   " (expected one JSON object on each line). Write each row on one line, for "
                   "example by `jq -c .`",
               line_.size());
  }
  if (line_[place_] != c) {
    return Bad(std::string(name) + " is missing (expected one JSON object on each line)");
  }
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

bool JsonReader::TakeKey(std::string_view* key) {
  return Expect('"', "the quote of a key") && TakeString(key) &&
         Expect(':', "the colon after a key");
}

bool JsonReader::TakeMember(std::string_view prefix, int depth) {
  std::string_view key;
  if (!TakeKey(&key)) return false;
  if (depth == 1) return TakeValue(key, depth);
  if (prefix.size() + key.size() >= spec::kTextMax) return TakeElement(depth);  // not a column
  std::string dotted;
  dotted.reserve(prefix.size() + 1 + key.size());
  dotted.append(prefix).append(1, '.').append(key);
  return TakeValue(dotted, depth);
}

bool JsonReader::TakeValue(std::string_view name, int depth) {
  SkipBlanks();
  if (Peek() == '{') return TakeNested(name, depth);
  const size_t begin = place_;
  Value value;
  if (Peek() == '[') {
    value.array = true;
    if (!TakeElement(depth)) return false;
    value.text = line_.substr(begin, place_ - begin);
  } else if (!TakeScalar(&value)) {
    return false;
  }
  value.token = line_.substr(begin, place_ - begin);
  return Keep(name, value);
}

// Takes an object. Its keys may be columns, and so may the object itself.
bool JsonReader::TakeNested(std::string_view name, int depth) {
  const size_t begin = place_;
  if (!IsWanted(name)) return TakeElement(depth);
  if (depth >= kJsonNestingMax) return TooDeep();
  if (!TakeObject(name, depth + 1)) return false;
  if (keys_ != nullptr || !columns_.contains(name)) return true;
  Value value{.token = line_.substr(begin, place_ - begin)};
  const bool empty = Trimmed(value.token.substr(1, value.token.size() - 2)).empty();
  if (!empty) value.text = value.token;
  return Keep(name, value);
}

bool JsonReader::IsWanted(std::string_view name) const {
  return keys_ != nullptr || objects_.contains(name) || columns_.contains(name);
}

bool JsonReader::TooDeep() {
  return Bad("the values are nested too deeply (expected at most " +
             std::to_string(kJsonNestingMax) + " levels)");
}

// Checks a value that has no columns.
bool JsonReader::TakeElement(int depth) {
  SkipBlanks();
  const char open = Peek();
  if (open != '[' && open != '{') {
    Value value;
    return TakeScalar(&value);
  }
  if (depth >= kJsonNestingMax) return TooDeep();
  const char close = open == '[' ? ']' : '}';
  ++place_;
  SkipBlanks();
  if (Peek() == close) {
    ++place_;
    return true;
  }
  for (;;) {
    std::string_view key;
    if (open == '{' && !TakeKey(&key)) return false;
    if (!TakeElement(depth + 1)) return false;
    SkipBlanks();
    if (Peek() != ',') break;
    ++place_;
  }
  return Expect(close, open == '[' ? "the closing bracket" : "the closing brace");
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
    if (place_ < line_.size())
      return Bad(
          "the text is not a JSON value (expected a text in quotes, a number, true, false, "
          "null, an array or an object)");
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

bool JsonReader::Keep(std::string_view name, const Value& value) {
  if (keys_ != nullptr) {
    keys_full_ = !keys_->Add(name, value.null, value.array);
    return !keys_full_ || Bad(kTooManyKeys);
  }
  const size_t column = ColumnOf(name);
  if (column == kNoColumn) return true;
  Value& kept = values_[column];
  if (!kept.token.empty()) {
    return Bad("the key '" + Printable(name) + "' is in the record twice (expected once)",
               static_cast<size_t>(value.token.data() - line_.data()));
  }
  kept = value;
  return true;
}

// Returns the column, or kNoColumn.
size_t JsonReader::ColumnOf(std::string_view name) {
  const bool usual = kept_ < usual_.size();
  if (usual && names_[usual_[kept_]] == name) return usual_[kept_++];
  const auto found = columns_.find(name);
  if (found == columns_.end()) return kNoColumn;
  if (!usual) usual_.resize(kept_ + 1);
  return usual_[kept_++] = found->second;
}

void JsonReader::Write() {
  fields_text_.assign(kReadable, '\0');
  for (size_t i = 0; i < values_.size(); ++i) {
    if (i > 0) fields_text_ += '\n';
    fields_text_ += values_[i].text;
    ends_[i] = static_cast<uint32_t>(fields_text_.size() - kReadable);
  }
  text_ = fields_text_.data() + kReadable;
  fields_ = values_.size();
}

}  // namespace espalier::data
