// Messages from workers to the coordinator.
#include "src/rpc/convert_members.h"

namespace espalier::rpc {
constexpr int64_t kThreadsMax = 4096;

template <typename W>
void Map(W& w, Is<cluster::Hello> auto& m) {
  w(ESPALIER_AT(version), m.version, kName);
  w(ESPALIER_AT(arithmetic_id), m.arithmetic_id, kName);
  w(ESPALIER_AT(session), m.session, kName);
  w(ESPALIER_AT(worker), m.worker, kMaybe);
  w(ESPALIER_AT(incarnation), m.incarnation, kMaybe);
  w(ESPALIER_AT(name), m.name, kName);
  w(ESPALIER_AT(address), m.address, kName);
  w(ESPALIER_AT(threads), m.threads, Within{1, kThreadsMax});
  w(ESPALIER_AT(memory_bytes), m.memory_bytes);
  w(ESPALIER_AT(job), m.job, kMaybe);
  w(ESPALIER_AT(generation), m.generation, kMaybe);
  w(ESPALIER_AT(out_of_memory), m.out_of_memory);
  if constexpr (W::kDecodes) {
    if (m.job) w.fields().Id("generation", m.generation.value);
  }
}

template <typename W>
void Map(W& w, Is<cluster::Heartbeat> auto& m) {
  w(ESPALIER_AT(job), m.job, kMaybe);
  w(ESPALIER_AT(generation), m.generation, kMaybe);
  w(ESPALIER_AT(step), m.step);
  w(ESPALIER_AT(waiting_because), m.waiting_because, kWords);
}

template <typename W>
void Map(W& w, Is<cluster::ProfilingProgress> auto& m) {
  MapPoint(w, m);
  w(ESPALIER_AT(bytes_done), m.bytes_done);
}

template <typename W>
void Map(W& w, Is<cluster::ProfilePart> auto& m) {
  MapPoint(w, m);
  w(ESPALIER_AT(shards), m.shards);
  if constexpr (W::kDecodes) w.fields().Present("shards", !m.shards.empty());
}

template <typename W>
void Map(W& w, Is<cluster::MemberReady> auto& m) {
  MapPoint(w, m);
  w(ESPALIER_AT(round), m.round, kNotZero);
}

template <typename W>
void Map(W& w, Is<cluster::Switched> auto& m) {
  MapPoint(w, m);
  w(ESPALIER_AT(round), m.round, kNotZero);
}

template <typename W>
void Map(W& w, Is<cluster::StatesDiffer> auto& m) {
  MapPoint(w, m);
  w(ESPALIER_AT(step), m.step);
  w(ESPALIER_AT(members), m.members, Each{Within{0, kMembersMax - 1}, kMembersMax});
}

template <typename W>
void Map(W& w, Is<cluster::Uneven> auto& m) {
  MapPoint(w, m);
  w(ESPALIER_AT(step), m.step);
  w(ESPALIER_AT(leaf_ms), m.leaf_ms, Each{kPositive, kMembersMax});
}

template <typename W>
void Map(W& w, Is<cluster::Leaving> auto& m) {
  w(ESPALIER_AT(reason), m.reason, kWords);
}

template <typename W>
void Map(W& w, Is<cluster::LinkBroken> auto& m) {
  MapPoint(w, m);
  w(ESPALIER_AT(other), m.other);
  w(ESPALIER_AT(why), m.why, kRequired);
}

template <typename W>
void Map(W& w, Is<cluster::StateKept> auto& m) {
  MapPoint(w, m);
  w(ESPALIER_AT(step), m.step);
  w(ESPALIER_AT(path), m.path, kWords);
  w(ESPALIER_AT(why), m.why, kFailure);
}

template <typename W>
void Map(W& w, Is<cluster::TokenRefused> auto& m) {
  w(ESPALIER_AT(job), m.job);
  w(ESPALIER_AT(file_system), m.file_system, Raw());
}

template <typename W>
void Map(W& w, Is<cluster::Progress> auto& m) {
  MapPoint(w, m);
  if constexpr (W::kDecodes) {
    Result<spec::JobProgress> progress = FromProto(w.proto());
    if (progress.ok()) {
      m.progress = *std::move(progress);
    } else {
      w.fields().Take("progress", progress.status());
    }
  } else {
    ToProto(m.progress, w.proto());
  }
}

template <typename W>
void Map(W& w, Is<cluster::HistoryEntry> auto& m) {
  MapPoint(w, m);
  w(ESPALIER_AT(row), m.row);
  w(ESPALIER_AT(number), m.number);
  w(ESPALIER_AT(first), m.first, Within{0, std::max<int64_t>(0, m.number)});
}

template <typename W>
void Map(W& w, Is<cluster::JobDone> auto& m) {
  MapPoint(w, m);
  if constexpr (W::kDecodes) {
    spec::JobResult result;
    w(ESPALIER_AT(result), result, kRequired);
    if (auto* trained = std::get_if<spec::TrainingResult>(&result)) m.result = std::move(*trained);
    if (std::holds_alternative<spec::ScoringResult>(result))
      w.fields().Fail("result", "is of scoring");
  } else {
    w(ESPALIER_AT(result), spec::JobResult(m.result));
  }
}

template <typename W>
void Map(W& w, Is<cluster::JobFailed> auto& m) {
  MapPoint(w, m);
  w(ESPALIER_AT(error), m.error, kRequired);
}

template <typename W>
void Map(W& w, Is<cluster::Goodbye> auto& m) {
  w(ESPALIER_AT(reason), m.reason, kWords);
  w(ESPALIER_AT(crashed), m.crashed);
}

template <typename F>
void Kinds(F f, const cluster::FromWorker&) {
  f(std::type_identity<cluster::Hello>(), ESPALIER_AT(hello));
  f(std::type_identity<cluster::Heartbeat>(), ESPALIER_AT(heartbeat));
  f(std::type_identity<cluster::ProfilingProgress>(), ESPALIER_AT(profiling_progress));
  f(std::type_identity<cluster::ProfilePart>(), ESPALIER_AT(profile_part));
  f(std::type_identity<cluster::MemberReady>(), ESPALIER_AT(member_ready));
  f(std::type_identity<cluster::Switched>(), ESPALIER_AT(switched));
  f(std::type_identity<cluster::LinkBroken>(), ESPALIER_AT(link_broken));
  f(std::type_identity<cluster::StatesDiffer>(), ESPALIER_AT(states_differ));
  f(std::type_identity<cluster::Uneven>(), ESPALIER_AT(uneven));
  f(std::type_identity<cluster::Progress>(), ESPALIER_AT(progress));
  f(std::type_identity<cluster::HistoryEntry>(), ESPALIER_AT(history_entry));
  f(std::type_identity<cluster::JobDone>(), ESPALIER_AT(job_done));
  f(std::type_identity<cluster::JobFailed>(), ESPALIER_AT(job_failed));
  f(std::type_identity<cluster::Leaving>(), ESPALIER_AT(leaving));
  f(std::type_identity<cluster::Goodbye>(), ESPALIER_AT(goodbye));
  f(std::type_identity<cluster::StateKept>(), ESPALIER_AT(state_kept));
  f(std::type_identity<cluster::TokenRefused>(), ESPALIER_AT(token_refused));
}

void ToProto(const cluster::FromWorker& message, pb::FromWorker* out) { EncodeKind(message, out); }
Result<cluster::FromWorker> FromProto(const pb::FromWorker& in) {
  return DecodeKind<cluster::FromWorker>(in);
}

}  // namespace espalier::rpc
