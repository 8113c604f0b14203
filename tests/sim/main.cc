// A program that runs simulated worlds:
//
//   sim --help     shows the arguments, and the names of faults and actions
//   sim --seed N --seeds M
//
// For a world that fails, it prints the command that replays it.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "tests/sim/runner.h"
#include "tests/sim/world.h"

namespace espalier::sim {
namespace {

constexpr const char* kUsage =
    "usage: sim --seed N [--seeds M] [--jobs J] [--events E] [--bug B] [--trace]\n"
    "           [--faults NAME,NAME...]  injects only these faults; default: the seed chooses\n"
    "           [--pause-before ACTION]  pauses the worker before each action with this name\n"
    "       sim --large                  runs ten thousand workers without faults\n"
    "       sim --help\n";

struct Flags {
  WorldOptions world;
  uint64_t seeds = 1, jobs = 1;
  bool large = false, help = false;
};

// Reads names of faults, with commas between them. Returns whether all of them can be injected.
bool ReadFaults(const std::string& names, std::optional<FaultSet>& out) {
  out.emplace();
  for (size_t from = 0; from <= names.size();) {
    const size_t to = std::min(names.find(',', from), names.size());
    const std::string name = names.substr(from, to - from);
    const auto at = std::find(kFaultNames.begin(), kFaultNames.end(), name);
    const auto fault = static_cast<size_t>(at - kFaultNames.begin());
    if (at == kFaultNames.end() || !IsInjected(static_cast<Fault>(fault))) {
      std::cerr << "--faults: found '" << name << "', expected a fault that --help lists.\n";
      return false;
    }
    out->set(fault);
    from = to + 1;
  }
  return true;
}

bool ReadAction(const std::string& name, std::string& out) {
  out = name;
  const auto& all = PausableActions();
  if (std::find(all.begin(), all.end(), name) != all.end()) return true;
  std::cerr << "--pause-before: found '" << name << "', expected an action that --help lists.\n";
  return false;
}

void PrintHelp() {
  std::cout << kUsage << "\nfaults:";
  for (const bool injected : {true, false}) {
    if (!injected) std::cout << "\n\ncounted only, because they result from the faults above:";
    for (size_t f = 0; f < kFaults; ++f) {
      if (IsInjected(static_cast<Fault>(f)) == injected) std::cout << "\n  " << kFaultNames[f];
    }
  }
  std::cout << "\n\nactions of commit and checkpoint:";
  for (const std::string& name : PausableActions()) std::cout << "\n  " << name;
  std::cout << "\n";
}

bool Read(int argc, char** argv, Flags& flags) {
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--large" || flag == "--trace" || flag == "--help") {
      (flag == "--large" ? flags.large : flag == "--trace" ? flags.world.trace : flags.help) = true;
      continue;
    }
    const std::string text = i + 1 < argc ? argv[++i] : "";
    if (flag == "--faults" && ReadFaults(text, flags.world.faults)) continue;
    if (flag == "--pause-before" && ReadAction(text, flags.world.pause_before)) continue;
    const uint64_t value = std::strtoull(text.c_str(), nullptr, 10);
    if (flag == "--seed") {
      flags.world.seed = value;
    } else if (flag == "--seeds") {
      flags.seeds = value;
    } else if (flag == "--jobs" && value > 0) {
      flags.jobs = value;
    } else if (flag == "--events") {
      flags.world.events = static_cast<int64_t>(value);
    } else if (flag == "--bug" && value < kBugs) {
      flags.world.bugs.set(value);
    } else {
      return false;
    }
  }
  return true;
}

// Runs every `jobs`-th seed from `first` on. Returns the number of failures.
int64_t RunSeeds(const Flags& flags, uint64_t first) {
  FaultCounts fired;
  int64_t worlds = 0, events = 0, ticks = 0, jobs = 0, limited = 0, failures = 0;
  for (uint64_t i = first; i < flags.seeds; i += flags.jobs) {
    WorldOptions options = flags.world;
    options.seed += i;
    const Outcome outcome = World(options).Run();
    fired.Add(outcome.fired);
    ++worlds;
    events += outcome.events;
    ticks += outcome.ticks;
    jobs += outcome.jobs;
    limited += outcome.ended_by_a_limit;
    if (outcome.failure.empty()) continue;
    ++failures;
    std::cout << "seed " << options.seed << ": " << outcome.failure << "\n  " << Replay(options)
              << "\n";
  }
  if (flags.jobs == 1) {
    for (size_t f = 0; f < kFaults; ++f) {
      std::cout << kFaultNames[f] << ": " << fired.fired[f] << "\n";
    }
  }
  std::cout << worlds << " seeds, " << failures << " failed, " << events << " events, " << ticks
            << " ticks, " << jobs << " jobs, " << limited << " ended by a limit" << std::endl;
  return failures;
}

// Runs one process per job, because worlds share the toy jobs.
int RunJobs(const Flags& flags) {
  for (uint64_t j = 0; j < flags.jobs; ++j) {
    const pid_t child = fork();
    if (child == 0) std::_Exit(RunSeeds(flags, j) == 0 ? 0 : 1);
    if (child < 0) return 2;
  }
  int worst = 0;
  for (int status = 0; wait(&status) > 0;) {
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) worst = 1;
  }
  return worst;
}

int Main(int argc, char** argv) {
  Flags flags;
  if (!Read(argc, argv, flags)) {
    std::cerr << kUsage;
    return 2;
  }
  if (flags.help) {
    PrintHelp();
    return 0;
  }
  if (flags.large) {
    const Outcome outcome = World(flags.world).RunQuietly(10'000, ToyJob::kLarge, 1'000);
    std::cout << outcome.failure << " " << outcome.events << " events\n";
    return outcome.failure.empty() ? 0 : 1;
  }
  if (flags.jobs > 1) return RunJobs(flags);
  return RunSeeds(flags, 0) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace espalier::sim

int main(int argc, char** argv) { return espalier::sim::Main(argc, argv); }
