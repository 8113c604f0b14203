#include "src/plan/chunks.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "src/base/check.h"

namespace espalier::plan {
namespace {

constexpr int64_t kRowMultiple = 16;  // block size of the BLAS kernels, in rows

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Returns the rows per chunk: as even as possible, in whole kernel blocks if these keep within the
// target.
int64_t RowsPerChunk(const LayerDims& layer, int64_t element_bytes, int64_t chunk_bytes) {
  const int64_t fit = std::max<int64_t>(1, chunk_bytes / (layer.in * element_bytes));
  const int64_t even = CeilDiv(layer.out, CeilDiv(layer.out, fit));
  const int64_t rounded = CeilDiv(even, kRowMultiple) * kRowMultiple;
  return rounded <= fit ? rounded : even;
}

void AddLayer(int32_t index, const LayerDims& layer, int64_t offset, int64_t element_bytes,
              int64_t chunk_bytes, std::vector<Chunk>& chunks) {
  if (layer.in == 0) {
    chunks.push_back({index, layer.out, layer.out, true, offset, layer.tail()});
    return;
  }
  const int64_t rows = RowsPerChunk(layer, element_bytes, chunk_bytes);
  for (int64_t begin = 0; begin < layer.out; begin += rows) {
    const int64_t end = std::min(begin + rows, layer.out);
    chunks.push_back({index, begin, end, false, offset, (end - begin) * layer.in});
    offset += chunks.back().size;
  }
  if (layer.tail() == 0) return;
  const int64_t with_tail = chunks.back().size + layer.tail();
  if (with_tail * element_bytes > kChunkBytesMax) {
    chunks.push_back({index, layer.out, layer.out, true, offset, layer.tail()});
  } else {
    chunks.back().bias = true;
    chunks.back().size = with_tail;
  }
}

}  // namespace

std::vector<Chunk> MakeChunks(std::span<const LayerDims> layers, int64_t element_bytes,
                              int64_t chunk_bytes) {
  ESPALIER_CHECK(element_bytes > 0 && chunk_bytes > 0 && chunk_bytes <= kChunkBytesMax,
                 std::to_string(chunk_bytes));
  std::vector<int64_t> offsets;
  int64_t offset = 0;
  for (const LayerDims& layer : layers) {
    ESPALIER_CHECK(layer.in >= 0 && layer.out > 0 && layer.in + layer.tail() > 0,
                   std::to_string(layer.in) + "x" + std::to_string(layer.out));
    offsets.push_back(offset);
    offset += layer.in * layer.out + layer.tail();
  }
  std::vector<int32_t> order(layers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return layers[a].in * layers[a].out > layers[b].in * layers[b].out;
  });
  std::vector<Chunk> chunks;
  for (int32_t layer : order) {
    AddLayer(layer, layers[layer], offsets[layer], element_bytes, chunk_bytes, chunks);
  }
  return chunks;
}

BucketTable MakeBuckets(std::span<const Chunk> chunks, int64_t element_bytes,
                        int64_t bucket_bytes) {
  ESPALIER_CHECK(element_bytes > 0 && kBucketAlignment % element_bytes == 0,
                 std::to_string(element_bytes));
  const int64_t grain = kBucketAlignment / element_bytes;
  BucketTable table;
  for (int32_t c = 0; c < static_cast<int32_t>(chunks.size()); ++c) {
    const int64_t size = (chunks[c].size + grain - 1) / grain * grain;
    if (table.buckets.empty() ||
        (table.buckets.back().size + size) * element_bytes > bucket_bytes) {
      table.buckets.push_back({c, c, 0});
    }
    Bucket& bucket = table.buckets.back();
    table.bucket_of.push_back(static_cast<int32_t>(table.buckets.size()) - 1);
    table.offset_of.push_back(bucket.size);
    bucket.chunk_end = c + 1;
    bucket.size += size;
  }
  return table;
}

}  // namespace espalier::plan
