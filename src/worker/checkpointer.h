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

namespace espalier {

struct CheckpointerOptions {
  std::string directory;
  CheckpointSpec spec;
  CheckpointHeader header;  // all but the step
  WriterName writer;
  int64_t first_step = 0;  // where training starts: nothing is due there
  std::function<int64_t()> now_ms;
};

class Checkpointer {
 public:
  // `files` must outlive this.
  Checkpointer(const FileSystem& files, CheckpointerOptions options);
  // Waits for the write that goes on.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Whether the state of `step` should be written now: a multiple of every_steps was reached since
  // the last one, or its time is up; false while a write goes on.
  bool Due(int64_t step) const;
  // Writes the state (EncodeState) of `step`. REQUIRES: Due.
  void Write(int64_t step, std::string state);
  // Waits for the write that goes on; nothing is due any more.
  void Stop();

 private:
  struct Order {
    int64_t step = 0;
    std::string state;
  };
  void Run();

  const FileSystem& files_;
  const CheckpointerOptions options_;
  int64_t last_step_, last_ms_;  // of the last write's beginning
  bool stopped_ = false;
  std::atomic<bool> busy_{false};
  Queue<Order> orders_;  // at most one
  std::thread thread_;   // last: started when all else stands
};

}  // namespace espalier
