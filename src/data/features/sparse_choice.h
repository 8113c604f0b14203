// Which rows are kept without their zeros (spec/sparse_rows.h): as they are decoded, and as a job
// stores them. Both follow from the job and its data alone, never from who reads what.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/spec/input.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

// The features that are codes of categories, ascending. What such a feature holds is never left
// out, 0 or not: it is the code of a value, and another one in each shard.
std::vector<int32_t> CodedFeatures(const spec::Schema& schema);

// Whether a shard's rows may be kept sparse before all are counted: they have many plain numbers,
// of which no sample is taken, and beside them nothing but categories.
bool MayBeSparse(const spec::JobSpec& job, const spec::Schema& schema);

// Whether rows of a file of text are decoded sparse unless the first ones are not: of LIBSVM text,
// if they may be sparse and have nothing beside their features but a label.
bool DecodesSparse(const spec::JobSpec& job, const spec::Schema& schema, const std::string& path);

// Whether rows may be multiplied sparse, whatever they hold: many features are numbers. An
// autoencoder needs the zeros, as its targets.
bool CanBeSparse(const spec::JobSpec& job, const spec::Preprocessing& fitted);

// Whether a job's rows are stored and multiplied sparse: they can be, and few numbers are not 0,
// those of columns far from 0 (sparse_rows.h) and codes counted in all rows. `rows`: of all sets;
// `nonzeros`: of theirs, with all codes. The model remembers the answer, for rows that are scored
// later.
bool StoresSparse(const spec::JobSpec& job, const spec::Preprocessing& fitted, int64_t rows,
                  int64_t nonzeros);

}  // namespace espalier::data
