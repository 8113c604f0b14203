// From what a column holds to the number of a feature that is not that number itself: logarithms,
// booleans, parts of dates, codes of categories.
//
// Thread rule: one thread a decoder.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/data/features/dates.h"
#include "src/data/table/label_texts.h"
#include "src/data/table/shard_rows.h"
#include "src/data/table/value_rules.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Values of a vocabulary, and different values of a column, in a shard and in all, beyond which it
// cannot have one: the others must be counted, too, to know that they have too few rows.
inline constexpr size_t kCategoriesMax = 10'000, kCategoriesCountedMax = 1'000'000;
inline constexpr size_t kCategoryBytesMax = 256;

// Different values that a column may have if those that min_count rows have shall be a vocabulary.
size_t CategoriesCountedMax(int64_t min_count);

// kBadInput for a column with more of them.
Status TooManyCategories(int64_t min_count, const std::string& file, const std::string& column);
// The same for one of which `found` values have min_count rows.
Status TooManyFrequent(size_t found, int64_t min_count, const std::string& file,
                       const std::string& column);

// MurmurHash3 (x86, 32 bits, seed 0) of a text's bytes, modulo `buckets`: of a category's ClassText
// its bucket.
int64_t HashedCode(std::string_view text, int64_t buckets);

// Words of a boolean column, in addition to 1 and 0.
inline constexpr std::array<std::string_view, 10> kTrueWords = {
    "true", "True", "TRUE", "yes", "Yes", "YES", "t", "T", "y", "Y"};
inline constexpr std::array<std::string_view, 10> kFalseWords = {
    "false", "False", "FALSE", "no", "No", "NO", "f", "F", "n", "N"};
std::optional<bool> BooleanWord(std::string_view text);

// log(1 + x) for x > -1, to a few units in the last place, and the same on every machine:
// additions, multiplications and divisions alone, 2 artanh(x / (2 + x)).
double Log1p(double x);

class FeatureDecoder {
 public:
  // `csv`: of a CSV file (ValueRules).
  FeatureDecoder(const spec::DataSpec& data, const spec::Schema& schema, bool csv);

  const ValueRules& rules() const { return rules_; }

  // The features that this decodes, ascending; the others are plain numbers.
  const std::vector<int32_t>& decoded() const { return decoded_; }
  // What a null means for a feature.
  spec::NullKind nulls(size_t feature) const { return options_[feature].nulls->kind; }
  bool is_date(size_t feature) const { return options_[feature].type == spec::FeatureType::kDate; }
  bool is_category(size_t feature) const {
    return options_[feature].type == spec::FeatureType::kCategorical;
  }

  // The number of what a column says, NaN for null. An error says what is wrong with the value.
  // `text` absent: null. A date is what its date_format says; without one what ParseDate reads, or
  // a number as SecondsOfNumber has it. A category's code counts from 0 in order of appearance, or
  // is its bucket.
  std::optional<std::string> Decode(size_t feature, std::optional<std::string_view> text,
                                    double* value);
  // The same for a date that the column holds as seconds since 1970; NaN is null.
  std::optional<std::string> DecodeSeconds(size_t feature, double seconds, double* value) const;

  // The texts of the codes so far. Those of labels are the caller's to fill.
  ShardTexts& texts() { return texts_; }
  const ShardTexts& texts() const { return texts_; }
  // From now on categories are numbered anew.
  void ForgetCategories();
  // kBadInput for a label with more than kClassesMax of them, or in training another column with
  // more than its CategoriesCountedMax.
  Status CheckTexts(const std::string& file, RowRules rules) const;

 private:
  std::optional<std::string> DecodeCategory(size_t feature, std::string_view text, double* value);
  std::optional<std::string> DecodeDate(size_t feature, std::string_view text, double* value) const;

  const spec::Schema& schema_;
  const ValueRules rules_;
  std::vector<spec::FeatureOptions> options_;       // by feature
  std::vector<std::optional<DateFormat>> formats_;  // by feature; absent: ParseDate's
  std::vector<int32_t> decoded_;
  std::vector<int32_t> vocabulary_of_;  // by feature: in texts_.categories, or -1
  ShardTexts texts_;
  std::vector<int32_t> feature_of_;  // by vocabulary
};

}  // namespace espalier::data
