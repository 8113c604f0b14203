#include <limits>

#include "proto/espalier/v1/journal.pb.h"
#include "src/rpc/convert_parts.h"
#include "src/rpc/journal_codec.h"

namespace espalier {

namespace rpc {
namespace {

void Set(const WorkerIdGiven& e, pb::JournalEntry* out) {
  out->mutable_worker_id_given()->set_worker(e.worker.value);
}

Result<JournalEntry> Get(const pb::WorkerIdGiven& in) {
  Fields f("WorkerIdGiven");
  WorkerIdGiven e{{f.Id("worker", in.worker())}};
  ESPALIER_RETURN_IF_ERROR(f.status());
  return JournalEntry(e);
}

void Set(const JobAccepted& e, pb::JournalEntry* out) {
  pb::JobAccepted* p = out->mutable_job_accepted();
  const Submission& s = e.submission;
  p->set_job(e.job.value);
  p->set_submitted_ms(e.submitted_ms);
  p->set_client_request_id(s.client_request_id);
  p->set_name(s.name);
  p->set_output(s.output);
  p->set_job_yaml(s.job_yaml);
  p->set_workers_min(s.workers_min);
  p->set_workers_max(s.workers_max);
  p->set_leaves(s.leaves);
  p->set_kind(KindToProto(s.kind));
  p->set_model_sha256(s.model_sha256);
  p->set_star(s.star);
  p->set_output_place(s.output_place);
  p->set_owner(s.owner);
  ToProto(s.tokens, p->mutable_tokens());
  if (s.input == nullptr) return;
  ToProto(*s.input, p->mutable_input());
  for (const auto& hosts : s.input->hosts) {
    p->add_hosts()->mutable_names()->Add(hosts.begin(), hosts.end());
  }
}

std::shared_ptr<const InputPlan> InputFromProto(const pb::JobAccepted& in, Fields& f) {
  if (!in.has_input()) return nullptr;
  auto input = std::make_shared<InputPlan>(Part(f, "input", FromProto(in.input())));
  if (in.hosts_size() == 0) return input;
  const auto shards = static_cast<int64_t>(input->shards.size());
  f.In("hosts", in.hosts_size(), shards, shards);
  if (!f.status().ok()) return input;
  for (const pb::Hosts& hosts : in.hosts()) {
    std::vector<std::string>& names = input->hosts.emplace_back();
    for (const std::string& n : hosts.names()) names.push_back(f.Text("hosts", n, kNameBytesMax));
  }
  return input;
}

Result<JournalEntry> Get(const pb::JobAccepted& in) {
  Fields f("JobAccepted");
  JobAccepted e;
  Submission& s = e.submission;
  e.job = {f.Id("job", in.job())};
  e.submitted_ms = f.NotNegative("submitted_ms", in.submitted_ms());
  s.client_request_id = f.Text("client_request_id", in.client_request_id(), kRequestIdBytesMax);
  if (s.client_request_id.empty()) f.Fail("client_request_id", "is missing");
  s.name = f.Text("name", in.name(), kTextBytesMax);
  s.output = f.Text("output", in.output(), kTextBytesMax);
  s.job_yaml = f.Text("job_yaml", in.job_yaml(), kYamlBytesMax);
  s.workers_min = f.NotNegative("workers_min", in.workers_min());
  s.workers_max = f.NotNegative("workers_max", in.workers_max());
  s.leaves = f.In("leaves", in.leaves(), 1, std::numeric_limits<int32_t>::max());
  s.kind = KindFromProto(in.kind(), f);
  s.model_sha256 = f.Text("model_sha256", in.model_sha256(), kNameBytesMax);
  s.star = in.star();
  s.output_place = f.Text("output_place", in.output_place(), kTextBytesMax);
  s.owner = f.Text("owner", in.owner(), kNameBytesMax);
  s.input = InputFromProto(in, f);
  s.tokens = Part(f, "tokens", FromProto(in.tokens()));
  ESPALIER_RETURN_IF_ERROR(f.status());
  return JournalEntry(std::move(e));
}

void Set(const GenerationStarted& e, pb::JournalEntry* out) {
  pb::GenerationStarted* p = out->mutable_generation_started();
  SetPoint(e, p);
  for (const Member& member : e.members) {
    pb::Member* q = p->add_members();
    q->set_worker(member.worker.value);
    q->set_name(Utf8(member.name, kNameBytesMax));
    q->set_address(Utf8(member.address, kNameBytesMax));
  }
  for (const LeafInterval& leaves : e.leaves) {
    pb::LeafInterval* q = p->add_leaves();
    q->set_begin(leaves.begin);
    q->set_end(leaves.end);
  }
  p->set_at_ms(e.at_ms);
  p->set_arithmetic_id(e.arithmetic_id);
  p->set_reverts(e.reverts);
}

Result<JournalEntry> Get(const pb::GenerationStarted& in) {
  Fields f("GenerationStarted");
  GenerationStarted e;
  GetPoint(in, f, &e);
  if (!f.Few("members", in.members_size(), kMembersMax)) return f.status();
  for (const pb::Member& member : in.members()) {
    // 0: it has taken part in another job since.
    e.members.push_back({{member.worker()},
                         f.Text("members.name", member.name(), kNameBytesMax),
                         f.Text("members.address", member.address(), kNameBytesMax)});
  }
  if (in.leaves_size() != 0) f.In("leaves", in.leaves_size(), in.members_size(), in.members_size());
  if (!f.status().ok()) return f.status();
  int32_t next = 0;  // without gaps from 0
  for (const pb::LeafInterval& leaves : in.leaves()) {
    LeafInterval interval;
    interval.begin = f.In("leaves.begin", leaves.begin(), next, next);
    interval.end = f.In("leaves.end", leaves.end(), next, std::numeric_limits<int32_t>::max());
    next = interval.end;
    e.leaves.push_back(interval);
  }
  e.at_ms = f.NotNegative("at_ms", in.at_ms());
  e.arithmetic_id = f.Text("arithmetic_id", in.arithmetic_id(), kNameBytesMax);
  e.reverts = in.reverts();
  ESPALIER_RETURN_IF_ERROR(f.status());
  return JournalEntry(std::move(e));
}

void Set(const SurveyRecorded& e, pb::JournalEntry* out) {
  pb::SurveyRecorded* p = out->mutable_survey_recorded();
  p->set_job(e.job.value);
  if (e.survey != nullptr) ToProto(*e.survey, p->mutable_survey());
}

Result<JournalEntry> Get(const pb::SurveyRecorded& in) {
  Fields f("SurveyRecorded");
  SurveyRecorded e;
  e.job = {f.Id("job", in.job())};
  if (!f.Present("survey", in.has_survey())) return f.status();
  e.survey = std::make_shared<const SurveyResult>(Part(f, "survey", FromProto(in.survey())));
  ESPALIER_RETURN_IF_ERROR(f.status());
  return JournalEntry(std::move(e));
}

void Set(const HistoryRecorded& e, pb::JournalEntry* out) {
  pb::HistoryRecorded* p = out->mutable_history_recorded();
  p->set_job(e.job.value);
  ToProto(e.row, p->mutable_row());
  p->set_number(e.number);
}

Result<JournalEntry> Get(const pb::HistoryRecorded& in) {
  Fields f("HistoryRecorded");
  HistoryRecorded e;
  e.job = {f.Id("job", in.job())};
  if (!f.Present("row", in.has_row())) return f.status();
  e.row = Part(f, "row", FromProto(in.row()));
  e.number = f.NotNegative("number", in.number());
  ESPALIER_RETURN_IF_ERROR(f.status());
  return JournalEntry(std::move(e));
}

void Set(const GenerationReserved& e, pb::JournalEntry* out) {
  SetPoint(e, out->mutable_generation_reserved());
}

Result<JournalEntry> Get(const pb::GenerationReserved& in) {
  Fields f("GenerationReserved");
  GenerationReserved e;
  GetPoint(in, f, &e);
  ESPALIER_RETURN_IF_ERROR(f.status());
  return JournalEntry(e);
}

void Set(const MergeTried& e, pb::JournalEntry* out) {
  out->mutable_merge_tried()->set_job(e.job.value);
  out->mutable_merge_tried()->set_times(e.times);
}

Result<JournalEntry> Get(const pb::MergeTried& in) {
  Fields f("MergeTried");
  MergeTried e;
  e.job = {f.Id("job", in.job())};
  e.times = f.In("times", in.times(), int64_t{0}, std::numeric_limits<int64_t>::max());
  ESPALIER_RETURN_IF_ERROR(f.status());
  return JournalEntry(e);
}

void Set(const TokensReplaced& e, pb::JournalEntry* out) {
  out->mutable_tokens_replaced()->set_job(e.job.value);
  ToProto(e.tokens, out->mutable_tokens_replaced()->mutable_tokens());
}

Result<JournalEntry> Get(const pb::TokensReplaced& in) {
  Fields f("TokensReplaced");
  TokensReplaced e;
  e.job = {f.Id("job", in.job())};
  e.tokens = Part(f, "tokens", FromProto(in.tokens()));
  ESPALIER_RETURN_IF_ERROR(f.status());
  return JournalEntry(std::move(e));
}

void Set(const TrainingStarted& e, pb::JournalEntry* out) {
  out->mutable_training_started()->set_job(e.job.value);
  out->mutable_training_started()->set_at_ms(e.at_ms);
}

Result<JournalEntry> Get(const pb::TrainingStarted& in) {
  Fields f("TrainingStarted");
  TrainingStarted e;
  e.job = {f.Id("job", in.job())};
  e.at_ms = f.NotNegative("at_ms", in.at_ms());
  ESPALIER_RETURN_IF_ERROR(f.status());
  return JournalEntry(e);
}

void Set(const JobEnded& e, pb::JournalEntry* out) {
  ToProto(e.snapshot, out->mutable_job_ended()->mutable_snapshot());
}

Result<JournalEntry> Get(const pb::JobEnded& in) {
  Fields f("JobEnded");
  if (!f.Present("snapshot", in.has_snapshot())) return f.status();
  JobEnded e{Part(f, "snapshot", FromProto(in.snapshot()))};
  if (f.status().ok() && !IsFinal(e.snapshot.state)) {
    f.Fail("snapshot.state", std::string("is ") + JobStateName(e.snapshot.state) +
                                 ", expected one in which a job has ended");
  }
  ESPALIER_RETURN_IF_ERROR(f.status());
  return JournalEntry(std::move(e));
}

void Set(const JobForgotten& e, pb::JournalEntry* out) {
  out->mutable_job_forgotten()->set_job(e.job.value);
}

Result<JournalEntry> Get(const pb::JobForgotten& in) {
  Fields f("JobForgotten");
  JobForgotten e{{f.Id("job", in.job())}};
  ESPALIER_RETURN_IF_ERROR(f.status());
  return JournalEntry(e);
}

void Set(const IncarnationTaken& e, pb::JournalEntry* out) {
  out->mutable_incarnation_taken()->set_incarnation(e.incarnation.value);
}

Result<JournalEntry> Get(const pb::IncarnationTaken& in) {
  Fields f("IncarnationTaken");
  IncarnationTaken e{{f.Id("incarnation", in.incarnation())}};
  ESPALIER_RETURN_IF_ERROR(f.status());
  return JournalEntry(e);
}

}  // namespace
}  // namespace rpc

Result<std::string> EncodeJournalEntry(const JournalEntry& entry) {
  v1::JournalEntry proto;
  std::visit([&](const auto& e) { rpc::Set(e, &proto); }, entry);
  std::string bytes;
  if (!proto.SerializeToString(&bytes)) {
    return ResourceExhausted("an entry of the journal has more than 2 GiB");
  }
  return bytes;
}

Result<JournalEntry> DecodeJournalEntry(std::string_view bytes) {
  v1::JournalEntry proto;
  const bool fits = bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max());
  if (!fits || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("malformed JournalEntry: " + std::to_string(bytes.size()) +
                           " bytes that are no protocol buffer");
  }
  switch (proto.entry_case()) {
    case v1::JournalEntry::kWorkerIdGiven:
      return rpc::Get(proto.worker_id_given());
    case v1::JournalEntry::kJobAccepted:
      return rpc::Get(proto.job_accepted());
    case v1::JournalEntry::kGenerationStarted:
      return rpc::Get(proto.generation_started());
    case v1::JournalEntry::kSurveyRecorded:
      return rpc::Get(proto.survey_recorded());
    case v1::JournalEntry::kHistoryRecorded:
      return rpc::Get(proto.history_recorded());
    case v1::JournalEntry::kGenerationReserved:
      return rpc::Get(proto.generation_reserved());
    case v1::JournalEntry::kMergeTried:
      return rpc::Get(proto.merge_tried());
    case v1::JournalEntry::kTokensReplaced:
      return rpc::Get(proto.tokens_replaced());
    case v1::JournalEntry::kTrainingStarted:
      return rpc::Get(proto.training_started());
    case v1::JournalEntry::kJobEnded:
      return rpc::Get(proto.job_ended());
    case v1::JournalEntry::kJobForgotten:
      return rpc::Get(proto.job_forgotten());
    case v1::JournalEntry::kIncarnationTaken:
      return rpc::Get(proto.incarnation_taken());
    case v1::JournalEntry::ENTRY_NOT_SET:
      break;
  }
  return InvalidArgument("malformed JournalEntry: it is of no kind that this version knows");
}

}  // namespace espalier
