// What one message between two members may hold is enough for every job that is accepted.
#include <catch2/catch.hpp>

#include "src/model/metrics.h"
#include "src/model/network.h"
#include "src/plan/chunks.h"
#include "src/plan/ownership.h"
#include "src/rpc/peer.h"

namespace espalier {
namespace {

NetworkShape Shape(int64_t inputs, int64_t classes) {
  NetworkShape shape;
  shape.layers = {{.in = inputs, .out = 4, .activation = Activation::kRelu},
                  {.in = 4, .out = classes}};
  return shape;
}

TEST_CASE("a message holds the largest bucket, also of an interval of several nodes") {
  constexpr int64_t kDouble = sizeof(double), kFeaturesMax = 1 << 20;  // of a table
  const int64_t limit = PeerOptions().payload_bytes_max;

  const NetworkShape most_classes = Shape(4, kConfusionClassesMax);
  CHECK(TotalsSize(most_classes, TotalsKind::kEvaluation) >=
        kConfusionClassesMax * kConfusionClassesMax);
  for (const NetworkShape& shape : {most_classes, Shape(kFeaturesMax, 2)}) {
    const std::vector<Chunk> chunks = MakeChunks(Dims(shape), kDouble);
    int64_t numbers = 0;
    for (const Bucket& b : MakeBuckets(chunks, kDouble).buckets) {
      numbers = std::max(numbers, b.size);
    }
    for (const TotalsKind kind : {TotalsKind::kTraining, TotalsKind::kEvaluation}) {
      numbers = std::max(numbers, TotalsSize(shape, kind));
    }
    CHECK(numbers >= 1'000'000);  // otherwise this is not the worst case
    constexpr int64_t kOthers = 64
                                << 10;  // what members tell of themselves, in a training's totals
    CHECK(kNodesAfterMove * (numbers * kDouble + kOthers) <= limit);
  }
}

}  // namespace
}  // namespace espalier
