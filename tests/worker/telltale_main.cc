// An espalier-worker that records its work and can inject faults. The environment controls it:
//   ESPALIER_TELLTALE_DIRECTORY=PATH  appends lines to PATH/PID. Each line is one write, so that a
//                                     kill loses no line of a visible action:
//     leaf GENERATION STEP EPOCH LEAF ROW ROW ...   before the worker sends sums of that leaf
//     commit GENERATION STEP MICROSECONDS           after the step; time of the steady clock
//     flip STEP                                     after ESPALIER_TELLTALE_FLIP
//   ESPALIER_TELLTALE_DIE="POINT STEP"  kills the worker with SIGKILL in that step. POINT is `leaf`
//                                       (before it sends sums of its first leaf), `commit` (after
//                                       the step is applied) or `boundary` (before the next step)
//   ESPALIER_TELLTALE_SIGNAL=NUMBER   uses that signal instead of SIGKILL
//   ESPALIER_TELLTALE_FLIP=STEP       flips one bit of the parameters when STEP steps are committed
//   ESPALIER_TELLTALE_PAUSE=MS        waits at each step boundary and after each scored shard
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "src/worker/program.h"

namespace espalier::worker {
namespace {

class Telltale : public StepProbe {
 public:
  void OnBoundary(int64_t step, std::span<const std::byte> parameters) override {
    Pause();
    DieAt("boundary", step - 1);
    if (flip_at_ < 0 || step < flip_at_) return;
    flip_at_ = -1;
    // In the mantissa of the first weight. The memory is writable, but the probe must only read it:
    // this plays faulty memory.
    const_cast<std::byte&>(parameters[2]) ^= std::byte{0x10};
    Write("flip " + std::to_string(step) + "\n");
  }
  void OnLeaf(Generation generation, int64_t step, int64_t epoch, int32_t leaf,
              std::span<const int64_t> rows) override {
    DieAt("leaf", step);
    std::string line = "leaf " + std::to_string(generation.value) + " " + std::to_string(step) +
                       " " + std::to_string(epoch) + " " + std::to_string(leaf);
    for (int64_t row : rows) line += " " + std::to_string(row);
    Write(line + "\n");
  }
  void OnCommit(Generation generation, int64_t step) override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
    Write("commit " + std::to_string(generation.value) + " " + std::to_string(step) + " " +
          std::to_string(us) + "\n");
    DieAt("commit", step);
  }
  void OnShardScored(int32_t) override { Pause(); }

 private:
  void Pause() const { std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms_)); }
  static int Open() {
    const char* directory = std::getenv("ESPALIER_TELLTALE_DIRECTORY");
    if (directory == nullptr) return -1;
    const std::string path = std::string(directory) + "/" + std::to_string(getpid());
    return open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  }
  static std::string Death() {
    const char* death = std::getenv("ESPALIER_TELLTALE_DIE");
    return death == nullptr ? "" : death;
  }
  void DieAt(const std::string& point, int64_t step) const {
    if (!death_.empty() && death_ == point + " " + std::to_string(step)) std::raise(signal_);
  }
  static int64_t Number(const char* variable, int64_t otherwise) {
    const char* value = std::getenv(variable);
    return value == nullptr ? otherwise : std::atoll(value);
  }
  void Write(const std::string& line) const {
    const auto size = static_cast<ssize_t>(line.size());
    if (file_ >= 0 && write(file_, line.data(), line.size()) != size) std::abort();
  }

  const int file_ = Open();
  const std::string death_ = Death();
  const int signal_ = static_cast<int>(Number("ESPALIER_TELLTALE_SIGNAL", SIGKILL));
  const int64_t pause_ms_ = Number("ESPALIER_TELLTALE_PAUSE", 0);
  int64_t flip_at_ = Number("ESPALIER_TELLTALE_FLIP", -1);
};

}  // namespace
}  // namespace espalier::worker

int main(int argc, char** argv) {
  espalier::worker::Telltale probe;
  return espalier::worker::WorkerMain(argc, argv, &probe);
}
