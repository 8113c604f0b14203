#include "src/worker/checkpointer.h"

#include <utility>

#include "src/base/log.h"
#include "src/base/memory.h"

namespace espalier::worker {

Checkpointer::Checkpointer(const storage::FileSystem& files, std::string directory,
                           spec::CheckpointSpec spec, std::function<int64_t()> now_ms)
    : files_(files),
      directory_(std::move(directory)),
      spec_(spec),
      now_ms_(std::move(now_ms)),
      thread_([this] { Run(); }) {}

Checkpointer::~Checkpointer() { Stop(); }

void Checkpointer::Begin(bundle::CheckpointHeader header, const bundle::WriterName& writer) {
  // The interval continues over generations, so frequent changes do not prevent a checkpoint every
  // minute, for example.
  if (last_ms_ == 0) last_ms_ = now_ms_();
  header_ = std::move(header);
  writer_ = writer;
}

bool Checkpointer::Due(int64_t step) const {
  if (stopped_ || busy_ || step <= header_.step) return false;
  if (spec_.every_steps && step / *spec_.every_steps > header_.step / *spec_.every_steps) {
    return true;
  }
  return spec_.every_ms && now_ms_() - last_ms_ >= *spec_.every_ms;
}

void Checkpointer::Write(int64_t step, std::string state) {
  header_.step = step;
  last_ms_ = now_ms_();
  busy_ = true;
  orders_.Push({header_, std::move(state), writer_});
}

void Checkpointer::Stop() {
  stopped_ = true;
  orders_.Close();
  if (thread_.joinable()) thread_.join();
}

void Checkpointer::Run() {
  while (auto order = orders_.Pop()) {
    const auto written = CatchOutOfMemory([&] {
      return bundle::WriteCheckpoint(files_, directory_, order->header, order->state, spec_.keep,
                                     order->writer);
    });
    if (written.ok()) {
      LogInfo("checkpoint " + *written);
    } else {
      LogWarning(written.status().Wrap(directory_).ToString() + "; training continues");
    }
    order.reset();
    busy_ = false;
  }
}

}  // namespace espalier::worker
