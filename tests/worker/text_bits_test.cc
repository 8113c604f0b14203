// Tests that a table gives the same weights in any text form, in any number of files, on any number
// of workers. Each test plans and profiles the table. Each member loads the rows of its leaves, and
// all train over links in memory.
#include <chrono>
#include <random>
#include <thread>

#include "src/base/checksum.h"
#include "src/collective/memory_link.h"
#include "src/model/arithmetic.h"
#include "src/worker/trainer.h"
#include "tests/data/compress.h"
#include "tests/data/fixture.h"
#include "tests/worker/lone_generation.h"

namespace espalier::worker {
namespace {

constexpr int32_t kLeaves = 16;

// The fields a, b, c and y of a row.
using Row = std::array<std::string, 4>;

std::vector<Row> MadeUpTable(int rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Row> table;
  for (int i = 0; i < rows; ++i) {
    const uint64_t label = random() % 3;
    const auto number = [&](uint64_t centre) {
      const uint64_t micro = random() % 2'000'000 + centre * 700'000;
      return std::to_string(micro / 1'000'000) + "." +
             std::to_string(micro % 1'000'000 + 1'000'000).substr(1);
    };
    table.push_back({number(label), "-" + number(2 - label), std::to_string(random() % 256),
                     std::to_string(label)});
  }
  return table;
}

// Returns the rows as CSV with a header. `order` is the order of the columns.
std::string Csv(std::span<const Row> rows, const std::array<int, 4>& order = {0, 1, 2, 3}) {
  constexpr const char* kNames[] = {"a", "b", "c", "y"};
  std::string text;
  const auto line = [&](const auto& fields) {
    for (int i = 0; i < 4; ++i) text += (i ? "," : "") + std::string(fields[order[i]]);
    text += "\n";
  };
  line(kNames);
  for (const Row& row : rows) line(row);
  return text;
}

std::string Libsvm(std::span<const Row> rows) {
  std::string text;
  for (const Row& row : rows) {
    text += row[3];
    for (int i = 0; i < 3; ++i) text += " " + std::to_string(i + 1) + ":" + row[i];
    text += "\n";
  }
  return text;
}

class Rows : public RowSource<float> {
 public:
  explicit Rows(const data::RowStore& store) : store_(store) {}
  void Gather(spec::FileRole set, std::span<const int64_t> rows, float* inputs, int32_t* codes,
              int32_t* labels, float* targets, float* weights,
              spec::SparseRows<float>* sparse) const override {
    store_.Gather<float>(set, rows, inputs, codes, labels, targets, weights, sparse);
  }
  void Labels(spec::FileRole set, plan::Range rows, int32_t* labels) const override {
    store_.Labels(set, rows, labels);
  }

 private:
  const data::RowStore& store_;
};

class TrainFixture : public data::DataFixture {
 public:
  TrainFixture() {
    model::InitArithmetic();
    job.model.hidden = {12};
    job.train.batch = 96;
    job.train.epochs = 3;
    job.data.features.scale.kind = spec::ScaleKind::kStandard;
    job.data.validation.files = {dir.Put("validation.csv", Csv(MadeUpTable(150, 2)))};
    job.data.shard_bytes = 1 << 20;
  }

  // Returns the hash of the weights, or the error.
  std::string Weights(int32_t owners) {
    const auto profile = Profile();
    if (!profile.ok()) return profile.status().ToString();
    const plan::Ownership ownership = plan::PlanOwnership(kLeaves, owners);
    const auto network = collective::MemoryNetwork::Make(static_cast<uint32_t>(owners), 7);
    std::vector<std::string> results(owners);
    std::vector<std::thread> members;
    for (int32_t m = 0; m < owners; ++m) {
      members.emplace_back([&, m] { results[m] = Member(*profile, ownership, m, network); });
    }
    for (std::thread& t : members) t.join();
    for (const std::string& r : results) CHECK(r == results[0]);
    return results[0];
  }

 private:
  // Loads the shards that contain rows of the member's leaves, and trains.
  std::string Member(const spec::TableProfile& profile, const plan::Ownership& ownership,
                     int32_t self,
                     const std::shared_ptr<collective::MemoryNetwork>& network) const {
    const plan::LeafSpan own = ownership.intervals[self];
    const auto range = [&own](int64_t rows) {
      return plan::Range{plan::LeafRows(rows, kLeaves, own.begin).begin,
                         plan::LeafRows(rows, kLeaves, own.end - 1).end};
    };
    const data::RowRanges ranges = {range(profile.train_rows), range(profile.validation_rows),
                                    range(profile.test_rows)};
    auto loader = data::RowLoader::Make({*files, plan, job}, profile, ranges, {});
    if (!loader.ok()) return loader.status().ToString();
    for (const int32_t shard : (*loader)->shards()) {
      if (const Status read = (*loader)->Load(shard, nullptr); !read.ok()) return read.ToString();
    }
    const auto store = (*loader)->Finish();
    const Rows rows(*store);
    const std::vector<plan::TreePlace> places = plan::PlanTree(ownership, kLeaves);
    ComputePool pool(1, model::PrepareComputeThread);
    training::TrainingPlan training;
    training.train = job.train;
    training.shape = *model::MakeNetworkShape(job.model, store->features(), 3);
    Reducer reducer({{1}, {1}, {1}}, places[self],
                    std::vector<std::string>(places.size(), "a member"),
                    RoundBytesMax(training, sizeof(float), static_cast<int32_t>(places.size())));
    if (places.size() > 1) {
      reducer.Start(network->Open(static_cast<uint32_t>(self), {1}, &reducer));
    }
    training.train_rows = profile.train_rows;
    training.validation_rows = profile.validation_rows;
    TrainerOptions options;
    options.leaves = kLeaves;
    options.own = own;
    options.members = static_cast<int32_t>(places.size());
    options.self = self;
    options.reduce_timeout_ms = 60'000;
    TrainerHooks hooks;
    hooks.now_us = [] {
      return std::chrono::duration_cast<std::chrono::microseconds>(
                 std::chrono::steady_clock::now().time_since_epoch())
          .count();
    };
    training::StepMachine<float> machine(std::move(training));
    machine.Begin();
    StepTimes times;
    Trainer<float> trainer(machine, options, rows, pool, reducer, times, hooks);
    member::MemberCore core({.leaves = kLeaves});
    const member::EndRun end = RunLone(core, LoneOrder(ownership, self), machine, trainer);
    if (!end.status.ok()) return end.status.ToString();
    const AlignedVector<float>& weights = machine.state().parameters;
    return Sha256Hex(
        {reinterpret_cast<const char*>(weights.data()), weights.size() * sizeof(float)});
  }
};

TEST_CASE("all text forms of a table train the same weights") {
  TrainFixture f;
  const std::vector<Row> table = MadeUpTable(1200, 1);
  const std::string text = Csv(table), libsvm = Libsvm(table);
  f.Train(text);
  const std::string expected = f.Weights(1);
  INFO(expected);
  REQUIRE(expected.size() == 64);  // a hash, not an error
  const std::map<std::string, std::string> forms = {
      {"a.csv", text},
      {"a.csv.gz", data::Gzip(text)},
      {"members.csv.gz", data::Gzip(text.substr(0, 9999)) + data::Gzip(text.substr(9999))},
      {"a.csv.zst", data::Zstd(text)},
      {"other_order.csv", Csv(table, {3, 1, 0, 2})},
  };
  for (const auto& [name, content] : forms) {
    // Fixes the order of the inputs. Otherwise it follows the first header.
    f.job.data.features.columns = {std::string("a"), std::string("b"), std::string("c")};
    f.Train(content, name);
    for (const int32_t owners : {1, 3, 16}) {
      INFO(name << " on " << owners);
      CHECK(f.Weights(owners) == expected);
    }
  }
  f.job.data.label = {int64_t{0}};
  f.job.data.features.columns = {spec::ColumnRange{1, 3}};
  f.job.data.format = spec::DataFormat::kLibsvm;
  f.job.data.validation.files = {f.dir.Put("v", Libsvm(MadeUpTable(150, 2)))};
  for (const std::string& content : {libsvm, data::Gzip(libsvm), data::Zstd(libsvm)}) {
    f.Train(content, "a.libsvm");
    for (const int32_t owners : {1, 5}) CHECK(f.Weights(owners) == expected);
  }
}

TEST_CASE("any number of files and workers trains the same weights") {
  TrainFixture f;
  f.job.data.features.scale = {spec::ScaleKind::kDivide, 16};
  const std::vector<Row> table = MadeUpTable(1600, 3);
  f.Train(Csv(table));
  const std::string expected = f.Weights(1);
  REQUIRE(expected.size() == 64);
  for (const int64_t shard_bytes : {1 << 10, 3000, 1 << 20}) {
    f.job.data.shard_bytes = shard_bytes;
    CHECK(f.Weights(16) == expected);
  }
  f.job.data.train.clear();
  for (size_t i = 0; i < 16; ++i) {
    const std::span<const Row> part = std::span(table).subspan(100 * i, 100);
    const std::string text = i % 4 == 3 ? Csv(part, {2, 3, 1, 0}) : Csv(part);
    const std::string name = "part-" + std::to_string(10 + i);
    f.job.data.train.push_back(f.dir.Put(name, i % 3 == 0   ? data::Gzip(text)
                                               : i % 3 == 1 ? data::Zstd(text)
                                                            : text));
    if (i % 5 == 0) f.job.data.train.push_back(f.dir.Put(name + "-empty", ""));
  }
  f.job.data.shard_bytes = 1 << 10;
  for (const int32_t owners : {1, 2, 16}) CHECK(f.Weights(owners) == expected);
}

}  // namespace
}  // namespace espalier::worker
