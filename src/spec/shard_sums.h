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

// Memory of one count by text, without the text, in bytes: a node of std::map.
inline constexpr size_t kCountBytes = 96;

// Merges the sample of a shard into that of other shards. The `SampledRowsMax` rows with the
// smallest keys remain, in ascending order of their keys, whatever the order of the shards
// (data/table/row_sample.h explains why this is the sample of all rows).
// kFailedPrecondition: its rows have another width.
Status MergeSample(const RowSample& more, RowSample* into);
int64_t MemoryBytes(const RowSample& sample);

// Adds the counts of a shard's categories to those of other shards (empty: there were none).
// Returns the additional memory in bytes. REQUIRES: both have the same columns.
using CategoryCounts = std::vector<std::map<std::string, int64_t>>;
int64_t AddCategories(const CategoryCounts& more, CategoryCounts* into);

// A hash of a text that is the same on every machine.
uint64_t HashOfText(const std::string& text);

// Adds to the texts of a column; what remains does not depend on the order of the additions.
void AddTexts(const TextCounts& more, TextCounts* into);
// Adds rows of one text.
void AddText(const std::string& text, int64_t rows, TextCounts* into);
// How many different texts there are, about.
double DifferentTexts(const TextCounts& texts);
// Adds the evidence of a shard. Returns the additional memory in bytes, about.
int64_t AddEvidence(const std::vector<ColumnEvidence>& more, std::vector<ColumnEvidence>* into);

// Adds the rows of a shard.
void AddAlike(const RowCounts& more, RowCounts* into);
int64_t MemoryBytes(const RowCounts& rows);

// What is large in the profiles of shards, added up as they come.
struct ShardSums {
  RowSample sample, probe, places;
  CategoryCounts categories;
  std::vector<ColumnEvidence> evidence;
  RowCounts alike;
  int64_t category_bytes = 0, evidence_bytes = 0;

  int64_t bytes() const;
  // kFailedPrecondition: the profile has other columns than those before.
  Status Add(const ShardProfile& profile);
  // Puts the sums into emptied profiles (TakeOutSums): evidence into the first one that had any,
  // all others into the first one without a failure.
  void MoveTo(std::vector<ShardProfile*> profiles);
};
// Empties what ShardSums has of a profile.
// The columns of its evidence and vocabularies stay, without counts.
void TakeOutSums(ShardProfile* profile);

}  // namespace espalier::spec
