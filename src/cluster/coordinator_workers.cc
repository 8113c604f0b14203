// CoordinatorCore: sessions, Hello, Goodbye and the loss of workers.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"

namespace espalier::cluster {
namespace {

// Limits for the texts in a worker's Hello.
constexpr size_t kNameBytesMax = 256;
constexpr size_t kArithmeticBytesMax = 1024;

Status CheckText(const char* what, const std::string& text, size_t bytes_max) {
  if (text.empty()) return InvalidArgument(std::string("the worker's ") + what + " is empty");
  if (text.size() > bytes_max) {
    return InvalidArgument(std::string("the worker's ") + what + " has " +
                           std::to_string(text.size()) + " bytes, at most " +
                           std::to_string(bytes_max) + " are allowed");
  }
  if (Printable(text, bytes_max) != text) {
    return InvalidArgument(std::string("the worker's ") + what + " is " + Quoted(text) +
                           "; expected text without control characters");
  }
  return Status::Ok();
}

// Returns the part of a worker's name that successive processes on a machine share. It is also the
// name in the worker's certificate.
std::string MachineOf(const std::string& name) { return name.substr(0, name.find(':')); }

}  // namespace

void CoordinatorCore::On(const SessionOpened& event) {
  if (stopping_ || static_cast<int64_t>(sessions_.size()) >= 2 * options_.workers_max) {
    Close(event.session, stopping_ ? Unavailable("the coordinator is being stopped")
                                   : ResourceExhausted("too many open streams"));
    return;
  }
  sessions_[event.session] = {.peer = event.peer, .opened_ms = now_ms_};
}

void CoordinatorCore::On(const SessionClosed& event) {
  const auto it = sessions_.find(event.session);
  if (it == sessions_.end()) return;  // the core closed it
  const WorkerId worker = it->second.worker;
  sessions_.erase(it);
  if (!worker) return;
  Detach(*FindWorker(worker), event.why.ok() ? Unavailable("its connection closed") : event.why);
}

// A dead process and a short network outage look alike for a moment. If another member also reports
// the worker, it is dead. Otherwise it has a heartbeat to return.
void CoordinatorCore::Detach(Worker& worker, Status why) {
  worker.session = {};
  worker.heard_ms = now_ms_;
  worker.detached_why = std::move(why);
  const JobRecord* job = FindJob(worker.at.job);
  const bool missed = job != nullptr && job->links.AnyAbout(worker.id);
  if (job == nullptr || (missed && !Awaits())) {
    Lose(worker.id, "was lost: " + worker.detached_why.ToString());
  }
}

void CoordinatorCore::On(const WorkerMessage& event) {
  const auto it = sessions_.find(event.session);
  if (it == sessions_.end()) return;  // the core closed it
  ComeBack();
  Session& session = it->second;
  if (!session.worker) {
    if (const Hello* hello = std::get_if<Hello>(&event.message)) {
      Greet(event.session, session, *hello);
    } else {
      Refuse(event.session, FailedPrecondition("the first message of a worker must be Hello"));
    }
    return;
  }
  Worker& worker = *FindWorker(session.worker);
  worker.heard_ms = now_ms_;
  std::visit([&](const auto& message) { Obey(worker, message); }, event.message);
}

void CoordinatorCore::Obey(Worker& worker, const Hello&) {
  const SessionId session = worker.session;
  Lose(worker.id, "was dropped: it said Hello twice on one stream");
  Refuse(session, FailedPrecondition("Hello came twice on one stream"));
}

void CoordinatorCore::Obey(Worker& worker, const Heartbeat& message) {
  Send(worker.session, Pulse{options_.incarnation});
  const bool waits = !message.waiting_because.empty() || !worker.waiting_because.empty();
  worker.waiting_because = message.waiting_because;
  if (FilterMessage({message.job, message.generation}, worker.at) != MessageDecision::kObey) return;
  JobRecord& job = *FindJob(worker.at.job);
  if (!IsMember(job, worker)) return;
  if (waits) TellWaiting(job);
  MemberState& member = job.members[worker.place];
  if (message.step <= member.step) return;
  member.step = message.step;
  job.recovery.step = std::max(job.recovery.step, message.step);
  if (job.snapshot.state == spec::JobState::kTraining) job.moved_ms = now_ms_;
}

// Handles a job that works while not all of its members can. (A job that recovers without enough
// workers has another reason.)
void CoordinatorCore::TellWaiting(JobRecord& job) {
  spec::JobSnapshot& s = job.snapshot;
  if (s.state == spec::JobState::kRecovering) return;
  std::string why;
  for (const MemberState& member : job.members) {
    const Worker* worker = FindWorker(member.member.worker);
    if (worker == nullptr || worker->waiting_because.empty()) continue;
    why = worker->hello.name + ": " + worker->waiting_because;
    break;
  }
  if (why == s.waiting_because) return;
  s.waiting_because = std::move(why);
  Changed(job);
}

void CoordinatorCore::Obey(Worker& worker, const Goodbye& message) {
  const SessionId session = worker.session;
  const WorkerId id = worker.id;
  const std::string reason = Printable(message.reason, 200);
  worker.leaving = false;  // the end of its job must not dismiss it again
  if (message.crashed) NoteCrash(worker, reason);
  Lose(id, (message.crashed ? "crashed: " : "left: ") + reason);
  Send(session, Dismiss{"goodbye"});
  sessions_.erase(session);
  Close(session, Status::Ok());
}

// A crash may be the fault of a machine. A crash under another name is the fault of the job.
void CoordinatorCore::NoteCrash(const Worker& worker, const std::string& signal) {
  JobRecord* job = FindJob(worker.at.job);
  if (job == nullptr || spec::IsFinal(job->snapshot.state)) return;
  const std::string name = MachineOf(worker.hello.name);
  const std::string crash = Label(worker) + " by " + signal;
  if (!job->first_crash) {
    job->first_crash = {job->snapshot.job, name, crash};
    out_.persist.push_back(*job->first_crash);
    return;
  }
  if (job->first_crash->name == name) return;
  Fail(*job, Internal("the job crashed two workers: " + job->first_crash->label + " and " + crash +
                      ". This is a fault in Espalier or in a library. Report it with the logs of "
                      "these workers"));
}

// Names the reason for the loss of the process before this one. The core may have noticed the loss
// already, or the stream is closed and the process still has a heartbeat to return.
void CoordinatorCore::NoteOutOfMemory(const Worker& worker) {
  const std::string what =
      "was ended by the kernel because memory ran out. Lower memory_bytes_max of this worker, or "
      "raise "
      "MemoryMax of its unit";
  const std::string machine = MachineOf(worker.hello.name);
  for (const auto& [id, before] : workers_) {
    if (id == worker.id || before.session || before.awaited) continue;
    if (MachineOf(before.hello.name) != machine) continue;
    if (JobRecord* job = FindJob(before.at.job)) {
      job->recovery.no_memory = Label(before) + " " + what;
    }
    return Lose(id, what);
  }
  const std::string text = Label(worker) + " " + what;
  JobRecord* job = nullptr;  // the one that lost this machine last
  for (auto& [id, other] : jobs_) {
    const auto lost = other.lost_on.find(machine);
    if (spec::IsFinal(other.snapshot.state) || lost == other.lost_on.end()) continue;
    if (job == nullptr || lost->second >= job->lost_on.at(machine)) job = &other;
  }
  Log(LogLevel::kWarning,
      text + (job == nullptr ? "" : " (it was a member of " + ToString(job->snapshot.job) + ")"));
  if (job == nullptr) return;
  job->lost_on.erase(machine);
  job->snapshot.last_loss = job->recovery.last_words = job->recovery.no_memory = text;
  Changed(*job);
}

void CoordinatorCore::Greet(SessionId id, Session& session, const Hello& hello) {
  if (Status s = CheckHello(hello); !s.ok()) {
    const bool later =
        s.code() == StatusCode::kUnavailable || s.code() == StatusCode::kResourceExhausted;
    later ? SendAway(id, std::move(s)) : Refuse(id, std::move(s));
    return;
  }
  if (!HeedNumbers(id, hello)) return;
  Worker* known = FindText(hello.session);
  if (known == nullptr) known = FindAwaited(hello);
  if (known != nullptr) {
    Reattach(id, session, *known, hello);
  } else {
    Attach(id, session, hello);
  }
}

Status CoordinatorCore::CheckHello(const Hello& hello) const {
  if (hello.version != options_.version) {
    return FailedPrecondition("the worker is version " + Printable(hello.version) +
                              ", the coordinator is version " + options_.version +
                              ": install the same version on both");
  }
  ESPALIER_RETURN_IF_ERROR(CheckText("name", hello.name, kNameBytesMax));
  ESPALIER_RETURN_IF_ERROR(CheckText("address", hello.address, kNameBytesMax));
  ESPALIER_RETURN_IF_ERROR(CheckText("session", hello.session, kNameBytesMax));
  ESPALIER_RETURN_IF_ERROR(CheckText("arithmetic id", hello.arithmetic_id, kArithmeticBytesMax));
  if (hello.threads < 1 || hello.memory_bytes < 0) {
    return InvalidArgument("the worker has " + std::to_string(hello.threads) + " threads and " +
                           std::to_string(hello.memory_bytes) + " bytes of memory");
  }
  ESPALIER_RETURN_IF_ERROR(CheckArithmetic(hello));
  ESPALIER_RETURN_IF_ERROR(CheckShare(hello));
  const bool full = static_cast<int64_t>(workers_.size()) >= options_.workers_max;
  if (full && std::none_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
        const bool awaited = entry.second.awaited && entry.first == hello.worker;
        return awaited || entry.second.hello.session == hello.session;
      })) {
    return ResourceExhausted(std::to_string(workers_.size()) +
                             " workers are attached, the limit of this coordinator");
  }
  return Status::Ok();
}

// All attached workers compute alike. A refused worker tries again, because others may leave.
Status CoordinatorCore::CheckArithmetic(const Hello& hello) const {
  const std::string found = "the worker's arithmetic is '" + Printable(hello.arithmetic_id, 200);
  const std::string fix =
      ". Give all workers the same build, OpenBLAS and `kernel` (the default, Haswell, runs on "
      "every supported processor)";
  const std::string& wanted = options_.arithmetic_id;
  if (!wanted.empty()) {
    if (hello.arithmetic_id == wanted) return Status::Ok();
    return Unavailable(found + "', expected '" + Printable(wanted, 200) +
                       "' (arithmetic of the coordinator)" + fix);
  }
  for (const auto& [id, worker] : workers_) {
    if (worker.hello.session == hello.session) continue;
    if (worker.hello.arithmetic_id == hello.arithmetic_id) return Status::Ok();
    if (worker.awaited) {
      return Unavailable(
          "the coordinator was restarted and waits for workers with another "
          "arithmetic; come back when they had the time");
    }
    return Unavailable(found + "', but " + Label(worker) + " computes with '" +
                       Printable(worker.hello.arithmetic_id, 200) +
                       "': a model's bits would depend on which workers trained it" + fix +
                       ", or name the right one as `arithmetic` of the coordinator");
  }
  return Status::Ok();
}

// One certificate must leave room for others. A worker's name begins with that of its certificate.
Status CoordinatorCore::CheckShare(const Hello& hello) const {
  if (options_.workers_a_name_max == 0) return Status::Ok();
  const std::string its = MachineOf(hello.name);
  int64_t attached = 0;
  for (const auto& [id, worker] : workers_) {
    // A returning member of a restored job (FindAwaited) already has a place.
    const bool itself = worker.hello.session == hello.session ||
                        (worker.awaited && id == hello.worker && worker.hello.name == hello.name);
    attached += !itself && MachineOf(worker.hello.name) == its;
  }
  if (attached < options_.workers_a_name_max) return Status::Ok();
  return ResourceExhausted(std::to_string(attached) + " workers of the certificate " + Quoted(its) +
                           " are attached, at most " + std::to_string(options_.workers_a_name_max) +
                           " may be: raise workers_max of the coordinator, or give workers "
                           "separate certificates");
}

void CoordinatorCore::Attach(SessionId id, Session& session, const Hello& hello) {
  const WorkerId worker_id{next_worker_++};
  session.worker = worker_id;
  Worker& worker = workers_[worker_id];
  worker.id = worker_id;
  worker.hello = hello;
  worker.session = id;
  worker.attached_ms = worker.heard_ms = now_ms_;
  queue_moved_ = true;
  out_.persist.push_back(WorkerIdGiven{worker_id});
  Send(id, Welcome{.incarnation = options_.incarnation,
                   .worker = worker_id,
                   .heartbeat_interval_ms = options_.heartbeat_interval_ms,
                   .liveness_limit_ms = options_.liveness_limit_ms});
  if (hello.job) {
    Send(id, Release{options_.incarnation, hello.job, hello.generation,
                     "the coordinator does not count this worker among the job's members"});
  }
  Log(LogLevel::kInfo, Label(worker) + " attached, " + Counted(hello.threads, "thread") + ", " +
                           HumanBytes(static_cast<uint64_t>(hello.memory_bytes)));
  if (hello.out_of_memory) NoteOutOfMemory(worker);
}

// Handles the same process on a new stream, before the core has noticed that the old one is dead.
// The worker keeps its id and its job. The core sends the orders again that the old stream may have
// lost. A worker drops the orders that it has.
void CoordinatorCore::Reattach(SessionId id, Session& session, Worker& worker, const Hello& hello) {
  if (worker.session) {
    sessions_.erase(worker.session);
    Close(worker.session, Aborted("the worker has a newer stream"));
  }
  if (std::exchange(worker.awaited, false)) {
    JobRecord& job = *FindJob(worker.at.job);
    HeedGeneration(job, hello.generation);
    if (hello.generation < worker.at.generation && !job.leaves.empty()) job.outdated = true;
  }
  session.worker = worker.id;
  worker.session = id;
  worker.heard_ms = now_ms_;
  worker.hello = hello;
  Send(id, Welcome{.incarnation = options_.incarnation,
                   .worker = worker.id,
                   .heartbeat_interval_ms = options_.heartbeat_interval_ms,
                   .liveness_limit_ms = options_.liveness_limit_ms});
  const JobPoint its{hello.job, hello.generation};
  if (hello.job && hello.job != worker.at.job) {
    Send(id, Release{options_.incarnation, hello.job, hello.generation, "the job is over"});
  }
  Log(LogLevel::kInfo, Label(worker) + " attached again on a new stream");
  JobRecord* job = FindJob(worker.at.job);
  if (job == nullptr) return;
  if (job->plan && job->plan->ordered) {
    SendSwitch(*job, worker);
  } else {
    AbandonPlan(*job, Label(worker) + " lost its stream");  // and maybe its orders
  }
  if (!IsMember(*job, worker) || job->outdated) return;
  if (its != worker.at) SendProfile(*job, worker.place);
  if (!job->leaves.empty()) SendTraining(*job, worker.place);
}

void CoordinatorCore::Refuse(SessionId session, Status why) {
  Log(LogLevel::kWarning, "refused " + sessions_[session].peer + ": " + why.ToString());
  Send(session, Refused{std::move(why)});
  sessions_.erase(session);
  Close(session, Status::Ok());
}

// Like Refuse, but not final: the worker may return.
void CoordinatorCore::SendAway(SessionId session, Status why) {
  Log(LogLevel::kWarning, "refused " + sessions_[session].peer + ": " + why.ToString());
  sessions_.erase(session);
  Close(session, std::move(why));
}

// Removes the lost worker. Its job continues without it. The caller handles its session.
void CoordinatorCore::Lose(WorkerId id, const std::string& why) {
  const Worker worker = *FindWorker(id);
  workers_.erase(id);
  queue_moved_ = true;
  if (const auto it = sessions_.find(worker.session); it != sessions_.end()) {
    it->second.worker = {};
  }
  const std::string text = Label(worker) + " " + why;
  Log(LogLevel::kWarning, text);
  JobRecord* job = FindJob(worker.at.job);
  if (job == nullptr) return;
  // Several members may be lost at once. The first loss has then formed a generation without all of
  // them.
  const bool member = IsMember(*job, worker) && worker.at.generation == job->snapshot.generation;
  if (member || (job->plan && job->plan->ordered)) {
    if (std::ssize(job->lost_on) >= options_.workers_max) job->lost_on.clear();
    job->lost_on[MachineOf(worker.hello.name)] = now_ms_;
    MemberLost(*job, text);
  } else if (job->departing.erase(id) == 0) {
    AbandonPlan(*job, text);
  }
}

CoordinatorCore::Worker* CoordinatorCore::FindWorker(WorkerId id) {
  const auto it = workers_.find(id);
  return it == workers_.end() ? nullptr : &it->second;
}

CoordinatorCore::Worker* CoordinatorCore::FindText(const std::string& session_text) {
  for (auto& [id, worker] : workers_) {
    if (worker.hello.session == session_text) return &worker;
  }
  return nullptr;
}

std::string CoordinatorCore::Label(const Worker& worker) const {
  return Printable(worker.hello.name, 128) + " (" + ToString(worker.id) + ", " +
         Printable(worker.hello.address, 256) + ")";
}

}  // namespace espalier::cluster
