// JSON lines (also called NDJSON) as records of a table: one JSON object on each line.
//
//   {"id": 7, "user": {"age": 31, "city": null}, "tags": ["a"]}
//                                      with the columns id, user.age, tags: 7,31,["a"]
//
// A key is the name of a column. A key of a nested object has a dotted name. The fields of a record
// follow the columns, whatever the order of the keys. Values become text:
//   string         its text, without escapes
//   number         as written; NaN, Infinity and -Infinity are accepted, because some programs
//                  write them
//   true, false    as written
//   array          as written; a column whose first rows hold an array is never a feature of
//                  `columns: auto`
//   object         in a column that has values in other records: as written
//   null, {}       an empty field, as for a key that is absent
// Keys that are not columns are ignored.
//
// A record is bad if the line is not one JSON object by RFC 8259, has a column twice or values that
// are nested more than kJsonNestingMax deep, or contains a NUL character or half a surrogate pair.
// Lines that contain only blanks are skipped.
//
// Byte ranges own records as in csv_reader.h. Thread rule: one thread per reader.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/data/table/record_reader.h"
#include "src/data/text/csv_reader.h"

namespace espalier::data {

inline constexpr int kJsonNestingMax = 64;
inline constexpr const char* kTooManyKeys =
    "the records have too many different keys (expected at most 1048576, whose names have 16 MiB)";

// The keys of some records, in order of their first appearance. Keys that no job can name, because
// they are longer than spec::kTextMax or not UTF-8, are ignored.
class JsonKeys {
 public:
  // Adds a key or a further value of it. False: there are too many keys.
  bool Add(std::string_view name, bool null, bool array);
  bool Add(const JsonKeys& others);

  // Returns the names of the columns. A key with only nulls is left out if it holds objects in
  // other records.
  std::vector<std::string> Names() const;
  // Returns the names of columns with an array.
  std::vector<std::string> Arrays() const;

 private:
  struct Key {
    std::string name;
    bool valued = false, array = false;
  };
  std::vector<Key> keys_;
  std::unordered_map<std::string, size_t> index_;  // by name
  size_t bytes_ = 0;                               // size of the names
};

class JsonReader final : public RecordReader {
 public:
  // REQUIRES: as CsvReader; at most kColumnsMax names.
  JsonReader(const storage::ReadableFile& file, const CsvRange& range,
             std::span<const std::string> names, int64_t window_bytes = CsvReader::kWindowBytes);
  // Adds the keys of all records to `keys`, which must outlive the reader. Records have no fields.
  // Too many keys fail the read.
  JsonReader(const storage::ReadableFile& file, const CsvRange& range, JsonKeys* keys,
             int64_t window_bytes);

  Outcome Next() override;
  std::string_view record() const override { return line_; }
  int64_t field_offset(size_t i) const override;
  int64_t position() const override { return lines_.position(); }
  uint32_t checksum() const override { return lines_.checksum(); }

 private:
  // A value of a column. Views point into the line or scratch_. If the record does not have the
  // column, the token is empty.
  struct Value {
    std::string_view text, token;
    bool null = false, array = false;
  };

  Outcome Take();
  // Each function takes a part of the line from place_ on. False: error_ is set. `prefix`: dotted
  // name of the object; empty: the record itself. A text is valid until the next record.
  bool TakeObject(std::string_view prefix, int depth);
  bool TakeMember(std::string_view prefix, int depth);
  bool TakeValue(std::string_view name, int depth);
  bool TakeNested(std::string_view name, int depth);
  bool TakeElement(int depth);
  bool TakeScalar(Value* value);
  bool TakeString(std::string_view* text);
  bool TakeEscape();
  bool TakeUnit(uint32_t* unit);
  bool TakeNumber();
  bool TakeDigits();
  bool Expect(char c, const char* name);
  bool TakeKey(std::string_view* key);
  // Keeps a value if it belongs to a column.
  bool Keep(std::string_view name, const Value& value);
  void SkipBlanks();
  char Peek() const { return place_ < line_.size() ? line_[place_] : '\0'; }
  bool Bad(const std::string& why) { return Bad(why, place_); }
  bool Bad(const std::string& why, size_t place);
  bool TooDeep();
  // Returns whether an object is a column, or contains one.
  bool IsWanted(std::string_view name) const;
  size_t ColumnOf(std::string_view name);
  void Write();

  CsvReader lines_;
  std::vector<std::string> names_;
  std::unordered_map<std::string_view, size_t> columns_;  // keys point into names_
  std::unordered_set<std::string_view> objects_;          // beginnings of dotted names_
  JsonKeys* keys_ = nullptr;
  bool keys_full_ = false;
  std::vector<size_t> usual_;  // columns in the order of an earlier record
  std::string_view line_;
  size_t place_ = 0;           // next character of line_
  size_t kept_ = 0;            // values kept of this record
  std::string scratch_;        // strings that have escapes, without them
  std::vector<Value> values_;  // by column
  std::string fields_text_;    // kReadable bytes, then the record
};

}  // namespace espalier::data
