#include "src/worker/checkpointer.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>

#include "src/storage/passing_files.h"
#include "tests/storage/temporary_directory.h"

namespace espalier::worker {
namespace {

// The local disk with a gate: each write waits until the gate is open. A full disk fails it.
class GatedFiles : public storage::PassingFiles {
 public:
  explicit GatedFiles(const storage::FileSystem& files) : storage::PassingFiles(files) {}
  using storage::PassingFiles::WriteAtomically;
  Status WriteAtomically(const std::string& p, std::string_view content,
                         const std::string& writer) const override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
    const Status done =
        full_ ? ResourceExhausted("the disk is full") : files_.WriteAtomically(p, content, writer);
    changed_.notify_all();
    return done;
  }

  void Set(bool open, bool full) {
    std::lock_guard lock(mutex_);
    open_ = open;
    full_ = full;
    changed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;  // guards all members below
  mutable std::condition_variable changed_;
  bool open_ = true, full_ = false;
};

// Files whose writes find no memory while `poor` is set.
class PoorFiles : public storage::PassingFiles {
 public:
  using storage::PassingFiles::PassingFiles;
  using storage::PassingFiles::WriteAtomically;
  Status WriteAtomically(const std::string& p, std::string_view content,
                         const std::string& writer) const override {
    if (poor) throw std::bad_alloc();
    return files_.WriteAtomically(p, content, writer);
  }
  std::atomic<bool> poor{true};
};

struct Fixture {
  storage::TemporaryDirectory directory;
  const std::unique_ptr<storage::FileSystem> disk = storage::MakeLocalFileSystem();
  GatedFiles files{*disk};
  int64_t now_ms = 1000;
  std::unique_ptr<Checkpointer> Make(spec::CheckpointSpec spec, int64_t first_step = 0) {
    auto made = std::make_unique<Checkpointer>(files, directory / "m.checkpoints", spec,
                                               [this] { return now_ms; });
    made->Begin({.step = first_step, .job = "job"}, {{1}, {1}, 0});
    return made;
  }
  std::vector<std::string> Written() const {
    return files.Names(directory / "m.checkpoints").value();
  }
};

// Waits until the current write has ended, as the job's thread sees it.
void AwaitFree(const Checkpointer& c, int64_t step) {
  while (!c.Due(step)) std::this_thread::yield();
}

TEST_CASE("a checkpoint is due at each multiple of every_steps") {
  Fixture f;
  const auto c = f.Make({.every_steps = 10, .every_ms = std::nullopt, .keep = 2}, 25);
  CHECK_FALSE(c->Due(25));
  CHECK_FALSE(c->Due(29));
  CHECK(c->Due(30));
  CHECK(c->Due(31));
  c->Write(31, "state");
  AwaitFree(*c, 40);
  CHECK_FALSE(c->Due(39));
  c->Write(40, "state");
  AwaitFree(*c, 50);
  c->Write(50, "state");
  c->Stop();
  CHECK_FALSE(c->Due(60));
  CHECK(f.Written() == std::vector<std::string>{"step-000000040.ckpt", "step-000000050.ckpt"});
}

TEST_CASE("a checkpoint is due at its time, at most once per step") {
  Fixture f;
  const auto c = f.Make({.every_steps = std::nullopt, .every_ms = 5000});
  f.now_ms = 5999;
  CHECK_FALSE(c->Due(3));
  f.now_ms = 6000;
  CHECK(c->Due(3));
  CHECK_FALSE(c->Due(0));
  c->Write(3, "state");
  f.now_ms = 20'000;
  AwaitFree(*c, 4);
  CHECK_FALSE(c->Due(3));
}

TEST_CASE("no checkpoint is due during a write, and no step waits") {
  Fixture f;
  f.files.Set(false, false);
  const auto c = f.Make({.every_steps = 1, .every_ms = std::nullopt});
  c->Write(1, "state");
  for (int64_t step = 2; step < 100; ++step) CHECK_FALSE(c->Due(step));
  f.files.Set(true, false);
  AwaitFree(*c, 100);
  c->Write(100, "state");
  c->Stop();
  CHECK(f.Written() == std::vector<std::string>{"step-000000001.ckpt", "step-000000100.ckpt"});
}

TEST_CASE("a failed write keeps the older checkpoint") {
  Fixture f;
  const auto c = f.Make({.every_steps = 10, .every_ms = std::nullopt, .keep = 1});
  c->Write(10, "state");
  AwaitFree(*c, 20);
  f.files.Set(true, true);
  c->Write(20, "state");
  AwaitFree(*c, 30);
  CHECK(f.Written() == std::vector<std::string>{"step-000000010.ckpt"});
  f.files.Set(true, false);
  c->Write(30, "state");
  c->Stop();
  CHECK(f.Written() == std::vector<std::string>{"step-000000030.ckpt"});
}

TEST_CASE("a write without memory fails and does not end the worker") {
  Fixture f;
  PoorFiles files(*f.disk);
  Checkpointer c(files, f.directory / "m.checkpoints",
                 {.every_steps = 10, .every_ms = std::nullopt, .keep = 1}, [] { return 1000; });
  c.Begin({.step = 0, .job = "job"}, {{1}, {1}, 0});
  c.Write(10, "state");
  AwaitFree(c, 20);
  CHECK(f.Written().empty());
  files.poor = false;
  c.Write(20, "state");
  c.Stop();
  CHECK(f.Written() == std::vector<std::string>{"step-000000020.ckpt"});
}

TEST_CASE("a new generation keeps the time, but not step and name") {
  Fixture f;
  f.files.Set(false, false);
  const auto c = f.Make({.every_steps = std::nullopt, .every_ms = 5000});
  f.now_ms = 7000;
  c->Write(4, "state");
  c->Begin({.step = 6, .job = "job"}, {{1}, {2}, 1});
  f.now_ms = 12'000;
  CHECK_FALSE(c->Due(7));  // the previous generation is still writing
  f.files.Set(true, false);
  AwaitFree(*c, 7);
  CHECK_FALSE(c->Due(6));
  c->Write(7, "state");
  c->Stop();
  CHECK(f.Written() == std::vector<std::string>{"step-000000004.ckpt", "step-000000007.ckpt"});
}

}  // namespace
}  // namespace espalier::worker
