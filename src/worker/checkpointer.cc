#include "src/worker/checkpointer.h"

#include <utility>

#include "src/base/log.h"

namespace espalier {

Checkpointer::Checkpointer(const FileSystem& files, CheckpointerOptions options)
    : files_(files),
      options_(std::move(options)),
      last_step_(options_.first_step),
      last_ms_(options_.now_ms()),
      thread_([this] { Run(); }) {}

Checkpointer::~Checkpointer() { Stop(); }

bool Checkpointer::Due(int64_t step) const {
  if (stopped_ || busy_ || step <= last_step_) return false;
  const CheckpointSpec& spec = options_.spec;
  if (spec.every_steps && step / *spec.every_steps > last_step_ / *spec.every_steps) return true;
  return spec.every_ms && options_.now_ms() - last_ms_ >= *spec.every_ms;
}

void Checkpointer::Write(int64_t step, std::string state) {
  last_step_ = step;
  last_ms_ = options_.now_ms();
  busy_ = true;
  orders_.Push({step, std::move(state)});
}

void Checkpointer::Stop() {
  stopped_ = true;
  orders_.Close();
  if (thread_.joinable()) thread_.join();
}

void Checkpointer::Run() {
  while (auto order = orders_.Pop()) {
    CheckpointHeader header = options_.header;
    header.step = order->step;
    const auto written = WriteCheckpoint(files_, options_.directory, header, order->state,
                                         options_.spec.keep, options_.writer);
    if (written.ok()) {
      LogInfo("checkpoint " + *written);
    } else {
      LogWarning(written.status().ToString() + "; the training goes on");
    }
    order.reset();
    busy_ = false;
  }
}

}  // namespace espalier
