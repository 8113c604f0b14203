// Tests that one message between two members is large enough for every job that is accepted.
#include <catch2/catch.hpp>

#include "src/model/metrics.h"
#include "src/model/network.h"
#include "src/plan/chunks.h"
#include "src/plan/ownership.h"
#include "src/rpc/peer.h"

namespace espalier::worker {
namespace {

model::NetworkShape Shape(int64_t inputs, int64_t classes) {
  model::NetworkShape shape;
  shape.layers = {{.in = inputs, .out = 4, .activation = spec::Activation::kRelu},
                  {.in = 4, .out = classes}};
  return shape;
}

TEST_CASE("a message holds the largest bucket of several nodes") {
  constexpr int64_t kDouble = sizeof(double), kFeaturesMax = 1 << 20;  // features of a table
  const int64_t limit = rpc::PeerOptions().payload_bytes_max;

  const model::NetworkShape most_classes = Shape(4, model::kConfusionClassesMax);
  CHECK(model::TotalsSize(most_classes, model::TotalsKind::kEvaluation) >=
        model::kConfusionClassesMax * model::kConfusionClassesMax);
  for (const model::NetworkShape& shape : {most_classes, Shape(kFeaturesMax, 2)}) {
    const std::vector<plan::Chunk> chunks = plan::MakeChunks(model::Dims(shape), kDouble);
    int64_t numbers = 0;
    for (const plan::Bucket& b : plan::MakeBuckets(chunks, kDouble).buckets) {
      numbers = std::max(numbers, b.size);
    }
    for (const model::TotalsKind kind :
         {model::TotalsKind::kTraining, model::TotalsKind::kEvaluation}) {
      numbers = std::max(numbers, model::TotalsSize(shape, kind));
    }
    CHECK(numbers >= 1'000'000);  // otherwise this is not the worst case
    // Bytes that members add about themselves to the totals of a step.
    constexpr int64_t kOthers = 64 << 10;
    CHECK(plan::kNodesAfterMove * (numbers * kDouble + kOthers) <= limit);
  }
}

}  // namespace
}  // namespace espalier::worker
