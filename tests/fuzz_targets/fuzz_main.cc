// The libFuzzer program for all targets. tools/lib/fuzz_targets.py runs it:
//
//   fuzz --targets                            prints the names of the targets
//   fuzz --target=NAME --seeds=DIRECTORY      writes each seed of the target to a file
//   fuzz --target=NAME [libFuzzer's options]  fuzzes the target
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "tests/fuzz_targets/targets.h"

namespace espalier::fuzz {
namespace {

const Target* chosen = nullptr;

void WriteSeeds(const Target& target, const std::string& directory) {
  int number = 0;
  for (const std::string& seed : target.seeds()) {
    std::ofstream(directory + "/seed-" + std::to_string(number++), std::ios::binary) << seed;
  }
}

void Start(int argc, char** argv) {
  constexpr std::string_view kTarget = "--target=", kSeeds = "--seeds=";
  std::string seeds;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--targets") {
      for (const Target& target : Targets()) std::cout << target.name << '\n';
      std::exit(0);
    }
    if (word.starts_with(kTarget)) chosen = FindTarget(word.substr(kTarget.size()));
    if (word.starts_with(kSeeds)) seeds = word.substr(kSeeds.size());
  }
  if (chosen == nullptr) {
    std::cerr << "fuzz: --target=NAME is missing or unknown. --targets prints the names.\n";
    std::exit(2);
  }
  if (seeds.empty()) return;
  WriteSeeds(*chosen, seeds);
  std::exit(0);
}

}  // namespace
}  // namespace espalier::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  espalier::fuzz::Start(*argc, *argv);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  espalier::fuzz::chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
