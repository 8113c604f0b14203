#include "src/cluster/arrangement.h"

#include <algorithm>

#include "src/base/random.h"

namespace espalier::cluster {
namespace {

constexpr double kGainMin = 0.15;
constexpr int kPermutationsTried = 300;
constexpr size_t kSwapsTriedMax = 10'000;

using Edges = std::vector<std::pair<int32_t, int32_t>>;

bool Fits(const std::vector<WorkerId>& workers, const Edges& edges, const WorkerPairs& broken) {
  for (const auto& [a, b] : edges) {
    if (broken.contains(PairOf(workers[static_cast<size_t>(a)], workers[static_cast<size_t>(b)]))) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::vector<WorkerId>> ArrangeMembers(std::vector<WorkerId> workers,
                                                    const plan::Ownership& ownership,
                                                    int32_t leaves, bool star,
                                                    const WorkerPairs& broken) {
  if (broken.empty()) return workers;
  const Edges edges = plan::EdgesOf(plan::PlanTree(ownership, leaves), star);
  if (Fits(workers, edges, broken)) return workers;
  size_t swaps = 0;
  for (size_t i = 0; i < workers.size(); ++i) {
    for (size_t k = i + 1; k < workers.size() && ++swaps <= kSwapsTriedMax; ++k) {
      std::swap(workers[i], workers[k]);
      if (Fits(workers, edges, broken)) return workers;
      std::swap(workers[i], workers[k]);
    }
  }
  uint64_t drawn = 0;
  for (int n = 0; n < kPermutationsTried; ++n) {
    for (size_t i = workers.size(); i > 1; --i)
      std::swap(workers[i - 1], workers[Mix64(++drawn) % i]);
    if (Fits(workers, edges, broken)) return workers;
  }
  return std::nullopt;
}

std::vector<int32_t> StateSources(const std::vector<WorkerId>& members,
                                  const std::vector<uint64_t>& rounds, const WorkerPairs& broken) {
  const uint64_t newest = *std::max_element(rounds.begin(), rounds.end());
  std::vector<int32_t> sources(members.size()), reached, behind;
  for (int32_t i = 0; i < static_cast<int32_t>(members.size()); ++i) {
    sources[static_cast<size_t>(i)] = i;
    (rounds[static_cast<size_t>(i)] == newest ? reached : behind).push_back(i);
  }
  for (size_t n = 0; n < reached.size() && !behind.empty(); ++n) {
    const auto from = static_cast<size_t>(reached[n]);
    std::vector<int32_t> left;
    for (int32_t i : behind) {
      const auto to = static_cast<size_t>(i);
      const bool cut = broken.contains(PairOf(members[from], members[to]));
      if (!cut) sources[to] = reached[n];
      (cut ? left : reached).push_back(i);
    }
    behind = std::move(left);
  }
  for (int32_t i : behind) sources[static_cast<size_t>(i)] = reached.front();
  return sources;
}

std::optional<BetterPlan> BetterOwnership(const std::vector<LeafInterval>& leaves,
                                          const std::vector<double>& leaf_ms) {
  std::vector<double> speeds;
  for (double ms : leaf_ms) speeds.push_back(1 / ms);
  BetterPlan better;
  better.ownership = plan::PlanOwnership(leaves.back().end, speeds, plan::kNodesAfterMove);
  double now = 0, then = 0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const plan::LeafSpan& next = better.ownership.intervals[i];
    now = std::max(now, leaf_ms[i] * (leaves[i].end - leaves[i].begin));
    then = std::max(then, leaf_ms[i] * (next.end - next.begin));
  }
  better.gain = 1 - then / now;
  if (!(better.gain >= kGainMin)) return std::nullopt;
  return better;
}

}  // namespace espalier::cluster
