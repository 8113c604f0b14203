#include "tests/cluster/worker_player.h"

#include "src/base/check.h"
#include "src/base/text.h"

namespace espalier::cluster::script {
namespace {

WorkerCoreOptions WorkerOptions() {
  WorkerCoreOptions o;
  o.hello.version = "1.0";
  o.hello.session = "session";
  o.hello.name = "a";
  o.hello.address = "a:9000";
  o.hello.arithmetic_id = "haswell";
  o.history_reports_max = 2;
  o.coordinator_timeout_ms = 30'000;
  return o;
}

std::string PointText(JobId job, Generation generation) {
  return job ? ToString(job) + "/" + std::to_string(generation.value) : "no job";
}

JobPoint PointOf(const Command& c) {
  return {{static_cast<uint64_t>(c.Number("job", 1))},
          {static_cast<uint64_t>(c.Number("generation", 1))}};
}

}  // namespace

WorkerPlayer::WorkerPlayer() : core_(WorkerOptions()) {}

std::vector<std::string> WorkerPlayer::Play(const Command& c) {
  lines_.clear();
  const std::string verb = c.Word(0);
  if (verb == "pass") {
    Pass(std::stoll(c.Word(1)));
  } else if (verb == "link") {
    Link(c);
  } else if (verb == "coordinator") {
    Feed(CoordinatorMessage{static_cast<uint64_t>(c.Number("attempt", attempt_)), Order(c)});
  } else if (verb == "own") {
    Feed(Report{Own(c)});
  } else if (verb == "step") {
    step_ = std::stoll(c.Word(1));
  } else if (verb == "over") {
    Feed(WorkerTick{.step = step_, .job_over = true});
  } else if (verb == "crash") {
    Feed(Crash{"SIGSEGV"});
  } else {
    ESPALIER_CHECK(verb == "sigterm", verb);
    Feed(Terminate{"SIGTERM"});
  }
  return std::move(lines_);
}

void WorkerPlayer::Link(const Command& c) {
  const uint64_t attempt = static_cast<uint64_t>(c.Number("attempt", attempt_));
  if (c.Word(1) == "up") {
    Feed(LinkUp{attempt});
  } else {
    const std::string why = c.Text("why", "connection refused");
    Feed(LinkDown{attempt,
                  c.Text("code", "") == "denied" ? PermissionDenied(why) : Unavailable(why),
                  c.Number("ours", 0) != 0});
  }
}

void WorkerPlayer::Pass(int64_t ms) {
  const int64_t until = now_ms_ + ms;
  while (now_ms_ < until) {
    now_ms_ = std::min(until, now_ms_ + 50);
    const size_t before = lines_.size();
    Feed(WorkerTick{step_});
    if (lines_.size() > before) {
      lines_.insert(lines_.begin() + static_cast<int64_t>(before),
                    "(" + HumanDuration(ms - (until - now_ms_)) + " later)");
    }
  }
}

ToWorker WorkerPlayer::Order(const Command& c) {
  const std::string verb = c.Word(1);
  const Incarnation incarnation{static_cast<uint64_t>(c.Number("incarnation", 7))};
  const JobPoint at = PointOf(c);
  if (verb == "welcomes") {
    return Welcome{incarnation, {static_cast<uint64_t>(c.Number("worker", 1))}, 1000, 5000};
  }
  if (verb == "refuses") return Refused{FailedPrecondition(c.Text("why", "other version"))};
  if (verb == "profiles") {
    StartProfiling order;
    order.incarnation = incarnation;
    order.job = at.job;
    order.generation = at.generation;
    return order;
  }
  if (verb == "takes")
    return ProfileTaken{incarnation, at.job, at.generation, c.Number("shards", 1)};
  if (verb == "trains") {
    const WorkerId self{static_cast<uint64_t>(c.Number("worker", 1))};
    StartTraining order{incarnation, at.job, at.generation, {}, nullptr, {}};
    for (int64_t before = c.Number("place", 0); before > 0; --before) {
      order.members.push_back({{1000 + static_cast<uint64_t>(before)}, "other", "other:1"});
    }
    order.members.push_back({self, "me", "me:1"});
    return order;
  }
  if (verb == "plans") {
    const WorkerId self{static_cast<uint64_t>(c.Number("worker", 1))};
    StartTraining order{incarnation, at.job, at.generation, {{self, "me", "me:1"}}, nullptr, {}};
    order.planned = true;
    return order;
  }
  if (verb == "keeps")
    return KeepState{incarnation, at.job, at.generation, c.Number("reverts", 0) != 0};
  if (verb == "switches")
    return SwitchOver{incarnation, at.job, at.generation, {at.generation.value + 1}};
  if (verb == "ends") return EndTraining{incarnation, at.job, at.generation};
  if (verb == "proceeds") return Proceed{incarnation, at.job, at.generation, 1};
  if (verb == "releases") return Release{incarnation, at.job, at.generation, c.Text("why", "done")};
  if (verb == "dismisses") return Dismiss{c.Text("why", "goodbye")};
  ESPALIER_CHECK(verb == "pulses", verb);
  return Pulse{incarnation};
}

FromWorker WorkerPlayer::Own(const Command& c) {
  const std::string verb = c.Word(1);
  const JobPoint at = PointOf(c);
  if (verb == "profile") {
    return ProfilePart{at.job, at.generation,
                       ShardResults(static_cast<size_t>(c.Number("shards", 1)),
                                    std::make_shared<const spec::ShardResult>())};
  }
  if (verb == "bytes") return ProfilingProgress{at.job, at.generation, c.Number("bytes", 1)};
  if (verb == "ready") return MemberReady{at.job, at.generation, 1};
  if (verb == "switched") return Switched{at.job, at.generation, 7};
  if (verb == "broken") return LinkBroken{at.job, at.generation, {2}, Unavailable("cut")};
  if (verb == "progress") {
    Progress p{at.job, at.generation};
    p.progress.step = c.Number("step", 1);
    return p;
  }
  if (verb == "history") {
    HistoryEntry h{at.job, at.generation, {}};
    h.row.step = c.Number("step", 1);
    h.number = c.Number("row", h.row.step - 1);
    return h;
  }
  if (verb == "done") return JobDone{at.job, at.generation, {}};
  if (verb == "kept") {
    StateKept kept{at.job, at.generation, c.Number("step", 40), "/m.checkpoints", {}};
    if (c.Number("step", 40) == 0) kept.path.clear();
    return kept;
  }
  ESPALIER_CHECK(verb == "failure", verb);
  return JobFailed{at.job, at.generation, Internal("broken")};
}

void WorkerPlayer::Feed(const WorkerEvent& event) {
  for (const WorkerAction& action : core_.Step(event, now_ms_)) lines_.push_back(Tell(action));
}

std::string WorkerPlayer::Tell(const FromWorker& message) {
  if (const auto* m = std::get_if<Hello>(&message)) {
    return "Hello worker " + std::to_string(m->worker.value) + " incarnation " +
           std::to_string(m->incarnation.value) + " in " + PointText(m->job, m->generation);
  }
  if (const auto* m = std::get_if<Heartbeat>(&message)) {
    return "Heartbeat " + PointText(m->job, m->generation) + " step " + std::to_string(m->step);
  }
  if (const auto* m = std::get_if<ProfilingProgress>(&message)) {
    return "ProfilingProgress " + PointText(m->job, m->generation);
  }
  if (const auto* m = std::get_if<ProfilePart>(&message)) {
    return "ProfilePart " + PointText(m->job, m->generation) + " of " +
           std::to_string(m->shards.size()) + " shards";
  }
  if (const auto* m = std::get_if<MemberReady>(&message)) {
    return "MemberReady " + PointText(m->job, m->generation);
  }
  if (const auto* m = std::get_if<Switched>(&message)) {
    return "Switched " + PointText(m->job, m->generation) + " round " + std::to_string(m->round);
  }
  if (const auto* m = std::get_if<Leaving>(&message)) return "Leaving " + m->reason;
  if (const auto* m = std::get_if<LinkBroken>(&message)) {
    return "LinkBroken " + PointText(m->job, m->generation) + " to " + ToString(m->other);
  }
  if (const auto* m = std::get_if<Progress>(&message)) {
    return "Progress " + PointText(m->job, m->generation) + " step " +
           std::to_string(m->progress.step);
  }
  if (const auto* m = std::get_if<HistoryEntry>(&message)) {
    return "HistoryEntry " + PointText(m->job, m->generation) + " row " +
           std::to_string(m->number) + " of " + std::to_string(m->first) + " on, step " +
           std::to_string(m->row.step);
  }
  if (const auto* m = std::get_if<JobDone>(&message)) {
    return "JobDone " + PointText(m->job, m->generation);
  }
  if (const auto* m = std::get_if<JobFailed>(&message)) {
    return "JobFailed " + PointText(m->job, m->generation) + " " + m->error.ToString();
  }
  if (const auto* m = std::get_if<StateKept>(&message)) {
    return "StateKept " + PointText(m->job, m->generation) + " step " + std::to_string(m->step);
  }
  const auto& goodbye = std::get<Goodbye>(message);
  return (goodbye.crashed ? "Goodbye, crashed: " : "Goodbye ") + goodbye.reason;
}

std::string WorkerPlayer::Tell(const WorkerAction& action) {
  if (const auto* a = std::get_if<Connect>(&action)) {
    attempt_ = a->attempt;
    return "connect, attempt " + std::to_string(a->attempt);
  }
  if (const auto* a = std::get_if<Disconnect>(&action)) {
    return "disconnect attempt " + std::to_string(a->attempt);
  }
  if (const auto* a = std::get_if<SendToCoordinator>(&action)) return "-> " + Tell(a->message);
  if (const auto* a = std::get_if<RunProfiling>(&action)) {
    return "run profile of " + PointText(a->order.job, a->order.generation);
  }
  if (const auto* a = std::get_if<RunTraining>(&action)) {
    return "run training of " + PointText(a->order.job, a->order.generation);
  }
  if (const auto* a = std::get_if<RunPreparation>(&action)) {
    return "prepare " + PointText(a->order.job, a->order.generation);
  }
  if (const auto* a = std::get_if<RunKeep>(&action)) {
    return (a->reverts ? "keep the newest agreed state of " : "keep the state of ") +
           PointText(a->at.job, a->at.generation);
  }
  if (const auto* a = std::get_if<RunTokens>(&action)) {
    return "take " + std::to_string(a->tokens.size()) + " tokens";
  }
  if (const auto* a = std::get_if<RunSwitch>(&action)) {
    return "switch to generation " + std::to_string(a->next.value);
  }
  if (const auto* a = std::get_if<RunEarlyEnd>(&action)) {
    return "end the job in generation " + std::to_string(a->generation.value);
  }
  if (const auto* a = std::get_if<RunProceed>(&action)) {
    return "proceed " + PointText(a->order.job, a->order.generation);
  }
  if (const auto* a = std::get_if<AbortJob>(&action)) {
    return "abort " + PointText(a->at.job, a->at.generation) + ": " + a->reason;
  }
  if (const auto* a = std::get_if<Exit>(&action)) {
    return a->why.ok() ? "exit" : "exit with error " + a->why.ToString();
  }
  return "log " + std::get<WorkerLog>(action).text;
}

}  // namespace espalier::cluster::script
