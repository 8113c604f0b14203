// How the flat vector of parameters (and of gradients) is cut into chunks, the unit in which
// gradients are computed and applied, and how chunks are gathered into buckets, the unit in which
// they are added and sent.
//
// The flat vector holds, layer after layer and without padding, the weight [out, in] row-major and
// then the bias [out], which the gain [out] and the shift [out] of a layer norm follow where there
// is one. A table of parameters is a layer without bias, each row of it being a row of the weight.
// A chunk is a run of whole rows of one layer's weight; the last chunk of a layer holds its bias
// and what follows too. The cut is a function of the shapes alone, never of machines or
// threads.
//
// Example: one layer of 2 inputs and 3 outputs, 4-byte elements, chunks of 16 bytes:
//   {layer 0, rows 0..2, offset 0, size 4}, {layer 0, rows 2..3, bias, offset 4, size 5}
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::plan {

// What a chunk aims at. Measured on the leaf step of a 784-256-256-10 network (tools/benchmarks):
// chunks of 128 KiB make it 5 % slower, for BLAS packs the activations anew for each; from 256 KiB
// up it is equally fast, and the smaller the chunk, the better many threads share the work.
inline constexpr int64_t kChunkBytes = 256 << 10;
// What a chunk never exceeds, unless a single row (or the tail alone) is larger.
inline constexpr int64_t kChunkBytesMax = 1 << 20;

struct LayerDims {
  int64_t in = 0;  // 0: a layer of biases alone
  int64_t out = 0;
  bool norm = false;
  bool bias = true;  // REQUIRES: with norm, and with in = 0
  // Elements of the bias and of what follows it.
  int64_t tail() const { return norm ? 3 * out : bias ? out : 0; }
};

struct Chunk {
  int32_t layer = 0;
  int64_t out_begin =
      0;  // rows [out_begin, out_end) of the layer's weight; may be empty with `bias`
  int64_t out_end = 0;
  bool bias = false;   // the layer's whole tail follows the rows
  int64_t offset = 0;  // elements, in the flat vector
  int64_t size = 0;    // elements, tail included
  bool operator==(const Chunk&) const = default;
};

// The chunks in the order in which gradients are computed and sent: the layer with most weights
// first (the lower index among equals), within a layer by row.
// REQUIRES: out positive, element_bytes > 0, 0 < chunk_bytes <= kChunkBytesMax.
std::vector<Chunk> MakeChunks(std::span<const LayerDims> layers, int64_t element_bytes,
                              int64_t chunk_bytes = kChunkBytes);

// What a bucket holds at most, unless a single chunk is larger. Measured with two workers and the
// network above: each message costs some 0.1 ms of wake-ups on both sides, so that four messages of
// 256 KiB make a step a sixth longer than one of 1 MiB, although less of it hides behind computing.
inline constexpr int64_t kBucketBytes = 1 << 20;
// Chunks begin at multiples of this in a bucket, filled up with zeros.
inline constexpr int64_t kBucketAlignment = 64;  // bytes

struct Bucket {
  int32_t chunk_begin = 0, chunk_end = 0;
  int64_t size = 0;  // elements, with those that fill up
  bool operator==(const Bucket&) const = default;
};
struct BucketTable {
  std::vector<Bucket> buckets;
  std::vector<int32_t> bucket_of;  // a chunk
  std::vector<int64_t> offset_of;  // a chunk: elements from the bucket's begin
};

// Runs of chunks in their order, each as long as fits.
BucketTable MakeBuckets(std::span<const Chunk> chunks, int64_t element_bytes,
                        int64_t bucket_bytes = kBucketBytes);

}  // namespace espalier::plan
