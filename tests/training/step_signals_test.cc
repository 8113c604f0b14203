#include "src/training/step_signals.h"

#include <catch2/catch.hpp>
#include <limits>
#include <vector>

namespace espalier::training {
namespace {

TEST_CASE("signals of all members are read from the sum of their parts") {
  constexpr int32_t kMembers = 3;
  std::vector<double> sum(static_cast<size_t>(SignalNumbers(kMembers)));
  const RootSignals root{StepEnds::kByRequest, {9}, true};
  for (int32_t self = 0; self < kMembers; ++self) {
    std::vector<double> part(sum.size());
    EncodeSignals(self == 1 ? &root : nullptr, {0.5 + self, int64_t{1} << (32 - self)}, self, part);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  const StepSignals signals = DecodeSignals(sum);
  CHECK(signals.root.ends == StepEnds::kByRequest);
  CHECK(signals.root.next == Generation{9});
  CHECK(signals.root.compare_next);
  REQUIRE(signals.members.size() == kMembers);
  for (int32_t self = 0; self < kMembers; ++self) {
    CHECK(signals.members[static_cast<size_t>(self)].leaf_ms == 0.5 + self);
    CHECK(signals.members[static_cast<size_t>(self)].state_checksum == int64_t{1} << (32 - self));
  }
}

TEST_CASE("no number of a total is undefined as a signal") {
  const double number = GENERATE(-1.0, 1e300, std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN(), 0.0);
  const std::vector<double> extras(static_cast<size_t>(SignalNumbers(2)), number);
  const StepSignals signals = DecodeSignals(extras);
  CHECK_FALSE(signals.root.next);
  CHECK(signals.members.size() == 2);
  CHECK(signals.members[1].state_checksum == 0);
}

TEST_CASE("a total without room for members still has the signals of the root") {
  std::vector<double> extras(static_cast<size_t>(SignalNumbers(0)));
  EncodeRootSignals({StepEnds::kByTime, {2}, false}, extras);
  const StepSignals signals = DecodeSignals(extras);
  CHECK(signals.root.ends == StepEnds::kByTime);
  CHECK(signals.root.next == Generation{2});
  CHECK(signals.members.empty());
}

}  // namespace
}  // namespace espalier::training
