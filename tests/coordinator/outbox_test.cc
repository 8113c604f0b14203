#include "src/coordinator/outbox.h"

#include <catch2/catch.hpp>
#include <mutex>

namespace espalier::coordinator {
namespace {

// State of a journal whose disk the test fills and breaks.
struct Disk {
  std::mutex mutex;     // guards the following members
  Status broken;        // error of appends
  Status ours;          // result of a check without an append
  bool reserve = true;  // giving it back repairs the disk once
  bool refill = true;
  std::vector<cluster::JournalEntry> kept;
  Queue<int> attempts;

  void Break(Status why) {
    std::lock_guard lock(mutex);
    broken = std::move(why);
  }
  std::vector<size_t> Kinds() {
    std::lock_guard lock(mutex);
    std::vector<size_t> kinds;
    for (const cluster::JournalEntry& entry : kept) kinds.push_back(entry.index());
    return kinds;
  }
};

class DiskJournal : public Journal {
 public:
  explicit DiskJournal(Disk* disk) : disk_(*disk) {}
  Status Append(const std::vector<cluster::JournalEntry>& entries) override {
    disk_.attempts.Push(1);
    std::lock_guard lock(disk_.mutex);
    if (!disk_.broken.ok()) return disk_.broken;
    disk_.kept.insert(disk_.kept.end(), entries.begin(), entries.end());
    return Status::Ok();
  }
  Status Rewrite(const std::vector<cluster::JournalEntry>& entries) override {
    std::lock_guard lock(disk_.mutex);
    if (disk_.broken.ok()) disk_.kept = entries;
    return disk_.broken;
  }
  bool wants_rewrite() const override {
    std::lock_guard lock(disk_.mutex);
    return disk_.kept.size() >= 3;
  }
  bool durable() const override { return true; }
  Status CheckOurs() override {
    std::lock_guard lock(disk_.mutex);
    return disk_.ours;
  }
  bool GiveBackReserve() override {
    std::lock_guard lock(disk_.mutex);
    if (!std::exchange(disk_.reserve, false)) return false;
    disk_.broken = {};
    return true;
  }
  Status SetReserveAside() override {
    std::lock_guard lock(disk_.mutex);
    disk_.reserve = disk_.reserve || disk_.refill;
    return disk_.reserve ? Status::Ok() : ResourceExhausted("no blocks for the reserve");
  }

 private:
  Disk& disk_;
};

// Plays the control loop. Posted calls run while the test waits.
struct Loop {
  Loop() {
    OutboxHooks hooks;
    hooks.perform = [this](cluster::CoordinatorActions a) {
      for (const cluster::SendToWorker& send : a.send) done.push_back(Word(send.message));
      for (const cluster::Reply& reply : a.reply) {
        done.push_back(reply.result.ok() ? ToString(*reply.result)
                                         : StatusCodeName(reply.result.status().code()) +
                                               (": " + reply.result.status().ToString()));
      }
    };
    hooks.refuse = [this](JobId job, const Status&) { done.push_back("refuse " + ToString(job)); };
    hooks.fail = [this](const Status& why) { done.push_back("fail " + why.message()); };
    hooks.post = [this](std::function<void()> call) { posted.Push(std::move(call)); };
    outbox = std::make_unique<Outbox>(std::make_unique<DiskJournal>(&disk), std::move(hooks));
  }
  static std::string Word(const cluster::ToWorker& message) {
    if (std::holds_alternative<cluster::Pulse>(message)) return "pulse";
    if (const auto* m = std::get_if<cluster::StartProfiling>(&message))
      return "profile " + ToString(m->job);
    return "other";
  }
  void WaitFor(const std::function<bool()>& condition) {
    while (!condition()) {
      auto call = posted.PopFor(std::chrono::seconds(20));
      REQUIRE(call.has_value());
      (*call)();
    }
  }
  void WaitForDone(size_t count) {
    WaitFor([&] { return done.size() >= count; });
  }
  // Waits until the outbox has tried to append `count` times.
  void WaitForAttempts(int count) {
    for (int i = 0; i < count; ++i) REQUIRE(disk.attempts.PopFor(std::chrono::seconds(20)));
  }

  Disk disk;
  std::vector<std::string> done;
  Queue<std::function<void()>> posted;
  std::unique_ptr<Outbox> outbox;
};

cluster::CoordinatorActions Pulses() {
  cluster::CoordinatorActions a;
  a.send.resize(1);
  a.send[0].message = cluster::Pulse{{1}};
  return a;
}

cluster::CoordinatorActions Accepts(uint64_t job) {
  cluster::CoordinatorActions a;
  a.persist.push_back(cluster::JobAccepted{{job}, 0, {}});
  a.reply.push_back({{job}, JobId{job}});
  return a;
}

cluster::CoordinatorActions Starts(uint64_t job) {
  cluster::CoordinatorActions a;
  a.persist.push_back(cluster::GenerationStarted{{job}, {1}, {}, {}, 0, {}});
  a.send.resize(1);
  a.send[0].message = cluster::StartProfiling{.job = {job}};
  return a;
}

cluster::CoordinatorActions Answers(uint64_t job) {
  cluster::CoordinatorActions a;
  a.reply.push_back({{job}, JobId{job}});
  return a;
}

using Words = std::vector<std::string>;

TEST_CASE("actions wait for their entries and keep their order") {
  Loop loop;
  loop.outbox->Push(Answers(9));
  CHECK(loop.done == Words{"job-9"});  // nothing to wait for
  loop.outbox->Push(Accepts(1));
  loop.outbox->Push(Starts(1));
  loop.outbox->Push(Answers(8));
  loop.outbox->Push(Pulses());
  CHECK(loop.done == Words{"job-9", "pulse"});
  loop.WaitForDone(5);
  CHECK(loop.done == Words{"job-9", "pulse", "job-1", "profile job-1", "job-8"});
  CHECK(loop.disk.Kinds() == std::vector<size_t>{1, 2});
}

TEST_CASE("a full disk refuses new jobs and does not send their orders") {
  Loop loop;
  loop.disk.reserve = loop.disk.refill = false;
  loop.disk.Break(ResourceExhausted("the disk is full"));
  cluster::CoordinatorActions both = Accepts(1);
  for (auto& send : Starts(1).send) both.send.push_back(send);
  both.persist.push_back(cluster::GenerationStarted{{1}, {1}, {}, {}, 0, {}});
  loop.outbox->Push(std::move(both));
  loop.outbox->Push(Answers(1));  // the same submission again
  loop.WaitForDone(3);
  REQUIRE(loop.done.size() == 3);
  CHECK(loop.done[0] == "refuse job-1");
  for (size_t i : {1, 2}) {
    CHECK_THAT(loop.done[i], Catch::StartsWith("RESOURCE_EXHAUSTED"));
    CHECK_THAT(loop.done[i],
               Catch::Contains("no new job is accepted") && Catch::Contains("the disk is full"));
  }
  loop.WaitFor([&] { return !loop.outbox->room().ok(); });
  CHECK_THAT(loop.outbox->room().ToString(), Catch::Contains("no blocks for the reserve"));
  CHECK(loop.disk.Kinds().empty());
}

TEST_CASE("running jobs use the reserve; new jobs wait for the next one") {
  Loop loop;
  loop.disk.refill = false;
  loop.disk.Break(ResourceExhausted("the disk is full"));
  loop.outbox->Push(Starts(1));
  loop.WaitForDone(1);
  CHECK(loop.done == Words{"profile job-1"});
  loop.WaitFor([&] { return !loop.outbox->room().ok(); });
  {
    std::lock_guard lock(loop.disk.mutex);
    loop.disk.refill = true;
  }
  loop.WaitFor([&] { return loop.outbox->room().ok(); });
}

TEST_CASE("without a reserve appends are repeated in order") {
  Loop loop;
  loop.disk.reserve = loop.disk.refill = false;
  loop.disk.Break(Unavailable("input/output error"));
  loop.outbox->Push(Starts(1));
  loop.outbox->Push(Starts(2));
  loop.WaitForAttempts(2);
  loop.outbox->Push(Accepts(3));
  loop.WaitForDone(1);
  CHECK(loop.done == Words{"refuse job-3"});
  loop.outbox->Push(Pulses());
  CHECK(loop.done == Words{"refuse job-3", "pulse"});
  loop.disk.Break(Status::Ok());
  loop.WaitForDone(5);
  CHECK(loop.done[2] == "profile job-1");
  CHECK(loop.done[3] == "profile job-2");
  CHECK_THAT(loop.done[4], Catch::StartsWith("ABORTED"));
  CHECK(loop.disk.Kinds() == std::vector<size_t>{2, 2});
}

TEST_CASE("steps without effects take no room while the disk fails") {
  Loop loop;
  loop.disk.reserve = loop.disk.refill = false;
  loop.disk.Break(Unavailable("input/output error"));
  loop.outbox->Push(Starts(1));
  for (int i = 0; i < 1000; ++i) {
    loop.outbox->Push(Pulses());
    cluster::CoordinatorActions progress;
    progress.notify.push_back({.job = {1}, .progress_only = true});
    progress.log.push_back({LogLevel::kInfo, "a line"});
    loop.outbox->Push(std::move(progress));
    loop.outbox->Push({});
  }
  CHECK(loop.outbox->held_back() == 1);
  loop.outbox->Push(Answers(2));
  CHECK(loop.outbox->held_back() == 2);
  CHECK(loop.done == Words(1000, "pulse"));
}

TEST_CASE("a refused job is in no later rewrite, but its number is") {
  Loop loop;
  loop.disk.reserve = loop.disk.refill = false;
  loop.disk.Break(ResourceExhausted("the disk is full"));
  loop.outbox->Push(Accepts(1));
  loop.outbox->Rewrite({cluster::JobAccepted{{1}, 0, {}}, cluster::WorkerIdGiven{{4}}});
  loop.WaitForDone(2);
  loop.disk.Break(Status::Ok());
  cluster::CoordinatorActions forgotten;
  forgotten.persist = {cluster::JobEnded{{.job = {1}}}, cluster::JobForgotten{{1}}};
  forgotten.reply.push_back({{5}, JobId{5}});
  loop.outbox->Push(std::move(forgotten));
  loop.WaitForDone(3);
  loop.outbox->Rewrite(
      {cluster::JobAccepted{{1}, 0, {}}, cluster::WorkerIdGiven{{4}}, cluster::JobForgotten{{1}}});
  loop.outbox->Push(Starts(2));
  loop.WaitForDone(4);
  CHECK(loop.disk.Kinds() == std::vector<size_t>{0, 7, 2});
}

TEST_CASE("the journal asks for a rewrite, which replaces it") {
  Loop loop;
  CHECK_FALSE(loop.outbox->wants_rewrite());
  for (uint64_t job = 1; job <= 3; ++job) loop.outbox->Push(Starts(job));
  loop.WaitForDone(3);
  CHECK(loop.outbox->wants_rewrite());
  loop.outbox->Rewrite({cluster::WorkerIdGiven{{4}}});
  CHECK_FALSE(loop.outbox->wants_rewrite());
  loop.outbox->Push(Starts(4));
  loop.WaitForDone(4);
  CHECK(loop.disk.Kinds() == std::vector<size_t>{0, 2});
}

TEST_CASE("a replaced coordinator fails and sends nothing more") {
  Loop loop;
  loop.disk.Break(Aborted("a newer coordinator has taken over"));
  loop.outbox->Push(Starts(1));
  loop.WaitForDone(1);
  CHECK(loop.done == Words{"fail a newer coordinator has taken over"});
  loop.outbox->Push(Starts(2));
  loop.outbox->Close(20'000);
  CHECK(loop.done.size() == 1);
}

TEST_CASE("a replaced coordinator is noticed without a write, too") {
  Loop loop;
  {
    std::lock_guard lock(loop.disk.mutex);
    loop.disk.ours = Aborted("a newer coordinator has taken over");
  }
  loop.WaitForDone(1);
  CHECK(loop.done == Words{"fail a newer coordinator has taken over"});
}

TEST_CASE("closing writes and performs what is pending") {
  Loop loop;
  loop.outbox->Push(Starts(1));
  loop.outbox->Push(Answers(1));
  loop.outbox->Close(20'000);
  CHECK_FALSE(loop.outbox->busy());
  CHECK(loop.done == Words{"profile job-1", "job-1"});
  loop.outbox->Push(Starts(2));
  CHECK(loop.done.size() == 2);
  loop.outbox.reset();
  while (auto call = loop.posted.TryPop()) (*call)();  // posted calls have no effect
  CHECK(loop.done.size() == 2);
}

}  // namespace
}  // namespace espalier::coordinator
