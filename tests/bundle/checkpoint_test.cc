#include "src/bundle/checkpoint.h"

#include <catch2/catch.hpp>

#include "src/bundle/checkpoint_store.h"
#include "src/spec/job_spec.h"
#include "tests/bundle/places.h"
#include "tests/testing/says.h"

namespace espalier::bundle {
namespace {

using Catch::Matchers::Contains;

spec::JobSpec Job(int64_t batch = 64, const std::string& train = "/data/*.csv") {
  spec::JobSpec job;
  job.data.train = {train};
  job.data.label = {std::string("y")};
  job.train.batch = batch;
  job.output.path = "/models/m";
  return job;
}

CheckpointHeader Header(int64_t step, const spec::JobSpec& job = Job()) {
  return {step, spec::CanonicalText(job), "data-1", "arithmetic-1", {}};
}

CheckpointDemand Demand(const spec::JobSpec& job = Job()) {
  CheckpointDemand demand;
  demand.job = spec::CanonicalText(job);
  demand.data_fingerprint = "data-1";
  demand.arithmetic_id = "arithmetic-1";
  return demand;
}

// Returns a state with all byte values that depends on the step.
std::string StateOf(int64_t step) {
  std::string state(1000, '\0');
  for (size_t i = 0; i < state.size(); ++i) state[i] = static_cast<char>(i * 7 + step);
  return state;
}

const WriterName kWriter{{7}, {2}, 0};

std::string Write(const Place& place, int64_t step, int64_t keep = 100,
                  const CheckpointHeader* header = nullptr, const WriterName& writer = kWriter) {
  const auto path = WriteCheckpoint(*place.files, place.root + "/m.checkpoints",
                                    header ? *header : Header(step), StateOf(step), keep, writer);
  INFO(path.status().ToString());
  REQUIRE(path.ok());
  return *path;
}

Result<FoundCheckpoint> Find(const Place& place, const CheckpointDemand& demand = Demand()) {
  return FindCheckpoint(*place.files, place.root + "/m.checkpoints", demand, CheckpointPart::kAll);
}

TEST_CASE("a checkpoint's header and state read back from its bytes") {
  CheckpointHeader header = Header(12);
  header.arithmetic_id = "caf\xe9";
  header.accepted = {"data_fingerprint x until step 3"};
  header.compared = false;
  header.preprocessing = R"({"features": []})";
  for (const std::string& state : {std::string(), StateOf(12)}) {
    const auto decoded = DecodeCheckpoint(EncodeCheckpoint(header, state));
    INFO(decoded.status().ToString());
    REQUIRE(decoded.ok());
    CHECK(decoded->header == header);
    CHECK(decoded->state == state);
  }
}

TEST_CASE("preprocessing too large for the header is left out") {
  CheckpointHeader header = Header(12);
  const auto kept = [&] {
    const auto decoded = DecodeCheckpoint(EncodeCheckpoint(header, StateOf(12)));
    INFO(decoded.status().ToString());
    REQUIRE(decoded.ok());
    return decoded->header.preprocessing.size();
  };
  for (const size_t size : {kCheckpointHeaderBytesMax / 2, kCheckpointHeaderBytesMax - 10,
                            kCheckpointHeaderBytesMax + 1}) {
    header.preprocessing = std::string(size, 'x');
    CHECK(kept() == (size < kCheckpointHeaderBytesMax - 10 ? size : 0));
  }
  header.preprocessing = std::string(kCheckpointHeaderBytesMax / 2, '"');  // escaped, twice as long
  CHECK(kept() == 0);
}

TEST_CASE("a truncated, extended or flipped checkpoint is refused") {
  const std::string good = EncodeCheckpoint(Header(12), StateOf(12));
  const auto refused = [](std::string bytes) {
    const auto decoded = DecodeCheckpoint(std::move(bytes));
    return !decoded.ok() && decoded.status().code() == StatusCode::kDataLoss;
  };
  for (size_t size = 0; size < good.size(); ++size) REQUIRE(refused(good.substr(0, size)));
  CHECK(refused(good + '\0'));
  CHECK(refused(good + good));
  for (size_t at = 0; at < good.size(); ++at) {
    for (const char bit : {'\x01', '\x80'}) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ bit);
      INFO("byte " << at);
      REQUIRE(refused(bytes));
    }
  }
}

TEST_CASE("a damaged checkpoint is skipped for the one before") {
  const std::string damage =
      GENERATE(as<std::string>(), "cut", "empty", "flipped state", "flipped header", "other file");
  for (const Place& place : MakePlaces()) {
    INFO(place.name << ", " << damage);
    Write(place, 100);
    const std::string newest = Write(place, 200);
    const std::string name = "m.checkpoints/" + CheckpointFileName(200);
    std::string bytes = place.Get(name);
    if (damage == "cut") bytes.resize(bytes.size() / 2);
    if (damage == "empty") bytes.clear();
    if (damage == "flipped state") bytes[bytes.size() - 500] ^= 4;
    if (damage == "flipped header") bytes[60] ^= 4;
    if (damage == "other file") bytes = "PK\x03\x04 this is no checkpoint at all";
    place.Put(name, bytes);
    const auto found = Find(place);
    INFO(found.status().ToString());
    REQUIRE(found.ok());
    CHECK(found->checkpoint.header.step == 100);
    CHECK(found->checkpoint.state == StateOf(100));
    REQUIRE(found->skipped.size() == 1);
    CHECK_THAT(found->skipped[0], Catch::StartsWith(newest + " is not used: it"));
    REQUIRE(place.files->RemoveTree(place.root + "/m.checkpoints/" + CheckpointFileName(100)).ok());
    const auto none = Find(place);
    CHECK(none.status().code() == StatusCode::kDataLoss);
    CHECK_THAT(none.status().message(), Contains("can be resumed (found 1 checkpoint): " + newest));
  }
}

TEST_CASE("a checkpoint of another job or data is refused") {
  const CheckpointHeader header = Header(9);
  const auto message = [&](const CheckpointDemand& demand) {
    const auto accepted = AcceptedDifferences(header, demand);
    CHECK((accepted.ok() || accepted.status().code() == StatusCode::kFailedPrecondition));
    return accepted.ok() ? "accepted" : accepted.status().message();
  };
  CHECK(message(Demand()) == "accepted");
  CHECK_THAT(message(Demand(Job(32))), Says("it belongs to another job (train.batch: 64 ... 32"));
  spec::JobSpec longer = Job();
  longer.train.epochs = 20;
  CheckpointDemand later = Demand(longer);
  CHECK_THAT(message(later), Contains("train.epochs: "));
  later.accept_end = true;
  CHECK(message(later) == "accepted");
  const auto end = [&] { return AcceptedDifferences(header, later)->front(); };
  CHECK(end().starts_with(kOtherEnd));
  CHECK(end().find("learning rate") == std::string::npos);
  longer.train.schedule.kind = spec::ScheduleKind::kCosine;
  CheckpointHeader cosine = header;
  spec::JobSpec shorter = longer;
  shorter.train.epochs = 10;
  cosine.job = spec::CanonicalText(shorter);
  later.job = spec::CanonicalText(longer);
  CHECK_THAT(AcceptedDifferences(cosine, later)->front(),
             Says("... train.epochs: 10 ... 20 ... cosine ... learning rate"));
  CheckpointDemand with_costs = Demand();
  spec::JobSpec costly = Job();
  costly.model.costs.given = {{"a", {{"b", 2}}}};
  with_costs.job = spec::CanonicalText(costly);
  CHECK_THAT(message(with_costs),
             Contains("model.costs.given: nothing in the checkpoint, 1 items in this job"));
  CheckpointDemand demand = Demand();
  demand.data_fingerprint = "data-2";
  CHECK_THAT(message(demand),
             Says("its data differs (fingerprint data-1, now data-2) ... --accept-other-data"));
  demand = Demand();
  demand.arithmetic_id = "arithmetic-2";
  CHECK_THAT(
      message(demand),
      Says("its arithmetic ... (arithmetic-1, now arithmetic-2) ... --accept-other-arithmetic"));
  CHECK_THAT(message(Demand(Job(64, "/more/*.csv"))),
             Contains("data.train[]: /data/*.csv in the checkpoint, /more/*.csv in this job") &&
                 Contains("--accept-other-data"));
}

TEST_CASE("accepted differences are reported, also by later runs") {
  CheckpointDemand demand = Demand(Job(64, "/more/*.csv"));
  demand.data_fingerprint = "data-2";
  demand.arithmetic_id = "arithmetic-2";
  demand.accept_data = demand.accept_arithmetic = true;
  for (const Place& place : MakePlaces()) {
    Write(place, 9);
    const auto found = Find(place, demand);
    INFO(found.status().ToString());
    REQUIRE(found.ok());
    const std::vector<std::string> accepted = {"data_fingerprint data-1 until step 9",
                                               "arithmetic_id arithmetic-1 until step 9"};
    CHECK(found->accepted == accepted);
    CheckpointHeader next = Header(20);
    next.accepted = accepted;
    Write(place, 20, 100, &next);
    CHECK(Find(place)->accepted == accepted);
    CheckpointDemand pure = Demand();
    pure.accept_history = false;
    CHECK(Find(place, pure)->checkpoint.header.step == 9);
  }
  demand.job = spec::CanonicalText(Job(32, "/more/*.csv"));
  CHECK_FALSE(AcceptedDifferences(Header(9), demand).ok());
}

TEST_CASE("with differing states an uncompared checkpoint is skipped") {
  for (const Place& place : MakePlaces()) {
    CheckpointHeader alone = Header(30);
    alone.compared = false;
    const std::string at_10 = Write(place, 10), at_20 = Write(place, 20);
    const std::string at_30 = Write(place, 30, 100, &alone);
    CHECK(Find(place)->path == at_30);
    CheckpointDemand compared = Demand();
    compared.compared_only = true;
    const auto found = Find(place, compared);
    REQUIRE(found.ok());
    CHECK(found->path == at_20);
    REQUIRE(found->skipped.size() == 1);
    CHECK_THAT(found->skipped[0],
               Contains(at_30) && Contains("never compared with other members'"));
    REQUIRE(RemoveUncompared(*place.files, place.root + "/m.checkpoints").ok());
    CHECK(!place.files->Stat(at_30).ok());
    CHECK(place.files->Stat(at_10).ok());
    CHECK(Find(place)->path == at_20);
    CHECK(RemoveUncompared(*place.files, place.root + "/none").ok());
  }
}

TEST_CASE("unknown data and arithmetic are not compared") {
  CheckpointDemand demand = Demand();
  demand.data_fingerprint.clear();
  demand.arithmetic_id.clear();
  CHECK(AcceptedDifferences(Header(9), demand).ok());
}

TEST_CASE("the newest K checkpoints of this job are kept first") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    const CheckpointHeader other = Header(5000, Job(32));
    Write(place, 5000, 3, &other);
    for (const int64_t step : {10, 20, 30}) Write(place, step, 3);
    CHECK(place.Names("m.checkpoints") == std::vector<std::string>{"step-000000010.ckpt",
                                                                   "step-000000020.ckpt",
                                                                   "step-000000030.ckpt"});
    Write(place, 30, 3);  // again
    Write(place, 40, 3);
    CHECK(place.Names("m.checkpoints").front() == "step-000000020.ckpt");
    Write(place, 15, 1);  // a new run: the latest file stays
    CHECK(place.Names("m.checkpoints") == std::vector<std::string>{"step-000000015.ckpt"});
    Write(place, 12'345'678'901, 2);
    CHECK(place.Names("m.checkpoints") ==
          std::vector<std::string>{"step-000000015.ckpt", "step-12345678901.ckpt"});
    CHECK(Find(place)->checkpoint.header.step == 12'345'678'901);
  }
}

TEST_CASE("only files of dead or older writers are removed") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    const std::string begin = ".step-000000010.ckpt.tmp-";
    for (const char* writer : {"g1-m3-job-7-1", "g2-m0-job-7-9", "g9-m0-job-6-1", "g3-m1-job-7-1",
                               "g2-m1-job-7-1", "4711-1", "g2-m0-job-7-x"}) {
      place.Put("m.checkpoints/" + begin + writer, "half");
    }
    place.Put("m.checkpoints/notes.txt", "mine");
    place.Put("m.checkpoints/step-1.ckpt", "too short a number");
    Write(place, 10);
    CHECK(place.Names("m.checkpoints") ==
          std::vector<std::string>{begin + "4711-1", begin + "g2-m0-job-7-x",
                                   begin + "g2-m1-job-7-1", begin + "g3-m1-job-7-1", "notes.txt",
                                   "step-000000010.ckpt", "step-1.ckpt"});
    CHECK(RemoveCheckpoints(*place.files, place.root + "/m.checkpoints", kWriter).ok());
    CHECK(place.Names("m.checkpoints").size() == 6);
    for (const std::string& name : place.Names("m.checkpoints")) {
      REQUIRE(place.files->RemoveTree(place.root + "/m.checkpoints/" + name).ok());
    }
    Write(place, 20);
    CHECK(RemoveCheckpoints(*place.files, place.root + "/m.checkpoints", kWriter).ok());
    CHECK(place.Names().empty());
    CHECK(RemoveCheckpoints(*place.files, place.root + "/m.checkpoints", kWriter).ok());
  }
}

TEST_CASE("jobs in each other's checkpoint directories do not clear each other") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    // The other job has its output and its checkpoints in the checkpoint directory of the first.
    const std::string outer = place.root + "/m.checkpoints";
    const std::string other = outer + "/step-000000015.ckpt", inner = other + ".checkpoints";
    for (const std::string& directory : {other, outer + "/.step-1.ckpt.tmp-g1-m0-t0-job-7"}) {
      REQUIRE(place.files->MakeDirectory(directory).ok());
      REQUIRE(place.files->CreateExclusively(directory + "/model.json", "{}").ok());
    }
    const WriterName writer{{8}, {1}, 0};
    REQUIRE(WriteCheckpoint(*place.files, inner, Header(10), StateOf(10), 1, writer).ok());
    Write(place, 10, 1);
    Write(place, 20, 1);
    CHECK(RemoveUncompared(*place.files, outer).ok());
    CHECK(RemoveCheckpoints(*place.files, outer, kWriter).ok());
    CHECK(place.Names("m.checkpoints") ==
          std::vector<std::string>{".step-1.ckpt.tmp-g1-m0-t0-job-7", "step-000000015.ckpt",
                                   "step-000000015.ckpt.checkpoints"});
    CHECK(place.files->Stat(other + "/model.json").ok());
    CHECK(place.files->Stat(inner + "/" + CheckpointFileName(10)).ok());
    Write(place, 30);
    CHECK(RemoveCheckpoints(*place.files, inner, writer).ok());
    CHECK(!place.files->Stat(inner).ok());
    CHECK(Find(place, Demand()).status().code() != StatusCode::kNotFound);
    CHECK(place.files->Stat(outer + "/" + CheckpointFileName(30)).ok());
  }
}

TEST_CASE("a paused job does not clear the checkpoints of a later one") {
  const WriterName earlier{{7}, {3}, 0, 1000}, later{{9}, {1}, 0, 2000};
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    const std::string directory = place.root + "/m.checkpoints";
    const CheckpointHeader other = Header(50, Job(32));
    const std::string at_50 = Write(place, 50, 2, &other, later);
    CHECK(Find(place, Demand(Job(32)))->checkpoint.header.writer == later.Text());
    // The earlier job continues: it keeps its own checkpoints and writes none over the other.
    Write(place, 10, 1, nullptr, earlier);
    Write(place, 20, 1, nullptr, earlier);
    CHECK(place.Names("m.checkpoints") ==
          std::vector<std::string>{"step-000000020.ckpt", "step-000000050.ckpt"});
    const Status refused =
        WriteCheckpoint(*place.files, directory, Header(50), StateOf(50), 2, earlier).status();
    CHECK(refused.code() == StatusCode::kFailedPrecondition);
    CHECK_THAT(refused.ToString(), Contains(later.Text()));
    CHECK(RemoveCheckpoints(*place.files, directory, earlier).ok());
    CHECK(place.Names("m.checkpoints") == std::vector<std::string>{"step-000000050.ckpt"});
    CHECK(Find(place, Demand(Job(32)))->path == at_50);
    // The later job removes all.
    Write(place, 10, 5, nullptr, earlier);
    CHECK(RemoveCheckpoints(*place.files, directory, later).ok());
    CHECK(!place.files->Stat(directory).ok());
  }
}

TEST_CASE("a checkpoint written during the removal is kept") {
  const WriterName earlier{{7}, {3}, 0, 1000}, later{{9}, {1}, 0, 2000};
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    const std::string directory = place.root + "/m.checkpoints";
    int calls = 0;
    for (bool paused = true; paused; ++calls) {
      Write(place, 10, 1, nullptr, earlier);
      const CheckpointHeader other = Header(50, Job(32));
      const PausedFiles files(*place.files, calls, [&] { Write(place, 50, 1, &other, later); });
      CHECK(RemoveCheckpoints(files, directory, earlier).ok());
      paused = files.paused();
      CHECK(place.files->Stat(directory + "/" + CheckpointFileName(50)).ok() == paused);
      REQUIRE(place.files->RemoveTree(directory).ok());
    }
    CHECK(calls > 2);
  }
}

TEST_CASE("a writer that dies leaves old checkpoints or the new one") {
  for (const Place& place : MakePlaces()) {
    int changes = 0;
    for (bool died = true; died; ++changes) {
      INFO(place.name << ", dies after " << changes << " changes");
      Write(place, 10, 2);
      Write(place, 20, 2);
      const MortalFiles mortal(*place.files, changes);
      const auto written = WriteCheckpoint(mortal, place.root + "/m.checkpoints", Header(30),
                                           StateOf(30), 2, {{7}, {1}, 4});
      died = mortal.died();
      CHECK(written.ok() == !died);
      const auto found = Find(place);
      REQUIRE(found.ok());
      CHECK(found->skipped.empty());
      const int64_t step = found->checkpoint.header.step;
      CHECK((step == 20 || step == 30));
      CHECK(found->checkpoint.state == StateOf(step));
      Write(place, 30, 2);
      CHECK(place.Names("m.checkpoints") ==
            std::vector<std::string>{"step-000000020.ckpt", "step-000000030.ckpt"});
      REQUIRE(place.files->RemoveTree(place.root + "/m.checkpoints").ok());
    }
    CHECK(changes >= 4);  // the directory, the file, the oldest
  }
}

TEST_CASE("an unreachable file system does not select an older state") {
  for (const Place& place : MakePlaces()) {
    Write(place, 10);
    const MortalFiles dead(*place.files, 0);
    (void)dead.MakeDirectory("/");
    CHECK(FindCheckpoint(dead, place.root + "/m.checkpoints", Demand(), CheckpointPart::kAll)
              .status()
              .code() == StatusCode::kUnavailable);
  }
}

TEST_CASE("a state larger than the job's is not read") {
  for (const Place& place : MakePlaces()) {
    Write(place, 10);
    CheckpointDemand demand = Demand();
    demand.state_bytes_max = 999;
    CHECK(Find(place, demand).status().code() == StatusCode::kDataLoss);
    demand.state_bytes_max = 1000;
    CHECK(Find(place, demand).ok());
  }
}

TEST_CASE("a run is named by its output or checkpoint directory") {
  for (const char* run :
       {"/models/m", "/models/m/", "/models/m.checkpoints", "/models/m.checkpoints//"}) {
    CHECK(CheckpointDirectory(run) == "/models/m.checkpoints");
  }
  CHECK(CheckpointDirectory("hdfs://h/m/") == "hdfs://h/m.checkpoints");
}

TEST_CASE("a new job reports old checkpoints, a resumed missing ones") {
  for (const Place& place : MakePlaces()) {
    INFO(place.name);
    spec::JobSpec job = Job();
    job.output.path = place.root + "/m";
    CHECK(CheckBeginning(*place.files, job).ok());
    job.resume = spec::ResumeSpec{job.output.path, false, false};
    const Status none = CheckBeginning(*place.files, job);
    CHECK(none.code() == StatusCode::kNotFound);
    CHECK_THAT(none.message(), Contains("resume: no checkpoint found in " + job.output.path +
                                        ".checkpoints; set --resume"));
    Write(place, 70);
    CHECK(CheckBeginning(*place.files, job).ok());
    job.train.batch = 32;
    CHECK_THAT(CheckBeginning(*place.files, job).message(),
               Contains("resume: no checkpoint in ") && Contains("train.batch: 64"));
    job.resume.reset();
    const Status left = CheckBeginning(*place.files, job);
    CHECK(left.code() == StatusCode::kAlreadyExists);
    CHECK_THAT(left.message(),
               Contains("up to step 70") && Contains("--resume " + job.output.path));
    job.output.overwrite = true;
    CHECK(CheckBeginning(*place.files, job).ok());
  }
}

}  // namespace
}  // namespace espalier::bundle
