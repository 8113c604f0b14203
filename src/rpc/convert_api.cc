// Messages between clients and the coordinator.
#include "src/rpc/convert_fields.h"

namespace espalier::rpc {

template <typename W>
void Map(W& w, Is<spec::SubmitRequest> auto& r) {
  w(ESPALIER_AT(version), r.version, kName);
  w(ESPALIER_AT(client_request_id), r.client_request_id, Present(kClientRequestIdBytesMax));
  w(ESPALIER_AT(job_yaml), r.job_yaml, Raw(kYamlBytesMax));
  w(ESPALIER_AT(tokens), r.tokens, Each{Usual(), spec::kStorageTokensMax});
}

template <typename W>
void Map(W& w, Is<spec::JobSnapshot> auto& s) {
  w(ESPALIER_AT(job), s.job);
  w(ESPALIER_AT(kind), s.kind, kOrFirst);
  w(ESPALIER_AT(name), s.name, kName);
  w(ESPALIER_AT(state), s.state);
  w(ESPALIER_AT(waiting_because), s.waiting_because, kWords);
  w(ESPALIER_AT(trouble), s.trouble, kWords);
  w(ESPALIER_AT(output), s.output, Raw());
  w(ESPALIER_AT(workers), s.workers, Each{kName, kMembersMax});
  w(ESPALIER_AT(leaves), s.leaves);
  w(ESPALIER_AT(generation), s.generation, kMaybe);
  w(ESPALIER_AT(input_bytes), s.input_bytes);
  w(ESPALIER_AT(profiling_bytes_done), s.profiling_bytes_done);
  w(ESPALIER_AT(progress), s.progress);
  w(ESPALIER_AT(result), s.result);
  w(ESPALIER_AT(error), s.error);
  w(ESPALIER_AT(submitted_ms), s.submitted_ms);
  w(ESPALIER_AT(started_ms), s.started_ms);
  w(ESPALIER_AT(training_ms), s.training_ms);
  w(ESPALIER_AT(ended_ms), s.ended_ms);
  w(ESPALIER_AT(start_phase_ms), s.start_phase_ms);
  w(ESPALIER_AT(profiling_phase_ms), s.profiling_phase_ms);
  w(ESPALIER_AT(train_phase_ms), s.train_phase_ms);
  w(ESPALIER_AT(inferred), s.inferred, kWords);
  w(ESPALIER_AT(owner), s.owner, kName);
  w(ESPALIER_AT(notes), s.notes, Each{kWords, 1'000});
  w(ESPALIER_AT(losses), s.losses);
  w(ESPALIER_AT(last_loss), s.last_loss, kWords);
}

template <typename W>
void Map(W& w, Is<spec::JobUpdate> auto& u) {
  w(ESPALIER_AT(snapshot), u.snapshot);
  w(ESPALIER_AT(history), u.history);
}

template <typename W>
void Map(W& w, Is<spec::WorkerSnapshot> auto& s) {
  w(ESPALIER_AT(worker), s.worker);
  w(ESPALIER_AT(name), s.name, kName);
  w(ESPALIER_AT(address), s.address, kName);
  w(ESPALIER_AT(version), s.version, kName);
  w(ESPALIER_AT(arithmetic_id), s.arithmetic_id, kName);
  w(ESPALIER_AT(threads), s.threads);
  w(ESPALIER_AT(memory_bytes), s.memory_bytes);
  w(ESPALIER_AT(job), s.job, kMaybe);
  w(ESPALIER_AT(attached_ms), s.attached_ms);
  w(ESPALIER_AT(last_heard_ms), s.last_heard_ms);
}

void ToProto(const spec::SubmitRequest& r, pb::SubmitRequest* out) { EncodeFields(r, out); }
Result<spec::SubmitRequest> FromProto(const pb::SubmitRequest& in) {
  return DecodeFields<spec::SubmitRequest>(in);
}
void ToProto(const spec::JobSnapshot& s, pb::JobSnapshot* out) { EncodeFields(s, out); }
Result<spec::JobSnapshot> FromProto(const pb::JobSnapshot& in) {
  return DecodeFields<spec::JobSnapshot>(in);
}
void ToProto(const spec::JobUpdate& u, pb::JobUpdate* out) { EncodeFields(u, out); }
Result<spec::JobUpdate> FromProto(const pb::JobUpdate& in) {
  return DecodeFields<spec::JobUpdate>(in);
}
void ToProto(const spec::WorkerSnapshot& s, pb::WorkerSnapshot* out) { EncodeFields(s, out); }
Result<spec::WorkerSnapshot> FromProto(const pb::WorkerSnapshot& in) {
  return DecodeFields<spec::WorkerSnapshot>(in);
}

}  // namespace espalier::rpc
