#include "src/training/step_signals.h"

namespace espalier::training {
namespace {

constexpr double kIntegersBelow = 0x1p53;  // all integers below it are exact doubles

// Returns 0 for a number that is not a count.
uint64_t CountOf(double number) {
  return number > 0 && number < kIntegersBelow ? static_cast<uint64_t>(number) : 0;
}

}  // namespace

void EncodeRootSignals(const RootSignals& root, std::span<double> extras) {
  extras[kExtraEnds] = static_cast<double>(root.ends);
  extras[kExtraSwitch] = static_cast<double>(root.next.value);
  extras[kExtraCompare] = root.compare_next ? 1 : 0;
}

void EncodeSignals(const RootSignals* root, const MemberSignals& own, int32_t self,
                   std::span<double> extras) {
  if (root != nullptr) EncodeRootSignals(*root, extras);
  double* const numbers = extras.data() + SignalNumbers(self);
  numbers[0] = own.leaf_ms;
  numbers[1] = static_cast<double>(own.state_checksum);
}

StepSignals DecodeSignals(std::span<const double> extras) {
  StepSignals signals;
  const double ends = extras[kExtraEnds];
  signals.root.ends = ends == static_cast<double>(StepEnds::kByRequest) ? StepEnds::kByRequest
                      : ends > 0                                        ? StepEnds::kByTime
                                                                        : StepEnds::kNo;
  signals.root.next = {CountOf(extras[kExtraSwitch])};
  signals.root.compare_next = extras[kExtraCompare] != 0;
  for (size_t i = kStepExtras; i + kMemberNumbers <= extras.size(); i += kMemberNumbers) {
    signals.members.push_back({extras[i], static_cast<int64_t>(CountOf(extras[i + 1]))});
  }
  return signals;
}

}  // namespace espalier::training
