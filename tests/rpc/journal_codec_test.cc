#include "src/rpc/journal_codec.h"

#include <google/protobuf/stubs/logging.h>

#include <catch2/catch.hpp>
#include <random>

#include "proto/espalier/v1/journal.pb.h"
#include "src/cluster/packed_plan.h"
#include "tests/rpc/messages.h"

namespace espalier::rpc {
namespace {

std::string Bytes(const v1::JournalEntry& proto) { return proto.SerializeAsString(); }

TEST_CASE("every kind of journal entry survives being stored") {
  const auto samples = SampleEntries();
  REQUIRE(samples.size() == std::variant_size_v<cluster::JournalEntry>);
  for (size_t i = 0; i < samples.size(); ++i) {
    INFO("kind " << i);
    REQUIRE(samples[i].index() == i);
    const auto bytes = EncodeJournalEntry(samples[i]);
    REQUIRE(bytes.ok());
    const auto back = DecodeJournalEntry(*bytes);
    INFO(back.status().ToString());
    REQUIRE(back.ok());
    CHECK(back->index() == i);
    CHECK(*EncodeJournalEntry(*back) == *bytes);
  }
  const auto back = DecodeJournalEntry(*EncodeJournalEntry(samples[1]));
  const cluster::Submission& s = std::get<cluster::JobAccepted>(*back).submission;
  CHECK(s.output == "/out/\xff");
  REQUIRE(s.kind() == spec::JobKind::kPredict);
  CHECK(s.scoring()->model_sha256 == "c0de");
  CHECK(s.owner == "ann\xff");
  CHECK(s.input->hosts == std::vector<std::vector<std::string>>{{"a", "b"}, {}, {"c"}});
  REQUIRE(s.packed_input != nullptr);
  CHECK(cluster::UnpackPlan(*s.packed_input)->hosts == s.input->hosts);
  const auto started = DecodeJournalEntry(*EncodeJournalEntry(samples[2]));
  CHECK(std::get<cluster::GenerationStarted>(*started).members.size() == 2);
  CHECK(std::get<cluster::GenerationStarted>(*started).leaves[1] == cluster::LeafInterval{9, 16});
}

// Returns one entry of each kind, in the order of the variant. Each field has the smallest value
// that the coordinator writes.
std::vector<cluster::JournalEntry> SmallestEntries() {
  cluster::Submission submission;
  submission.client_request_id = "r";
  submission.leaves = 1;
  spec::JobSnapshot ended;
  ended.job = {1};
  ended.state = spec::JobState::kCancelled;
  return {cluster::WorkerIdGiven{{1}},
          cluster::JobAccepted{{1}, 0, submission},
          cluster::GenerationStarted{{1}, {}, {}, {}, 0, "", false},
          cluster::ProfileRecorded{{1}, std::make_shared<const spec::TableProfile>()},
          cluster::HistoryRecorded{{1}, {}, 0},
          cluster::TrainingStarted{{1}, 0},
          cluster::JobEnded{ended},
          cluster::JobForgotten{{1}},
          cluster::IncarnationTaken{{1}},
          cluster::GenerationReserved{{1}, {1}},
          cluster::TokensReplaced{{1}, {}},
          cluster::MergeTried{{1}, 0},
          cluster::JobReplanned{{1}, {"", std::make_shared<const spec::InputPlan>(), 1}},
          cluster::MemberCrashed{{1}, "", ""},
          cluster::JobSetAside{{1}, ""}};
}

TEST_CASE("the smallest values of journal entries survive") {
  const auto samples = SmallestEntries();
  REQUIRE(samples.size() == std::variant_size_v<cluster::JournalEntry>);
  for (size_t i = 0; i < samples.size(); ++i) {
    INFO("kind " << i);
    REQUIRE(samples[i].index() == i);
    const std::string bytes = *EncodeJournalEntry(samples[i]);
    const auto back = DecodeJournalEntry(bytes);
    INFO(back.status().ToString());
    REQUIRE(back.ok());
    CHECK(*EncodeJournalEntry(*back) == bytes);
    CHECK(DecodeOutline(bytes).ok());
  }
}

TEST_CASE("the job of an entry is known before it is decoded") {
  for (const cluster::JournalEntry& entry : SampleEntries()) {
    INFO("kind " << entry.index());
    const std::string bytes = *EncodeJournalEntry(entry);
    CHECK(HeadOfEntry(bytes).job == cluster::JobOf(entry));
    CHECK(HeadOfEntry(bytes).ends == std::holds_alternative<cluster::JobEnded>(entry));
    CHECK(HeadOfEntry(bytes).sets_aside == std::holds_alternative<cluster::JobSetAside>(entry));
    for (size_t size = 0; size < bytes.size(); ++size) HeadOfEntry(bytes.substr(0, size));
  }
  CHECK(!HeadOfEntry("\x0f").job);
  CHECK(!HeadOfEntry("").job);
}

TEST_CASE("the outline of an entry has no input and no leaves") {
  const auto samples = SampleEntries();
  const auto outline = [&](size_t i) {
    auto decoded = DecodeOutline(*EncodeJournalEntry(samples[i]));
    REQUIRE(decoded.ok());
    return *decoded;
  };
  const cluster::Submission s = std::get<cluster::JobAccepted>(*outline(1)).submission;
  const cluster::Submission whole = SampleSubmission();
  CHECK(s.client_request_id == whole.client_request_id);
  CHECK(s.output == whole.output);
  CHECK(s.output_place == whole.output_place);
  CHECK(s.owner == whole.owner);
  CHECK(s.tokens == whole.tokens);
  CHECK(s.scoring()->model_sha256 == "c0de");
  CHECK((s.input == nullptr && s.packed_input == nullptr));
  CHECK((s.job_yaml.empty() && s.asked_yaml.empty()));
  const auto started = std::get<cluster::GenerationStarted>(*outline(2));
  CHECK(started.generation.value == 3);
  REQUIRE(started.members.size() == 2);
  CHECK(started.members[1].worker.value == 6);
  CHECK(started.leaves.empty());
  for (const size_t i : {6, 7, 9, 10, 14}) {
    INFO("kind " << i);
    CHECK(*EncodeJournalEntry(*outline(i)) == *EncodeJournalEntry(samples[i]));
  }
  for (const size_t i : {0, 3, 4, 5, 8, 11, 12, 13}) {
    INFO("kind " << i);
    CHECK_FALSE(outline(i));
  }
  CHECK_FALSE(DecodeOutline("\xff").ok());
}

TEST_CASE("a job stored without an owner is read without an owner") {
  v1::JournalEntry proto;
  REQUIRE(proto.ParseFromString(*EncodeJournalEntry(SampleEntries()[1])));
  proto.mutable_job_accepted()->clear_owner();
  const auto back = DecodeJournalEntry(Bytes(proto));
  REQUIRE(back.ok());
  CHECK(std::get<cluster::JobAccepted>(*back).submission.owner.empty());
}

TEST_CASE("a member that has joined another job is stored without id") {
  cluster::GenerationStarted left = std::get<cluster::GenerationStarted>(SampleEntries()[2]);
  left.members[0].worker = {};
  const auto back = DecodeJournalEntry(*EncodeJournalEntry(left));
  INFO(back.status().ToString());
  REQUIRE(back.ok());
  CHECK(!std::get<cluster::GenerationStarted>(*back).members[0].worker);
}

TEST_CASE("an ended job is stored without its input") {
  cluster::JobAccepted accepted{{7}, 5, SampleSubmission()};
  accepted.submission.input.reset();
  accepted.submission.job_yaml.clear();
  const auto back = DecodeJournalEntry(*EncodeJournalEntry(accepted));
  REQUIRE(back.ok());
  CHECK(std::get<cluster::JobAccepted>(*back).submission.input == nullptr);
}

TEST_CASE("a damaged packed input is refused") {
  spec::InputPlan plan = *SampleSubmission().input;
  plan.shards[0].file = 99;
  for (const std::string& bytes : {std::string("x"), cluster::PackPlan(plan)}) {
    cluster::JobAccepted accepted{{7}, 5, SampleSubmission()};
    accepted.submission.packed_input = std::make_shared<const std::string>(bytes);
    const auto back = DecodeJournalEntry(*EncodeJournalEntry(accepted));
    CHECK_THAT(back.status().ToString(), Catch::Contains("packed_input"));
  }
}

TEST_CASE("an invalid entry is refused with the name of the field") {
  const auto problem = [](const v1::JournalEntry& proto) {
    return DecodeJournalEntry(Bytes(proto)).status().ToString();
  };
  v1::JournalEntry proto;
  CHECK_THAT(problem(proto), Catch::Contains("no message of a kind"));
  proto.mutable_worker_id_given();
  CHECK_THAT(problem(proto), Catch::Contains("WorkerIdGiven: worker is 0"));
  REQUIRE(proto.ParseFromString(*EncodeJournalEntry(SampleEntries()[1])));
  proto.mutable_job_accepted()->mutable_hosts()->RemoveLast();
  CHECK_THAT(problem(proto), Catch::Contains("hosts is 2, expected 3"));
  proto.mutable_job_accepted()->clear_hosts();
  proto.mutable_job_accepted()->set_leaves(0);
  CHECK_THAT(problem(proto), Catch::Contains("leaves is 0"));
  REQUIRE(proto.ParseFromString(*EncodeJournalEntry(SampleEntries()[2])));
  proto.mutable_generation_started()->mutable_leaves(1)->set_begin(8);
  CHECK_THAT(problem(proto), Catch::Contains("leaves.begin is 8, expected 9"));
  proto.mutable_generation_started()->mutable_leaves()->RemoveLast();
  CHECK_THAT(problem(proto), Catch::Contains("leaves is 1, expected 2"));
  proto.mutable_profile_recorded()->set_job(1);
  CHECK_THAT(problem(proto), Catch::Contains("profile is missing"));
  proto.mutable_history_recorded()->set_job(1);
  CHECK_THAT(problem(proto), Catch::Contains("row is missing"));
  REQUIRE(proto.ParseFromString(*EncodeJournalEntry(SampleEntries()[6])));
  proto.mutable_job_ended()->mutable_snapshot()->set_state(v1::JOB_STATE_TRAINING);
  CHECK_THAT(problem(proto), Catch::Contains("is TRAINING, expected one"));
  CHECK(DecodeJournalEntry("no protocol buffer").status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("mutated entries are decoded or refused") {
  google::protobuf::LogSilencer silence;
  std::mt19937_64 chance(11);
  int refused = 0;
  for (const cluster::JournalEntry& sample : SampleEntries()) {
    const std::string bytes = *EncodeJournalEntry(sample);
    for (int i = 0; i < 300; ++i) {
      std::string mutated = bytes;
      for (int k = 0; k < 3; ++k) mutated[chance() % mutated.size()] = static_cast<char>(chance());
      if (i % 3 == 0) mutated.resize(chance() % mutated.size());
      const auto entry = DecodeJournalEntry(mutated);
      refused += !entry.ok();
      if (entry.ok()) CHECK(EncodeJournalEntry(*entry).ok());
    }
  }
  CHECK(refused > 0);
}

}  // namespace
}  // namespace espalier::rpc
