// Runs simulated worlds: sim --seed N [--seeds M] [--events E] [--bug B] [--trace], or, without
// faults, sim --large: ten thousand workers.
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "tests/sim/world.h"

int main(int argc, char** argv) {
  using namespace espalier::sim;
  WorldOptions options;
  uint64_t seeds = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--large") {
      const Outcome outcome = World(options).RunQuietly(10'000, ToyJob::kLarge, 1'000);
      std::cout << outcome.failure << " " << outcome.events << " events\n";
      return outcome.failure.empty() ? 0 : 1;
    }
    if (flag == "--trace") {
      options.trace = true;
      continue;
    }
    const uint64_t value = i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0;
    if (flag == "--seed") {
      options.seed = value;
    } else if (flag == "--seeds") {
      seeds = value;
    } else if (flag == "--events") {
      options.events = static_cast<int64_t>(value);
    } else if (flag == "--bug" && value < kBugs) {
      options.bugs.set(value);
    } else {
      std::cerr << "usage: sim --seed N [--seeds M] [--events E] [--bug B] [--trace]\n";
      return 2;
    }
  }
  FaultCounts fired;
  int64_t events = 0, ticks = 0, jobs = 0, limited = 0, failures = 0;
  for (uint64_t i = 0; i < seeds; ++i, ++options.seed) {
    const Outcome outcome = World(options).Run();
    fired.Add(outcome.fired);
    events += outcome.events;
    ticks += outcome.ticks;
    jobs += outcome.jobs;
    limited += outcome.ended_by_a_limit;
    if (outcome.failure.empty()) continue;
    ++failures;
    std::cout << "seed " << options.seed << ": " << outcome.failure << "\n";
  }
  for (size_t f = 0; f < kFaults; ++f)
    std::cout << kFaultNames[f] << ": " << fired.fired[f] << "\n";
  std::cout << seeds << " seeds, " << failures << " failed, " << events << " events, " << ticks
            << " ticks, " << jobs << " jobs, " << limited << " ended by a limit\n";
  return failures == 0 ? 0 : 1;
}
