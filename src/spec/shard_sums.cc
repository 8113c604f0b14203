#include "src/spec/shard_sums.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace espalier::spec {

// FNV-1a, then the finalizer of MurmurHash3. The result is the same on every machine.
uint64_t HashOfText(const std::string& text) {
  uint64_t h = 0xcbf29ce484222325;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccd;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53;
  return h ^ (h >> 33);
}

namespace {

// Keeps the texts with the smallest hashes.
void Prune(TextCounts* texts) {
  if (texts->counts.size() <= TextCounts::kTextsCounted) return;
  std::vector<std::pair<uint64_t, std::map<std::string, int64_t>::iterator>> all;
  for (auto it = texts->counts.begin(); it != texts->counts.end(); ++it) {
    all.emplace_back(HashOfText(it->first), it);
  }
  // The text decides between equal hashes.
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->first < b.second->first;
  });
  for (size_t i = TextCounts::kTextsCounted; i < all.size(); ++i)
    texts->counts.erase(all[i].second);
  texts->more = true;
}

int64_t BytesOf(const ColumnEvidence& evidence) {
  size_t bytes = sizeof(evidence);
  for (const auto& [text, count] : evidence.texts.counts) bytes += kCountBytes + text.size();
  return static_cast<int64_t>(bytes);
}

}  // namespace

Status MergeSample(const RowSample& more, RowSample* into) {
  if (more.keys.empty()) return Status::Ok();
  const size_t width = more.values.size() / more.keys.size();
  if (!into->keys.empty() && into->values.size() != into->keys.size() * width) {
    return FailedPrecondition("its sample has " + std::to_string(width) +
                              " values per row, others " +
                              std::to_string(into->values.size() / into->keys.size()));
  }
  if (!into->keys.empty() && into->bins != more.bins) {
    return FailedPrecondition("its sample is not of as many rows as those of others");
  }
  const auto most = static_cast<size_t>(SampledRowsMax(static_cast<int64_t>(width), more.bins));
  // Most shards add nothing. Returning here avoids a copy of the whole sample.
  if (into->keys.size() == most && more.keys.front() > into->keys.back()) return Status::Ok();
  struct Row {
    uint64_t key = 0;
    const double* values = nullptr;
  };
  // The values decide between equal keys, so that the order of arrival does not matter.
  const auto before = [width](const Row& a, const Row& b) {
    return a.key != b.key ? a.key < b.key
                          : std::memcmp(a.values, b.values, width * sizeof(double)) < 0;
  };
  const auto rows_of = [&](const RowSample& sample) {
    std::vector<Row> rows(sample.keys.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] = {sample.keys[i], sample.values.data() + i * width};
    }
    if (!std::is_sorted(rows.begin(), rows.end(), before)) {  // equal keys in another order
      std::sort(rows.begin(), rows.end(), before);
    }
    return rows;
  };
  const std::vector<Row> old = rows_of(*into), added = rows_of(more);
  std::vector<Row> rows(old.size() + added.size());
  std::merge(old.begin(), old.end(), added.begin(), added.end(), rows.begin(), before);
  rows.resize(std::min(rows.size(), most));
  RowSample merged;
  merged.bins = more.bins;
  for (const Row& row : rows) {
    merged.keys.push_back(row.key);
    merged.values.insert(merged.values.end(), row.values, row.values + width);
  }
  *into = std::move(merged);
  return Status::Ok();
}

int64_t MemoryBytes(const RowSample& sample) {
  return static_cast<int64_t>(8 * (sample.keys.size() + sample.values.size()));
}

int64_t AddCategories(const CategoryCounts& more, CategoryCounts* into) {
  if (into->empty()) into->resize(more.size());
  size_t bytes = 0;
  for (size_t column = 0; column < more.size(); ++column) {
    for (const auto& [text, count] : more[column]) {
      const auto [found, is_new] = (*into)[column].try_emplace(text, 0);
      found->second += count;
      if (is_new) bytes += kCountBytes + text.size();
    }
  }
  return static_cast<int64_t>(bytes);
}

void AddText(const std::string& text, int64_t rows, TextCounts* into) {
  into->rows += rows;
  into->counts[text] += rows;
  // Prunes only sometimes, because pruning costs as much as adding all texts.
  if (into->counts.size() > 2 * TextCounts::kTextsCounted) Prune(into);
}

void AddTexts(const TextCounts& more, TextCounts* into) {
  for (const auto& [text, rows] : more.counts) into->counts[text] += rows;
  into->rows += more.rows;
  into->more = into->more || more.more;
  Prune(into);
}

double DifferentTexts(const TextCounts& texts) {
  const size_t counted = texts.counts.size();
  if (!texts.more || counted < 2) return static_cast<double>(counted);
  uint64_t largest = 0;
  for (const auto& [text, rows] : texts.counts) largest = std::max(largest, HashOfText(text));
  // Estimates by the density of the hashes (Bar-Yossef and others, "Counting distinct elements in a
  // data stream", 2002). If the error permits, estimates by the rows of each text. That is more
  // exact if nearly all rows differ.
  const double k = static_cast<double>(counted);
  const double by_hash = (k - 1) / std::ldexp(static_cast<double>(largest), -64);
  double rows = 0;
  for (const auto& [text, count] : texts.counts) rows += static_cast<double>(count);
  const double by_rows = static_cast<double>(texts.rows) * k / rows;
  return std::abs(by_rows - by_hash) <= 3.5 / std::sqrt(k) * by_hash ? by_rows : by_hash;
}

int64_t AddEvidence(const std::vector<ColumnEvidence>& more, std::vector<ColumnEvidence>* into) {
  int64_t bytes = 0;
  for (const ColumnEvidence& m : more) {
    const auto before = [](const ColumnEvidence& a, int32_t column) { return a.column < column; };
    auto at = std::lower_bound(into->begin(), into->end(), m.column, before);
    if (at == into->end() || at->column != m.column) at = into->insert(at, {.column = m.column});
    bytes -= BytesOf(*at);
    at->rows += m.rows;
    at->nulls += m.nulls;
    if (m.numbers > 0) {
      at->low = at->numbers > 0 ? std::min(at->low, m.low) : m.low;
      at->high = at->numbers > 0 ? std::max(at->high, m.high) : m.high;
    }
    at->numbers += m.numbers;
    at->truths += m.truths;
    at->days += m.days;
    at->months += m.months;
    AddTexts(m.texts, &at->texts);
    bytes += BytesOf(*at);
  }
  return bytes;
}

void AddAlike(const RowCounts& more, RowCounts* into) {
  RowCounts merged;
  size_t a = 0, b = 0;
  while (merged.hashes.size() < RowCounts::kRowsCounted &&
         (a < into->hashes.size() || b < more.hashes.size())) {
    const bool from_a =
        b == more.hashes.size() || (a < into->hashes.size() && into->hashes[a] <= more.hashes[b]);
    const bool from_b =
        a == into->hashes.size() || (b < more.hashes.size() && more.hashes[b] <= into->hashes[a]);
    merged.hashes.push_back(from_a ? into->hashes[a] : more.hashes[b]);
    merged.train.push_back((from_a ? into->train[a] : 0) + (from_b ? more.train[b] : 0));
    merged.validation.push_back((from_a ? into->validation[a] : 0) +
                                (from_b ? more.validation[b] : 0));
    a += from_a;
    b += from_b;
  }
  *into = std::move(merged);
}

int64_t MemoryBytes(const RowCounts& rows) { return static_cast<int64_t>(24 * rows.hashes.size()); }

int64_t ShardSums::bytes() const {
  return MemoryBytes(sample) + MemoryBytes(probe) + MemoryBytes(places) + MemoryBytes(alike) +
         category_bytes + evidence_bytes;
}

Status ShardSums::Add(const ShardProfile& profile) {
  evidence_bytes += AddEvidence(profile.evidence, &evidence);
  if (!profile.failure.ok()) return Status::Ok();  // no other member is filled
  const size_t columns = profile.categories.size();
  if (!categories.empty() && columns != categories.size()) {
    return FailedPrecondition("it counts the values of " + std::to_string(columns) +
                              " columns, others of " + std::to_string(categories.size()));
  }
  if (Status s = MergeSample(profile.sample, &sample); !s.ok()) return s;
  if (Status s = MergeSample(profile.probe, &probe); !s.ok()) return s;
  if (Status s = MergeSample(profile.places, &places); !s.ok()) return s;
  category_bytes += AddCategories(profile.categories, &categories);
  AddAlike(profile.alike, &alike);
  return Status::Ok();
}

void ShardSums::MoveTo(std::vector<ShardProfile*> profiles) {
  ShardProfile *first = nullptr, *judged = nullptr;
  for (ShardProfile* profile : profiles) {
    if (first == nullptr && profile->failure.ok()) first = profile;
    if (judged == nullptr && !profile->evidence.empty()) judged = profile;
  }
  if (judged != nullptr) judged->evidence = std::move(evidence);
  if (first == nullptr) return;
  first->sample = std::move(sample);
  first->probe = std::move(probe);
  first->places = std::move(places);
  if (!categories.empty()) first->categories = std::move(categories);
  first->alike = std::move(alike);
}

void TakeOutSums(ShardProfile* profile) {
  profile->sample = {};
  profile->probe = {};
  profile->places = {};
  profile->alike = {};
  for (auto& values : profile->categories) values.clear();
  for (ColumnEvidence& e : profile->evidence) e = {.column = e.column};
}

}  // namespace espalier::spec
