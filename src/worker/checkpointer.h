// The root's checkpoints: written on a thread of their own while training goes on. A write that
// takes longer than the time to the next one makes that one late, never the steps slow. A write
// that fails is a warning with its path, and the next one is tried in its turn: a full disk must
// not end a training.
//
// Thread rule: all calls from the job's thread; the files' calls are made on the writing thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "src/base/queue.h"
#include "src/bundle/checkpoint_store.h"
#include "src/bundle/writer_name.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::worker {

class Checkpointer {
 public:
  // `files` must outlive this; `now_ms` is a clock that never goes back.
  Checkpointer(const storage::FileSystem& files, std::string directory, spec::CheckpointSpec spec,
               std::function<int64_t()> now_ms);
  // Waits for the write that goes on.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // A generation begins with this worker as its root. `header.step` is where it starts, whose state
  // need not be written. A write of an earlier generation that goes on may end.
  void Begin(bundle::CheckpointHeader header, const bundle::WriterName& writer);
  // Whether the state of `step` should be written now: a multiple of every_steps was reached since
  // the last one, or its time is up; false while a write goes on. REQUIRES: Begin was called.
  bool Due(int64_t step) const;
  // Writes the state (EncodeState) of `step`. REQUIRES: Due.
  void Write(int64_t step, std::string state);
  // Waits for the write that goes on; nothing is due any more.
  void Stop();

 private:
  struct Order {
    bundle::CheckpointHeader header;
    std::string state;
    bundle::WriterName writer;
  };
  void Run();

  const storage::FileSystem& files_;
  const std::string directory_;
  const spec::CheckpointSpec spec_;
  const std::function<int64_t()> now_ms_;
  bundle::CheckpointHeader header_;
  bundle::WriterName writer_;
  int64_t last_ms_ = 0;  // of the last write's beginning; its step is the header's
  bool stopped_ = false;
  std::atomic<bool> busy_{false};
  Queue<Order> orders_;  // at most one
  std::thread thread_;   // last: started when all else stands
};

}  // namespace espalier::worker
