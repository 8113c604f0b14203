#include "src/cluster/worker_core.h"

#include <algorithm>
#include <utility>

#include "src/base/random.h"
#include "src/base/text.h"

namespace espalier::cluster {
namespace {

constexpr int64_t kLimitMsMax = 3'600'000;
constexpr int64_t kOtherReasonEveryMs = 60'000;
// Time between the attempts of successive members to write the state, so that a member waits for
// the one before it.
constexpr int64_t kKeepTurnMs = 1000, kKeepTurnsMax = 30;

}  // namespace

WorkerCore::WorkerCore(WorkerCoreOptions options) : options_(std::move(options)) {}

std::vector<WorkerAction> WorkerCore::Step(const WorkerEvent& event, int64_t now_ms) {
  now_ms_ = std::max(now_ms_, now_ms);
  if (!ended_) std::visit([this](const auto& e) { On(e); }, event);
  return std::exchange(out_, {});
}

// ---- the link --------------------------------------------------------------------------------

void WorkerCore::On(const LinkUp& event) {
  if (event.attempt != attempt_ || link_ != LinkState::kConnecting) return;
  link_ = LinkState::kGreeting;
  heard_ms_ = now_ms_;
  Hello hello = options_.hello;
  hello.worker = id_;
  hello.out_of_memory = options_.hello.out_of_memory && !id_;  // until the first Welcome
  hello.incarnation = incarnation_;
  hello.job = at_.job;
  hello.generation = at_.generation;
  Send(std::move(hello));
}

void WorkerCore::On(const LinkDown& event) {
  if (event.attempt != attempt_ || link_ == LinkState::kDown) return;
  // No further attempt fixes these errors. A worker that was welcome once may be welcome again.
  const bool not_believed = event.why.code() == StatusCode::kPermissionDenied ||
                            event.why.code() == StatusCode::kFailedPrecondition;
  const bool misconfigured = event.why.code() == StatusCode::kInvalidArgument;
  if ((not_believed || misconfigured) && !id_) {
    link_ = LinkState::kDown;
    End(event.why, not_believed);
    return;
  }
  // Logs one line for a series of failures, and sometimes one for a reason that differs from the
  // last logged one.
  const std::string why = event.why.ok() ? "it closed the stream" : event.why.ToString();
  const bool told =
      event.ours ||
      (failures_ > 0 && (why == told_why_ || now_ms_ - told_why_ms_ < kOtherReasonEveryMs));
  if (!told && !leaving_) {
    Log(LogLevel::kWarning, "not connected to the coordinator: " + why + "; trying again");
    told_why_ = why;
    told_why_ms_ = now_ms_;
  }
  if (event.ours) {  // the next reason is logged at once, even if it repeats
    told_why_.clear();
    told_why_ms_ = now_ms_ - kOtherReasonEveryMs;
  }
  BackOff();
}

void WorkerCore::Drop(const std::string& why) {
  Log(LogLevel::kWarning, why);
  out_.push_back(Disconnect{attempt_});
  BackOff();
}

// Doubles the wait up to its maximum. The jitter keeps workers from reconnecting all at once.
void WorkerCore::BackOff() {
  link_ = LinkState::kDown;
  if (leaving_) {
    End(Status::Ok());
    return;
  }
  const int64_t full = std::min(options_.backoff_max_ms,
                                options_.backoff_min_ms << std::min<uint64_t>(failures_, 20));
  const double unit = UnitDouble(Mix64(options_.seed + attempt_));
  ++failures_;
  next_attempt_ms_ =
      now_ms_ + full / 2 + static_cast<int64_t>(unit * static_cast<double>(full / 2));
}

void WorkerCore::On(const WorkerTick& event) {
  if (event.job_over) training_ = false;
  // A pause of this process does not count as silence of the coordinator.
  const int64_t gap = ticked_ms_ == 0 ? 0 : now_ms_ - ticked_ms_;
  if (gap > 2 * heartbeat_interval_ms_) heard_ms_ = std::min(now_ms_, heard_ms_ + gap);
  ticked_ms_ = now_ms_;
  if (leaving_ && now_ms_ >= leave_by_ms_) {
    End(Status::Ok());
    return;
  }
  if (asked_to_leave_ && !leaving_ && (now_ms_ >= leave_by_ms_ || !at_.job)) {
    if (at_.job) {
      Log(LogLevel::kWarning, ToString(at_.job) + " could not do without this worker within " +
                                  HumanDuration(options_.leave_limit_ms) +
                                  ": leaving all the same");
    }
    On(Terminate{"asked to leave"});
    return;
  }
  if (link_ == LinkState::kAttached || away_ms_ == 0) {
    away_ms_ = now_ms_;
    keeping_ms_ = 0;
    kept_.reset();
  }
  if (GivesUp() && !KeepsState()) {
    const bool kept = kept_ && !kept_->path.empty();
    const std::string job = kept ? "; " + ToString(at_.job) + " is paused: step " +
                                       std::to_string(kept_->step) + " is kept; --resume " +
                                       kept_->path + " continues from there"
                                 : "";
    LeaveJob("no coordinator");
    End(Unavailable("no coordinator answered for " + HumanDuration(now_ms_ - away_ms_) +
                    "; is it running, and is `coordinator` its address?" + job));
    return;
  }
  if (link_ == LinkState::kDown) {
    if (now_ms_ < next_attempt_ms_) return;
    link_ = LinkState::kConnecting;
    heard_ms_ = now_ms_;
    out_.push_back(Connect{++attempt_});
    return;
  }
  const int64_t limit =
      link_ == LinkState::kAttached ? liveness_limit_ms_ : options_.answer_limit_ms;
  if (now_ms_ - heard_ms_ >= limit) {
    Drop("no word from the coordinator for " + HumanDuration(now_ms_ - heard_ms_) +
         "; connecting again");
    return;
  }
  if (link_ == LinkState::kAttached && now_ms_ - heartbeat_ms_ >= heartbeat_interval_ms_) {
    heartbeat_ms_ = now_ms_;
    Send(Heartbeat{at_.job, at_.generation, event.step, event.waiting_because});
  }
}

bool WorkerCore::GivesUp() const {
  if (now_ms_ - away_ms_ < options_.coordinator_timeout_ms) return false;
  const bool broken = std::any_of(reports_.begin(), reports_.end(), [](const FromWorker& r) {
    return std::holds_alternative<LinkBroken>(r);
  });
  return !training_ || !proceeds_ || broken || ToldEnd();
}

bool WorkerCore::ToldEnd() const {
  return std::any_of(reports_.begin(), reports_.end(), [](const FromWorker& r) {
    return std::holds_alternative<JobDone>(r) || std::holds_alternative<JobFailed>(r);
  });
}

// Returns true if the state of a stopped training is still to be written.
bool WorkerCore::KeepsState() {
  if (!training_ || ToldEnd()) return false;
  if (keeping_ms_ != 0) return !kept_ && now_ms_ - keeping_ms_ < options_.keep_limit_ms;
  const int64_t turn = kKeepTurnMs * std::min<int64_t>(self_, kKeepTurnsMax);
  if (now_ms_ - away_ms_ < options_.coordinator_timeout_ms + turn) return true;
  keeping_ms_ = now_ms_;
  out_.push_back(RunKeep{at_});
  return true;
}

void WorkerCore::On(const Terminate& event) {
  const bool at_once = leaving_ || link_ != LinkState::kAttached;
  if (!at_once && !asked_to_leave_ && training_ && proceeds_) {
    asked_to_leave_ = true;
    leave_by_ms_ = now_ms_ + options_.leave_limit_ms;
    Log(LogLevel::kInfo, event.reason + ": leaving " + ToString(at_.job) + " within " +
                             HumanDuration(options_.leave_limit_ms) + "; again: at once");
    Send(Leaving{event.reason});
    return;
  }
  leaving_ = true;
  leave_by_ms_ = now_ms_ + options_.goodbye_limit_ms;
  LeaveJob(event.reason);
  if (at_once) {
    End(Status::Ok());
  } else {
    Send(Goodbye{event.reason});
  }
}

void WorkerCore::On(const Crash& event) {
  if (crashed_) return;
  crashed_ = leaving_ = true;
  leave_by_ms_ = now_ms_ + options_.goodbye_limit_ms;
  const bool attached = link_ == LinkState::kAttached;
  if (attached) Send(Goodbye{event.signal, true});  // first: the thread may hold the log's lock
  Log(LogLevel::kError, "crashed by " + event.signal +
                            (at_.job ? " during " + ToString(at_.job) : std::string()) +
                            "; the process ends with that signal");
  if (!attached) End(Status::Ok());
}

void WorkerCore::End(Status why, bool not_believed) {
  ended_ = true;
  out_.push_back(Exit{std::move(why), not_believed});
}

// ---- orders ----------------------------------------------------------------------------------

void WorkerCore::On(const CoordinatorMessage& event) {
  if (event.attempt != attempt_ || link_ == LinkState::kDown) return;
  if (crashed_) {
    if (std::holds_alternative<Dismiss>(event.message)) End(Status::Ok());
    return;
  }
  const bool greeting = std::holds_alternative<Welcome>(event.message) ||
                        std::holds_alternative<Refused>(event.message) ||
                        std::holds_alternative<Dismiss>(event.message);
  if (link_ != LinkState::kAttached && !greeting) {
    Drop("the coordinator gave an order before its Welcome");
    return;
  }
  heard_ms_ = now_ms_;
  std::visit([this](const auto& message) { Obey(message); }, event.message);
}

bool WorkerCore::Current(Incarnation incarnation) {
  incarnation_ = std::max(incarnation_, incarnation);
  return incarnation == incarnation_;
}

void WorkerCore::Obey(const Welcome& message) {
  if (!Current(message.incarnation)) {
    Drop("this coordinator is older than one seen before (incarnation " +
         std::to_string(message.incarnation.value) + ", seen " +
         std::to_string(incarnation_.value) + ")");
    return;
  }
  link_ = LinkState::kAttached;
  failures_ = 0;
  id_ = message.worker;
  heartbeat_interval_ms_ = std::clamp<int64_t>(message.heartbeat_interval_ms, 1, kLimitMsMax);
  liveness_limit_ms_ = std::clamp<int64_t>(message.liveness_limit_ms, 1, kLimitMsMax);
  heartbeat_ms_ = now_ms_;
  Log(LogLevel::kInfo, "attached as " + ToString(id_));
  SendPart();
  for (const FromWorker& report : reports_) Tell(report);
}

void WorkerCore::Obey(const Refused& message) {
  End(message.error.ok() ? FailedPrecondition("the coordinator refused this worker")
                         : message.error.Wrap("the coordinator refused this worker"));
}

void WorkerCore::Obey(const StartProfiling& message) {
  const JobPoint point{message.job, message.generation};
  // A repeated order for the present generation needs no action, and an older generation is over.
  const bool same_job = point.job == at_.job;
  const bool old = same_job && point.generation <= at_.generation;
  if (!Current(message.incarnation) || leaving_ || !point.job || old) return;
  if (!same_job) LeaveJob("the coordinator started " + ToString(point.job));
  EnterGeneration(point);
  out_.push_back(RunProfiling{message});
}

// Drops the reports of an older generation of the job, which are no longer of use.
void WorkerCore::EnterGeneration(JobPoint at) {
  at_ = at;
  training_ = started_ = proceeds_ = false;
  keeping_ms_ = 0;
  kept_.reset();
  planned_ = {};
  reports_.clear();
  history_reports_ = 0;
  ForgetParts();
}

void WorkerCore::Obey(const ProfileTaken& message) {
  if (!Current(message.incarnation)) return;
  if (FilterMessage({message.job, message.generation}, at_) != MessageDecision::kObey) return;
  const size_t before = parts_.size();
  while (!parts_.empty()) {
    const int64_t taken = shards_taken_ + static_cast<int64_t>(parts_.front().shards.size());
    if (message.shards < taken) break;
    shards_taken_ = taken;
    parts_.pop_front();
  }
  if (parts_.size() < before) SendPart();
}

void WorkerCore::Obey(const StartTraining& message) {
  if (!Current(message.incarnation) || leaving_) return;
  const JobPoint point{message.job, message.generation};
  if (!at_.job || point.job != at_.job || point.generation < at_.generation) return;
  if (point == at_ && started_) return;
  if (message.planned && planned_ == point.generation) return;
  const auto self = std::find_if(message.members.begin(), message.members.end(),
                                 [this](const Member& m) { return m.worker == id_; });
  if (self == message.members.end()) {
    Drop("StartTraining came for " + ToString(point.job) + ", but " + ToString(id_) +
         " is not among its members");
    return;
  }
  const auto place = static_cast<int32_t>(self - message.members.begin());
  if (message.planned) return Prepare(message, place);
  if (point != at_) EnterGeneration(point);
  training_ = started_ = true;
  self_ = place;
  ForgetParts();  // the profile has arrived
  out_.push_back(RunTraining{message, place});
}

// A worker that joins has learned of the planned generation from a StartProfiling.
void WorkerCore::Prepare(const StartTraining& message, int32_t self) {
  const bool joins = message.generation == at_.generation;
  planned_ = message.generation;
  planned_self_ = self;
  if (joins) {
    training_ = started_ = true;  // it proceeds once it has the state
    self_ = self;
  }
  out_.push_back(RunPreparation{message, self});
}

void WorkerCore::Obey(const SwitchOver& message) {
  if (!Current(message.incarnation)) return;
  if (FilterMessage({message.job, message.generation}, at_) != MessageDecision::kObey) return;
  out_.push_back(RunSwitch{message.next});
}

void WorkerCore::Obey(const EndTraining& message) {
  if (!Current(message.incarnation)) return;
  if (FilterMessage({message.job, message.generation}, at_) != MessageDecision::kObey) return;
  out_.push_back(RunEarlyEnd{message.generation});
}

void WorkerCore::Obey(const KeepState& message) {
  if (!Current(message.incarnation)) return;
  if (FilterMessage({message.job, message.generation}, at_) != MessageDecision::kObey) return;
  out_.push_back(RunKeep{at_, message.reverts});
}

void WorkerCore::Obey(const NewTokens& message) {
  if (Current(message.incarnation) && message.job == at_.job && at_.job) {
    out_.push_back(RunTokens{message.tokens});
  }
}

void WorkerCore::Obey(const Proceed& message) {
  if (!Current(message.incarnation) || proceeds_) return;
  const MessageDecision decision = FilterMessage({message.job, message.generation}, at_);
  if (decision == MessageDecision::kDrop) return;
  if (decision == MessageDecision::kError || !started_) {
    Drop("Proceed came for a generation that was not started here");
    return;
  }
  proceeds_ = true;
  out_.push_back(RunProceed{message});
}

void WorkerCore::Obey(const Release& message) {
  const bool known = message.job == at_.job && message.generation >= at_.generation;
  if (Current(message.incarnation) && known) LeaveJob(message.reason);
}

void WorkerCore::Obey(const Dismiss& message) {
  LeaveJob(message.reason);
  Log(LogLevel::kInfo, "dismissed: " + Printable(message.reason, 200));
  End(Status::Ok());
}

void WorkerCore::LeaveJob(const std::string& reason) {
  if (at_.job) out_.push_back(AbortJob{at_, reason});
  EnterGeneration({});
}

}  // namespace espalier::cluster
