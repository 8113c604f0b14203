#include "src/data/table/value_rules.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace espalier::data {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsExponent(char c) { return c == 'e' || c == 'E'; }

// Text that looks like a single other byte.
struct Lookalike {
  std::string_view text;
  char byte;
};
constexpr std::array<Lookalike, 4> kBlanks = {
    {{"\xC2\xA0", ' '}, {"\xE2\x80\xAF", ' '}, {"\xE2\x80\x87", ' '}, {"\xE2\x80\x89", ' '}}};
constexpr std::array<Lookalike, 1> kApostrophes = {{{"\xE2\x80\x99", '\''}}};
constexpr std::array<Lookalike, 2> kMinuses = {{{"\xE2\x88\x92", '-'}, {"\xE2\x80\x93", '-'}}};

template <size_t N>
bool ReplaceAll(const std::array<Lookalike, N>& lookalikes, std::string* text) {
  bool any = false;
  for (const Lookalike& like : lookalikes) {
    for (size_t at = text->find(like.text); at != std::string::npos; at = text->find(like.text)) {
      text->replace(at, like.text.size(), 1, like.byte);
      any = true;
    }
  }
  return any;
}

// Removes separators from the digits before the decimal sign. False: they are not at the positions
// of thousands separators. No group begins a number with 0, as in "0,123", or has an exponent.
bool JoinThousands(char separator, std::string* text) {
  const auto is_part = [separator](char c) { return IsDigit(c) || c == separator; };
  const auto begin = std::find_if(text->begin(), text->end(), IsDigit);
  const auto end = std::find_if_not(begin, text->end(), is_part);
  std::string digits;
  size_t group = 0, groups = 0;
  for (auto c = begin; c != end; ++c) {
    if (*c != separator) {
      digits += *c;
      ++group;
      continue;
    }
    if (group < (groups == 0 ? 1u : 2u) || group > 3) return false;
    ++groups;
    group = 0;
  }
  if (groups > 0 && (group != 3 || digits.front() == '0')) return false;
  if (groups > 0 && std::find_if(end, text->end(), IsExponent) != text->end()) return false;
  if (std::find(end, text->end(), separator) != text->end()) return false;
  text->replace(begin, end, digits);
  return true;
}

// Reads digits and infers the decimal sign and the separators. False: not a number.
bool ReadDigits(std::string text, WrittenNumber* out) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.erase(0, 1);
  if (text.empty() || !(IsDigit(text[0]) || text[0] == ',' || text[0] == '.')) return false;
  const size_t mantissa = std::min(text.find_first_of("eE"), text.size());
  double value = 0;
  const auto is_number = [&value](const std::string& t) {
    return ParseNumberSlowly(t, &value) == NumberKind::kNumber;
  };
  if (is_number(text)) return true;
  const auto reads = [&](char decimal, char thousands) {
    std::string plain = text;
    if (thousands != 0 && !JoinThousands(thousands, &plain)) return false;
    if (decimal == ',') {
      if (plain.find('.') != std::string::npos) return false;
      std::replace(plain.begin(), plain.end(), ',', '.');
    }
    return is_number(plain);
  };
  const bool comma = text.find(',') < mantissa;
  const bool thousands = comma && reads('.', ','), decimal = comma && reads(',', 0);
  if (thousands && decimal) {
    out->either_comma = true;
  } else if (thousands) {
    out->thousands = ',';
  } else if (decimal) {
    out->decimal_comma = true;
  }
  if (thousands || decimal) return true;
  for (const char separator : {'.', ' ', '\'', '_'}) {
    if (text.find(separator) == std::string::npos) continue;
    out->decimal_comma = comma;
    if (!reads(comma ? ',' : '.', separator)) continue;
    out->thousands = separator;
    return true;
  }
  return false;
}

bool TakePrefix(std::string* text, std::string_view prefix) {
  if (!text->starts_with(prefix)) return false;
  text->erase(0, prefix.size());
  *text = std::string(Trimmed(*text));
  return true;
}

bool TakeSuffix(std::string* text, std::string_view suffix) {
  if (!text->ends_with(suffix)) return false;
  text->resize(text->size() - suffix.size());
  *text = Trimmed(*text);
  return true;
}

constexpr std::array<std::string_view, 21> kCurrencies = {
    "US$",          "R$",           "$",   "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5", "\xE2\x82\xB9",
    "\xE2\x82\xBD", "\xE2\x82\xA9", "USD", "EUR",          "GBP",      "CHF",      "JPY",
    "CNY",          "INR",          "CAD", "AUD",          "SEK",      "PLN",      "RUB"};

}  // namespace

ValueRules::ValueRules(const spec::DataSpec& data, bool csv) {
  if (csv) {
    decimal_ = data.csv.decimal.value_or('.');
    thousands_ = data.csv.thousands.value_or('\0');
  }
  if (!data.null_values) return;
  listed_ = true;
  for (const std::string& text : *data.null_values) nulls_.emplace_back(Trimmed(text));
  for (const std::string& text : nulls_) {
    double value = 0;
    if (ParseNumberSlowly(text, &value) == NumberKind::kNumber) null_numbers_.push_back(value);
  }
}

bool ValueRules::IsNullNumber(double value) const {
  return std::find(null_numbers_.begin(), null_numbers_.end(), value) != null_numbers_.end();
}

bool ValueRules::IsNullCategory(std::string_view text) const {
  return text.empty() || text == "\\N" ||
         std::find(nulls_.begin(), nulls_.end(), text) != nulls_.end();
}

bool ValueRules::IsNullLabel(std::string_view text) const {
  return IsNullCategory(text) || (!listed_ && IsNullWord(text));
}

bool ValueRules::MakePlain(std::string* text) const {
  if (thousands_ == ' ' && ReplaceAll(kBlanks, text)) *text = Trimmed(*text);
  if (thousands_ == '\'') ReplaceAll(kApostrophes, text);
  if (thousands_ != 0 && !JoinThousands(thousands_, text)) return false;
  if (decimal_ == '.') return true;
  if (text->find('.') != std::string::npos) return false;
  std::replace(text->begin(), text->end(), decimal_, '.');
  return true;
}

std::string ValueRules::PlainText(std::string_view text) const {
  std::string plain(text);
  double value = 0;
  const bool number =
      !has_points() && MakePlain(&plain) && ParseNumberSlowly(plain, &value) == NumberKind::kNumber;
  return number ? plain : std::string(text);
}

NumberKind ValueRules::ParseNumber(std::string_view text, double* value) const {
  text = Trimmed(text);
  if (IsNullCategory(text)) return NumberKind::kNull;
  NumberKind kind = NumberKind::kNotNumber;
  if (has_points()) {
    kind = ParseNumberSlowly(text, value);  // knows the null words
  } else {
    if (IsNullWord(text)) return NumberKind::kNull;
    std::string plain(text);
    if (!MakePlain(&plain)) return kind;
    kind = ParseNumberSlowly(plain, value);
  }
  return kind == NumberKind::kNumber && IsNullNumber(*value) ? NumberKind::kNull : kind;
}

bool IsAddress(std::string_view text) {
  constexpr int kParts = 4, kLargest = 255;
  int parts = 0;
  for (bool more = true; more; ++parts) {
    int value = 0;
    size_t digits = 0;
    for (; digits < text.size() && IsDigit(text[digits]) && digits < 4; ++digits) {
      value = value * 10 + (text[digits] - '0');
    }
    if (digits == 0 || digits > 3 || value > kLargest) return false;
    text.remove_prefix(digits);
    more = text.starts_with('.');
    if (more) text.remove_prefix(1);
  }
  return parts == kParts && text.empty();
}

bool ReadWrittenNumber(std::string_view from, WrittenNumber* out) {
  constexpr size_t kLongest = 64, kUnitLongest = 12;
  *out = {};
  if (from.size() > kLongest || std::none_of(from.begin(), from.end(), IsDigit)) return false;
  if (IsAddress(from)) return false;
  std::string text(from);
  const bool blanks = ReplaceAll(kBlanks, &text);
  out->blanks = blanks && Trimmed(text).find(' ') == std::string_view::npos;
  ReplaceAll(kApostrophes, &text);
  out->sign = ReplaceAll(kMinuses, &text);
  text = Trimmed(text);
  if (text.starts_with("=\"") && text.ends_with('"')) {
    out->quoted = true;
    text = text.substr(2, text.size() - 3);
  } else if (text[0] == '\'') {
    out->quoted = TakePrefix(&text, "'");
  }
  if (text.starts_with('(') && text.ends_with(')')) {
    out->sign = true;
    text = Trimmed(text.substr(1, text.size() - 2));
  }
  const bool minus = TakePrefix(&text, "-");
  for (const std::string_view currency : kCurrencies) {
    if (TakePrefix(&text, currency) || TakeSuffix(&text, currency)) {
      out->currency = true;
      break;
    }
  }
  if (minus && text.starts_with('-')) return false;
  if (TakeSuffix(&text, "%") || TakeSuffix(&text, "\xE2\x80\xB0")) out->percent = true;
  if (!minus && TakeSuffix(&text, "-")) out->sign = true;
  if (ReadDigits(text, out)) return true;
  const size_t last = text.find_last_of("0123456789");
  if (out->currency || out->percent || last == std::string::npos) return false;
  out->unit = Trimmed(std::string_view(text).substr(last + 1));
  const auto is_unit = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return std::isalpha(byte) != 0 || byte >= 0x80 || c == '/' || c == '^';
  };
  if (out->unit.empty() || out->unit.size() > kUnitLongest) return false;
  if (!std::all_of(out->unit.begin(), out->unit.end(), is_unit)) return false;
  return ReadDigits(text.substr(0, last + 1), out);
}

}  // namespace espalier::data
