// The root's checkpoints, written on a separate thread while training continues. A write that takes
// longer than the checkpoint interval delays the next checkpoint, but never the steps. A failed
// write is a warning with its path, and the next one follows as scheduled, because a full disk, or
// memory that is missing for the file, must not end a training.
//
// Thread rule: all calls from the job's thread. The calls of `files` happen on the writing thread.
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
  // `files` must outlive this object. `now_ms`: a clock that never goes back.
  Checkpointer(const storage::FileSystem& files, std::string directory, spec::CheckpointSpec spec,
               std::function<int64_t()> now_ms);
  // Waits for a write in progress.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Begins a generation in which this worker is the root. `header.step` is its first step, whose
  // state needs no checkpoint. A write of an earlier generation may complete.
  void Begin(bundle::CheckpointHeader header, const bundle::WriterName& writer);
  // Returns whether to write the state of `step` now. This is the case if a multiple of every_steps
  // was reached since the last write, or if the time for the next one has come. Returns false
  // during a write. REQUIRES: Begin was called.
  bool Due(int64_t step) const;
  // Writes the state (EncodeState) of `step`. REQUIRES: Due.
  void Write(int64_t step, std::string state);
  // Waits for a write in progress. Due returns false from now on.
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
  int64_t last_ms_ = 0;  // start of the last write; its step is the header's
  bool stopped_ = false;
  std::atomic<bool> busy_{false};
  Queue<Order> orders_;  // at most one
  std::thread thread_;   // last: started when all other members exist
};

}  // namespace espalier::worker
