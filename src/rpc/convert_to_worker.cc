#include <algorithm>
#include <limits>

#include "src/rpc/convert_parts.h"

namespace espalier::rpc {

namespace {

constexpr int64_t kHourMs = 3'600'000;

void Set(const Welcome& m, pb::ToWorker* out) {
  pb::Welcome* p = out->mutable_welcome();
  p->set_incarnation(m.incarnation.value);
  p->set_worker(m.worker.value);
  p->set_heartbeat_interval_ms(m.heartbeat_interval_ms);
  p->set_liveness_limit_ms(m.liveness_limit_ms);
}

Result<ToWorker> Get(const pb::Welcome& in) {
  Fields f("Welcome");
  Welcome m;
  m.incarnation = {f.Id("incarnation", in.incarnation())};
  m.worker = {f.Id("worker", in.worker())};
  m.heartbeat_interval_ms = f.In("heartbeat_interval_ms", in.heartbeat_interval_ms(), 1, kHourMs);
  m.liveness_limit_ms = f.In("liveness_limit_ms", in.liveness_limit_ms(), 1, 24 * kHourMs);
  ESPALIER_RETURN_IF_ERROR(f.status());
  return ToWorker(m);
}

void Set(const Refused& m, pb::ToWorker* out) {
  ToProto(m.error, out->mutable_refused()->mutable_error());
}

Result<ToWorker> Get(const pb::Refused& in) {
  Fields f("Refused");
  Refused m{RequiredError(in.error(), f)};
  ESPALIER_RETURN_IF_ERROR(f.status());
  return ToWorker(std::move(m));
}

void Set(const StartSurvey& m, pb::ToWorker* out) {
  pb::StartSurvey* p = out->mutable_start_survey();
  p->set_incarnation(m.incarnation.value);
  SetPoint(m, p);
  p->set_job_yaml(m.job_yaml);
  if (m.input) ToProto(*m.input, p->mutable_input());
  p->mutable_shards()->Add(m.shards.begin(), m.shards.end());
  ToProto(m.tokens, p->mutable_tokens());
  p->set_request_id(m.request_id);
  p->set_model_sha256(m.model_sha256);
}

Result<ToWorker> Get(const pb::StartSurvey& in) {
  Fields f("StartSurvey");
  StartSurvey m;
  m.incarnation = {f.Id("incarnation", in.incarnation())};
  GetPoint(in, f, &m);
  m.job_yaml = f.Text("job_yaml", in.job_yaml(), kYamlBytesMax);
  if (!f.Present("input", in.has_input())) return f.status();
  auto input = std::make_shared<InputPlan>(Part(f, "input", FromProto(in.input())));
  const auto shards = static_cast<int64_t>(input->shards.size());
  if (!f.status().ok() || !f.Few("shards", in.shards_size(), shards)) return f.status();
  int64_t least = 0;  // ascending, hence each once
  for (int32_t shard : in.shards()) {
    m.shards.push_back(f.In("shards", shard, least, shards - 1));
    least = int64_t{shard} + 1;
  }
  m.input = std::move(input);
  m.tokens = Part(f, "tokens", FromProto(in.tokens()));
  m.request_id = f.Text("request_id", in.request_id(), kRequestIdBytesMax);
  m.model_sha256 = f.Text("model_sha256", in.model_sha256(), kNameBytesMax);
  ESPALIER_RETURN_IF_ERROR(f.status());
  return ToWorker(std::move(m));
}

void Set(const SurveyTaken& m, pb::ToWorker* out) {
  pb::SurveyTaken* p = out->mutable_survey_taken();
  p->set_incarnation(m.incarnation.value);
  SetPoint(m, p);
  p->set_shards(m.shards);
}

Result<ToWorker> Get(const pb::SurveyTaken& in) {
  Fields f("SurveyTaken");
  SurveyTaken m;
  m.incarnation = {f.Id("incarnation", in.incarnation())};
  GetPoint(in, f, &m);
  m.shards = f.NotNegative("shards", in.shards());
  ESPALIER_RETURN_IF_ERROR(f.status());
  return ToWorker(m);
}

void Set(const StartTraining& m, pb::ToWorker* out) {
  pb::StartTraining* p = out->mutable_start_training();
  p->set_incarnation(m.incarnation.value);
  SetPoint(m, p);
  p->set_planned(m.planned);
  p->set_holder(m.holder);
  p->set_reverts(m.reverts);
  p->set_submitted_ms(m.submitted_ms);
  if (m.survey) ToProto(*m.survey, p->mutable_survey());
  for (const Member& member : m.members) {
    pb::Member* q = p->add_members();
    q->set_worker(member.worker.value);
    q->set_name(Utf8(member.name, kNameBytesMax));
    q->set_address(Utf8(member.address, kNameBytesMax));
  }
  for (const LeafInterval& leaves : m.leaves) {
    pb::LeafInterval* q = p->add_leaves();
    q->set_begin(leaves.begin);
    q->set_end(leaves.end);
  }
}

Result<ToWorker> Get(const pb::StartTraining& in) {
  Fields f("StartTraining");
  StartTraining m;
  m.incarnation = {f.Id("incarnation", in.incarnation())};
  GetPoint(in, f, &m);
  if (!f.Present("survey", in.has_survey()) || !f.Few("leaves", in.leaves_size(), kMembersMax)) {
    return f.status();
  }
  m.survey = std::make_shared<SurveyResult>(Part(f, "survey", FromProto(in.survey())));
  int32_t next = 0;  // without gaps from 0
  for (const pb::LeafInterval& leaves : in.leaves()) {
    LeafInterval interval;
    interval.begin = f.In("leaves.begin", leaves.begin(), next, next);
    interval.end = f.In("leaves.end", leaves.end(), next, std::numeric_limits<int32_t>::max());
    next = interval.end;
    m.leaves.push_back(interval);
  }
  if (next == 0) f.Fail("leaves", "are missing");
  if (in.members_size() != in.leaves_size()) f.Fail("members", "are not as many as intervals");
  m.planned = in.planned();
  m.reverts = in.reverts();
  m.holder = f.In("holder", in.holder(), 0, std::max(0, in.members_size() - 1));
  m.submitted_ms =
      f.In("submitted_ms", in.submitted_ms(), int64_t{0}, std::numeric_limits<int64_t>::max());
  if (!f.status().ok()) return f.status();
  for (const pb::Member& member : in.members()) {
    m.members.push_back({{f.Id("members.worker", member.worker())},
                         f.Text("members.name", member.name(), kNameBytesMax),
                         f.Text("members.address", member.address(), kNameBytesMax)});
  }
  ESPALIER_RETURN_IF_ERROR(f.status());
  return ToWorker(std::move(m));
}

void Set(const SwitchOver& m, pb::ToWorker* out) {
  pb::SwitchOver* p = out->mutable_switch_over();
  p->set_incarnation(m.incarnation.value);
  SetPoint(m, p);
  p->set_next(m.next.value);
}

Result<ToWorker> Get(const pb::SwitchOver& in) {
  Fields f("SwitchOver");
  SwitchOver m;
  m.incarnation = {f.Id("incarnation", in.incarnation())};
  GetPoint(in, f, &m);
  m.next = {f.Id("next", in.next())};
  ESPALIER_RETURN_IF_ERROR(f.status());
  return ToWorker(m);
}

void Set(const Proceed& m, pb::ToWorker* out) {
  pb::Proceed* p = out->mutable_proceed();
  p->set_incarnation(m.incarnation.value);
  SetPoint(m, p);
  p->set_round(m.round);
  p->set_holder(m.holder);
  p->set_fetched(m.fetched);
}

Result<ToWorker> Get(const pb::Proceed& in) {
  Fields f("Proceed");
  Proceed m;
  m.incarnation = {f.Id("incarnation", in.incarnation())};
  GetPoint(in, f, &m);
  m.round = f.Id("round", in.round());
  m.holder = f.In("holder", in.holder(), 0, kMembersMax - 1);
  m.fetched = in.fetched();
  ESPALIER_RETURN_IF_ERROR(f.status());
  return ToWorker(m);
}

void Set(const KeepState& m, pb::ToWorker* out) {
  pb::KeepState* p = out->mutable_keep_state();
  p->set_incarnation(m.incarnation.value);
  SetPoint(m, p);
  p->set_reverts(m.reverts);
}

Result<ToWorker> Get(const pb::KeepState& in) {
  Fields f("KeepState");
  KeepState m;
  m.incarnation = {f.Id("incarnation", in.incarnation())};
  GetPoint(in, f, &m);
  m.reverts = in.reverts();
  ESPALIER_RETURN_IF_ERROR(f.status());
  return ToWorker(m);
}

void Set(const NewTokens& m, pb::ToWorker* out) {
  pb::NewTokens* p = out->mutable_new_tokens();
  p->set_incarnation(m.incarnation.value);
  p->set_job(m.job.value);
  ToProto(m.tokens, p->mutable_tokens());
}

Result<ToWorker> Get(const pb::NewTokens& in) {
  Fields f("NewTokens");
  NewTokens m;
  m.incarnation = {f.Id("incarnation", in.incarnation())};
  m.job = {f.Id("job", in.job())};
  m.tokens = Part(f, "tokens", FromProto(in.tokens()));
  ESPALIER_RETURN_IF_ERROR(f.status());
  return ToWorker(std::move(m));
}

void Set(const Release& m, pb::ToWorker* out) {
  pb::Release* p = out->mutable_release();
  p->set_incarnation(m.incarnation.value);
  SetPoint(m, p);
  p->set_reason(Utf8(m.reason));
}

Result<ToWorker> Get(const pb::Release& in) {
  Fields f("Release");
  Release m;
  m.incarnation = {f.Id("incarnation", in.incarnation())};
  GetPoint(in, f, &m);
  m.reason = f.Line("reason", in.reason(), kTextBytesMax);
  ESPALIER_RETURN_IF_ERROR(f.status());
  return ToWorker(std::move(m));
}

void Set(const Dismiss& m, pb::ToWorker* out) {
  out->mutable_dismiss()->set_reason(Utf8(m.reason));
}

Result<ToWorker> Get(const pb::Dismiss& in) {
  Fields f("Dismiss");
  Dismiss m{f.Line("reason", in.reason(), kTextBytesMax)};
  ESPALIER_RETURN_IF_ERROR(f.status());
  return ToWorker(std::move(m));
}

void Set(const Pulse& m, pb::ToWorker* out) {
  out->mutable_pulse()->set_incarnation(m.incarnation.value);
}

Result<ToWorker> Get(const pb::Pulse& in) {
  Fields f("Pulse");
  Pulse m{{f.Id("incarnation", in.incarnation())}};
  ESPALIER_RETURN_IF_ERROR(f.status());
  return ToWorker(m);
}

}  // namespace

void ToProto(const ToWorker& message, pb::ToWorker* out) {
  std::visit([out](const auto& m) { Set(m, out); }, message);
}

Result<ToWorker> FromProto(const pb::ToWorker& in) {
  switch (in.message_case()) {
    case pb::ToWorker::kWelcome:
      return Get(in.welcome());
    case pb::ToWorker::kRefused:
      return Get(in.refused());
    case pb::ToWorker::kStartSurvey:
      return Get(in.start_survey());
    case pb::ToWorker::kStartTraining:
      return Get(in.start_training());
    case pb::ToWorker::kKeepState:
      return Get(in.keep_state());
    case pb::ToWorker::kNewTokens:
      return Get(in.new_tokens());
    case pb::ToWorker::kSwitchOver:
      return Get(in.switch_over());
    case pb::ToWorker::kProceed:
      return Get(in.proceed());
    case pb::ToWorker::kRelease:
      return Get(in.release());
    case pb::ToWorker::kDismiss:
      return Get(in.dismiss());
    case pb::ToWorker::kPulse:
      return Get(in.pulse());
    case pb::ToWorker::kSurveyTaken:
      return Get(in.survey_taken());
    case pb::ToWorker::MESSAGE_NOT_SET:
      break;
  }
  return InvalidArgument("malformed ToWorker: it holds no message of a kind known here");
}

}  // namespace espalier::rpc
