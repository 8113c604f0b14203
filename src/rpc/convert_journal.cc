// Entries of the journal.
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "proto/espalier/v1/journal.pb.h"
#include "src/cluster/packed_plan.h"
#include "src/rpc/convert.h"
#include "src/rpc/convert_members.h"
#include "src/rpc/journal_codec.h"

namespace espalier::rpc {

template <typename W>
void Map(W& w, Is<cluster::WorkerIdGiven> auto& e) {
  w(ESPALIER_AT(worker), e.worker);
}

// Encodes the hosts of each shard, which InputPlan's own message does not contain.
template <typename P>
void EncodeHosts(const spec::InputPlan& input, P* out) {
  for (const auto& hosts : input.hosts) {
    out->add_hosts()->mutable_names()->Add(hosts.begin(), hosts.end());
  }
}

template <typename P>
void DecodePackedInput(const P& in, Fields& f, std::shared_ptr<const std::string>& packed) {
  if (in.packed_input().empty()) return;
  const Result<spec::InputPlan> plan = cluster::UnpackPlan(in.packed_input());
  f.Take("packed_input", plan.ok() ? CheckPlan(*plan) : plan.status());
  if (f.status().ok()) packed = std::make_shared<const std::string>(in.packed_input());
}

template <typename P>
void DecodeHosts(const P& in, Fields& f, std::shared_ptr<const spec::InputPlan>& input) {
  if (in.hosts_size() == 0 || input == nullptr) return;
  const auto shards = static_cast<int64_t>(input->shards.size());
  f.In("hosts", in.hosts_size(), shards, shards);
  if (!f.status().ok()) return;
  // Decoded above and not yet shared with another owner.
  auto& plan = const_cast<spec::InputPlan&>(*input);
  for (const pb::Hosts& hosts : in.hosts()) {
    std::vector<std::string>& names = plan.hosts.emplace_back();
    for (const std::string& n : hosts.names()) names.push_back(f.Text("hosts", n, kNameBytesMax));
  }
}

// Maps the kind of work. Its fields are among those of the entry.
template <typename W>
void MapWork(W& w, Is<cluster::Submission> auto& s) {
  spec::JobKind kind = s.kind();
  w(ESPALIER_AT(kind), kind, kOrFirst);
  if constexpr (W::kDecodes) {
    if (kind != spec::JobKind::kTrain) s.work = cluster::ScoringSubmission{kind};
  }
  if (auto* training = std::get_if<cluster::TrainingSubmission>(&s.work)) {
    w(ESPALIER_AT(star), training->star);
  }
  if (auto* scoring = std::get_if<cluster::ScoringSubmission>(&s.work)) {
    w(ESPALIER_AT(model_sha256), scoring->model_sha256, kName);
  }
}

template <typename W>
void Map(W& w, Is<cluster::JobAccepted> auto& e) {
  auto& s = e.submission;
  w(ESPALIER_AT(job), e.job);
  w(ESPALIER_AT(submitted_ms), e.submitted_ms);
  w(ESPALIER_AT(client_request_id), s.client_request_id, Present(kRequestIdBytesMax));
  w(ESPALIER_AT(name), s.name, Raw());
  w(ESPALIER_AT(output), s.output, Raw());
  w(ESPALIER_AT(job_yaml), s.job_yaml, Raw(kYamlBytesMax));
  w(ESPALIER_AT(workers_min), s.workers_min);
  w(ESPALIER_AT(workers_max), s.workers_max);
  w(ESPALIER_AT(leaves), s.leaves, Within{1, std::numeric_limits<int32_t>::max()});
  MapWork(w, s);
  w(ESPALIER_AT(output_place), s.output_place, Raw());
  w(ESPALIER_AT(owner), s.owner, Raw(kNameBytesMax));
  w(ESPALIER_AT(asked_yaml), s.asked_yaml, Raw(kYamlBytesMax));
  w(ESPALIER_AT(input), s.input);
  w(ESPALIER_AT(tokens), s.tokens, Each{Usual(), spec::kStorageTokensMax});
  if constexpr (W::kDecodes) {
    DecodeHosts(w.proto(), w.fields(), s.input);
    DecodePackedInput(w.proto(), w.fields(), s.packed_input);
  } else {
    if (s.packed_input != nullptr) w.proto()->set_packed_input(*s.packed_input);
    if (s.input != nullptr) EncodeHosts(*s.input, w.proto());
  }
}

template <typename W>
void Map(W& w, Is<cluster::GenerationStarted> auto& e) {
  w(ESPALIER_AT(job), e.job);
  // 0: as Replay writes it for a set-aside job with an unread end.
  w(ESPALIER_AT(generation), e.generation, kMaybe);
  w(ESPALIER_AT(members), e.members, Each{Usual(), kMembersMax});
  w(ESPALIER_AT(leaves), e.leaves, Each{Usual(), kMembersMax});
  w(ESPALIER_AT(at_ms), e.at_ms);
  w(ESPALIER_AT(arithmetic_id), e.arithmetic_id, Raw(kNameBytesMax));
  w(ESPALIER_AT(reverts), e.reverts);
  if constexpr (W::kDecodes) {
    const auto members = static_cast<int64_t>(e.members.size());
    const auto leaves = static_cast<int64_t>(e.leaves.size());
    if (leaves != 0) w.fields().In("leaves", leaves, members, members);
    CheckLeaves(e.leaves, w.fields());
  }
}

template <typename W>
void Map(W& w, Is<cluster::ProfileRecorded> auto& e) {
  w(ESPALIER_AT(job), e.job);
  w(ESPALIER_AT(profile), e.profile, kRequired);
}

template <typename W>
void Map(W& w, Is<cluster::HistoryRecorded> auto& e) {
  w(ESPALIER_AT(job), e.job);
  w(ESPALIER_AT(row), e.row, kRequired);
  w(ESPALIER_AT(number), e.number);
}

template <typename W>
void Map(W& w, Is<cluster::GenerationReserved> auto& e) {
  MapPoint(w, e);
}

template <typename W>
void Map(W& w, Is<cluster::MergeTried> auto& e) {
  w(ESPALIER_AT(job), e.job);
  w(ESPALIER_AT(times), e.times);
}

template <typename W>
void Map(W& w, Is<cluster::MemberCrashed> auto& e) {
  w(ESPALIER_AT(job), e.job);
  w(ESPALIER_AT(name), e.name, Raw(kNameBytesMax));
  w(ESPALIER_AT(label), e.label, Raw());
}

template <typename W>
void Map(W& w, Is<cluster::JobSetAside> auto& e) {
  w(ESPALIER_AT(job), e.job);
  w(ESPALIER_AT(why), e.why, Raw());
}

template <typename W>
void Map(W& w, Is<cluster::JobReplanned> auto& e) {
  w(ESPALIER_AT(job), e.job);
  w(ESPALIER_AT(job_yaml), e.plan.job_yaml, Raw(kYamlBytesMax));
  w(ESPALIER_AT(leaves), e.plan.leaves, Within{1, std::numeric_limits<int32_t>::max()});
  w(ESPALIER_AT(input), e.plan.input, kRequired);
  if constexpr (W::kDecodes) {
    DecodeHosts(w.proto(), w.fields(), e.plan.input);
  } else {
    EncodeHosts(*e.plan.input, w.proto());
  }
}

template <typename W>
void Map(W& w, Is<cluster::TokensReplaced> auto& e) {
  w(ESPALIER_AT(job), e.job);
  w(ESPALIER_AT(tokens), e.tokens, Each{Usual(), spec::kStorageTokensMax});
}

template <typename W>
void Map(W& w, Is<cluster::TrainingStarted> auto& e) {
  w(ESPALIER_AT(job), e.job);
  w(ESPALIER_AT(at_ms), e.at_ms);
}

template <typename W>
void Map(W& w, Is<cluster::JobEnded> auto& e) {
  w(ESPALIER_AT(snapshot), e.snapshot, kRequired);
  if constexpr (W::kDecodes) {
    if (w.fields().status().ok() && !spec::IsFinal(e.snapshot.state)) {
      w.fields().Fail("snapshot.state", std::string("is ") + spec::JobStateName(e.snapshot.state) +
                                            ", expected one in which a job has ended");
    }
  }
}

template <typename W>
void Map(W& w, Is<cluster::JobForgotten> auto& e) {
  w(ESPALIER_AT(job), e.job);
}

template <typename W>
void Map(W& w, Is<cluster::IncarnationTaken> auto& e) {
  w(ESPALIER_AT(incarnation), e.incarnation);
}

template <typename F>
void Kinds(F f, const cluster::JournalEntry&) {
  f(std::type_identity<cluster::WorkerIdGiven>(), ESPALIER_AT(worker_id_given));
  f(std::type_identity<cluster::JobAccepted>(), ESPALIER_AT(job_accepted));
  f(std::type_identity<cluster::GenerationStarted>(), ESPALIER_AT(generation_started));
  f(std::type_identity<cluster::ProfileRecorded>(), ESPALIER_AT(profile_recorded));
  f(std::type_identity<cluster::HistoryRecorded>(), ESPALIER_AT(history_recorded));
  f(std::type_identity<cluster::TrainingStarted>(), ESPALIER_AT(training_started));
  f(std::type_identity<cluster::JobEnded>(), ESPALIER_AT(job_ended));
  f(std::type_identity<cluster::JobForgotten>(), ESPALIER_AT(job_forgotten));
  f(std::type_identity<cluster::IncarnationTaken>(), ESPALIER_AT(incarnation_taken));
  f(std::type_identity<cluster::GenerationReserved>(), ESPALIER_AT(generation_reserved));
  f(std::type_identity<cluster::TokensReplaced>(), ESPALIER_AT(tokens_replaced));
  f(std::type_identity<cluster::MergeTried>(), ESPALIER_AT(merge_tried));
  f(std::type_identity<cluster::JobReplanned>(), ESPALIER_AT(job_replanned));
  f(std::type_identity<cluster::MemberCrashed>(), ESPALIER_AT(member_crashed));
  f(std::type_identity<cluster::JobSetAside>(), ESPALIER_AT(job_set_aside));
}

Result<std::string> EncodeJournalEntry(const cluster::JournalEntry& entry) {
  v1::JournalEntry proto;
  EncodeKind(entry, &proto);
  std::string bytes;
  if (!proto.SerializeToString(&bytes)) {
    return ResourceExhausted("an entry of the journal has more than 2 GiB");
  }
  return bytes;
}

namespace {

Status Parse(std::string_view bytes, v1::JournalEntry* out) {
  const bool fits = bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max());
  if (fits && out->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Status::Ok();
  }
  return InvalidArgument("malformed JournalEntry: " + std::to_string(bytes.size()) +
                         " bytes that are not a valid protocol buffer");
}

}  // namespace

Result<cluster::JournalEntry> DecodeJournalEntry(std::string_view bytes) {
  v1::JournalEntry proto;
  ESPALIER_RETURN_IF_ERROR(Parse(bytes, &proto));
  return DecodeKind<cluster::JournalEntry>(proto);
}

// Reads the first fields only: the job is field 1 of the entry, or of the snapshot in its field 1.
EntryHead HeadOfEntry(std::string_view bytes) {
  constexpr uint32_t kNumber = 1 << 3, kMessage = 1 << 3 | 2;  // tags of field 1
  constexpr size_t kHeadBytesMax = 64;
  google::protobuf::io::CodedInputStream in(
      reinterpret_cast<const uint8_t*>(bytes.data()),
      static_cast<int>(std::min(bytes.size(), kHeadBytesMax)));
  const auto kind = static_cast<v1::JournalEntry::EntryCase>(in.ReadTag() >> 3);
  const bool ends = kind == v1::JournalEntry::kJobEnded;
  uint64_t length = 0, job = 0;
  if (kind == v1::JournalEntry::kWorkerIdGiven || kind == v1::JournalEntry::kIncarnationTaken ||
      !in.ReadVarint64(&length) ||
      (ends && (in.ReadTag() != kMessage || !in.ReadVarint64(&length))) ||
      in.ReadTag() != kNumber || !in.ReadVarint64(&job)) {
    return {};
  }
  return {JobId{job}, ends, kind == v1::JournalEntry::kJobSetAside};
}

Result<std::optional<cluster::JournalEntry>> DecodeOutline(std::string_view bytes) {
  v1::JournalEntry proto;
  ESPALIER_RETURN_IF_ERROR(Parse(bytes, &proto));
  switch (proto.entry_case()) {
    case v1::JournalEntry::kJobAccepted: {
      v1::JobAccepted& accepted = *proto.mutable_job_accepted();
      accepted.clear_job_yaml();
      accepted.clear_asked_yaml();
      accepted.clear_input();
      accepted.clear_hosts();
      accepted.clear_packed_input();
      break;
    }
    case v1::JournalEntry::kGenerationStarted:
      proto.mutable_generation_started()->clear_leaves();
      break;
    case v1::JournalEntry::kGenerationReserved:
    case v1::JournalEntry::kTokensReplaced:
    case v1::JournalEntry::kJobEnded:
    case v1::JournalEntry::kJobForgotten:
    case v1::JournalEntry::kJobSetAside:
      break;
    default:
      return std::optional<cluster::JournalEntry>();
  }
  ESPALIER_ASSIGN_OR_RETURN(auto entry, DecodeKind<cluster::JournalEntry>(proto));
  return std::make_optional(std::move(entry));
}

}  // namespace espalier::rpc
