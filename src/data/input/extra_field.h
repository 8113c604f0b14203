// Finds a field in the records of a CSV file that has no name in the header: the empty field after
// a delimiter at the end of each line, or the row names that R writes first.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/data/table/record_reader.h"
#include "src/data/table/schema.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Properties that the first records of a file share, without its header.
class FirstRecords {
 public:
  static constexpr int64_t kRecordsMax = 100, kBytesMax = 1 << 20;

  void Add(const RecordReader& reader);

  int64_t records() const { return records_; }
  size_t fields() const { return fields_; }        // number in each record; 0: they differ
  bool ends_empty() const { return ends_empty_; }  // the last field of each record is empty
  // Returns whether the first fields number the rows, from 0 or 1.
  bool is_counted() const { return records_ > 0 && counted_; }
  // Returns whether the first fields are quoted and all different, like the row names that R
  // writes.
  bool is_named() const { return records_ > 0 && named_; }
  // Returns whether two adjacent fields may be one number with a decimal comma: "1,05" in fields 1
  // and 05.
  bool may_split_number() const;

 private:
  // What the fields i and i + 1 have in common with the parts of a decimal number.
  struct Pair {
    bool digits = true;            // a whole number, then digits
    bool leads_with_zero = false;  // digits like 05
    bool same_length = true;       // of the digits
    size_t length = 0;
  };
  void AddPairs(const RecordReader& reader);

  int64_t records_ = 0;
  size_t fields_ = 0;
  bool ends_empty_ = true, counted_ = true, named_ = true;
  int64_t first_number_ = 0;
  std::set<std::string> names_;
  std::vector<Pair> pairs_;
};

// Position of the extra field. kOpenHeader: no extra field, but the header ends with a delimiter.
enum class Extra : uint8_t { kNone, kFirst, kLast, kOpenHeader };

// Finds the extra field from csv.extra_field and the first records. A header "a,b," ends with a
// delimiter. With kAuto, a file with a header has
//   kLast    if each record has one field more than there are names, and it is empty
//   kFirst   if each record has one field more, and the first ones are row names in quotes, or row
//            numbers in a file without a number that a decimal comma may have divided
// A file without a header has kLast if the last fields are empty and no key uses their position.
// kInvalidArgument: each record has one field more, but it is unclear which one is extra. `record`:
// the header, or the first record of a file without a header.
Result<Extra> FindExtraField(const spec::DataSpec& data, bool header, const HeaderRecord& record,
                             const FirstRecords& first);

// Returns the note about the field that is left out.
std::string ExtraFieldText(const std::string& path, Extra extra);

}  // namespace espalier::data
