// The division of the flat vector of parameters (and of gradients) into chunks and buckets. A chunk
// is the unit in which gradients are computed and applied. A bucket is a run of chunks and the unit
// in which gradients are added and sent.
//
// The flat vector holds the layers one after another without padding. A layer has the weight [out,
// in] row-major, then the bias [out]. With a layer norm, the gain [out] and the shift [out] follow.
// A table of parameters is a layer without bias, and each row of the table is a row of the weight.
// A chunk is a run of whole rows of one layer's weight. The last chunk of a layer also holds its
// bias and what follows it. The division depends only on the shapes, never on machines or threads.
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

// Target size of a chunk. The value was measured on the leaf step of a 784-256-256-10 network
// (tools/benchmarks). Chunks of 128 KiB make the step 5 % slower, because BLAS packs the
// activations again for each. From 256 KiB up, it is equally fast, and smaller chunks share the
// work better among many threads.
inline constexpr int64_t kChunkBytes = 256 << 10;
// Maximum size of a chunk, unless a single row (or the tail alone) is larger.
inline constexpr int64_t kChunkBytesMax = 1 << 20;

struct LayerDims {
  int64_t in = 0;  // 0: a layer with only biases
  int64_t out = 0;
  bool norm = false;
  bool bias = true;  // REQUIRES: true with norm, and with in = 0
  // Returns the number of elements of the bias and the parts after it.
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

// Returns the chunks in the order in which gradients are computed and sent: the layer with most
// weights first (the lower index among equals), within a layer by row. REQUIRES: out positive,
// element_bytes > 0, 0 < chunk_bytes <= kChunkBytesMax.
std::vector<Chunk> MakeChunks(std::span<const LayerDims> layers, int64_t element_bytes,
                              int64_t chunk_bytes = kChunkBytes);

// Maximum size of a bucket, unless a single chunk is larger. The value was measured with two
// workers and the network above. Each message costs some 0.1 ms of wake-ups on both sides. Four
// messages of 256 KiB therefore make a step a sixth longer than one of 1 MiB, although computing
// hides less of the latter.
inline constexpr int64_t kBucketBytes = 1 << 20;
// Alignment of chunks in a bucket, with zeros as padding.
inline constexpr int64_t kBucketAlignment = 64;  // bytes

struct Bucket {
  int32_t chunk_begin = 0, chunk_end = 0;
  int64_t size = 0;  // elements, padding included
  bool operator==(const Bucket&) const = default;
};
struct BucketTable {
  std::vector<Bucket> buckets;
  std::vector<int32_t> bucket_of;  // bucket of each chunk
  std::vector<int64_t> offset_of;  // elements before each chunk in its bucket
};

// Returns runs of chunks in their order, each as long as the limit allows.
BucketTable MakeBuckets(std::span<const Chunk> chunks, int64_t element_bytes,
                        int64_t bucket_bytes = kBucketBytes);

}  // namespace espalier::plan
