// Sums over shards: row samples and counts of categories.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"

namespace espalier::spec {

// Memory of one text's count, without the text, in bytes (a node of std::map).
inline constexpr size_t kCountBytes = 96;

// Merges the sample of a shard into that of other shards. The `SampledRowsMax` rows with the
// smallest keys remain, in ascending order of their keys. The result does not depend on the order
// of the shards (data/table/row_sample.h explains why it is a sample of all rows).
// kFailedPrecondition: the widths of the rows differ.
Status MergeSample(const RowSample& more, RowSample* into);
int64_t MemoryBytes(const RowSample& sample);

// Adds the category counts of a shard to those of other shards (empty at first). Returns the
// additional memory in bytes. REQUIRES: both have the same columns.
using CategoryCounts = std::vector<std::map<std::string, int64_t>>;
int64_t AddCategories(const CategoryCounts& more, CategoryCounts* into);

// Returns a hash of a text. It is the same on every machine.
uint64_t HashOfText(const std::string& text);

// Adds texts to those of a column. The result does not depend on the order of the additions.
void AddTexts(const TextCounts& more, TextCounts* into);
// Adds `rows` rows of one text.
void AddText(const std::string& text, int64_t rows, TextCounts* into);
// Returns the approximate number of distinct texts.
double DifferentTexts(const TextCounts& texts);
// Adds the evidence of a shard. Returns the approximate additional memory in bytes.
int64_t AddEvidence(const std::vector<ColumnEvidence>& more, std::vector<ColumnEvidence>* into);

// Adds the row counts of a shard.
void AddAlike(const RowCounts& more, RowCounts* into);
int64_t MemoryBytes(const RowCounts& rows);

// The large parts of shard profiles, added up as the profiles arrive.
struct ShardSums {
  RowSample sample, probe, places;
  CategoryCounts categories;
  std::vector<ColumnEvidence> evidence;
  RowCounts alike;
  int64_t category_bytes = 0, evidence_bytes = 0;

  int64_t bytes() const;
  // kFailedPrecondition: the profile has different columns than earlier ones.
  Status Add(const ShardProfile& profile);
  // Moves the sums into emptied profiles (see TakeOutSums). Evidence goes to the first profile that
  // had any, everything else to the first one without a failure.
  void MoveTo(std::vector<ShardProfile*> profiles);
};
// Empties the parts of a profile that ShardSums has added. The columns of its evidence and
// vocabularies remain, without counts.
void TakeOutSums(ShardProfile* profile);

}  // namespace espalier::spec
