#include "src/cluster/packed_plan.h"

#include <catch2/catch.hpp>
#include <limits>
#include <random>

namespace espalier::cluster {
namespace {

void CheckSame(const spec::InputPlan& a, const spec::InputPlan& b) {
  CHECK(a.files == b.files);
  CHECK(a.shards == b.shards);
  CHECK(a.schema == b.schema);
  CHECK(a.hosts == b.hosts);
  CHECK(a.provisional == b.provisional);
  CHECK(a.notes == b.notes);
}

// Returns a plan with different values in all fields.
spec::InputPlan Plan() {
  spec::InputPlan plan;
  plan.files = {{"/data/a.csv", 100, 1'700'000'000'000, spec::FileRole::kTrain, {}},
                {"/data/b\xff.csv", 0, -5, spec::FileRole::kValidation, {2, 0, -1, -2}},
                {"hdfs://n/c",
                 std::numeric_limits<int64_t>::max(),
                 std::numeric_limits<int64_t>::min(),
                 spec::FileRole::kTest,
                 {}}};
  plan.shards = {{0, 0, 30},
                 {0, 30, 60},
                 {0, 60, 90},
                 {0, 90, 100},
                 {1, 0, 0},
                 {1, 0, 0},
                 {2, 7, std::numeric_limits<int64_t>::max()}};
  plan.schema = {.names = {"y", "", "caf\xc3\xa9"},
                 .features = {1, 2, 2},
                 .label = {0},
                 .weight = 2,
                 .validation = -1,
                 .partitions = 1,
                 .rules = {{}, {spec::FeatureType::kCategorical, 3, spec::DatePart::kEpoch}, {}},
                 .left_out = {{1, spec::LeftOutReason::kDirectoryText}}};
  plan.hosts = {{"a", "b"}, {}, {"b"}, {"c", "a", "b"}, {}, {}, {"a"}};
  plan.provisional = true;
  plan.notes = {"one", ""};
  return plan;
}

TEST_CASE("a packed plan unpacks to the same plan") {
  for (const spec::InputPlan& plan : {Plan(), spec::InputPlan()}) {
    const std::string bytes = PackPlan(plan);
    const auto back = UnpackPlan(bytes);
    REQUIRE(back.ok());
    CheckSame(*back, plan);
    CHECK(PackPlan(*back) == bytes);
  }
}

TEST_CASE("a truncated or extended packed plan is refused") {
  const std::string bytes = PackPlan(Plan());
  for (size_t n = 0; n < bytes.size(); ++n) {
    CHECK(UnpackPlan(bytes.substr(0, n)).status().code() == StatusCode::kDataLoss);
  }
  CHECK(UnpackPlan(bytes + '\0').status().code() == StatusCode::kDataLoss);
}

TEST_CASE("mutated packed plans are unpacked or refused") {
  const std::string bytes = PackPlan(Plan());
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string mutated = bytes;
    for (uint32_t n = 1 + random() % 3; n > 0; --n) {
      mutated[random() % mutated.size()] = static_cast<char>(random());
    }
    const auto plan = UnpackPlan(mutated);
    if (!plan.ok()) continue;
    CHECK(std::ssize(plan->shards) <= kPackedShardsMax);
    const auto again = UnpackPlan(PackPlan(*plan));
    REQUIRE(again.ok());
    CheckSame(*again, *plan);
  }
}

}  // namespace
}  // namespace espalier::cluster
