#include "tests/cluster/coordinator_player.h"

#include <algorithm>
#include <sstream>

#include "src/base/check.h"
#include "src/base/text.h"
#include "src/spec/names.h"

namespace espalier::cluster::script {
namespace {

CoordinatorCoreOptions Options() {
  CoordinatorCoreOptions o;
  o.incarnation = {7};
  o.version = "1.0";
  o.profiling_timeout_ms = 60'000;
  o.start_timeout_ms = 60'000;
  o.step_timeout_ms = 60'000;
  o.below_min_timeout_ms = 30'000;
  o.rebalance_interval_ms = 2000;
  o.workers_max = 6;
  o.queue_max = 3;
  o.jobs_kept_max = 3;
  o.history_rows_max = 3;
  o.profile_bytes_max = 10'000;
  return o;
}

uint64_t IdOf(const std::string& text) {
  const size_t dash = text.rfind('-');
  return std::stoull(dash == std::string::npos ? text : text.substr(dash + 1));
}

}  // namespace

CoordinatorPlayer::CoordinatorPlayer()
    : options_(Options()), core_(std::make_unique<CoordinatorCore>(options_)) {}

std::vector<std::string> CoordinatorPlayer::Play(const Command& c) {
  lines_.clear();
  if (!General(c)) Speak(c);
  return std::move(lines_);
}

bool CoordinatorPlayer::General(const Command& c) {
  const std::string verb = c.Word(0);
  if (verb == "submit") {
    DoSubmit(c);
  } else if (verb == "cancel") {
    Feed(CancelJob{
        {1}, {IdOf(c.Word(1))}, "cancelled by a client", By(c), c.Number("keep", 0) != 0});
  } else if (verb == "withdraw") {
    Feed(WithdrawSubmission{{1}, c.Word(1), By(c)});
  } else if (verb == "quotas") {
    Quotas(c);
  } else if (verb == "drain") {
    Feed(DrainWorker{{1}, Named(c.Word(1)), "drained by a client"});
  } else if (verb == "merged") {
    Merged(c);
  } else if (verb == "checked") {
    Checked(c);
  } else if (verb == "fenced") {
    Fenced(c);
  } else if (verb == "cleared") {
    Feed(JobCleared{{IdOf(c.Word(1))}});
  } else if (verb == "pass") {
    Pass(std::stoll(c.Word(1)));
  } else if (verb == "pause") {  // the coordinator process is paused
    now_ms_ += std::stoll(c.Word(1));
    Feed(Tick{});
  } else if (verb == "shutdown") {
    Feed(Shutdown{c.Text("why", "SIGTERM")});
  } else if (verb == "restart") {
    Restart(c);
  } else if (verb == "show") {
    Show(c.Word(1));
  } else if (verb == "history") {
    ShowHistory({IdOf(c.Word(1))});
  } else {
    return false;
  }
  return true;
}

CoordinatorPlayer::Stream& CoordinatorPlayer::Find(const std::string& worker) {
  for (auto it = streams_.rbegin(); it != streams_.rend(); ++it) {
    if (it->second.name == worker) return it->second;
  }
  CheckFailed(__FILE__, __LINE__, "a known worker", worker);
}

void CoordinatorPlayer::Open(const Command& c, bool hello) {
  const std::string who = c.Word(0);
  const SessionId id{streams_.size() + 1};
  int streams = 1;
  for (const auto& [other, stream] : streams_) streams += stream.worker == who;
  const std::string name = streams == 1 ? who : who + "#" + std::to_string(streams);
  streams_[id] = {.name = name, .worker = who, .silent = !hello};
  Feed(SessionOpened{id, "peer of " + name});
  if (!hello) return;
  Hello h;
  h.version = c.Text("version", "1.0");
  h.arithmetic_id = c.Text("arithmetic", "haswell");
  h.session = c.Text("session", "session of " + who);
  h.worker = {static_cast<uint64_t>(c.Number("worker", 0))};
  h.name = c.Text("name", who);
  h.address = c.Text("address", who + ":9000");
  h.threads = static_cast<int32_t>(c.Number("threads", 1));
  h.incarnation = {static_cast<uint64_t>(c.Number("incarnation", 0))};
  h.job = {static_cast<uint64_t>(c.Number("job", 0))};
  h.generation = {static_cast<uint64_t>(c.Number("generation", 0))};
  Feed(WorkerMessage{id, h});
}

void CoordinatorPlayer::Speak(const Command& c) {
  const std::string verb = c.Word(1);
  if (verb == "attaches" || verb == "connects") {
    Open(c, verb == "attaches");
    return;
  }
  Stream& stream = Find(c.Word(0));
  SessionId id;
  for (const auto& [session, s] : streams_) id = &s == &stream ? session : id;
  if (verb == "falls") {  // no more heartbeats
    stream.silent = true;
  } else if (verb == "breaks") {
    stream.open = false;
    const std::string why = c.Text("why");
    Feed(SessionClosed{id, why.empty() ? Status::Ok() : Unavailable(why)});
  } else {
    const FromWorker message = Message(c, stream);
    if (const auto* m = std::get_if<Switched>(&message)) stream.at.generation = m->generation;
    Feed(WorkerMessage{id, message});
  }
}

// Returns the newest worker with that name.
WorkerId CoordinatorPlayer::Named(const std::string& wanted) const {
  WorkerId found;
  for (const auto& [worker, name] : names_) {
    if (name == wanted) found = worker;
  }
  return found;
}

void CoordinatorPlayer::DoSubmit(const Command& c) {
  auto input = std::make_shared<spec::InputPlan>();
  input->files.push_back({.path = "/in.csv"});
  const int64_t shards = c.Number("shards", 4), bytes = c.Number("bytes", 100);
  for (int64_t i = 0; i < shards; ++i) input->shards.push_back({0, i * bytes, (i + 1) * bytes});
  const int64_t features = c.Number("features", 2);
  for (int32_t i = 0; i < features; ++i) input->schema.features.push_back(i);
  input->schema.label = {static_cast<int32_t>(features)};
  Submission s;
  s.name = c.Word(1);
  s.owner = c.Text("by");
  s.client_request_id = RequestKey(s.owner, c.Text("request", c.Word(1)));
  const spec::JobKind kind = spec::FromName<spec::JobKind>(c.Text("kind", "train")).value();
  if (kind == spec::JobKind::kTrain) {
    s.work = TrainingSubmission{.star = c.Number("star", 0) != 0};
  } else {
    s.work = ScoringSubmission{kind};
  }
  s.job_yaml = "name: " + s.name;
  s.output = c.Text("output", "/models/" + s.name);
  s.output_place = c.Text("place");
  s.workers_min = c.Number("min", 1);
  s.workers_max = c.Number("max", 0);
  s.leaves = c.Number("leaves", 8);
  s.input = std::move(input);
  Feed(Submit{{1}, std::move(s)});
}

Requester CoordinatorPlayer::By(const Command& c) {
  return {c.Text("by"), c.Number("admin", 0) != 0};
}

// Must come before all other commands.
void CoordinatorPlayer::Quotas(const Command& c) {
  options_.owner_waiting_jobs_max = c.Number("waiting", 0);
  options_.owner_running_jobs_max = c.Number("running", 0);
  options_.owner_workers_max = c.Number("workers", 0);
  core_ = std::make_unique<CoordinatorCore>(options_);
}

void CoordinatorPlayer::Merged(const Command& c) {
  const JobId job{IdOf(c.Word(1))};
  const Generation generation{static_cast<uint64_t>(c.Number("generation", 1))};
  const bool scored = core_->Job(job) && core_->Job(job)->kind != spec::JobKind::kTrain;
  if (c.options.contains("error")) {
    const Status error = BadInput(c.Text("error"));
    if (scored) return Feed(JobScored{job, generation, error});
    return Feed(ProfileMerged{job, generation, error});
  }
  if (scored) {
    spec::ScoringResult result{.rows = 1000};
    if (c.options.contains("weight"))
      result.work = spec::EvaluationResult{{.weight = std::stod(c.Text("weight"))}};
    return Feed(JobScored{job, generation, result});
  }
  if (c.options.contains("replan")) {
    auto input = std::make_shared<spec::InputPlan>();
    input->files = {{.path = "t.csv", .length = 400}};
    for (int64_t i = 0; i < 4; ++i) input->shards.push_back({0, i * 100, (i + 1) * 100});
    input->schema.features = {0, 1};
    input->schema.label = {2};
    input->notes = {c.Text("replan")};
    const auto leaves = c.Number("leaves", 8);
    return Feed(ProfileMerged{
        job, generation,
        std::make_shared<const Replanned>(Replanned{"name: again", std::move(input), leaves})});
  }
  auto profile = std::make_shared<spec::TableProfile>();
  profile->train_rows = 1000;
  if (c.options.contains("warning")) profile->warnings = {c.Text("warning")};
  Feed(ProfileMerged{job, generation,
                     std::shared_ptr<const spec::TableProfile>(std::move(profile))});
}

void CoordinatorPlayer::Fenced(const Command& c) {
  OutputFenced fenced{{IdOf(c.Word(1))}, std::optional<Generation>()};
  const auto written = static_cast<uint64_t>(c.Number("written", 0));
  if (written != 0) fenced.written = Generation{written};
  if (c.options.contains("error")) fenced.written = Unavailable(c.Text("error"));
  Feed(fenced);
}

void CoordinatorPlayer::Checked(const Command& c) {
  OutputChecked checked{{IdOf(c.Word(1))}, c.Text("holds", "yes") == "yes"};
  if (c.options.contains("error")) checked.holds = Unavailable(c.Text("error"));
  Feed(checked);
}

// Advances the time in half seconds. Workers that are not silent send heartbeats.
void CoordinatorPlayer::Pass(int64_t ms) {
  const int64_t until = now_ms_ + ms;
  while (now_ms_ < until) {
    now_ms_ = std::min(until, now_ms_ + 500);
    for (const auto& [id, stream] : streams_) {
      if (!stream.open || stream.silent) continue;
      Feed(WorkerMessage{id, Heartbeat{stream.at.job, stream.at.generation, 0, {}}});
    }
    const size_t before = lines_.size();
    Feed(Tick{});
    if (lines_.size() > before) {
      lines_.insert(lines_.begin() + static_cast<int64_t>(before),
                    "(" + HumanDuration(ms - (until - now_ms_)) + " later)");
    }
  }
}

// Starts another coordinator with the journal, except the newest `lost=N` entries. Checks that the
// entries of Remember, of this coordinator and of the one before, have the same effect as the whole
// journal.
void CoordinatorPlayer::Restart(const Command& c) {
  const int64_t lost = c.Number("lost", 0);
  const std::vector<JournalEntry> living = core_->Remember();
  journal_.resize(journal_.size() - static_cast<size_t>(lost));
  for (auto& [id, stream] : streams_) stream.open = false;
  CoordinatorCoreOptions options = options_;
  options.incarnation = {static_cast<uint64_t>(c.Number("incarnation", 8))};
  core_ = std::make_unique<CoordinatorCore>(options, journal_);
  const auto outline = [&](const std::vector<JournalEntry>& past) {
    const CoordinatorCore core(options, past);
    const size_t before = lines_.size();
    for (const JournalEntry& entry : core.Remember()) Tell(entry);
    for (const spec::JobSnapshot& s : core.Jobs()) {
      Say(ToString(s.job) + " " + spec::JobStateName(s.state) + " " +
          std::to_string(s.submitted_ms) + " " + std::to_string(s.started_ms) + " " +
          std::to_string(s.training_ms) + " " + std::to_string(s.ended_ms) + " " +
          std::to_string(s.generation.value) + " " + std::to_string(s.input_bytes) + " " +
          std::to_string(s.profiling_bytes_done) + " " + s.owner);
    }
    std::vector<std::string> lines(lines_.begin() + static_cast<int64_t>(before), lines_.end());
    lines_.resize(before);
    return lines;
  };
  const auto all = outline(journal_);
  journal_ = core_->Remember();
  ESPALIER_CHECK(lost > 0 || outline(living) == all, "a living coordinator remembers other things");
  ESPALIER_CHECK(outline(journal_) == all, "what is remembered is not what was journalled");
  Feed(Tick{});
}

void CoordinatorPlayer::Show(const std::string& what) {
  if (what == "workers") {
    for (const spec::WorkerSnapshot& w : core_->Workers()) {
      Say(ToString(w.worker) + " " + w.name + " " + w.address +
          (w.job ? " in " + ToString(w.job) : " free"));
    }
    return;
  }
  for (const spec::JobSnapshot& s : core_->Jobs()) {
    std::string notes;
    for (const std::string& note : s.notes) notes += ", note: " + note;
    Say(ToString(s.job) + " " + s.name + (s.owner.empty() ? "" : " of " + s.owner) + " " +
        spec::JobStateName(s.state) + " phases " + std::to_string(s.start_phase_ms) + " " +
        std::to_string(s.profiling_phase_ms) + " " + std::to_string(s.train_phase_ms) +
        " ms, bytes " + std::to_string(s.profiling_bytes_done) + " of " +
        std::to_string(s.input_bytes) + ", step " + std::to_string(s.progress.step) + notes);
  }
}

void CoordinatorPlayer::ShowHistory(JobId job) {
  std::string steps;
  for (const spec::HistoryRow& row : core_->History(job, 0)) {
    steps += " " + std::to_string(row.step);
    if (row.train.loss != 1) steps += " (loss " + ShortestDouble(row.train.loss) + ")";
  }
  Say("steps" + steps + ", the next row is number " + std::to_string(core_->HistoryEnd(job)));
}

}  // namespace espalier::cluster::script
