// Our own streaming CSV parser: records of a byte range of a file, in order, with their places.
//
// Grammar: a record is a line that ends in LF or CRLF or at the end of the file. Lines without any
// byte are skipped, and those that start with the comment character. Fields are divided by the
// delimiter. A field that starts with the quote runs to the closing quote; inside it the delimiter
// is plain and two quotes stand for one; it is bad when something other than a delimiter or the
// line's end follows the closing quote. A quote elsewhere in a field is plain text. A quoted line
// break is part of the field with `multiline`, else the record is bad. A byte order mark (EF BB BF)
// at the file's start is skipped. A NUL byte is bad.
//
// With the delimiter kBlanks, runs of blanks and tabs divide the fields, and those at a line's
// begin and end are no part of it; a line of blanks alone is skipped.
//
// The escape makes plain text of a quote or of another escape after it, inside a quoted field as
// Spark writes it; before another character it is plain itself. With the quote kNoQuote it works in
// all fields, as in Hive and MySQL: `\n` and `\r` are line feed and carriage return, `\N` stays,
// and any other character after it is plain. A line that ends in it fails the read: the next line
// goes on with its field. Where the options have no escape, a quoted field that ends in two
// backslashes is bad: it may be Spark's spelling of one.
//
// A record whose quote is open at the end of its line is bad without `multiline`. The lines up to
// its closing quote belong to it, so that no part of it is read as a row. If no quote closes it
// within kOpenQuoteBytesMax, the line alone is the bad record. A range that does not begin at 0 and
// has `look_back` reads kLookBackBytes before its begin to find out whether a bad record reaches
// into it.
//
// A range owns the records that *start* in [begin, end): the reader goes on past `end` to finish
// the last one, and one that does not begin at 0 first finds the next record's start, looking at
// the byte before `begin`. So any cut of a file gives each record once (with `multiline`: only the
// whole file).
//
//   "a,b\n1,2\n3,4\n" cut at 5: [0,5) owns `a,b` and `1,2` (starts at 4); [5,12) owns `3,4` (at 8).
//
// Thread rule: one thread a reader. The file must outlive it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/record_reader.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

struct CsvRange {
  int64_t begin = 0;
  int64_t end = 0;           // both in bytes of the file
  bool skip_header = false;  // leave out the first record; only where begin is 0
  bool look_back = false;    // bad records do not end the read
};

class CsvReader final : public RecordReader {
 public:
  // A longer record fails the read: a quote is not closed, or this is no CSV file.
  static constexpr int64_t kRecordBytesMax = 16 << 20;
  static constexpr int64_t kWindowBytes = 512 << 10;
  static constexpr int64_t kOpenQuoteBytesMax = 64 << 10;
  static constexpr int64_t kLookBackBytes = 4 * kOpenQuoteBytesMax;

  // REQUIRES: 0 <= begin <= end <= file.info().length; the whole file when that is
  // DecompressedFile::kLengthUnknown.
  CsvReader(const storage::ReadableFile& file, const spec::CsvOptions& options,
            const CsvRange& range, int64_t window_bytes = kWindowBytes);

  Outcome Next() override;
  int64_t field_offset(size_t i) const override;
  int64_t position() const override { return Offset(position_); }
  uint32_t checksum() const override { return checksum_; }
  const std::string& file_path() const { return file_.info().path; }

 private:
  static constexpr size_t kPad = 64;  // readable bytes before and after the window

  int64_t Offset(size_t position) const { return window_offset_ + static_cast<int64_t>(position); }
  const char* data() const { return buffer_.data() + kPad; }
  // True, and error_ is set, when the record at position_ has more bytes than it may.
  bool TooLong(size_t record_bytes);
  // Drops what is consumed and reads more. False: error_ is set.
  bool Fill();
  // Finds the end of the line that goes on `searched` bytes after position_, and where the next
  // line starts; at the end of the file both are there. False on failure.
  bool FindLine(size_t searched, size_t* line_end, size_t* next);
  // Moves to the first record that starts in the range.
  bool SkipPartialRecord();
  // A line of blanks or a comment, where there are such lines. `content`: not empty, without its
  // line feed.
  bool IsSkipped(std::string_view content) const;
  // The first line that Excel reads the delimiter from.
  bool IsSeparatorLine(std::string_view content) const;
  bool IsDelimiter(char c) const;
  Outcome TakeRecord(size_t line_end, size_t next);
  // Splits a record with quotes into scratch_. `limit`: the end of the line, or of the window.
  enum class Quoted : uint8_t { kDone, kOpen, kJunk, kFailed };
  Quoted SplitQuoted(size_t begin, size_t limit, size_t* end);
  // Takes a quoted field, with *p at its opening quote. False: it is open at the limit.
  bool TakeQuotedField(size_t limit, size_t* p);
  bool TakeUnescapedField(size_t limit, size_t* p);  // without an escape
  Quoted SplitLines(size_t* line_end, size_t* next, int64_t bytes_max);
  // Splits a line without quotes in which the escape occurs.
  Outcome TakeEscaped(size_t line_end, size_t next);
  void EndField();
  Outcome TakeQuoted(size_t line_end, size_t next);
  Outcome TakeOpenQuote(size_t line_end, size_t next);
  Outcome TakeNext();
  // What to set when a record that cannot be read has a quote behind a backslash; or nothing.
  std::string EscapeHint(size_t begin, size_t end) const;
  Outcome Bad(const std::string& why, size_t begin, size_t end);
  void FoundEnd(int64_t end);

  const storage::ReadableFile& file_;
  const spec::CsvOptions options_;
  const bool blanks_;      // runs of them divide the fields
  const int escape_;       // -1: none
  const char field_mark_;  // between fields in scratch_
  CsvRange range_;  // and length_: the end is told by the first short read where it is unknown
  int64_t length_;  // of the file
  const int64_t window_bytes_;

  std::vector<char> buffer_;   // kPad, the window, kPad
  size_t size_ = 0;            // bytes in the window
  int64_t window_offset_ = 0;  // of the window's first byte, in the file
  size_t position_ = 0;        // in the window: the next record
  bool started_ = false;
  bool skip_next_ = false;  // the header is still to come
  bool window_has_nul_ = false;

  std::vector<uint32_t> raw_begins_;  // of a record with quotes, relative to the record
  bool quoted_ = false;
  bool may_be_escaped_ = false;  // a quoted field of the record ends in two backslashes
  std::string scratch_;
  uint32_t text_skew_ = 0;  // 3 where a byte order mark stands before the text
  uint32_t checksum_ = 0;
};

// Counts lines on demand, for error messages: the 1-based line in which `offset` lies. Each call
// reads on from where the last one stopped when it can.
class LineCounter {
 public:
  explicit LineCounter(const storage::ReadableFile& file) : file_(file) {}
  Result<int64_t> LineOf(int64_t offset);

 private:
  const storage::ReadableFile& file_;
  int64_t counted_ = 0;  // bytes
  int64_t lines_ = 0;    // line ends in them
};

}  // namespace espalier::data
