#include "src/rpc/convert.h"
#include "src/rpc/fields.h"

namespace espalier::rpc {

void ToProto(const SubmitRequest& request, pb::SubmitRequest* out) {
  out->set_version(Utf8(request.version, kNameBytesMax));
  out->set_client_request_id(Utf8(request.client_request_id, kNameBytesMax));
  out->set_job_yaml(request.job_yaml);
  ToProto(request.tokens, out->mutable_tokens());
}

Result<SubmitRequest> FromProto(const pb::SubmitRequest& in) {
  Fields f("SubmitRequest");
  SubmitRequest out;
  out.version = f.Text("version", in.version(), kNameBytesMax);
  out.client_request_id =
      f.Text("client_request_id", in.client_request_id(), kClientRequestIdBytesMax);
  if (in.client_request_id().empty()) f.Fail("client_request_id", "is missing");
  out.job_yaml = f.Text("job_yaml", in.job_yaml(), kYamlBytesMax);
  out.tokens = Part(f, "tokens", FromProto(in.tokens()));
  ESPALIER_RETURN_IF_ERROR(f.status());
  return out;
}

pb::JobKind KindToProto(JobKind kind) {
  return static_cast<pb::JobKind>(static_cast<int>(kind) + 1);
}

JobKind KindFromProto(pb::JobKind kind, Fields& f) {
  const int64_t known = f.In("kind", kind, pb::JOB_KIND_UNSPECIFIED, pb::JOB_KIND_EVALUATE);
  return known == 0 ? JobKind::kTrain : static_cast<JobKind>(known - 1);
}

void ToProto(const JobSnapshot& s, pb::JobSnapshot* out) {
  out->set_job(s.job.value);
  out->set_kind(KindToProto(s.kind));
  out->set_name(Utf8(s.name, kNameBytesMax));
  out->set_state(static_cast<pb::JobState>(static_cast<int>(s.state) + 1));
  out->set_waiting_because(Utf8(s.waiting_because));
  out->set_trouble(Utf8(s.trouble));
  out->set_output(s.output);
  for (const std::string& worker : s.workers) out->add_workers(Utf8(worker, kNameBytesMax));
  out->set_leaves(s.leaves);
  out->set_generation(s.generation.value);
  out->set_input_bytes(s.input_bytes);
  out->set_survey_bytes_done(s.survey_bytes_done);
  ToProto(s.progress, out->mutable_progress());
  if (s.result) ToProto(*s.result, out->mutable_result());
  if (!s.error.ok()) ToProto(s.error, out->mutable_error());
  out->set_submitted_ms(s.submitted_ms);
  out->set_started_ms(s.started_ms);
  out->set_training_ms(s.training_ms);
  out->set_ended_ms(s.ended_ms);
  out->set_start_phase_ms(s.start_phase_ms);
  out->set_survey_phase_ms(s.survey_phase_ms);
  out->set_train_phase_ms(s.train_phase_ms);
  out->set_inferred(Utf8(s.inferred));
  out->set_owner(Utf8(s.owner, kNameBytesMax));
}

Result<JobSnapshot> FromProto(const pb::JobSnapshot& in) {
  Fields f("JobSnapshot");
  JobSnapshot s;
  s.job = {f.Id("job", in.job())};
  s.kind = KindFromProto(in.kind(), f);
  s.name = f.Text("name", in.name(), kNameBytesMax);
  s.state = static_cast<JobState>(
      f.In("state", in.state(), pb::JOB_STATE_QUEUED, pb::JOB_STATE_CANCELLED) - 1);
  s.waiting_because = f.Line("waiting_because", in.waiting_because(), kTextBytesMax);
  s.trouble = f.Line("trouble", in.trouble(), kTextBytesMax);
  s.output = f.Text("output", in.output(), kTextBytesMax);
  if (!f.Few("workers", in.workers_size(), kMembersMax)) return f.status();
  for (const std::string& w : in.workers())
    s.workers.push_back(f.Text("workers", w, kNameBytesMax));
  s.leaves = f.NotNegative("leaves", in.leaves());
  s.generation = {in.generation()};
  s.input_bytes = f.NotNegative("input_bytes", in.input_bytes());
  s.survey_bytes_done = f.NotNegative("survey_bytes_done", in.survey_bytes_done());
  s.progress = Part(f, "progress", FromProto(in.progress()));
  if (in.has_result()) s.result = Part(f, "result", FromProto(in.result()));
  if (Status bad = ErrorFromProto(in.error(), &s.error); !bad.ok()) f.Take("error", bad);
  s.submitted_ms = f.NotNegative("submitted_ms", in.submitted_ms());
  s.started_ms = f.NotNegative("started_ms", in.started_ms());
  s.training_ms = f.NotNegative("training_ms", in.training_ms());
  s.ended_ms = f.NotNegative("ended_ms", in.ended_ms());
  s.start_phase_ms = f.NotNegative("start_phase_ms", in.start_phase_ms());
  s.survey_phase_ms = f.NotNegative("survey_phase_ms", in.survey_phase_ms());
  s.train_phase_ms = f.NotNegative("train_phase_ms", in.train_phase_ms());
  s.owner = f.Text("owner", in.owner(), kNameBytesMax);
  s.inferred = f.Line("inferred", in.inferred(), kTextBytesMax);
  ESPALIER_RETURN_IF_ERROR(f.status());
  return s;
}

void ToProto(const JobUpdate& update, pb::JobUpdate* out) {
  ToProto(update.snapshot, out->mutable_snapshot());
  for (const HistoryRow& row : update.history) ToProto(row, out->add_history());
}

Result<JobUpdate> FromProto(const pb::JobUpdate& in) {
  Fields f("JobUpdate");
  JobUpdate out;
  out.snapshot = Part(f, "snapshot", FromProto(in.snapshot()));
  if (!f.Few("history", in.history_size(), kListMax)) return f.status();
  out.history.reserve(in.history_size());
  for (const pb::HistoryRow& row : in.history()) {
    out.history.push_back(Part(f, "history", FromProto(row)));
    if (!f.status().ok()) return f.status();
  }
  ESPALIER_RETURN_IF_ERROR(f.status());
  return out;
}

void ToProto(const WorkerSnapshot& w, pb::WorkerSnapshot* out) {
  out->set_worker(w.worker.value);
  out->set_name(Utf8(w.name, kNameBytesMax));
  out->set_address(Utf8(w.address, kNameBytesMax));
  out->set_version(Utf8(w.version, kNameBytesMax));
  out->set_arithmetic_id(Utf8(w.arithmetic_id, kNameBytesMax));
  out->set_threads(w.threads);
  out->set_memory_bytes(w.memory_bytes);
  out->set_job(w.job.value);
  out->set_attached_ms(w.attached_ms);
  out->set_last_heard_ms(w.last_heard_ms);
}

Result<WorkerSnapshot> FromProto(const pb::WorkerSnapshot& in) {
  Fields f("WorkerSnapshot");
  WorkerSnapshot w;
  w.worker = {f.Id("worker", in.worker())};
  w.name = f.Text("name", in.name(), kNameBytesMax);
  w.address = f.Text("address", in.address(), kNameBytesMax);
  w.version = f.Text("version", in.version(), kNameBytesMax);
  w.arithmetic_id = f.Text("arithmetic_id", in.arithmetic_id(), kNameBytesMax);
  w.threads = f.NotNegative("threads", in.threads());
  w.memory_bytes = f.NotNegative("memory_bytes", in.memory_bytes());
  w.job = {in.job()};
  w.attached_ms = f.NotNegative("attached_ms", in.attached_ms());
  w.last_heard_ms = f.NotNegative("last_heard_ms", in.last_heard_ms());
  ESPALIER_RETURN_IF_ERROR(f.status());
  return w;
}

}  // namespace espalier::rpc
