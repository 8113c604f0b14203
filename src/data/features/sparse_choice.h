// Decides which rows are kept without their zeros (spec/sparse_rows.h), when decoded and when
// stored by a job. Both decisions depend only on the job and its data, never on the assignment of
// shards to workers.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// Returns the features that are codes of categories, ascending. The content of these features is
// always kept, even if it is 0: it is the code of a value and differs between shards.
std::vector<int32_t> CodedFeatures(const spec::Schema& schema);

// Returns whether the rows of a shard may be kept sparse before all are counted. The features must
// include many plain numbers that are not sampled, and otherwise only categories.
bool MayBeSparse(const spec::JobSpec& job, const spec::Schema& schema);

// Returns whether rows of a text file are decoded sparse unless the first ones are not sparse. This
// holds for LIBSVM text if its rows may be sparse and contain only features and a label.
bool DecodesSparse(const spec::JobSpec& job, const spec::Schema& schema, const std::string& path);

// Returns whether rows may be multiplied sparse, whatever their content: many features are numbers.
// An autoencoder needs the zeros, which are its targets.
bool CanBeSparse(const spec::JobSpec& job, const spec::Preprocessing& fitted);

// Returns whether a job's rows are stored and multiplied sparse: they can be, and few numbers are
// nonzero. Columns far from 0 (sparse_rows.h) and codes count in all rows. `rows`: number of rows
// in all sets. `nonzeros`: their nonzero numbers, with all codes. The model stores the answer, for
// rows that are scored later.
bool StoresSparse(const spec::JobSpec& job, const spec::Preprocessing& fitted, int64_t rows,
                  int64_t nonzeros);

}  // namespace espalier::data
