#include <cmath>

#include "src/rpc/convert_parts.h"

namespace espalier::rpc {

namespace {

constexpr int64_t kThreadsMax = 4096;

void Set(const Hello& m, pb::FromWorker* out) {
  pb::Hello* p = out->mutable_hello();
  p->set_version(Utf8(m.version, kNameBytesMax));
  p->set_arithmetic_id(Utf8(m.arithmetic_id, kNameBytesMax));
  p->set_session(Utf8(m.session, kNameBytesMax));
  p->set_worker(m.worker.value);
  p->set_incarnation(m.incarnation.value);
  p->set_name(Utf8(m.name, kNameBytesMax));
  p->set_address(Utf8(m.address, kNameBytesMax));
  p->set_threads(m.threads);
  p->set_memory_bytes(m.memory_bytes);
  SetPoint(m, p);
}

Result<FromWorker> Get(const pb::Hello& in) {
  Fields f("Hello");
  Hello m;
  m.version = f.Text("version", in.version(), kNameBytesMax);
  m.arithmetic_id = f.Text("arithmetic_id", in.arithmetic_id(), kNameBytesMax);
  m.session = f.Text("session", in.session(), kNameBytesMax);
  m.worker = {in.worker()};
  m.incarnation = {in.incarnation()};
  m.name = f.Text("name", in.name(), kNameBytesMax);
  m.address = f.Text("address", in.address(), kNameBytesMax);
  m.threads = f.In("threads", in.threads(), 1, kThreadsMax);
  m.memory_bytes = f.NotNegative("memory_bytes", in.memory_bytes());
  m.job = {in.job()};
  m.generation = {m.job ? f.Id("generation", in.generation()) : in.generation()};
  ESPALIER_RETURN_IF_ERROR(f.status());
  return FromWorker(std::move(m));
}

void Set(const Heartbeat& m, pb::FromWorker* out) {
  SetPoint(m, out->mutable_heartbeat());
  out->mutable_heartbeat()->set_step(m.step);
  out->mutable_heartbeat()->set_waiting_because(Utf8(m.waiting_because));
}

Result<FromWorker> Get(const pb::Heartbeat& in) {
  Fields f("Heartbeat");
  Heartbeat m{{in.job()}, {in.generation()}, f.NotNegative("step", in.step()), {}};
  m.waiting_because = f.Line("waiting_because", in.waiting_because(), kTextBytesMax);
  ESPALIER_RETURN_IF_ERROR(f.status());
  return FromWorker(std::move(m));
}

void Set(const SurveyProgress& m, pb::FromWorker* out) {
  SetPoint(m, out->mutable_survey_progress());
  out->mutable_survey_progress()->set_bytes_done(m.bytes_done);
}

Result<FromWorker> Get(const pb::SurveyProgress& in) {
  Fields f("SurveyProgress");
  SurveyProgress m;
  GetPoint(in, f, &m);
  m.bytes_done = f.NotNegative("bytes_done", in.bytes_done());
  ESPALIER_RETURN_IF_ERROR(f.status());
  return FromWorker(m);
}

void Set(const SurveyPart& m, pb::FromWorker* out) {
  pb::SurveyPart* p = out->mutable_survey_part();
  SetPoint(m, p);
  for (const auto& shard : m.shards) ToProto(*shard, p->add_shards());
}

Result<FromWorker> Get(const pb::SurveyPart& in) {
  Fields f("SurveyPart");
  SurveyPart m;
  GetPoint(in, f, &m);
  if (in.shards_size() == 0) f.Fail("shards", "are missing");
  if (!f.Few("shards", in.shards_size(), kListMax)) return f.status();
  m.shards.reserve(in.shards_size());
  for (const pb::ShardSurvey& shard : in.shards()) {
    m.shards.push_back(std::make_shared<const ShardSurvey>(Part(f, "shards", FromProto(shard))));
    if (!f.status().ok()) return f.status();
  }
  ESPALIER_RETURN_IF_ERROR(f.status());
  return FromWorker(std::move(m));
}

void Set(const MemberReady& m, pb::FromWorker* out) {
  pb::MemberReady* p = out->mutable_member_ready();
  SetPoint(m, p);
  p->set_round(m.round);
}

Result<FromWorker> Get(const pb::MemberReady& in) {
  Fields f("MemberReady");
  MemberReady m;
  GetPoint(in, f, &m);
  m.round = f.Id("round", in.round());
  ESPALIER_RETURN_IF_ERROR(f.status());
  return FromWorker(m);
}

void Set(const Switched& m, pb::FromWorker* out) {
  pb::Switched* p = out->mutable_switched();
  SetPoint(m, p);
  p->set_round(m.round);
}

Result<FromWorker> Get(const pb::Switched& in) {
  Fields f("Switched");
  Switched m;
  GetPoint(in, f, &m);
  m.round = f.Id("round", in.round());
  ESPALIER_RETURN_IF_ERROR(f.status());
  return FromWorker(m);
}

void Set(const StatesDiffer& m, pb::FromWorker* out) {
  pb::StatesDiffer* p = out->mutable_states_differ();
  SetPoint(m, p);
  p->set_step(m.step);
  p->mutable_members()->Add(m.members.begin(), m.members.end());
}

Result<FromWorker> Get(const pb::StatesDiffer& in) {
  Fields f("StatesDiffer");
  StatesDiffer m;
  GetPoint(in, f, &m);
  m.step = f.NotNegative("step", in.step());
  if (!f.Few("members", in.members_size(), kMembersMax)) return f.status();
  for (int32_t member : in.members()) {
    m.members.push_back(f.In("members", member, 0, kMembersMax - 1));
  }
  ESPALIER_RETURN_IF_ERROR(f.status());
  return FromWorker(std::move(m));
}

void Set(const Uneven& m, pb::FromWorker* out) {
  pb::Uneven* p = out->mutable_uneven();
  SetPoint(m, p);
  p->set_step(m.step);
  p->mutable_leaf_ms()->Add(m.leaf_ms.begin(), m.leaf_ms.end());
}

Result<FromWorker> Get(const pb::Uneven& in) {
  Fields f("Uneven");
  Uneven m;
  GetPoint(in, f, &m);
  m.step = f.NotNegative("step", in.step());
  if (!f.Few("leaf_ms", in.leaf_ms_size(), kMembersMax)) return f.status();
  for (double ms : in.leaf_ms()) {
    m.leaf_ms.push_back(ms);
    if (!(ms > 0) || !std::isfinite(ms)) f.Fail("leaf_ms", "is no positive number");
  }
  ESPALIER_RETURN_IF_ERROR(f.status());
  return FromWorker(std::move(m));
}

void Set(const Leaving& m, pb::FromWorker* out) {
  out->mutable_leaving()->set_reason(Utf8(m.reason));
}

Result<FromWorker> Get(const pb::Leaving& in) {
  Fields f("Leaving");
  Leaving m{f.Line("reason", in.reason(), kTextBytesMax)};
  ESPALIER_RETURN_IF_ERROR(f.status());
  return FromWorker(std::move(m));
}

void Set(const LinkBroken& m, pb::FromWorker* out) {
  pb::LinkBroken* p = out->mutable_link_broken();
  SetPoint(m, p);
  p->set_other(m.other.value);
  ToProto(m.why, p->mutable_why());
}

Result<FromWorker> Get(const pb::LinkBroken& in) {
  Fields f("LinkBroken");
  LinkBroken m;
  GetPoint(in, f, &m);
  m.other = {f.Id("other", in.other())};
  m.why = RequiredError(in.why(), f);
  ESPALIER_RETURN_IF_ERROR(f.status());
  return FromWorker(std::move(m));
}

void Set(const StateKept& m, pb::FromWorker* out) {
  pb::StateKept* p = out->mutable_state_kept();
  SetPoint(m, p);
  p->set_step(m.step);
  p->set_path(Utf8(m.path));
  if (!m.why.ok()) ToProto(m.why, p->mutable_why());
}

Result<FromWorker> Get(const pb::StateKept& in) {
  Fields f("StateKept");
  StateKept m;
  GetPoint(in, f, &m);
  m.step = f.NotNegative("step", in.step());
  m.path = f.Line("path", in.path(), kTextBytesMax);
  if (in.has_why()) m.why = RequiredError(in.why(), f);
  ESPALIER_RETURN_IF_ERROR(f.status());
  return FromWorker(std::move(m));
}

void Set(const TokenRefused& m, pb::FromWorker* out) {
  out->mutable_token_refused()->set_job(m.job.value);
  out->mutable_token_refused()->set_file_system(m.file_system);
}

Result<FromWorker> Get(const pb::TokenRefused& in) {
  Fields f("TokenRefused");
  TokenRefused m;
  m.job = {f.Id("job", in.job())};
  m.file_system = f.Text("file_system", in.file_system(), kTextBytesMax);
  ESPALIER_RETURN_IF_ERROR(f.status());
  return FromWorker(std::move(m));
}

void Set(const Progress& m, pb::FromWorker* out) { ToProto(m, out->mutable_progress()); }

Result<FromWorker> Get(const pb::Progress& in) {
  Fields f("Progress");
  f.Id("job", in.job());
  f.Id("generation", in.generation());
  ESPALIER_RETURN_IF_ERROR(f.status());
  ESPALIER_ASSIGN_OR_RETURN(Progress m, FromProto(in));
  return FromWorker(std::move(m));
}

void Set(const HistoryEntry& m, pb::FromWorker* out) {
  pb::HistoryEntry* p = out->mutable_history_entry();
  SetPoint(m, p);
  ToProto(m.row, p->mutable_row());
  p->set_number(m.number);
  p->set_first(m.first);
}

Result<FromWorker> Get(const pb::HistoryEntry& in) {
  Fields f("HistoryEntry");
  HistoryEntry m;
  GetPoint(in, f, &m);
  m.row = Part(f, "row", FromProto(in.row()));
  m.number = f.NotNegative("number", in.number());
  m.first = f.In("first", in.first(), 0, std::max<int64_t>(0, m.number));
  ESPALIER_RETURN_IF_ERROR(f.status());
  return FromWorker(std::move(m));
}

void Set(const JobDone& m, pb::FromWorker* out) {
  SetPoint(m, out->mutable_job_done());
  ToProto(m.result, out->mutable_job_done()->mutable_result());
}

Result<FromWorker> Get(const pb::JobDone& in) {
  Fields f("JobDone");
  JobDone m;
  GetPoint(in, f, &m);
  if (f.Present("result", in.has_result())) m.result = Part(f, "result", FromProto(in.result()));
  ESPALIER_RETURN_IF_ERROR(f.status());
  return FromWorker(std::move(m));
}

void Set(const JobFailed& m, pb::FromWorker* out) {
  pb::JobFailed* p = out->mutable_job_failed();
  SetPoint(m, p);
  ToProto(m.error, p->mutable_error());
}

Result<FromWorker> Get(const pb::JobFailed& in) {
  Fields f("JobFailed");
  JobFailed m;
  GetPoint(in, f, &m);
  m.error = RequiredError(in.error(), f);
  ESPALIER_RETURN_IF_ERROR(f.status());
  return FromWorker(std::move(m));
}

void Set(const Goodbye& m, pb::FromWorker* out) {
  out->mutable_goodbye()->set_reason(Utf8(m.reason));
  out->mutable_goodbye()->set_crashed(m.crashed);
}

Result<FromWorker> Get(const pb::Goodbye& in) {
  Fields f("Goodbye");
  Goodbye m{f.Line("reason", in.reason(), kTextBytesMax), in.crashed()};
  ESPALIER_RETURN_IF_ERROR(f.status());
  return FromWorker(std::move(m));
}

}  // namespace

void ToProto(const FromWorker& message, pb::FromWorker* out) {
  std::visit([out](const auto& m) { Set(m, out); }, message);
}

Result<FromWorker> FromProto(const pb::FromWorker& in) {
  switch (in.message_case()) {
    case pb::FromWorker::kHello:
      return Get(in.hello());
    case pb::FromWorker::kHeartbeat:
      return Get(in.heartbeat());
    case pb::FromWorker::kSurveyProgress:
      return Get(in.survey_progress());
    case pb::FromWorker::kSurveyPart:
      return Get(in.survey_part());
    case pb::FromWorker::kMemberReady:
      return Get(in.member_ready());
    case pb::FromWorker::kSwitched:
      return Get(in.switched());
    case pb::FromWorker::kStatesDiffer:
      return Get(in.states_differ());
    case pb::FromWorker::kUneven:
      return Get(in.uneven());
    case pb::FromWorker::kStateKept:
      return Get(in.state_kept());
    case pb::FromWorker::kTokenRefused:
      return Get(in.token_refused());
    case pb::FromWorker::kLeaving:
      return Get(in.leaving());
    case pb::FromWorker::kLinkBroken:
      return Get(in.link_broken());
    case pb::FromWorker::kProgress:
      return Get(in.progress());
    case pb::FromWorker::kHistoryEntry:
      return Get(in.history_entry());
    case pb::FromWorker::kJobDone:
      return Get(in.job_done());
    case pb::FromWorker::kJobFailed:
      return Get(in.job_failed());
    case pb::FromWorker::kGoodbye:
      return Get(in.goodbye());
    case pb::FromWorker::MESSAGE_NOT_SET:
      break;
  }
  return InvalidArgument("malformed FromWorker: it holds no message of a kind known here");
}

}  // namespace espalier::rpc
