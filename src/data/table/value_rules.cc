#include "src/data/table/value_rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace espalier::data {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsExponent(char c) { return c == 'e' || c == 'E'; }

// Text that looks like a single other byte.
struct Lookalike {
  std::string_view text;
  char byte;
};
// Blanks and characters without a width, which other programs leave around numbers.
constexpr std::array<Lookalike, 23> kBlanks = {
    {{"\v", ' '},           {"\f", ' '},           {"\xC2\xA0", ' '},     {"\xE2\x80\x80", ' '},
     {"\xE2\x80\x81", ' '}, {"\xE2\x80\x82", ' '}, {"\xE2\x80\x83", ' '}, {"\xE2\x80\x84", ' '},
     {"\xE2\x80\x85", ' '}, {"\xE2\x80\x86", ' '}, {"\xE2\x80\x87", ' '}, {"\xE2\x80\x88", ' '},
     {"\xE2\x80\x89", ' '}, {"\xE2\x80\x8A", ' '}, {"\xE2\x80\x8B", ' '}, {"\xE2\x80\x8E", ' '},
     {"\xE2\x80\x8F", ' '}, {"\xE2\x80\xAF", ' '}, {"\xE2\x81\x9F", ' '}, {"\xE2\x81\xA0", ' '},
     {"\xE3\x80\x80", ' '}, {"\xEF\xBB\xBF", ' '}, {"\xE2\x80\xA8", ' '}}};
constexpr std::array<Lookalike, 4> kApostrophes = {
    {{"`", '\''}, {"\xE2\x80\x99", '\''}, {"\xC2\xB4", '\''}, {"\xCA\xBC", '\''}}};
constexpr std::array<Lookalike, 8> kMinuses = {{{"\xE2\x88\x92", '-'},
                                                {"\xE2\x80\x90", '-'},
                                                {"\xE2\x80\x91", '-'},
                                                {"\xE2\x80\x92", '-'},
                                                {"\xE2\x80\x93", '-'},
                                                {"\xE2\x80\x94", '-'},
                                                {"\xEF\xB9\xA3", '-'},
                                                {"\xEF\xBC\x8D", '-'}}};
constexpr std::array<Lookalike, 6> kPoints = {{{"\xC2\xB7", '.'},
                                               {"\xD9\xAB", '.'},
                                               {"\xEF\xBC\x8E", '.'},
                                               {"\xD9\xAC", ','},
                                               {"\xEF\xBC\x8C", ','},
                                               {"\xEF\xBC\x85", '%'}}};

// Returns the text with the digits of other scripts and of full width as ASCII digits.
std::string WithAsciiDigits(std::string_view text) {
  // Bytes before the last one, and the last byte of the digit 0.
  constexpr std::array<std::pair<std::string_view, int>, 4> kZeros = {
      {{"\xEF\xBC", 0x90}, {"\xD9", 0xA0}, {"\xDB", 0xB0}, {"\xE0\xA5", 0xA6}}};
  std::string out;
  while (!text.empty()) {
    size_t size = 1;
    char byte = text.front();
    for (const auto& [lead, zero] : kZeros) {
      if (text.size() <= lead.size() || !text.starts_with(lead)) continue;
      const int digit = static_cast<unsigned char>(text[lead.size()]) - zero;
      if (digit < 0 || digit > 9) continue;
      size = lead.size() + 1;
      byte = static_cast<char>('0' + digit);
    }
    out.push_back(byte);
    text.remove_prefix(size);
  }
  return out;
}

template <size_t N>
bool ReplaceAll(const std::array<Lookalike, N>& lookalikes, std::string* text) {
  constexpr auto kPlain = [](unsigned char c) { return c >= ' ' && c < 0x80 && c != '`'; };
  if (std::all_of(text->begin(), text->end(), kPlain)) return false;
  const std::string_view from = *text;
  std::string out;
  for (size_t at = 0; at < from.size();) {
    const auto here = [rest = from.substr(at)](const Lookalike& l) {
      return rest.starts_with(l.text);
    };
    const auto like = kPlain(static_cast<unsigned char>(from[at]))
                          ? lookalikes.end()
                          : std::find_if(lookalikes.begin(), lookalikes.end(), here);
    out += like == lookalikes.end() ? from[at] : like->byte;
    at += like == lookalikes.end() ? 1 : like->text.size();
  }
  const bool any = out != *text;
  *text = std::move(out);
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

// Names of currencies, compared without case. Words such as ALL and TOP are left out.
constexpr std::array<std::string_view, 48> kCurrencies = {
    "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "RMB", "INR", "CAD", "AUD", "SEK",       "NOK",
    "DKK", "ISK", "PLN", "CZK", "HUF", "RON", "BGN", "RUB", "UAH", "ILS", "ZAR",       "BRL",
    "MXN", "ARS", "CLP", "COP", "KRW", "SGD", "HKD", "NZD", "TWD", "THB", "IDR",       "MYR",
    "VND", "AED", "SAR", "EGP", "NGN", "KES", "PKR", "BTC", "Rs.", "Rs",  "z\xC5\x82", "kr"};
// Signs of currencies outside of the block U+20A0 to U+20CF.
constexpr std::array<std::string_view, 10> kCurrencySigns = {"$",
                                                             "\xC2\xA2",
                                                             "\xC2\xA3",
                                                             "\xC2\xA4",
                                                             "\xC2\xA5",
                                                             "\xE0\xB8\xBF",
                                                             "\xEF\xB7\xBC",
                                                             "\xEF\xBC\x84",
                                                             "\xEF\xBF\xA1",
                                                             "\xEF\xBF\xA5"};

// Returns the size of the sign of a currency at the beginning of a text. 0: there is none.
size_t CurrencySign(std::string_view text) {
  for (const std::string_view sign : kCurrencySigns) {
    if (text.starts_with(sign)) return sign.size();
  }
  const auto third = text.size() < 3 ? 0 : static_cast<unsigned char>(text[2]);
  const bool block = (text.starts_with("\xE2\x82") && third >= 0xA0) ||
                     (text.starts_with("\xE2\x83") && third <= 0x8F && third >= 0x80);
  return block ? 3 : 0;
}

bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Returns whether the text after the name of a currency is a code: "-0001" of "CAD-0001".
bool IsCodeAfterName(std::string_view text) {
  const bool zero = text.size() > 1 && text[0] == '0' && IsDigit(text[1]);
  return zero || text.starts_with('-') || text.starts_with('+');
}

// Removes a currency before a number: "$", "A$", "USD ", "Rs.".
bool TakeCurrencyBefore(std::string* text) {
  constexpr size_t kCountryMax = 3;
  size_t country = 0;
  while (country < std::min(kCountryMax, text->size()) && IsLetter((*text)[country])) ++country;
  const std::string_view rest = std::string_view(*text).substr(country);
  size_t size = CurrencySign(rest);
  if (size > 0 && (country == 0 || rest.starts_with('$'))) {
    size += country;
  } else {
    size = 0;
    for (const std::string_view name : kCurrencies) {
      const auto same = [](char a, char b) { return a == b || (IsLetter(a) && (a ^ b) == 0x20); };
      if (text->size() <= name.size() || IsLetter((*text)[name.size()])) continue;
      if (!std::equal(name.begin(), name.end(), text->begin(), same)) continue;
      if (IsCodeAfterName(std::string_view(*text).substr(name.size()))) return false;
      size = name.size();
      break;
    }
  }
  if (size == 0) return false;
  *text = std::string(Trimmed(text->substr(size)));
  return true;
}

// Removes the sign of a currency after a number, or its name as in kCurrencies: "€", "R$", "EUR".
bool TakeCurrencyAfter(std::string* text) {
  for (const std::string_view name : kCurrencies) {
    const size_t before = text->size() - std::min(name.size(), text->size());
    if (before == 0 || IsLetter((*text)[before - 1])) continue;
    if (TakeSuffix(text, name)) return true;
  }
  for (size_t size = 1; size <= std::min<size_t>(3, text->size()); ++size) {
    if (CurrencySign(std::string_view(*text).substr(text->size() - size)) != size) continue;
    const bool dollar = text->ends_with('$');
    text->resize(text->size() - size);
    for (int i = 0; i < 3 && dollar && !text->empty() && IsLetter(text->back()); ++i) {
      text->pop_back();
    }
    *text = std::string(Trimmed(*text));
    return true;
  }
  return false;
}

// Returns the size of the number at the beginning of a text, up to its last digit.
size_t LeadingNumber(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  const auto from = [&](size_t at) {
    return std::min(text.find_first_not_of("0123456789.,'_ +-", at), text.size());
  };
  size_t end = from(0);
  if (end + 1 < text.size() && IsExponent(text[end])) {
    const size_t sign = text[end + 1] == '-' || text[end + 1] == '+' ? 1 : 0;
    const size_t digit = end + 1 + sign;
    if (digit < text.size() && IsDigit(text[digit])) end = from(digit);
  }
  const size_t last = text.substr(0, end).find_last_of(kDigits);
  return last == std::string_view::npos ? 0 : last + 1;
}

// Returns whether the text after a number is a unit: "kg", "mg/dL", "m2", "sq. ft", "% vol". A word
// of digits is not part of a unit: "to 20" in "10 to 20".
bool IsUnit(std::string_view text) {
  constexpr size_t kLongest = 24;
  if (text.empty() || text.size() > kLongest) return false;
  constexpr std::string_view kFirst = "/%\"'*[";
  constexpr std::string_view kFurther = "/%\"'*[]^. ";
  char last = '\0';
  for (const char c : text) {
    const bool letter = IsLetter(c) || static_cast<unsigned char>(c) >= 0x80;
    const bool sign = (last == '\0' ? kFirst : kFurther).find(c) != std::string_view::npos;
    const bool digit = IsDigit(c) && (IsLetter(last) || IsDigit(last) || last == '^' ||
                                      last == '/' || last == '[');
    if (!letter && !sign && !digit) return false;
    last = c;
  }
  return true;
}

// Replaces "x10^3" and the exponent of Fortran, "D+03", by "e3".
void ReplaceExponent(std::string* text) {
  for (const std::string_view sign : {"\xC3\x97", "*", "x", " x", " \xC3\x97"}) {
    for (const std::string_view blank : {"", " "}) {
      const std::string power = std::string(sign).append(blank).append("10^");
      const size_t at = text->find(power);
      if (at == std::string::npos || at == 0 || !IsDigit((*text)[at - 1])) continue;
      text->replace(at, power.size(), "e");
      return;
    }
  }
  const size_t d = text->find_first_of("dD");
  if (d == std::string::npos || d == 0 || d + 2 >= text->size()) return;
  const bool sign = (*text)[d + 1] == '+' || (*text)[d + 1] == '-';
  if (sign && IsDigit((*text)[d - 1]) && IsDigit((*text)[d + 2])) (*text)[d] = 'e';
}

// Removes the quotes around a text, and Excel's = before them.
bool TakeQuotes(std::string* text) {
  const size_t begin = text->starts_with("=\"") ? 2 : 1;
  const char quote = begin == 2 ? '"' : text->front();
  if (quote != '"' && quote != '\'') return false;
  if (text->size() > begin + 1 && text->ends_with(quote)) {
    *text = text->substr(begin, text->size() - begin - 1);
    return true;
  }
  return quote == '\'' && TakePrefix(text, "'");
}

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

std::string WithPlainSigns(std::string_view from) {
  std::string text = WithAsciiDigits(from);
  ReplaceAll(kBlanks, &text);
  ReplaceAll(kMinuses, &text);
  return text;
}

bool ReadWrittenNumber(std::string_view from, WrittenNumber* out) {
  constexpr size_t kLongest = 64;
  *out = {};
  if (from.size() > kLongest) return false;
  std::string text = WithAsciiDigits(from);
  if (std::none_of(text.begin(), text.end(), IsDigit) || IsAddress(text)) return false;
  const bool blanks = ReplaceAll(kBlanks, &text);
  out->blanks = blanks && Trimmed(text).find(' ') == std::string_view::npos;
  ReplaceAll(kApostrophes, &text);
  ReplaceAll(kPoints, &text);
  out->sign = ReplaceAll(kMinuses, &text);
  text = std::string(Trimmed(text));
  out->quoted = TakeQuotes(&text);
  const auto take_parentheses = [&] {
    if (!text.starts_with('(') || !text.ends_with(')')) return;
    out->sign = true;
    text = std::string(Trimmed(text.substr(1, text.size() - 2)));
  };
  take_parentheses();
  for (const std::string_view about : {"~", "\xE2\x89\x88"}) {
    if (TakePrefix(&text, about)) out->sign = true;
  }
  const bool minus = TakePrefix(&text, "-");
  if (TakeCurrencyBefore(&text) || TakeCurrencyAfter(&text)) {
    out->currency = true;
    take_parentheses();
  }
  if (minus && text.starts_with('-')) return false;
  if (TakeSuffix(&text, "%") || TakeSuffix(&text, "\xE2\x80\xB0") || TakePrefix(&text, "%")) {
    out->percent = true;
  }
  if (!minus && TakeSuffix(&text, "-")) out->sign = true;
  ReplaceExponent(&text);
  if (ReadDigits(text, out)) return true;
  if (text.starts_with("0x") || text.starts_with("0X")) return false;  // hexadecimal
  const size_t number = LeadingNumber(text);
  out->unit = Trimmed(std::string_view(text).substr(number));
  return number > 0 && IsUnit(out->unit) && ReadDigits(text.substr(0, number), out);
}

}  // namespace espalier::data
