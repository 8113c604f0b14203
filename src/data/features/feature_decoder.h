// Decodes a column value into the number of a feature, if that is not the value itself: logarithms,
// booleans, parts of dates, codes of categories.
//
// Thread rule: one thread per decoder.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/data/features/dates.h"
#include "src/data/table/label_texts.h"
#include "src/data/table/row_words.h"
#include "src/data/table/shard_rows.h"
#include "src/data/table/value_rules.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Maximum number of values in a vocabulary, and of different values of a column in one shard and in
// total. The second limit is higher, because rare values must be counted too before they are known
// to be rare.
inline constexpr size_t kCategoriesMax = 10'000, kCategoriesCountedMax = 1'000'000;
inline constexpr size_t kCategoryBytesMax = 256;

// Returns the maximum number of different values of a column with this min_count.
size_t CategoriesCountedMax(int64_t min_count);

// Returns kBadInput for a column with more different values than that.
Status TooManyCategories(int64_t min_count, const std::string& file, const std::string& column);
// Returns kBadInput for a column of which `found` values have min_count rows.
Status TooManyFrequent(size_t found, int64_t min_count, const std::string& file,
                       const std::string& column);

// Returns MurmurHash3 (x86, 32 bits, seed 0) of a text's bytes, modulo `buckets`. For the ClassText
// of a category, it is the bucket.
int64_t HashedCode(std::string_view text, int64_t buckets);

// Words of a boolean column, in addition to 1 and 0.
inline constexpr std::array<std::string_view, 10> kTrueWords = {
    "true", "True", "TRUE", "yes", "Yes", "YES", "t", "T", "y", "Y"};
inline constexpr std::array<std::string_view, 10> kFalseWords = {
    "false", "False", "FALSE", "no", "No", "NO", "f", "F", "n", "N"};
std::optional<bool> BooleanWord(std::string_view text);

// Returns whether the text of a row's weight means 0: a number, or a word as written for a boolean
// of Parquet. `rules`: those of the column.
bool IsZeroWeight(std::string_view text, const ValueRules& rules);

// Returns log(1 + x) for x > -1, correct to a few units in the last place. It is the same on every
// machine, because it uses only additions, multiplications and divisions: 2 artanh(x / (2 + x)).
double Log1p(double x);

class FeatureDecoder {
 public:
  // `csv`: the texts come from a CSV file (ValueRules).
  FeatureDecoder(const spec::DataSpec& data, const spec::Schema& schema, bool csv);

  const ValueRules& rules() const { return rules_; }
  // Returns the rules of one column. Values in the names of directories have a decimal point, also
  // if csv.decimal and csv.thousands apply to the files.
  const ValueRules& rules_of(int32_t column) const {
    return column < own_columns_ ? rules_ : directory_rules_;
  }

  // Returns the features that this class decodes, ascending. The others are plain numbers.
  const std::vector<int32_t>& decoded() const { return decoded_; }
  // Makes texts of vocabularies bad that are not UTF-8.
  void RequireUtf8() { requires_utf8_ = true; }
  // Returns why a text cannot be the name of a class or a category, if it cannot.
  std::optional<std::string> NameFault(std::string_view text) const {
    return requires_utf8_ ? Utf8Fault(text) : std::nullopt;
  }

  // Returns how nulls of a feature are handled.
  spec::NullKind nulls(size_t feature) const { return options_[feature].nulls->kind; }
  bool is_date(size_t feature) const { return options_[feature].type == spec::FeatureType::kDate; }
  bool is_category(size_t feature) const {
    return options_[feature].type == spec::FeatureType::kCategorical;
  }

  // Stores the number for the content of a column, or NaN for null. `text` absent: null. Returns a
  // message if the value is bad. A date is read by its date_format. Without one, it is read by
  // ParseDate or as a number by SecondsOfNumber. The code of a category counts from 0 in order of
  // appearance, or is its bucket.
  std::optional<std::string> Decode(size_t feature, std::optional<std::string_view> text,
                                    double* value);
  // Stores the number for a date given as seconds since 1970, where NaN is null.
  std::optional<std::string> DecodeSeconds(size_t feature, double seconds, double* value) const;

  // Returns the texts of the codes so far. The caller fills those of labels.
  ShardTexts& texts() { return texts_; }
  const ShardTexts& texts() const { return texts_; }
  // Starts the numbering of categories again.
  void ForgetCategories();
  // Returns kBadInput for a label with more than kClassesMax texts. In training, also returns it
  // for another column with more than CategoriesCountedMax texts.
  Status CheckTexts(const std::string& file, RowRules rules) const {
    const bool few = texts_.categories.empty() && texts_.labels.texts().size() <= kClassesMax;
    return few ? Status() : CheckManyTexts(file, rules);
  }

 private:
  Status CheckManyTexts(const std::string& file, RowRules rules) const;
  std::optional<std::string> DecodeCategory(size_t feature, std::string_view text, double* value);
  std::optional<std::string> DecodeDate(size_t feature, std::string_view text, double* value) const;

  const spec::Schema& schema_;
  const int32_t own_columns_;  // columns of the files, which come before those of directories
  const ValueRules rules_, directory_rules_;
  std::vector<spec::FeatureOptions> options_;       // by feature
  std::vector<std::optional<DateFormat>> formats_;  // by feature; absent: as ParseDate
  std::vector<int32_t> decoded_;
  std::vector<int32_t> vocabulary_of_;  // by feature: index in texts_.categories; -1: none
  ShardTexts texts_;
  std::vector<int32_t> feature_of_;  // by vocabulary
  bool requires_utf8_ = false;
};

}  // namespace espalier::data
