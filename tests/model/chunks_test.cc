#include "src/plan/chunks.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "src/base/random.h"

namespace espalier::model {
namespace {

// Checks that the chunks, sorted by offset, cover the vector once in whole rows. Each bias comes
// once, with its norm.
void CheckTiles(const std::vector<plan::LayerDims>& layers, std::vector<plan::Chunk> chunks) {
  std::sort(chunks.begin(), chunks.end(),
            [](const plan::Chunk& a, const plan::Chunk& b) { return a.offset < b.offset; });
  int64_t offset = 0;
  size_t next = 0;
  for (size_t l = 0; l < layers.size(); ++l) {
    int64_t row = 0;
    for (bool bias = false; !bias; ++next) {
      REQUIRE(next < chunks.size());
      const plan::Chunk& c = chunks[next];
      CHECK(c.layer == static_cast<int32_t>(l));
      CHECK(c.out_begin == row);
      CHECK(c.offset == offset);
      CHECK(c.size == (c.out_end - c.out_begin) * layers[l].in + (c.bias ? layers[l].tail() : 0));
      row = c.out_end;
      offset += c.size;
      bias = c.bias;
    }
    CHECK(row == layers[l].out);
  }
  CHECK(next == chunks.size());
}

TEST_CASE("chunks tile the flat vector exactly, for any shapes") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::vector<plan::LayerDims> layers;
    for (uint64_t l = 0; l <= seed % 4; ++l) {
      layers.push_back({static_cast<int64_t>(1 + Mix64(seed * 8 + l) % 900),
                        static_cast<int64_t>(1 + Mix64(seed * 8 + l + 4) % 600),
                        (seed + l) % 3 == 0});
    }
    for (int64_t chunk_bytes :
         {int64_t{1}, int64_t{5000}, plan::kChunkBytes, plan::kChunkBytesMax}) {
      CheckTiles(layers, plan::MakeChunks(layers, 4, chunk_bytes));
    }
  }
}

TEST_CASE("a chunk keeps its size, except for one large row or a bias") {
  const std::vector<plan::LayerDims> layers = {{784, 4096}, {1 << 20, 3}, {1, 131072}, {4096, 10}};
  for (int64_t element : {4, 8}) {
    const auto chunks = plan::MakeChunks(layers, element);
    CheckTiles(layers, chunks);
    for (const plan::Chunk& c : chunks) {
      const bool one_row = c.out_end - c.out_begin == 1;
      CHECK((c.size * element <= plan::kChunkBytesMax || one_row));
    }
  }
}

TEST_CASE("the largest layer comes first, equal ones by index") {
  const std::vector<plan::LayerDims> layers = {{4, 4}, {30, 30}, {4, 4}, {5, 5}};
  std::vector<int32_t> order;
  for (const plan::Chunk& c : plan::MakeChunks(layers, 4)) order.push_back(c.layer);
  CHECK(order == std::vector<int32_t>{1, 3, 0, 2});
}

TEST_CASE("the example of the header holds") {
  const std::vector<plan::LayerDims> layers = {{2, 3}};
  CHECK(plan::MakeChunks(layers, 4, 16) ==
        std::vector<plan::Chunk>{{0, 0, 2, false, 0, 4}, {0, 2, 3, true, 4, 5}});
}

TEST_CASE("buckets are full runs of chunks at multiples of 64 bytes") {
  const std::vector<plan::LayerDims> layers = {{784, 256}, {256, 256}, {256, 10}};
  for (int64_t element : {4, 8}) {
    const auto chunks = plan::MakeChunks(layers, element);
    for (int64_t bytes : {int64_t{1}, int64_t{300'000}, plan::kBucketBytes, int64_t{1} << 30}) {
      const plan::BucketTable table = plan::MakeBuckets(chunks, element, bytes);
      int32_t at = 0;
      for (size_t b = 0; b < table.buckets.size(); ++b) {
        const plan::Bucket& bucket = table.buckets[b];
        REQUIRE(bucket.chunk_begin == at);
        REQUIRE(bucket.chunk_end > at);
        const bool single = bucket.chunk_end == bucket.chunk_begin + 1;
        CHECK((single || bucket.size * element <= bytes));
        int64_t filled = 0;
        for (; at < bucket.chunk_end; ++at) {
          CHECK(table.bucket_of[at] == static_cast<int32_t>(b));
          CHECK(table.offset_of[at] * element % plan::kBucketAlignment == 0);
          CHECK(table.offset_of[at] >= filled);
          CHECK(table.offset_of[at] - filled < plan::kBucketAlignment / element);
          filled = table.offset_of[at] + chunks[at].size;
        }
        CHECK(bucket.size >= filled);
        if (b > 0) {  // its first chunk did not fit into the previous bucket
          CHECK((table.buckets[b - 1].size + chunks[bucket.chunk_begin].size) * element >
                bytes - plan::kBucketAlignment);
        }
      }
      CHECK(at == static_cast<int32_t>(chunks.size()));
    }
  }
  CHECK(plan::MakeBuckets(plan::MakeChunks(layers, 4), 4).buckets.size() == 2);
}

}  // namespace
}  // namespace espalier::model
