// Streaming CSV parser. It returns the records of a byte range of a file in order, with their
// offsets.
//
// Grammar: a record is a line that ends in LF, in CRLF or at the end of the file. Empty lines and
// lines that start with the comment character are skipped. The delimiter separates fields. A field
// that starts with the quote extends to the closing quote. Inside it, the delimiter is plain text,
// and two quotes are one quote. The record is bad if the closing quote is followed by anything
// except a delimiter or the end of the line, or if blanks precede the opening quote, because some
// programs ignore them and others do not. A quote elsewhere in a field is plain text. With
// `multiline`, a quoted line break is part of the field. Without it, the record is bad. A byte
// order mark (EF BB BF) at the start of the file is skipped. A NUL byte is bad.
//
// With the delimiter kBlanks, runs of blanks and tabs separate fields. Blanks at the beginning and
// end of a line are ignored, and lines that contain only blanks are skipped.
//
// In a quoted field, the escape turns a quote or an escape after it into plain text, as in files of
// Spark. Before any other character, the escape is itself plain text. With the quote kNoQuote, the
// escape works in all fields, as in Hive, MySQL and COPY of PostgreSQL: `\n`, `\r`, `\t`, `\b`,
// `\f` and `\v` are control characters, and `\0` is a NUL byte, which is bad. `\N` is unchanged,
// and any other character after an escape is plain text. A line that ends in the escape fails the
// read, because its last field continues on the next line. If the options set no escape, a quoted
// field that ends in two backslashes is bad: in files of Spark they may mean one.
//
// Without `multiline`, a record whose quote is open at the end of its line is bad. It includes the
// lines up to its closing quote, so that no part of it is read as a row. If no quote closes it
// within kOpenQuoteBytesMax, only the line itself is the bad record. With `look_back`, a range that
// does not begin at 0 starts to read kLookBackBytes earlier, to find a bad record that reaches into
// it.
//
// A range owns the records that *start* in [begin, end). The reader continues past `end` to finish
// the last one. A range that does not begin at 0 first finds the start of the next record, and
// therefore also reads the byte before `begin`. Any division of a file into ranges returns each
// record once. With `multiline`, the range must be the whole file.
//
//   "a,b\n1,2\n3,4\n" cut at 5: [0,5) owns `a,b` and `1,2` (starts at 4); [5,12) owns `3,4` (at 8).
//
// Thread rule: one thread per reader. The file must outlive the reader.
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
  int64_t end = 0;           // both are byte offsets in the file
  bool skip_header = false;  // leave out the first record; only for begin 0
  bool look_back = false;    // bad records do not end the read
};

class CsvReader final : public RecordReader {
 public:
  // Maximum size of a record in bytes. A longer one fails the read: a quote is not closed, or this
  // is not a CSV file.
  static constexpr int64_t kRecordBytesMax = 16 << 20;
  static constexpr int64_t kWindowBytes = 512 << 10;
  static constexpr int64_t kOpenQuoteBytesMax = 64 << 10;
  static constexpr int64_t kLookBackBytes = 4 * kOpenQuoteBytesMax;

  // REQUIRES: 0 <= begin <= end <= file.info().length. If the length is
  // DecompressedFile::kLengthUnknown, the range is the whole file.
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
  // Returns true and sets error_ if the record at position_ exceeds kRecordBytesMax.
  bool TooLong(size_t record_bytes);
  // Drops consumed bytes and reads more. False: error_ is set.
  bool Fill();
  // Finds the end of the line at position_ and the start of the next line. The search begins
  // `searched` bytes after position_. At the end of the file, both results are that end. False:
  // error_ is set.
  bool FindLine(size_t searched, size_t* line_end, size_t* next);
  // Moves to the first record that starts in the range.
  bool SkipPartialRecord();
  // Returns whether the line holds no record: it is empty, `sep=;` as the first line of a file, or
  // a comment or blanks if the options have lines like these. `content`: without its line feed.
  bool IsSkipped(std::string_view content) const;
  // Returns whether this is the first line `sep=;`, from which Excel reads the delimiter.
  bool IsSeparatorLine(std::string_view content) const;
  bool IsDelimiter(char c) const;
  Outcome TakeRecord(size_t line_end, size_t next);
  // Splits a record with quotes into scratch_. `limit`: end of the line or of the window.
  enum class Quoted : uint8_t { kDone, kOpen, kJunk, kBlanksBefore, kFailed };
  Quoted SplitQuoted(size_t begin, size_t limit, size_t* end);
  // Takes a quoted field. *p is at its opening quote. False: the field is still open at the limit.
  bool TakeQuotedField(size_t limit, size_t* p);
  bool TakeUnescapedField(size_t limit, size_t* p);  // the options have no escape
  // Returns whether the blanks at `p` are before an opening quote.
  bool IsQuoteAfterBlanks(size_t p, size_t limit) const;
  Quoted SplitLines(size_t* line_end, size_t* next, int64_t bytes_max);
  // Splits a line that contains the escape, for options without a quote.
  Outcome TakeEscaped(size_t line_end, size_t next);
  // Ends the field at the end of scratch_. Inline, because a record has many.
  void EndField() {
    if (ends_.size() <= fields_) ends_.resize(2 * fields_ + 64);
    ends_[fields_++] = static_cast<uint32_t>(scratch_.size() - kReadable);
  }
  Outcome TakeQuoted(size_t line_end, size_t next);
  Outcome TakeOpenQuote(size_t line_end, size_t next);
  Outcome TakeNext();
  // Returns advice for a record that cannot be read and has a quote after a backslash. Otherwise
  // returns an empty string.
  std::string EscapeHint(size_t begin, size_t end) const;
  Outcome Bad(const std::string& why, size_t begin, size_t end);
  void FoundEnd(int64_t end);

  const storage::ReadableFile& file_;
  const spec::CsvOptions options_;
  const bool blanks_;      // runs of blanks separate fields
  const int escape_;       // -1: none
  const char field_mark_;  // byte between fields in scratch_
  CsvRange range_;         // ends at length_; if that is unknown, the first short read sets both
  int64_t length_;         // length of the file
  const int64_t window_bytes_;

  std::vector<char> buffer_;   // kPad, the window, kPad
  size_t size_ = 0;            // bytes in the window
  int64_t window_offset_ = 0;  // file offset of the window's first byte
  size_t position_ = 0;        // start of the next record in the window
  bool started_ = false;
  bool skip_next_ = false;  // the header has not been skipped yet
  bool window_has_nul_ = false;

  std::vector<uint32_t> raw_begins_;  // fields of a record with quotes, relative to it
  bool quoted_ = false;
  bool may_be_escaped_ = false;  // a quoted field of the record ends in two backslashes
  std::string scratch_;
  uint32_t text_skew_ = 0;  // 3 if a byte order mark precedes the text
  uint32_t checksum_ = 0;
};

// Counts lines on demand, for error messages. Returns the 1-based number of the line that contains
// `offset`. A call with a larger offset continues from where the last call stopped.
class LineCounter {
 public:
  explicit LineCounter(const storage::ReadableFile& file) : file_(file) {}
  Result<int64_t> LineOf(int64_t offset);

 private:
  const storage::ReadableFile& file_;
  int64_t counted_ = 0;  // bytes counted
  int64_t lines_ = 0;    // line ends in those bytes
};

}  // namespace espalier::data
