#include "tests/fuzz_targets/coordinator_life.h"

#include <utility>

#include "proto/espalier/v1/journal.pb.h"
#include "src/base/check.h"
#include "src/rpc/convert.h"
#include "src/rpc/journal_codec.h"
#include "tests/rpc/messages.h"

namespace espalier::fuzz {
namespace {

constexpr int64_t kWaitMs = 2'000;  // maximum time before one event

// Returns the message as the coordinator receives it. Returns nothing if the decoder refuses it.
std::optional<cluster::FromWorker> Received(const cluster::FromWorker& message) {
  v1::FromWorker proto;
  rpc::ToProto(message, &proto);
  auto received = rpc::FromProto(proto);
  if (!received.ok()) return std::nullopt;
  return *std::move(received);
}

// Ends the process unless a worker can decode the message.
void CheckSendable(const cluster::ToWorker& message) {
  v1::ToWorker proto;
  rpc::ToProto(message, &proto);
  const auto received = rpc::FromProto(proto);
  ESPALIER_CHECK(received.ok(), "a message to a worker: " + received.status().ToString());
}

std::string Encoded(const cluster::JournalEntry& entry) {
  const auto bytes = rpc::EncodeJournalEntry(entry);
  ESPALIER_CHECK(bytes.ok(), bytes.status().ToString());
  return *bytes;
}

// Returns the entry as the next coordinator process reads it.
cluster::JournalEntry ReadAgain(const cluster::JournalEntry& entry) {
  const auto read = rpc::DecodeJournalEntry(Encoded(entry));
  ESPALIER_CHECK(read.ok(), "a journal entry of kind " + std::to_string(entry.index()) + ": " +
                                read.status().ToString());
  return *read;
}

// Returns the entries without those that a core may know before the journal does. These are numbers
// that workers have named, and the time of the first training. The root can report that time before
// all members are ready.
std::vector<cluster::JournalEntry> OfJobs(std::vector<cluster::JournalEntry> entries) {
  std::vector<cluster::JournalEntry> out;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (std::holds_alternative<cluster::WorkerIdGiven>(entries[i])) continue;
    if (std::holds_alternative<cluster::JobForgotten>(entries[i])) continue;
    const bool before = i + 1 < entries.size() &&
                        std::holds_alternative<cluster::GenerationStarted>(entries[i + 1]);
    if (before && std::holds_alternative<cluster::TrainingStarted>(entries[i])) continue;
    out.push_back(std::move(entries[i]));
  }
  return out;
}

std::vector<std::string> AllEncoded(const std::vector<cluster::JournalEntry>& entries) {
  std::vector<std::string> out;
  for (const cluster::JournalEntry& entry : entries) out.push_back(Encoded(entry));
  return out;
}

// Returns the entries as text, one per line.
std::string Shown(const std::vector<cluster::JournalEntry>& entries) {
  std::string out;
  for (const cluster::JournalEntry& entry : entries) {
    v1::JournalEntry proto;
    ESPALIER_CHECK(proto.ParseFromString(Encoded(entry)), "it is not a protocol buffer");
    out += proto.ShortDebugString() + "\n";
  }
  return out;
}

// Sets the fields of a message that are about its job.
void Place(cluster::FromWorker& message, JobId job, Generation generation, uint64_t number) {
  std::visit(
      [&](auto& m) {
        if constexpr (requires { m.job; }) m.job = job;
        if constexpr (requires { m.generation; }) m.generation = generation;
        if constexpr (requires { m.step; }) m.step = static_cast<int64_t>(number);
        if constexpr (requires { m.round; }) m.round = number;
        if constexpr (requires { m.other; }) m.other = {number};
        if constexpr (requires { m.number; }) m.number = static_cast<int64_t>(number);
        if constexpr (requires { m.progress; }) m.progress.step = static_cast<int64_t>(number);
        if constexpr (requires { m.row; }) m.row.step = static_cast<int64_t>(number);
        if constexpr (requires { m.result; }) m.result.steps = static_cast<int64_t>(number);
      },
      message);
}

}  // namespace

CoordinatorLife::CoordinatorLife(std::vector<cluster::JournalEntry> past)
    : journal_(std::move(past)),
      core_(std::make_unique<cluster::CoordinatorCore>(Options(), journal_)) {}

cluster::CoordinatorCoreOptions CoordinatorLife::Options() const {
  cluster::CoordinatorCoreOptions o;
  o.incarnation = {incarnation_};
  o.queue_max = 5;
  o.jobs_kept_max = 4;
  o.workers_max = 8;
  o.history_rows_max = 5;
  o.below_min_timeout_ms = 10'000;
  o.profiling_timeout_ms = o.start_timeout_ms = o.step_timeout_ms = 20'000;
  return o;
}

void CoordinatorLife::Play(Input& input) {
  const int kind = input.Byte() % 22;
  now_ms_ += input.Byte() * kWaitMs / 255;
  if (ended_ || kind == 0) return Restart();
  if (kind == 1) return Feed(cluster::Tick{});
  if (kind < 8) return PlayClient(input, kind);
  if (kind < 14) return PlayStorage(input, kind);
  PlayWorker(input, kind);
}

void CoordinatorLife::PlayClient(Input& input, int kind) {
  const cluster::RequestId request{requests_ + 1};
  switch (kind) {
    case 2:
      ended_ = true;
      return Feed(cluster::Shutdown{"the daemon ends", input.Byte() % 2 == 0});
    case 3:
    case 4:
      unanswered_.insert({++requests_});
      return Feed(cluster::Submit{request, AnySubmission(input)});
    case 5:
    case 6:
      unanswered_.insert({++requests_});
      return Feed(cluster::CancelJob{request, {input.Byte()}, "cancelled by a client"});
    default:
      return Feed(cluster::DrainWorker{{++requests_}, {input.Byte()}, "drained by a client"});
  }
}

// Plays the storage's answers to the core's orders, each once and in any order.
void CoordinatorLife::PlayStorage(Input& input, int kind) {
  const uint8_t choice = input.Byte();
  const auto take = [choice](auto& queue) {
    const auto at = queue.begin() + (choice >> 2) % static_cast<int>(queue.size());
    auto taken = *at;
    queue.erase(at);
    return taken;
  };
  const bool good = choice % 4 != 0;
  if (kind == 8 && !checks_.empty()) {
    Feed(cluster::OutputChecked{take(checks_),
                                good ? Result<bool>(choice % 4 != 1) : Unavailable("away")});
  } else if (kind == 9 && !fences_.empty()) {
    std::optional<Generation> written;
    if (choice % 4 > 1) written = Generation{input.Byte() % 4u};
    const JobId job = take(fences_);
    if (good) return Feed(cluster::OutputFenced{job, written});
    Feed(cluster::OutputFenced{job, Unavailable("away")});
  } else if (kind == 10 && !clears_.empty()) {
    Feed(cluster::JobCleared{take(clears_)});
  } else if (kind == 11 && !tokens_.empty()) {
    const cluster::TokenWork work = take(tokens_);
    if (work.cancel) return;
    if (!good)
      return Feed(cluster::TokenKept{work.job, work.token.file_system, Unavailable("away")});
    Feed(cluster::TokenKept{work.job, work.token.file_system,
                            cluster::KeptToken{"bmV3", now_ms_ + 5'000, {}}});
  } else if (!merges_.empty()) {
    const cluster::MergeWork work = take(merges_);
    if (!good && work.profile() != nullptr) {
      Feed(cluster::ProfileMerged{work.job, work.generation, BadInput("no rows")});
    } else if (work.profile() != nullptr) {
      Feed(
          cluster::ProfileMerged{work.job, work.generation,
                                 std::make_shared<const spec::TableProfile>(rpc::SampleProfile())});
    } else if (good) {
      Feed(cluster::JobScored{work.job, work.generation, rpc::SampleScoring()});
    } else {
      Feed(cluster::JobScored{work.job, work.generation, Unavailable("away")});
    }
  }
}

void CoordinatorLife::PlayWorker(Input& input, int kind) {
  if (kind == 14) {
    open_.insert({++sessions_});
    return Feed(cluster::SessionOpened{{sessions_}, "ipv4:10.0.0.5:1"});
  }
  const cluster::SessionId session = AnySession(input);
  if (!open_.contains(session)) return;
  if (kind == 15) {
    open_.erase(session);
    orders_.erase(session);
    return Feed(
        cluster::SessionClosed{session, input.Byte() % 2 == 0 ? Status() : Unavailable("gone")});
  }
  if (kind == 16 || kind == 17) {
    static const cluster::Hello kSample = std::get<cluster::Hello>(rpc::SamplesFromWorker()[0]);
    cluster::Hello hello = kSample;
    hello.session = "session " + std::to_string(input.Byte());
    hello.worker = {input.Byte()};
    hello.job = {input.Byte()};
    hello.generation = {input.Byte()};
    hello.incarnation = {input.Byte()};
    return Send(session, hello);
  }
  if (kind == 18) {
    v1::FromWorker proto;
    const std::string_view bytes = input.Text();
    if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
    if (auto message = rpc::FromProto(proto); message.ok()) Send(session, *message);
    return;
  }
  const Order order = AnyOrder(input, session);
  if (kind == 19) return Send(session, AnyProfile(input, order));
  static const std::vector<cluster::FromWorker> kSamples = rpc::SamplesFromWorker();
  cluster::FromWorker message = kSamples[input.Byte() % kSamples.size()];
  Place(message, order.job, order.generation, input.Byte());
  Send(session, message);
}

cluster::SessionId CoordinatorLife::AnySession(Input& input) const {
  return {sessions_ - std::min<uint64_t>(sessions_, input.Byte() % 8)};
}

CoordinatorLife::Order CoordinatorLife::AnyOrder(Input& input, cluster::SessionId session) const {
  const uint8_t choice = input.Byte();
  const auto found = orders_.find(session);
  if (choice < 192 && found != orders_.end()) return found->second;
  return {{choice % 8u}, {choice / 8u % 8}, {}};
}

cluster::Submission CoordinatorLife::AnySubmission(Input& input) const {
  static const cluster::Submission kSample = rpc::SampleSubmission();
  cluster::Submission s = kSample;
  const auto kind = static_cast<spec::JobKind>(input.Byte() % 3);
  const uint8_t choice = input.Byte();
  s.workers_min = 1 + choice % 4;
  s.workers_max = choice / 4 % 4 == 0 ? 0 : s.workers_min + choice / 4 % 4 - 1;
  s.leaves = 1 + choice / 16;
  s.client_request_id = "request " + std::to_string(input.Byte());
  const uint8_t place = input.Byte();
  s.output_place = "/place/" + std::to_string(place % 8);
  if (kind == spec::JobKind::kTrain) {
    s.work = cluster::TrainingSubmission{.star = place % 16 > 7};
  } else {
    s.work = cluster::ScoringSubmission{kind};
  }
  if (place < 128) s.tokens.clear();
  return s;
}

cluster::ProfilePart CoordinatorLife::AnyProfile(Input& input, const Order& order) const {
  const uint8_t choice = input.Byte(), given = input.Byte();
  cluster::ProfilePart part{order.job, order.generation, {}};
  for (const int32_t k : order.shards) {
    if ((given >> (k % 8)) % 2 != 0) continue;  // not in this part
    if (choice % 2 == 0) {
      spec::ShardProfile s;
      s.shard = k;
      s.train_rows = 10;
      s.features = {{8, 2, 0.5, 2.5, -1, 3}};
      s.labels = {{"a", 4}, {"b", 6}};
      if (choice & 2) s.categories = {{{"x", 3}}};
      if (choice & 4) s.sample = {{1, static_cast<uint64_t>(k) + 2}, {0.5, -2}};
      part.shards.push_back(std::make_shared<const spec::ShardResult>(std::move(s)));
    } else {
      spec::ShardScore s{.shard = k, .rows = 10, .generation = order.generation.value};
      s.work = spec::PredictedShard{.parts = 1};
      if (choice & 2) s.work = spec::EvaluatedShard{{10, 9.5, 0.25, 1}};
      part.shards.push_back(std::make_shared<const spec::ShardResult>(std::move(s)));
    }
  }
  return part;
}

void CoordinatorLife::Send(cluster::SessionId session, const cluster::FromWorker& message) {
  if (const auto* hello = std::get_if<cluster::Hello>(&message)) {
    const auto job = core_->Job(hello->job);
    ahead_ = ahead_ || (job && hello->generation > job->generation);
  }
  if (auto received = Received(message))
    Feed(cluster::WorkerMessage{session, *std::move(received)});
}

void CoordinatorLife::Feed(const cluster::CoordinatorEvent& event) {
  const cluster::CoordinatorActions actions = core_->Step(event, now_ms_);
  for (const cluster::JournalEntry& entry : actions.persist) journal_.push_back(ReadAgain(entry));
  for (const cluster::SendToWorker& send : actions.send) {
    ESPALIER_CHECK(open_.contains(send.session), "it sends to a session that has ended");
    CheckSendable(send.message);
    if (const auto* m = std::get_if<cluster::StartProfiling>(&send.message)) {
      orders_[send.session] = {m->job, m->generation, m->shards};
    } else if (const auto* m = std::get_if<cluster::StartTraining>(&send.message)) {
      orders_[send.session] = {m->job, m->generation, {}};
    }
  }
  Keep(actions);
  if (!std::holds_alternative<cluster::Tick>(event)) return;
  (void)core_->Workers();
  for (const spec::JobSnapshot& s : core_->Jobs()) (void)core_->History(s.job, 0);
}

// Keeps the work that the shell has to do. Checks replies and closed sessions.
void CoordinatorLife::Keep(const cluster::CoordinatorActions& actions) {
  for (const cluster::CloseSession& close : actions.close) {
    ESPALIER_CHECK(open_.erase(close.session) == 1, "it closes a session twice");
    orders_.erase(close.session);
  }
  for (const cluster::Reply& reply : actions.reply) {
    ESPALIER_CHECK(unanswered_.erase(reply.request) == 1, "it answers a request twice");
  }
  merges_.insert(merges_.end(), actions.work.begin(), actions.work.end());
  tokens_.insert(tokens_.end(), actions.tokens.begin(), actions.tokens.end());
  for (const cluster::FenceWork& work : actions.fence) fences_.push_back(work.job);
  for (const cluster::CheckWork& work : actions.check) checks_.push_back(work.job);
  for (const cluster::ClearWork& work : actions.clear) clears_.push_back(work.job);
}

void CoordinatorLife::Restart() {
  CheckMemory();
  ++incarnation_;
  core_ = std::make_unique<cluster::CoordinatorCore>(Options(), journal_);
  ended_ = ahead_ = false;
  open_.clear();
  orders_.clear();
  unanswered_.clear();
  merges_.clear();
  fences_.clear();
  checks_.clear();
  clears_.clear();
  tokens_.clear();
  Feed(cluster::Tick{});
}

void CoordinatorLife::CheckMemory() const {
  if (ahead_) return;
  const auto all = OfJobs(cluster::CoordinatorCore(Options(), journal_).Remember());
  const auto remembered = OfJobs(cluster::CoordinatorCore(Options(), core_->Remember()).Remember());
  if (AllEncoded(all) == AllEncoded(remembered)) return;
  ESPALIER_CHECK(false, "the journal says\n" + Shown(all) + "it remembers\n" + Shown(remembered));
}

}  // namespace espalier::fuzz
