// Cases of Parquet files with false or unsupported metadata, and their errors.
#include "tests/data/bad_parquet.h"

namespace espalier::data {
namespace {

// Returns a crafted file with one change.
Crafted Say(void (*change)(Crafted*)) {
  Crafted say;
  change(&say);
  return say;
}

BadCase Lie(const char* what, void (*change)(Crafted*), const std::string& why,
            std::string column = "") {
  return NotWhole(what, CraftedParquet(Say(change)), why, std::move(column));
}

// Returns the case of a whole file that is refused.
BadCase Refused(const char* what, void (*change)(Crafted*), StatusCode code, std::string message,
                std::string column = "") {
  return {what, Regression(Parquet(CraftedParquet(Say(change)))), code, std::move(message),
          InputPosition{.file = kParquet, .column = std::move(column)}};
}

std::vector<BadCase> Lies() {
  return {
      Lie(
          "more rows in the footer", [](Crafted* c) { c->footer_rows = 3; },
          "its row groups have 2 rows, but its footer says 3"),
      Lie(
          "fewer rows in the footer", [](Crafted* c) { c->footer_rows = 1; },
          "its row groups have 2 rows, but its footer says 1"),
      Lie(
          "more rows in a row group", [](Crafted* c) { c->footer_rows = c->group_rows = 3; },
          "row group 0 holds 2 rows, expected 3"),
      Lie(
          "fewer rows in a row group", [](Crafted* c) { c->footer_rows = c->group_rows = 1; },
          "row group 0 holds more than 1 rows, expected 1"),
      Lie(
          "rows below zero", [](Crafted* c) { c->footer_rows = c->group_rows = -2; },
          "row group 0 says it has -2 rows"),
      Refused(
          "rows without end",
          [](Crafted* c) { c->footer_rows = c->group_rows = c->chunk_values = int64_t{1} << 62; },
          StatusCode::kResourceExhausted,
          "row group 0 of 'DIR/t.parquet' (rows 1 on): 4,611,686,018,427,387,904 rows of 2 numbers "
          "... 4,294,967,296 ... smaller row groups"),
      Lie(
          "more values in a page", [](Crafted* c) { c->page_values = 3; },
          "row group 0 (rows 1 to 2) cannot be read (Unexpected end of stream)"),
      Lie(
          "fewer values in a page", [](Crafted* c) { c->page_values = 1; },
          "row group 0 holds 1 rows, expected 2"),
      Lie(
          "values below zero in a page", [](Crafted* c) { c->page_values = -2; },
          "row group 0 (rows 1 to 2) cannot be read (Invalid page header (negative number of "
          "values))",
          "a"),
      Lie(
          "a page of 2 GiB", [](Crafted* c) { c->compressed = 0x7FFFFFFF; },
          "row group 0 (rows 1 to 2) cannot be read (Unexpected end of stream: Page was smaller "
          "(16) than expected (2147483647))",
          "a"),
      Lie(
          "a page of fewer bytes than none", [](Crafted* c) { c->compressed = -5; },
          "row group 0 (rows 1 to 2) cannot be read (Invalid page header)", "a"),
      Refused(
          "a snappy page that would be 2 GiB",
          [](Crafted* c) {
            c->codec = 1;
            c->uncompressed = 0x7FFFFFFF;
          },
          StatusCode::kResourceExhausted,
          "... row group 0 (rows 1 to 2) of 'DIR/t.parquet' ... more than 2.0 GiB ... smaller row "
          "groups",
          "a"),
  };
}

std::vector<BadCase> MoreLies() {
  return {
      Lie(
          "a column beyond the file", [](Crafted* c) { c->chunk_begin = 100'000; },
          "a column of row group 0 ... 33 bytes from byte 100000 ... the footer at 70"),
      Lie(
          "a column before the file", [](Crafted* c) { c->chunk_begin = -4; },
          "a column of row group 0 ... 33 bytes from byte -4 ... the footer at 70"),
      Lie(
          "a column longer than the file", [](Crafted* c) { c->chunk_bytes = 1 << 30; },
          "a column of row group 0 ... 1073741824 bytes from byte 4 ... the footer at 70"),
      Lie(
          "a column of no bytes", [](Crafted* c) { c->chunk_bytes = 0; },
          "row group 0 holds 0 rows, expected 2"),
      Lie(
          "two row groups where there is room for one",
          [](Crafted* c) {
            c->groups = 2;
            c->footer_rows = 4;
            c->chunk_begin = 4;
            c->chunk_bytes = 20;
          },
          "row group 0 (rows 1 to 2) cannot be read (Unexpected end of stream: Page was smaller "
          "(3) than expected (16))",
          "a"),
      Lie(
          "a type that is not known", [](Crafted* c) { c->type = 42; },
          "its footer cannot be read (Invalid physical column type: UNKNOWN)"),
      Lie(
          "a kind of page that is not known", [](Crafted* c) { c->page_kind = 9; },
          "row group 0 holds 0 rows, expected 2"),
  };
}

std::vector<BadCase> Codecs() {
  return {
      Lie(
          "an encoding that is not known", [](Crafted* c) { c->encoding = 77; },
          "row group 0 (rows 1 to 2) cannot be read (Unknown encoding type.)", "a"),
      Lie(
          "an encoding for another type", [](Crafted* c) { c->encoding = 7; },
          "row group 0 (rows 1 to 2) cannot be read (DELTA_BYTE_ARRAY only supports BYTE_ARRAY and "
          "FIXED_LEN_BYTE_ARRAY)",
          "a"),
      Lie(
          "a dictionary that is missing", [](Crafted* c) { c->encoding = 8; },
          "row group 0 (rows 1 to 2) cannot be read (Dictionary page must be before data page.)",
          "a"),
      Refused(
          "a codec that is not known", [](Crafted* c) { c->codec = 50; },
          StatusCode::kUnimplemented, "'DIR/t.parquet' ... (codec 50) ... snappy, zstd, gzip"),
      Lie(
          "no snappy in a page of snappy", [](Crafted* c) { c->codec = 1; },
          "row group 0 (rows 1 to 2) cannot be read (Corrupt snappy compressed data.)", "a"),
      Lie(
          "no gzip in a page of gzip", [](Crafted* c) { c->codec = 2; },
          "row group 0 (rows 1 to 2) cannot be read (GZipCodec failed: unknown compression method)",
          "a"),
      Refused(
          "LZO", [](Crafted* c) { c->codec = 3; }, StatusCode::kUnimplemented,
          "row group 0 of 'DIR/t.parquet' is compressed with lzo ... snappy, zstd, gzip", "a"),
      Lie(
          "brotli", [](Crafted* c) { c->codec = 4; },
          "row group 0 (rows 1 to 2) cannot be read (Corrupt brotli compressed data.)", "a"),
      Lie(
          "LZ4", [](Crafted* c) { c->codec = 5; },
          "row group 0 (rows 1 to 2) cannot be read (Corrupt Lz4 compressed data.)", "a"),
      Refused(
          "columns in another file", [](Crafted* c) { c->other_file = "other.parquet"; },
          StatusCode::kUnimplemented, "'DIR/t.parquet' is a summary ... 'other.parquet'"),
      Lie(
          "twelve-byte times in a file of doubles", [](Crafted* c) { c->type = 3; },
          "row group 0 (rows 1 to 2) cannot be read (Unexpected end of stream)", "a"),
  };
}

}  // namespace

std::vector<BadCase> LyingParquetFiles() {
  std::vector<BadCase> all;
  Append(&all, Lies());
  Append(&all, MoreLies());
  Append(&all, Codecs());
  return all;
}

}  // namespace espalier::data
