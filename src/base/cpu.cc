// Built with -march=x86-64, because this code runs before the processor has been checked.
#include "src/base/cpu.h"

#include <unistd.h>

#include <cstring>

namespace espalier {

const char* MissingCpuFeatures() {
  static char missing[128];
  missing[0] = '\0';
  __builtin_cpu_init();
  const auto need = [](bool has, const char* name) {
    if (!has) std::strcat(std::strcat(missing, missing[0] ? " " : ""), name);
  };
  need(__builtin_cpu_supports("avx"), "avx");
  need(__builtin_cpu_supports("avx2"), "avx2");
  need(__builtin_cpu_supports("bmi"), "bmi1");
  need(__builtin_cpu_supports("bmi2"), "bmi2");
  need(__builtin_cpu_supports("fma"), "fma");
  return missing;
}

namespace {

[[gnu::constructor(101)]] void CheckProcessorFirst() {
  const char* missing = MissingCpuFeatures();
  if (missing[0] == '\0') return;
  const auto say = [](const char* text) { (void)!write(2, text, std::strlen(text)); };
  say("espalier: this processor cannot run this build: it does not support ");
  say(missing);
  say(" (needed: x86-64-v3, that is Intel Haswell 2013, AMD Excavator 2015 or newer)\n");
  _exit(1);
}

}  // namespace
}  // namespace espalier
