#include "src/data/profile/alike.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "src/data/table/number_check.h"
#include "src/spec/shard_sums.h"
#include "src/spec/sparse_rows.h"

namespace espalier::data {
namespace {

double NumberOfText(const std::string& text) {
  return static_cast<double>(spec::HashOfText(text) >> 12);
}

// Mixes two words by a product of 64 by 64 bits, as in Wang Yi's wyhash.
uint64_t Fold(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}
constexpr uint64_t kSeed = 0xa0761d6478bd642f, kOther = 0xe7037ed1a0b428db;

uint64_t BitsOf(double value) {
  if (value != value) return ~uint64_t{0};
  return std::bit_cast<uint64_t>(value + 0.0);  // 0 for -0
}

uint64_t HashOfWords(const uint64_t* words, size_t count) {
  uint64_t h = kSeed ^ count;
  for (; count >= 2; words += 2, count -= 2) h = Fold(words[0] ^ h, words[1] ^ kOther);
  if (count > 0) h = Fold(words[0] ^ h, kOther);
  return h;
}

// Hashes equal rows of any storage type to the same value. If all features are bytes, it hashes
// bytes, which is the type of whole shards of small numbers. Otherwise it hashes doubles.
class RowHasher {
 public:
  explicit RowHasher(const RowTexts& texts)
      : texts_(texts),
        coded_(texts.any()),
        width_(static_cast<size_t>(texts.features())),
        few_(std::min(kFew, width_)),
        step_(std::max<size_t>(1, width_ / kFew)),
        words_(width_ + 2) {}

  template <typename T>
  uint64_t Hash(const T* row, double label) {
    bool bytes = !coded_;
    for (size_t i = 0; bytes && i < width_; ++i) bytes = IsByte(row[i]);
    size_t count = width_;
    if (bytes) {
      count = (width_ + 7) / 8;
      if (count > 0) words_[count - 1] = 0;
      auto* packed = reinterpret_cast<uint8_t*>(words_.data());
      if constexpr (sizeof(T) == 1) {
        std::memcpy(packed, row, width_);
      } else {
        for (size_t i = 0; i < width_; ++i) packed[i] = static_cast<uint8_t>(row[i]);
      }
    } else {
      for (size_t i = 0; i < width_; ++i) words_[i] = Word(row, i);
    }
    words_[count] = BitsOf(label);
    return HashOfWords(words_.data(), count + 1);
  }

  // Hashes only a few features.
  template <typename T>
  uint64_t HashFew(const T* row) const {
    uint64_t words[kFew] = {};
    for (size_t k = 0; k < few_; ++k) words[k] = Word(row, k * step_);
    // The two products do not depend on each other.
    return Fold(words[0] ^ kSeed, words[1] ^ kOther) ^ Fold(words[2] ^ kOther, words[3] ^ ~kSeed);
  }

 private:
  template <typename T>
  uint64_t Word(const T* row, size_t i) const {
    const auto value = static_cast<double>(row[i]);
    return BitsOf(coded_ ? texts_.Feature(static_cast<int64_t>(i), value) : value);
  }

  static constexpr size_t kFew = 4;  // features of HashFew
  const RowTexts& texts_;
  const bool coded_;  // some features are codes of texts
  const size_t width_, few_, step_;
  std::vector<uint64_t> words_;
};

}  // namespace

RowTexts::RowTexts(const ShardRows& rows, const spec::Schema& schema, const spec::JobSpec& job)
    : features_(static_cast<int64_t>(schema.features.size())), codes_(schema.features.size()) {
  size_t vocabulary = 0;
  for (size_t i = 0; i < schema.features.size(); ++i) {
    if (!spec::HasVocabulary(job.data.features, schema.rule(i))) continue;
    coded_.push_back(static_cast<int32_t>(i));
    for (const std::string& text : rows.texts.categories[vocabulary++].texts()) {
      codes_[i].push_back(NumberOfText(text));
    }
  }
  if (job.model.task != spec::Task::kClassification) return;
  for (const std::string& text : rows.texts.labels.texts()) labels_.push_back(NumberOfText(text));
}

namespace {

struct AlikeRows {
  int64_t train = 0, validation = 0;
};
// Rows with the smallest hashes.
using AlikeByHash = std::map<uint64_t, AlikeRows>;

constexpr uint64_t kUpper = 0xffffffff00000000;

// Counts the rows whose hash has an upper half of at most `cutoff`. Returns nothing if rows are
// sparse.
std::optional<AlikeByHash> CountBelow(const ShardRows& rows, const RowTexts& texts,
                                      uint64_t cutoff) {
  AlikeByHash smallest;
  RowHasher hasher(texts);
  for (const int set : {kTrainSet, kValidationSet}) {
    const DecodedRows& decoded = rows.sets[static_cast<size_t>(set)];
    if (decoded.sparse) return std::nullopt;
    WithStorage(decoded.type, [&](auto type) {
      const auto* features = reinterpret_cast<const decltype(type)*>(decoded.features.data());
      for (int64_t r = 0; r < decoded.rows; ++r) {
        // The upper half covers only a few features, so that most rows need no other hash.
        const auto* row = features + r * texts.features();
        const uint64_t upper = hasher.HashFew(row) & kUpper;
        if (upper > cutoff) continue;
        const uint64_t hash = upper | (hasher.Hash(row, texts.Label(decoded, r)) & ~kUpper);
        const bool full = smallest.size() == spec::RowCounts::kRowsCounted;
        if (full && hash > smallest.rbegin()->first) continue;
        const auto [found, is_new] = smallest.try_emplace(hash);
        ++(set == kTrainSet ? found->second.train : found->second.validation);
        if (is_new && full) {
          smallest.erase(std::prev(smallest.end()));
          cutoff = std::min(cutoff, smallest.rbegin()->first);
        }
      }
    });
  }
  return smallest;
}

// Returns a bound with enough different rows below it if the hashes are spread evenly.
uint64_t LikelyCutoff(int64_t rows) {
  constexpr double kMargin = 1.25;
  const double share =
      kMargin * static_cast<double>(spec::RowCounts::kRowsCounted) / static_cast<double>(rows);
  constexpr uint64_t kAll = ~uint64_t{0};
  return share < 1 ? static_cast<uint64_t>(share * 0x1p64) : kAll;
}

}  // namespace

spec::RowCounts CountAlike(const ShardRows& rows, const RowTexts& texts) {
  spec::RowCounts counts;
  if (texts.features() >= spec::kSparseFeaturesMin) return counts;
  const int64_t all = rows.sets[kTrainSet].rows + rows.sets[kValidationSet].rows;
  const uint64_t cutoff = LikelyCutoff(std::max<int64_t>(1, all));
  auto smallest = CountBelow(rows, texts, cutoff);
  const bool enough = smallest && smallest->size() == spec::RowCounts::kRowsCounted;
  if (smallest && !enough && cutoff != ~uint64_t{0}) {
    smallest = CountBelow(rows, texts, ~uint64_t{0});
  }
  if (!smallest) return counts;
  for (const auto& [hash, of] : *smallest) {
    counts.hashes.push_back(hash);
    counts.train.push_back(of.train);
    counts.validation.push_back(of.validation);
  }
  return counts;
}

spec::RowSample ProbeOf(const ShardRows& rows, const RowTexts& texts, int32_t file) {
  spec::RowSample probe;
  const DecodedRows& train = rows.sets[kTrainSet];
  if (train.sparse) return probe;
  WithStorage(train.type, [&](auto type) {
    const auto* features = reinterpret_cast<const decltype(type)*>(train.features.data());
    const auto width = static_cast<size_t>(texts.features() + kProbeBeside);
    probe.values.resize(rows.probed.size() * width);
    double* out = probe.values.data();
    for (const ProbedRow& probed : rows.probed) {
      const auto* row = features + probed.row * texts.features();
      probe.keys.push_back(probed.key);
      if (texts.any()) {
        for (int64_t i = 0; i < texts.features(); ++i) out[i] = texts.Feature(i, row[i]);
      } else {
        for (int64_t i = 0; i < texts.features(); ++i) out[i] = row[i];
      }
      double* const beside = out + texts.features();
      beside[0] = texts.Label(train, probed.row);
      beside[1] = file;
      beside[2] = static_cast<double>(probed.position);
      out += width;
    }
  });
  return probe;
}

}  // namespace espalier::data
