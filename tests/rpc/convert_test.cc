#include "src/rpc/convert.h"

#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <catch2/catch.hpp>
#include <limits>
#include <random>

#include "src/rpc/fields.h"
#include "src/rpc/message_size.h"
#include "src/rpc/worker_encoder.h"
#include "tests/rpc/messages.h"

namespace espalier::rpc {
namespace {

template <typename P, typename T>
P Proto(const T& value) {
  P out;
  ToProto(value, &out);
  return out;
}

// Appends the names of all unset fields, including those of nested messages. For a repeated field,
// the last entry counts, because the first one is often 0.
void FindUnset(const google::protobuf::Message& m, const std::string& path, std::string* unset) {
  const auto* reflection = m.GetReflection();
  for (int i = 0; i < m.GetDescriptor()->field_count(); ++i) {
    const auto* field = m.GetDescriptor()->field(i);
    const std::string name = path + "." + field->name();
    const bool is_message = field->cpp_type() == field->CPPTYPE_MESSAGE;
    if (field->name() == "scoring" || field->name() == "score") continue;  // set for scoring
    if (field->name() == "codes" || field->name() == "hashed" || field->name() == "vocabulary") {
      continue;  // only set for categories; the last feature is numeric
    }
    if (field->is_repeated()) {
      if (reflection->FieldSize(m, field) == 0) {
        *unset += name + " ";
      } else if (is_message) {
        FindUnset(reflection->GetRepeatedMessage(m, field, reflection->FieldSize(m, field) - 1),
                  name, unset);
      }
    } else if (is_message) {
      FindUnset(reflection->GetMessage(m, field), name, unset);
    } else if (!reflection->HasField(m, field)) {
      *unset += name + " ";
    }
  }
}

// Checks that a sample survives the conversion to a proto and back.
template <typename P, typename T>
void RoundTrip(const T& sample) {
  const P proto = Proto<P>(sample);
  auto back = FromProto(proto);
  INFO(proto.GetTypeName() << ": " << back.status().ToString());
  REQUIRE(back.ok());
  CHECK(Proto<P>(back.value()).SerializeAsString() == proto.SerializeAsString());
}

// Returns the names of the unset fields. For a oneof, these are the fields of its message.
template <typename P>
std::string Unset(const P& proto) {
  std::string unset;
  const auto* reflection = proto.GetReflection();
  const auto* oneof = proto.GetDescriptor()->FindOneofByName("message");
  if (oneof != nullptr) {
    const auto* field = reflection->GetOneofFieldDescriptor(proto, oneof);
    FindUnset(reflection->GetMessage(proto, field), field->name(), &unset);
  } else {
    FindUnset(proto, "", &unset);
  }
  return unset;
}

TEST_CASE("every message survives the conversion to a proto and back") {
  for (const cluster::FromWorker& m : SamplesFromWorker()) RoundTrip<pb::FromWorker>(m);
  for (const cluster::ToWorker& m : SamplesToWorker()) RoundTrip<pb::ToWorker>(m);
  RoundTrip<pb::JobUpdate>(SampleUpdate());
  RoundTrip<pb::JobResult>(spec::JobResult(SampleScoring()));
  RoundTrip<pb::JobResult>(spec::JobResult(SamplePrediction()));
  RoundTrip<pb::WorkerSnapshot>(SampleWorker());
  RoundTrip<pb::SubmitRequest>(spec::SubmitRequest{"0.1.0", "id", "name: \xff", SampleTokens()});
}

TEST_CASE("the samples set every field") {
  for (const cluster::FromWorker& m : SamplesFromWorker())
    CHECK(Unset(Proto<pb::FromWorker>(m)) == "");
  for (const cluster::ToWorker& m : SamplesToWorker()) {
    CHECK(Unset(Proto<pb::ToWorker>(m)) == "");
  }
  CHECK(Unset(Proto<pb::JobUpdate>(SampleUpdate())) ==
        ".snapshot.progress.job .snapshot.progress.generation ");  // the snapshot has both
  CHECK(Unset(Proto<pb::WorkerSnapshot>(SampleWorker())) == "");
  // The fields of a prediction and of an evaluation exclude each other.
  const auto scoring = [](const spec::ScoringResult& result) {
    return Unset(Proto<pb::JobResult>(spec::JobResult(result)).scoring());
  };
  CHECK(scoring(SamplePrediction()) == "");
  CHECK(scoring(SampleScoring()) == ".parts .format .reject_parts ");
  const auto score = [](decltype(spec::ShardScore::work) work) {
    return Unset(Proto<pb::ShardProfile>(spec::ShardResult(SampleScore(4, work))).score());
  };
  CHECK(score(spec::PredictedShard{2, 1}) == ".totals ");
  CHECK(score(spec::EvaluatedShard{{0.5, -1}}) == ".parts .reject_parts ");
  const auto profile = Proto<pb::TableProfile>(SampleProfile());
  const pb::FittedFeature& category = profile.preprocessing().features(0);
  CHECK(category.codes() == 3);
  CHECK(category.hashed());
  CHECK(category.vocabulary_size() == 2);
}

TEST_CASE("tokens beyond their limits are refused and not shown") {
  pb::SubmitRequest request =
      Proto<pb::SubmitRequest>(spec::SubmitRequest{"0.1.0", "id", "name: x", SampleTokens()});
  request.mutable_tokens(0)->set_text(std::string((16 << 10) + 1, 's'));
  const std::string long_one = FromProto(request).status().ToString();
  CHECK_THAT(long_one, Catch::Contains("StorageToken: text"));
  CHECK_THAT(long_one, !Catch::Contains("ssss"));
  request.mutable_tokens(0)->clear_text();
  CHECK_THAT(FromProto(request).status().ToString(), Catch::Contains("text is missing"));
  for (int i = 0; i < 16; ++i) *request.add_tokens() = request.tokens(1);
  CHECK_THAT(FromProto(request).status().ToString(),
             Catch::Contains("tokens has 18 entries, expected at most 16"));
}

TEST_CASE("an error keeps code, causes and position") {
  Status back;
  REQUIRE(ErrorFromProto(Proto<pb::ErrorDetail>(SampleError()), &back).ok());
  CHECK(back.code() == StatusCode::kBadInput);
  CHECK(back.ToString() == SampleError().ToString());
  CHECK(back.position() == SampleError().position());
  CHECK(back.cause().cause().message() == "'x' is not a number");
}

TEST_CASE("an empty error detail is OK, a malformed one is refused") {
  Status back = Internal("before");
  CHECK(ErrorFromProto(pb::ErrorDetail(), &back).ok());
  CHECK(back.ok());
  pb::ErrorDetail detail;
  detail.set_code(pb::ERROR_CODE_NOT_FOUND);
  CHECK(!ErrorFromProto(detail, &back).ok());
  detail.add_messages("x");
  detail.set_code(static_cast<pb::ErrorCode>(15));
  CHECK(!ErrorFromProto(detail, &back).ok());
}

pb::StartProfiling GoodProfile() {
  return Proto<pb::ToWorker>(SamplesToWorker()[2]).start_profiling();
}

std::string Answer(const pb::StartProfiling& profile) {
  pb::ToWorker message;
  *message.mutable_start_profiling() = profile;
  return FromProto(message).status().ToString();
}

TEST_CASE("indices out of bounds are named with what was expected") {
  pb::StartProfiling s = GoodProfile();
  s.set_shards(1, 3);
  CHECK(Answer(s) == "malformed StartProfiling: shards is 3, expected 1 to 2");
  s = GoodProfile();
  s.set_shards(1, 0);
  CHECK(Answer(s) == "malformed StartProfiling: shards is 0, expected 1 to 2");
  s = GoodProfile();
  s.mutable_input()->mutable_shards(0)->set_file(2);
  CHECK_THAT(Answer(s), Catch::Contains("shards.file is 2, expected 0 to 1"));
  s = GoodProfile();
  s.mutable_input()->mutable_shards(1)->set_end(101);
  CHECK_THAT(Answer(s), Catch::Contains("shards.end is 101, expected 0 to 100"));
  s = GoodProfile();
  s.mutable_input()->mutable_schema()->set_weight(4);
  CHECK_THAT(Answer(s), Catch::Contains("weight is 4, expected -1 to 3"));
  s = GoodProfile();
  s.mutable_input()->mutable_schema()->set_partitions(5);
  CHECK_THAT(Answer(s), Catch::Contains("partitions is 5, expected 0 to 4"));
  s = GoodProfile();
  s.mutable_input()->mutable_files(0)->set_role(static_cast<pb::FileRole>(9));
  CHECK_THAT(Answer(s), Catch::Contains("role is 9, expected 1 to 3"));
  s = GoodProfile();
  for (const int32_t column : {4, -1, 0}) {
    s.mutable_input()->mutable_files(1)->set_columns(0, column);
    CHECK_THAT(Answer(s), Catch::Contains("files.columns are not each of the schema's once"));
  }
  s = GoodProfile();
  s.mutable_input()->mutable_files(1)->add_columns(1);
  CHECK_THAT(Answer(s), Catch::Contains("files.columns are not each of the schema's once"));
  s = GoodProfile();
  s.set_generation(0);
  CHECK_THAT(Answer(s), Catch::Contains("generation is 0"));
}

TEST_CASE("gaps, missing parts and non-finite numbers are refused") {
  pb::ToWorker training = Proto<pb::ToWorker>(SamplesToWorker()[3]);
  training.mutable_start_training()->mutable_leaves(1)->set_begin(10);
  CHECK_THAT(FromProto(training).status().ToString(), Catch::Contains("leaves.begin is 10"));
  CHECK_THAT(FromProto(pb::FromWorker()).status().ToString(), Catch::Contains("no message"));
  training = Proto<pb::ToWorker>(SamplesToWorker()[3]);
  training.mutable_start_training()->clear_members();
  CHECK_THAT(FromProto(training).status().ToString(), Catch::Contains("members are not as many"));
  pb::FromWorker progress = Proto<pb::FromWorker>(SamplesFromWorker()[10]);
  progress.mutable_progress()->set_epoch(std::numeric_limits<double>::quiet_NaN());
  CHECK_THAT(FromProto(progress).status().ToString(), Catch::Contains("expected a finite number"));
  pb::FromWorker failed = Proto<pb::FromWorker>(SamplesFromWorker()[13]);
  failed.mutable_job_failed()->clear_error();
  CHECK_THAT(FromProto(failed).status().ToString(), Catch::Contains("error is missing"));
  pb::FromWorker done = Proto<pb::FromWorker>(SamplesFromWorker()[12]);
  done.mutable_job_done()->mutable_result()->mutable_train()->add_confusion(1);
  CHECK_THAT(FromProto(done).status().ToString(),
             Catch::Contains("confusion has 5 entries, expected 4 or none"));
}

TEST_CASE("a scoring result or an OK error from a worker is refused") {
  pb::FromWorker done = Proto<pb::FromWorker>(SamplesFromWorker()[12]);
  done.mutable_job_done()->mutable_result()->mutable_scoring();
  CHECK_THAT(FromProto(done).status().ToString(), Catch::Contains("result is of scoring"));
  pb::FromWorker kept =
      Proto<pb::FromWorker>(cluster::StateKept{{1}, {1}, 4, "/checkpoint", Unavailable("no disk")});
  CHECK(FromProto(kept).ok());
  kept.mutable_state_kept()->mutable_why()->Clear();
  CHECK_THAT(FromProto(kept).status().ToString(), Catch::Contains("why is not an error"));
}

TEST_CASE("a score of a prediction and an evaluation is refused") {
  const auto score = [](int64_t parts, int64_t reject_parts) {
    auto proto = Proto<pb::ShardProfile>(spec::ShardResult(SampleScore(4)));
    proto.mutable_score()->set_parts(parts);
    proto.mutable_score()->set_reject_parts(reject_parts);
    return FromProto(proto).status().ToString();
  };
  CHECK(score(0, 0) == "OK");
  CHECK_THAT(score(2, 0), Catch::Contains("parts is 2 next to totals, expected 0"));
  CHECK_THAT(score(0, 1), Catch::Contains("reject_parts is 1 next to totals, expected 0"));

  const auto result = [](auto change) {
    auto proto = Proto<pb::JobResult>(spec::JobResult(SampleScoring()));
    change(*proto.mutable_scoring());
    return FromProto(proto).status().ToString();
  };
  CHECK(result([](auto&) {}) == "OK");
  CHECK_THAT(result([](auto& r) { r.set_parts(-1); }), Catch::Contains("parts is -1 next to"));
  CHECK_THAT(result([](auto& r) { r.set_reject_parts(1); }),
             Catch::Contains("reject_parts is 1 next to"));
  CHECK_THAT(
      result([](auto& r) { r.set_format("csv"); }),
      Catch::Contains("format is 'csv' next to the metrics of an evaluation, expected none"));
}

TEST_CASE("texts above their limit are refused and shown shortened") {
  pb::FromWorker hello = Proto<pb::FromWorker>(SamplesFromWorker()[0]);
  hello.mutable_hello()->set_name(std::string(5000, 'n'));
  CHECK_THAT(FromProto(hello).status().ToString(),
             Catch::Contains("name has 5000 bytes, expected at most 4096"));
}

TEST_CASE("bytes that are not UTF-8 are replaced in texts for people") {
  CHECK(Utf8("caf\xc3\xa9 \xe2\x82\xac") == "caf\xc3\xa9 \xe2\x82\xac");
  CHECK(Utf8("a\xff"
             "b") ==
        "a\xef\xbf\xbd"
        "b");
  CHECK(Utf8("\xc0\x80") == "\xef\xbf\xbd\xef\xbf\xbd");  // overlong
  CHECK(Utf8("\xed\xa0\x80").size() == 9);                // a surrogate
  CHECK(Utf8("abc\xe2\x82\xac", 4) == "abc");             // cut between characters
  const cluster::FromWorker goodbye = cluster::Goodbye{"\xff\xfe"};
  pb::FromWorker back;
  REQUIRE(back.ParseFromString(Proto<pb::FromWorker>(goodbye).SerializeAsString()));
}

TEST_CASE("control characters from workers are escaped") {
  const std::string bad = "\x1b[2Jgone\r\n", shown = "\\x1b[2Jgone\\x0d\\x0a";
  const auto taken = [](const cluster::FromWorker& message) {
    return FromProto(Proto<pb::FromWorker>(message)).value();
  };
  const auto failed = taken(cluster::JobFailed{{1}, {1}, Unavailable(bad).Wrap("x")});
  CHECK(std::get<cluster::JobFailed>(failed).error.ToString() == "x <- " + shown);
  CHECK(std::get<cluster::Goodbye>(taken(cluster::Goodbye{bad})).reason == shown);
  CHECK(std::get<cluster::Leaving>(taken(cluster::Leaving{bad})).reason == shown);
  CHECK(std::get<cluster::Heartbeat>(taken(cluster::Heartbeat{{1}, {1}, 0, bad})).waiting_because ==
        shown);
  CHECK(std::get<cluster::StateKept>(taken(cluster::StateKept{{1}, {1}, 1, bad, {}})).path ==
        shown);
  cluster::Progress progress{{1}, {1}};
  progress.progress.phase = bad;
  CHECK(std::get<cluster::Progress>(taken(progress)).progress.phase == shown);
}

// Decodes mutations of the bytes. Each one must be refused or accepted without a crash.
template <typename P>
void Mutate(const std::string& bytes, std::mt19937& random) {
  for (int i = 0; i < 400; ++i) {
    std::string bad = bytes;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int k = 0; k < changes && !bad.empty(); ++k) {
      const size_t at = random() % bad.size();
      switch (random() % 4) {
        case 0:
          bad[at] = static_cast<char>(random());
          break;
        case 1:
          bad.erase(at, 1 + random() % 8);
          break;
        case 2:
          bad.insert(at, std::string(1 + random() % 8, static_cast<char>(random())));
          break;
        default:
          bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
      }
    }
    P proto;
    if (!proto.ParseFromString(bad)) continue;
    if (auto taken = FromProto(proto); taken.ok()) {
      CHECK(FromProto(Proto<P>(taken.value())).ok());  // an accepted message can be sent again
    }
  }
}

TEST_CASE("mutated and random messages never crash the decoder") {
  google::protobuf::LogSilencer silent;  // protobuf logs each text that is not UTF-8
  std::mt19937 random(20);
  for (const cluster::FromWorker& m : SamplesFromWorker()) {
    Mutate<pb::FromWorker>(Proto<pb::FromWorker>(m).SerializeAsString(), random);
  }
  for (const cluster::ToWorker& m : SamplesToWorker()) {
    Mutate<pb::ToWorker>(Proto<pb::ToWorker>(m).SerializeAsString(), random);
  }
  Mutate<pb::JobUpdate>(Proto<pb::JobUpdate>(SampleUpdate()).SerializeAsString(), random);
  Mutate<pb::WorkerSnapshot>(Proto<pb::WorkerSnapshot>(SampleWorker()).SerializeAsString(), random);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 300, 0);
    for (char& c : bytes) c = static_cast<char>(random());
    pb::FromWorker from;
    pb::ToWorker to;
    if (from.ParseFromString(bytes)) (void)FromProto(from).ok();
    if (to.ParseFromString(bytes)) (void)FromProto(to).ok();
  }
}

grpc::Slice LastSlice(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  REQUIRE(buffer.Dump(&slices).ok());
  return slices.back();
}

TEST_CASE("encoded messages are equal and share their large part") {
  rpc::WorkerEncoder encoder;
  for (const cluster::ToWorker& message : SamplesToWorker()) {
    grpc::ByteBuffer first = encoder.Encode(message), second = encoder.Encode(message);
    const bool large = message.index() == 2 || message.index() == 3;
    CHECK((LastSlice(first).begin() == LastSlice(second).begin()) == large);
    pb::ToWorker expected, found;
    rpc::ToProto(message, &expected);
    REQUIRE(grpc::SerializationTraits<pb::ToWorker>::Deserialize(&first, &found).ok());
    CHECK(found.SerializeAsString() == expected.SerializeAsString());
  }
  // A new plan at the address of a deleted one is not mistaken for the old plan.
  cluster::StartProfiling profile = std::get<cluster::StartProfiling>(SamplesToWorker()[2]);
  for (int32_t files = 1; files < 20; ++files) {
    auto plan = std::make_shared<spec::InputPlan>();
    plan->files.resize(files);
    profile.input = plan;
    grpc::ByteBuffer buffer = encoder.Encode(profile);
    pb::ToWorker found;
    REQUIRE(grpc::SerializationTraits<pb::ToWorker>::Deserialize(&buffer, &found).ok());
    CHECK(found.start_profiling().input().files_size() == files);
    profile.input = nullptr;
  }
}

TEST_CASE("a multilabel profile needs one weight per target") {
  spec::TableProfile profile = SampleProfile();
  profile.preprocessing.classes.clear();
  profile.preprocessing.targets = {{"spam", 0, 1}, {"urgent", 0, 1}};
  RoundTrip<pb::TableProfile>(profile);
  profile.preprocessing.class_weights = {3};
  CHECK_THAT(FromProto(Proto<pb::TableProfile>(profile)).status().message(),
             Catch::Contains("preprocessing"));
}

TEST_CASE("data too large for a message is refused with advice") {
  spec::InputPlan plan = SamplePlan();
  CHECK(CheckSendable(plan).ok());
  plan.shards.assign(1'000'001, spec::Shard{0, 0, 1});
  CHECK(CheckSendable(plan).code() == StatusCode::kInvalidArgument);
  CHECK_THAT(CheckSendable(plan).message(),
             Catch::Contains("1,000,001 shards") && Catch::Contains("data.shard_bytes"));
  plan.shards.resize(1);
  plan.files.assign(1000, plan.files[0]);
  for (spec::InputFile& file : plan.files) file.path = "/" + std::string(60'000, 'x');
  CHECK_THAT(CheckSendable(plan).message(), Catch::Contains("57.2 MiB in a message"));

  spec::TableProfile result = SampleProfile();
  CHECK(CheckSendable(result).ok());
  result.preprocessing.classes.assign(1000, std::string(60'000, 'x'));
  CHECK_THAT(CheckSendable(result).message(), Catch::Contains("1,000 classes"));
}

TEST_CASE("an unreadable result is refused before it is journalled") {
  const spec::ScoringResult good = SampleScoring();
  CHECK(CheckSendable(good).ok());
  const auto refused = [&](auto change) {
    spec::ScoringResult result = good;
    change(std::get<spec::EvaluationResult>(result.work));
    return CheckSendable(result).message();
  };
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK_THAT(refused([&](auto& r) { r.metrics.weight = infinite; }),
             Catch::Contains("weight is inf"));
  CHECK_THAT(refused([](auto& r) { r.metrics.rows = -1; }), Catch::Contains("rows is -1"));
  CHECK_THAT(refused([](auto& r) { r.classes[0] = std::string(70'000, 'x'); }),
             Catch::Contains("classes has 70000 bytes"));
  // A loss can be infinite.
  CHECK(refused([&](auto& r) { r.metrics.loss = infinite; }).empty());
}

TEST_CASE("a shard's oversized result is refused with its position") {
  const spec::InputPlan plan = SamplePlan();
  spec::ShardProfile profile = SampleShard();
  pb::ShardProfile proto;
  rpc::ToProto(profile, &proto);
  CHECK(*MeasureResult(plan, profile) == static_cast<int64_t>(proto.ByteSizeLong()));
  for (int i = 0; i < 1000; ++i) profile.labels[std::to_string(i) + std::string(60'000, 'x')] = 1;
  const Status labels = MeasureResult(plan, profile).status();
  CHECK(labels.code() == StatusCode::kResourceExhausted);
  CHECK(labels.position()->file == plan.files[0].path);
  CHECK_THAT(labels.message(),
             Catch::Contains("bytes 60 to 100") && Catch::Contains("data.shard_bytes"));
  profile.labels.clear();
  profile.features.assign(1'200'000, profile.features[0]);
  CHECK_THAT(MeasureResult(plan, profile).status().message(),
             Catch::Contains("data.features.columns"));
  const spec::ShardScore score = SampleScore(1, spec::EvaluatedShard{std::vector<double>(7 << 20)});
  CHECK_THAT(MeasureResult(plan, score).status().message(), Catch::Contains("fewer classes"));
}

}  // namespace
}  // namespace espalier::rpc
