// Messages from the coordinator to workers.
#include "src/rpc/convert_members.h"

namespace espalier::rpc {
constexpr int64_t kHourMs = 3'600'000;

// Maps incarnation, job and generation.
template <typename W, typename T>
void MapOrder(W& w, T& m) {
  w(ESPALIER_AT(incarnation), m.incarnation);
  MapPoint(w, m);
}

template <typename W>
void Map(W& w, Is<cluster::Welcome> auto& m) {
  w(ESPALIER_AT(incarnation), m.incarnation);
  w(ESPALIER_AT(worker), m.worker);
  w(ESPALIER_AT(heartbeat_interval_ms), m.heartbeat_interval_ms, Within{1, kHourMs});
  w(ESPALIER_AT(liveness_limit_ms), m.liveness_limit_ms, Within{1, 24 * kHourMs});
}

template <typename W>
void Map(W& w, Is<cluster::Refused> auto& m) {
  w(ESPALIER_AT(error), m.error, kRequired);
}

template <typename W>
void Map(W& w, Is<cluster::StartProfiling> auto& m) {
  MapOrder(w, m);
  w(ESPALIER_AT(job_yaml), m.job_yaml, Raw(kYamlBytesMax));
  w(ESPALIER_AT(input), m.input, kRequired);
  w(ESPALIER_AT(shards), m.shards, kAny);
  w(ESPALIER_AT(tokens), m.tokens, Each{Usual(), spec::kStorageTokensMax});
  w(ESPALIER_AT(request_id), m.request_id, Raw(kRequestIdBytesMax));
  w(ESPALIER_AT(model_sha256), m.model_sha256, kName);
  if constexpr (W::kDecodes) {
    const int64_t shards = m.input ? static_cast<int64_t>(m.input->shards.size()) : 0;
    int64_t least = 0;  // ascending, hence without duplicates
    for (int32_t shard : m.shards) {
      w.fields().In("shards", shard, least, shards - 1);
      least = int64_t{shard} + 1;
    }
  }
}

template <typename W>
void Map(W& w, Is<cluster::ProfileTaken> auto& m) {
  MapOrder(w, m);
  w(ESPALIER_AT(shards), m.shards);
}

template <typename W>
void Map(W& w, Is<cluster::StartTraining> auto& m) {
  MapOrder(w, m);
  w(ESPALIER_AT(members), m.members, Each{Usual(), kMembersMax});
  w(ESPALIER_AT(profile), m.profile, kRequired);
  w(ESPALIER_AT(leaves), m.leaves, Each{Usual(), kMembersMax});
  w(ESPALIER_AT(planned), m.planned);
  w(ESPALIER_AT(holder), m.holder);
  w(ESPALIER_AT(reverts), m.reverts);
  w(ESPALIER_AT(submitted_ms), m.submitted_ms);
  if constexpr (W::kDecodes) {
    Fields& f = w.fields();
    for (const cluster::Member& member : m.members) f.Id("members.worker", member.worker.value);
    CheckLeaves(m.leaves, f);
    f.Present("leaves", !m.leaves.empty() && m.leaves.back().end != 0);
    if (m.members.size() != m.leaves.size()) f.Fail("members", "are not as many as intervals");
    f.In("holder", m.holder, 0, std::max<int64_t>(0, static_cast<int64_t>(m.members.size()) - 1));
  }
}

template <typename W>
void Map(W& w, Is<cluster::SwitchOver> auto& m) {
  MapOrder(w, m);
  w(ESPALIER_AT(next), m.next);
}

template <typename W>
void Map(W& w, Is<cluster::EndTraining> auto& m) {
  MapOrder(w, m);
}

template <typename W>
void Map(W& w, Is<cluster::Proceed> auto& m) {
  MapOrder(w, m);
  w(ESPALIER_AT(round), m.round, kNotZero);
  w(ESPALIER_AT(holder), m.holder, Within{0, kMembersMax - 1});
  w(ESPALIER_AT(fetched), m.fetched);
}

template <typename W>
void Map(W& w, Is<cluster::KeepState> auto& m) {
  MapOrder(w, m);
  w(ESPALIER_AT(reverts), m.reverts);
}

template <typename W>
void Map(W& w, Is<cluster::NewTokens> auto& m) {
  w(ESPALIER_AT(incarnation), m.incarnation);
  w(ESPALIER_AT(job), m.job);
  w(ESPALIER_AT(tokens), m.tokens, Each{Usual(), spec::kStorageTokensMax});
}

template <typename W>
void Map(W& w, Is<cluster::Release> auto& m) {
  MapOrder(w, m);
  w(ESPALIER_AT(reason), m.reason, kWords);
}

template <typename W>
void Map(W& w, Is<cluster::Dismiss> auto& m) {
  w(ESPALIER_AT(reason), m.reason, kWords);
}

template <typename W>
void Map(W& w, Is<cluster::Pulse> auto& m) {
  w(ESPALIER_AT(incarnation), m.incarnation);
}

template <typename F>
void Kinds(F f, const cluster::ToWorker&) {
  f(std::type_identity<cluster::Welcome>(), ESPALIER_AT(welcome));
  f(std::type_identity<cluster::Refused>(), ESPALIER_AT(refused));
  f(std::type_identity<cluster::StartProfiling>(), ESPALIER_AT(start_profiling));
  f(std::type_identity<cluster::StartTraining>(), ESPALIER_AT(start_training));
  f(std::type_identity<cluster::SwitchOver>(), ESPALIER_AT(switch_over));
  f(std::type_identity<cluster::Proceed>(), ESPALIER_AT(proceed));
  f(std::type_identity<cluster::Release>(), ESPALIER_AT(release));
  f(std::type_identity<cluster::Dismiss>(), ESPALIER_AT(dismiss));
  f(std::type_identity<cluster::Pulse>(), ESPALIER_AT(pulse));
  f(std::type_identity<cluster::ProfileTaken>(), ESPALIER_AT(profile_taken));
  f(std::type_identity<cluster::KeepState>(), ESPALIER_AT(keep_state));
  f(std::type_identity<cluster::NewTokens>(), ESPALIER_AT(new_tokens));
  f(std::type_identity<cluster::EndTraining>(), ESPALIER_AT(end_training));
}

void ToProto(const cluster::ToWorker& message, pb::ToWorker* out) { EncodeKind(message, out); }
Result<cluster::ToWorker> FromProto(const pb::ToWorker& in) {
  return DecodeKind<cluster::ToWorker>(in);
}

}  // namespace espalier::rpc
