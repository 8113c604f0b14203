#include "src/data/text/csv_reader.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "src/base/checksum.h"
#include "src/base/text.h"
#include "src/data/table/advice.h"
#include "src/data/text/decompressed_file.h"

namespace espalier::data {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr const char* kNulByte =
    "the record holds a NUL byte (expected text in UTF-8, or in UTF-16 with a byte order mark)";

// Returns the byte that an escape and `c` stand for.
char Escaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    case '0':
      return '\0';
    default:
      return c;
  }
}

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// Two quotes mean one quote without an escape too, so the quote as its own escape changes nothing.
int EscapeOf(const spec::CsvOptions& options) {
  const char escape = options.escape.value_or(spec::CsvOptions::kNoEscape);
  const bool none = escape == spec::CsvOptions::kNoEscape || escape == options.quote;
  return none ? -1 : static_cast<unsigned char>(escape);
}

// Returns the positions of `delimiter` in 64 bytes, as bits.
uint64_t DelimiterBits(const char* p, __m256i delimiter) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32));
  const uint32_t a = _mm256_movemask_epi8(_mm256_cmpeq_epi8(low, delimiter));
  const uint32_t b = _mm256_movemask_epi8(_mm256_cmpeq_epi8(high, delimiter));
  return uint64_t{b} << 32 | a;
}

// Writes the end of each field of a record without quotes and returns the number of fields. Reads
// up to 63 bytes beyond the text. `ends` has room for length + 9 entries.
size_t SplitPlain(const char* text, uint32_t length, char delimiter, uint32_t* ends) {
  const __m256i wanted = _mm256_set1_epi8(delimiter);
  uint32_t* out = ends;
  for (uint32_t base = 0; base < length; base += 64) {
    uint64_t bits = DelimiterBits(text + base, wanted);
    if (length - base < 64) bits &= (uint64_t{1} << (length - base)) - 1;
    // Write eight at a time without a check. Later writes overwrite those beyond the count.
    for (int count = __builtin_popcountll(bits); count > 0; count -= 8) {
      for (int i = 0; i < 8; ++i) {
        out[i] = base + static_cast<uint32_t>(_tzcnt_u64(bits));
        bits &= bits - 1;
      }
      out += std::min(count, 8);
    }
  }
  *out++ = length;
  return out - ends;
}

}  // namespace

CsvReader::CsvReader(const storage::ReadableFile& file, const spec::CsvOptions& options,
                     const CsvRange& range, int64_t window_bytes)
    : file_(file),
      options_(options),
      blanks_(options.delimiter == spec::CsvOptions::kBlanks),
      escape_(EscapeOf(options)),
      field_mark_(blanks_ ? ' ' : options.delimiter),
      range_(range),
      length_(file.info().length),
      window_bytes_(window_bytes),
      skip_next_(range.skip_header) {
  // One byte before the range shows whether a record starts at its beginning.
  const int64_t before = range.look_back && !options.multiline ? kLookBackBytes : 1;
  window_offset_ = std::max<int64_t>(range.begin - before, 0);
}

int64_t CsvReader::field_offset(size_t i) const {
  if (quoted_) return record_offset_ + raw_begins_[i];
  return record_offset_ + text_skew_ + (i == 0 ? 0 : ends_[i - 1] + 1);
}

void CsvReader::FoundEnd(int64_t end) {
  length_ = end;
  range_.end = std::min(range_.end, end);
}

CsvReader::Outcome CsvReader::Bad(const std::string& why, size_t begin, size_t end) {
  InputPosition at;
  at.file = file_.info().path;
  at.offset = Offset(begin);
  at.text = Printable({data() + begin, end - begin});
  error_ = BadInput(why).At(std::move(at));
  return Outcome::kBadRecord;
}

bool CsvReader::TooLong(size_t record_bytes) {
  if (static_cast<int64_t>(record_bytes) <= kRecordBytesMax) return false;
  Bad("a record is longer than " + HumanBytes(kRecordBytesMax) +
          "; is a quote left open, or is this not a CSV file?",
      position_, position_ + 100);
  return true;
}

bool CsvReader::Fill() {
  const size_t kept = size_ - position_;
  const int64_t from = Offset(size_);
  if (TooLong(kept)) return false;
  // Read whole windows within the range, and a little beyond it to finish the last record. A record
  // that does not fit doubles the window.
  int64_t wanted = std::max<int64_t>(window_bytes_, kept);
  if (from < range_.end) {
    wanted = std::min(wanted, range_.end - from);
  } else {
    wanted = std::min<int64_t>(wanted, std::max<int64_t>(kept, 4096));
  }
  wanted = std::min(wanted, length_ - from);
  const size_t needed = kPad + kept + wanted + kPad;
  if (position_ > 0) std::memmove(buffer_.data() + kPad, data() + position_, kept);
  window_offset_ = Offset(position_);
  position_ = 0;
  size_ = kept;
  if (buffer_.size() < needed) buffer_.resize(needed);
  char* target = buffer_.data() + kPad + kept;
  Result<size_t> read = file_.ReadAt(from, {target, static_cast<size_t>(wanted)});
  if (!read.ok()) {
    error_ = read.status();
    return false;
  }
  if (static_cast<int64_t>(*read) != wanted && length_ == DecompressedFile::kLengthUnknown) {
    wanted = static_cast<int64_t>(*read);
    FoundEnd(from + wanted);
  }
  if (static_cast<int64_t>(*read) != wanted) {
    error_ = DataLoss(QuotedPath(file_.info().path) + " ends at byte " +
                      std::to_string(from + *read) + " although it had " + std::to_string(length_) +
                      " bytes when it was listed; it changed during the job");
    return false;
  }
  size_ += wanted;
  const int64_t crc_begin = std::max(from, range_.begin),
                crc_end = std::min(from + wanted, range_.end);
  if (crc_begin < crc_end) {
    checksum_ = Crc32c(target + (crc_begin - from), crc_end - crc_begin, checksum_);
  }
  const bool kept_nul = window_has_nul_ && std::memchr(data(), 0, kept) != nullptr;
  window_has_nul_ = kept_nul || std::memchr(target, 0, wanted) != nullptr;
  return true;
}

bool CsvReader::FindLine(size_t searched, size_t* line_end, size_t* next) {
  for (;;) {
    const size_t begin = position_ + searched;
    const void* found = begin < size_ ? std::memchr(data() + begin, '\n', size_ - begin) : nullptr;
    if (found != nullptr) {
      *line_end = static_cast<const char*>(found) - data();
      *next = *line_end + 1;
      return !TooLong(*line_end - position_);
    }
    searched = size_ - position_;
    if (Offset(size_) >= length_) {
      *line_end = *next = size_;
      return !TooLong(size_ - position_);
    }
    if (!Fill()) return false;
  }
}

bool CsvReader::SkipPartialRecord() {
  if (window_offset_ == 0) return true;
  for (;;) {
    const void* found = size_ > 0 ? std::memchr(data(), '\n', size_) : nullptr;
    if (found != nullptr) {
      position_ = static_cast<const char*>(found) - data() + 1;
      return true;
    }
    position_ = size_;
    if (Offset(size_) >= range_.end) return true;
    if (!Fill()) return false;
  }
}

CsvReader::Outcome CsvReader::Next() {
  if (started_) return TakeNext();
  started_ = true;
  if (!SkipPartialRecord()) return Outcome::kFailed;
  Outcome outcome = TakeNext();
  while (record_offset_ < range_.begin && outcome != Outcome::kFailed && outcome != Outcome::kEnd) {
    outcome = TakeNext();
  }
  return outcome;
}

CsvReader::Outcome CsvReader::TakeNext() {
  for (;;) {
    // The reader must read everything up to the end of the range, for the checksum.
    if (Offset(position_) >= range_.end) return Outcome::kEnd;
    record_offset_ = Offset(position_);
    size_t line_end = 0, next = 0;
    if (!FindLine(0, &line_end, &next)) return Outcome::kFailed;
    const std::string_view line(data() + position_, line_end - position_);
    text_skew_ = Offset(position_) == 0 && line.starts_with(kByteOrderMark) ? 3 : 0;
    const std::string_view content = line.substr(text_skew_);
    const bool may_skip = content.size() <= 1 || blanks_ || options_.comment || record_offset_ == 0;
    if (may_skip && IsSkipped(content)) {
      position_ = next;
      continue;
    }
    const Outcome outcome = TakeRecord(line_end, next);
    if (skip_next_ && outcome != Outcome::kFailed) {
      skip_next_ = false;
      continue;
    }
    return outcome;
  }
}

bool CsvReader::IsSkipped(std::string_view content) const {
  if (content.empty() || content == "\r") return true;
  if (record_offset_ == 0 && IsSeparatorLine(content)) return true;
  if (blanks_) {
    const size_t text = content.find_first_not_of(" \t");
    if (text == std::string_view::npos) return true;
    content.remove_prefix(text);
    if (content == "\r") return true;
  }
  return options_.comment && content[0] == *options_.comment;
}

bool CsvReader::IsDelimiter(char c) const { return blanks_ ? IsBlank(c) : c == options_.delimiter; }

bool CsvReader::IsSeparatorLine(std::string_view content) const {
  if (content.ends_with('\r')) content.remove_suffix(1);
  return content.size() == 5 && content.starts_with("sep=") && content[4] == options_.delimiter;
}

CsvReader::Outcome CsvReader::TakeRecord(size_t line_end, size_t next) {
  const size_t begin = position_ + text_skew_;
  const auto has = [&](int c) {
    return std::memchr(data() + begin, c, line_end - begin) != nullptr;
  };
  const bool no_quote = options_.quote == spec::CsvOptions::kNoQuote;
  quoted_ = blanks_ || (no_quote ? escape_ >= 0 && has(escape_) : has(options_.quote));
  if (quoted_ && no_quote && escape_ >= 0) return TakeEscaped(line_end, next);
  if (quoted_) return TakeQuoted(line_end, next);
  position_ = next;
  if (line_end > begin && data()[line_end - 1] == '\r') --line_end;
  if (window_has_nul_ && has(0)) {
    return Bad(kNulByte, begin, line_end);
  }
  const uint32_t length = static_cast<uint32_t>(line_end - begin);
  if (ends_.size() < length + 9) ends_.resize(length + length / 2 + 64);
  text_ = data() + begin;
  fields_ = SplitPlain(text_, length, options_.delimiter, ends_.data());
  return Outcome::kRecord;
}

bool CsvReader::TakeQuotedField(size_t limit, size_t* p) {
  if (escape_ < 0) return TakeUnescapedField(limit, p);
  const char* d = data();
  const char quote = options_.quote;
  const int escape = escape_;
  for (size_t at = *p + 1; at < limit; ++at) {
    const size_t run = at;
    while (at < limit && d[at] != quote && static_cast<unsigned char>(d[at]) != escape) ++at;
    scratch_.append(d + run, at - run);
    if (at == limit) break;
    const bool follows = at + 1 < limit;
    if (static_cast<unsigned char>(d[at]) == escape_ && follows &&
        (d[at + 1] == quote || static_cast<unsigned char>(d[at + 1]) == escape_)) {
      scratch_.push_back(d[++at]);
    } else if (d[at] != quote) {
      scratch_.push_back(d[at]);
    } else if (follows && d[at + 1] == quote) {
      scratch_.push_back(d[at++]);
    } else {
      *p = at + 1;
      return true;
    }
  }
  *p = limit;
  return false;
}

bool CsvReader::TakeUnescapedField(size_t limit, size_t* p) {
  const size_t field_begin = scratch_.size();
  const char quote = options_.quote;
  const char* const end = data() + limit;
  for (const char* at = data() + *p + 1;;) {
    const auto* found = static_cast<const char*>(std::memchr(at, quote, end - at));
    scratch_.append(at, (found == nullptr ? end : found) - at);
    if (found == nullptr) {
      *p = limit;
      return false;
    }
    at = found + 1;
    if (at == end || *at != quote) {
      *p = at - data();
      break;
    }
    scratch_.push_back(*at++);
  }
  if (!options_.escape && scratch_.back() == '\\') {
    const std::string_view field = std::string_view(scratch_).substr(field_begin);
    may_be_escaped_ = may_be_escaped_ || field.ends_with("\\\\");
  }
  return true;
}

bool CsvReader::IsQuoteAfterBlanks(size_t p, size_t limit) const {
  while (p < limit && IsBlank(data()[p]) && data()[p] != options_.delimiter) ++p;
  return p < limit && data()[p] == options_.quote && options_.quote != spec::CsvOptions::kNoQuote;
}

CsvReader::Quoted CsvReader::SplitQuoted(size_t begin, size_t limit, size_t* end) {
  // scratch_ gets kReadable bytes, then the fields without quotes, with one byte between fields.
  scratch_.assign(kReadable, '\0');
  fields_ = 0;
  raw_begins_.clear();
  may_be_escaped_ = false;
  const char* d = data();
  size_t p = begin;
  const auto line_over = [&] {
    return p >= limit || d[p] == '\n' || (d[p] == '\r' && p + 1 < limit && d[p + 1] == '\n');
  };
  const auto skip_blanks = [&] {
    while (blanks_ && p < limit && IsBlank(d[p])) ++p;
  };
  skip_blanks();
  for (;;) {
    raw_begins_.push_back(static_cast<uint32_t>(p - position_));
    if (p < limit && d[p] == options_.quote && d[p] != spec::CsvOptions::kNoQuote) {
      if (!TakeQuotedField(limit, &p)) return *end = p, Quoted::kOpen;
    } else {
      const size_t field_begin = scratch_.size();
      const size_t run = p;
      if (blanks_) {
        while (p < limit && !IsBlank(d[p]) && d[p] != '\n') ++p;
      } else {
        const char delimiter = options_.delimiter;
        if (p < limit && IsBlank(d[p]) && IsQuoteAfterBlanks(p, limit)) {
          return *end = p, Quoted::kBlanksBefore;
        }
        while (p < limit && d[p] != delimiter && d[p] != '\n') ++p;
      }
      scratch_.append(d + run, p - run);
      // The limit may be several lines further on.
      const bool before_break = p < limit && d[p] == '\n' && scratch_.size() > field_begin;
      if (before_break && scratch_.back() == '\r') scratch_.pop_back();
    }
    if (!line_over() && !IsDelimiter(d[p])) return *end = p, Quoted::kJunk;
    EndField();
    skip_blanks();
    if (line_over()) {
      *end = p;
      return Quoted::kDone;
    }
    scratch_.push_back(field_mark_);
    if (!blanks_) ++p;
  }
}

CsvReader::Outcome CsvReader::TakeEscaped(size_t line_end, size_t next) {
  const size_t begin = position_ + text_skew_;
  if (line_end > begin && data()[line_end - 1] == '\r') --line_end;
  scratch_.assign(kReadable, '\0');
  fields_ = 0;
  raw_begins_.assign(1, text_skew_);
  bool has_nul = window_has_nul_ && std::memchr(data() + begin, 0, line_end - begin) != nullptr;
  const char* d = data();
  for (size_t p = begin; p < line_end; ++p) {
    if (IsDelimiter(d[p])) {
      EndField();
      scratch_.push_back(field_mark_);
      raw_begins_.push_back(static_cast<uint32_t>(p + 1 - position_));
    } else if (static_cast<unsigned char>(d[p]) != escape_) {
      scratch_.push_back(d[p]);
    } else if (++p == line_end) {
      Bad("the line ends in the escape character: its last field continues in the next line, which "
          "is not supported. Write line breaks inside fields as \\n",
          begin, line_end);
      return Outcome::kFailed;
    } else if (d[p] == 'N') {
      scratch_.append("\\N");
    } else {
      scratch_.push_back(Escaped(d[p]));
      has_nul = has_nul || scratch_.back() == '\0';
    }
  }
  EndField();
  position_ = next;
  if (has_nul) return Bad(kNulByte, begin, line_end);
  text_ = scratch_.data() + kReadable;
  return Outcome::kRecord;
}

// Finds the end of a record with quotes. While a quote is open, takes in more lines.
CsvReader::Quoted CsvReader::SplitLines(size_t* line_end, size_t* next, int64_t bytes_max) {
  size_t end = 0;
  for (;;) {
    size_t limit = *line_end;
    if (limit > position_ && data()[limit - 1] == '\r') --limit;
    const Quoted how = SplitQuoted(position_ + text_skew_, limit, &end);
    if (how != Quoted::kOpen) {
      if (end < limit) {  // lines of later records were taken in
        const void* found = std::memchr(data() + end, '\n', *line_end - end);
        if (found != nullptr) {
          *line_end = static_cast<const char*>(found) - data();
          *next = *line_end + 1;
        }
      }
      return how;
    }
    const bool more = static_cast<int64_t>(*next - position_) < bytes_max;
    if (!more || Offset(*next) >= length_) return how;
    // The line break is part of the field. Doubling keeps the work linear. FindLine may move the
    // window, but positions relative to position_ stay valid.
    const size_t target = 2 * (*next - position_);
    while (*next - position_ < target && Offset(*next) < length_) {
      const size_t searched = *next - position_;
      if (!FindLine(searched, line_end, next)) return Quoted::kFailed;
    }
  }
}

CsvReader::Outcome CsvReader::TakeQuoted(size_t line_end, size_t next) {
  const Quoted how = SplitLines(&line_end, &next, options_.multiline ? kRecordBytesMax : 0);
  if (how == Quoted::kFailed) return Outcome::kFailed;
  if (how == Quoted::kOpen && !options_.multiline) return TakeOpenQuote(line_end, next);
  const size_t begin = position_;
  position_ = next;
  if (line_end > begin && data()[line_end - 1] == '\r') --line_end;
  if (how == Quoted::kOpen) {
    return Bad("a quoted field is not closed before the end of the file; is a quote missing?" +
                   EscapeHint(begin, line_end),
               begin + raw_begins_.back(), line_end);
  }
  if (how == Quoted::kBlanksBefore) {
    return Bad(
        std::string("blanks precede the opening quote of a field") + advice::kBlanksBefore.training,
        begin + raw_begins_.back(), line_end);
  }
  if (how == Quoted::kJunk) {
    return Bad(
        "text follows a closing quote (expected the delimiter or the end of the line). Write a "
        "quote inside a quoted field twice" +
            EscapeHint(begin, line_end),
        begin + raw_begins_.back(), line_end);
  }
  if (may_be_escaped_) {
    return Bad(
        std::string("a quoted field ends in two backslashes") + advice::kTwoBackslashes.training,
        begin, line_end);
  }
  if (window_has_nul_ && std::memchr(data() + begin, 0, line_end - begin) != nullptr) {
    return Bad(kNulByte, begin, line_end);
  }
  text_ = scratch_.data() + kReadable;
  return Outcome::kRecord;
}

std::string CsvReader::EscapeHint(size_t begin, size_t end) const {
  const std::string_view text(data() + begin, end - begin);
  const char escaped[] = {'\\', options_.quote};
  if (escape_ >= 0 || text.find({escaped, 2}) == std::string_view::npos) return "";
  return advice::kEscapedQuote.training;
}

// Finds the closing quote of a field that is open at the end of its line. The lines up to there are
// one bad record. FindLine may move the window, but positions relative to position_ stay valid.
CsvReader::Outcome CsvReader::TakeOpenQuote(size_t line_end, size_t next) {
  const size_t field = raw_begins_.back(), line_size = line_end - position_;
  const size_t line_step = next - position_;
  Quoted how = Quoted::kOpen;
  if (Offset(next) < length_) {
    how = SplitLines(&line_end, &next, kOpenQuoteBytesMax);
    if (how == Quoted::kFailed) return Outcome::kFailed;
  }
  const bool closed =
      how != Quoted::kOpen && static_cast<int64_t>(next - position_) <= kOpenQuoteBytesMax;
  if (!closed) next = position_ + line_step;
  const size_t begin = position_;
  const int64_t lines = std::count(data() + begin, data() + next, '\n');
  position_ = next;
  size_t end = begin + line_size;
  if (end > begin && data()[end - 1] == '\r') --end;
  return Bad(std::string("a quoted field is not closed on its line") + advice::kMultiline.training +
                 (closed ? " (the " + std::to_string(lines) +
                               " lines up to its closing quote are one bad record)"
                         : std::string()) +
                 EscapeHint(begin, end),
             begin + field, end);
}

Result<int64_t> LineCounter::LineOf(int64_t offset) {
  if (offset < counted_) counted_ = lines_ = 0;
  std::vector<char> buffer(std::min<int64_t>(offset - counted_, 1 << 20));
  while (counted_ < offset) {
    const size_t wanted = std::min<int64_t>(offset - counted_, buffer.size());
    ESPALIER_ASSIGN_OR_RETURN(const size_t size, file_.ReadAt(counted_, {buffer.data(), wanted}));
    if (size == 0) break;
    lines_ += std::count(buffer.begin(), buffer.begin() + size, '\n');
    counted_ += size;
  }
  return lines_ + 1;
}

}  // namespace espalier::data
