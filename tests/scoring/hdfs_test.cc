#include "tests/bundle/places.h"
#include "tests/scoring/fixture.h"

namespace espalier::scoring {
namespace {

TEST_CASE("a prediction on HDFS has the bytes of a local one") {
  const ScoringFixture f;
  const bundle::Bundle bundle = BundleOf(ClassesDocument());
  const std::string table = AnswersCsv(400) + "bad,x,1,no\n";
  const auto local_model = LoadTrainedModel(*f.files, f.PutBundle(bundle));
  REQUIRE(local_model.ok());
  const auto local_scan = f.Scan(*local_model, {f.dir.Put("t.csv", table)}, false, {"id"}, 5000);
  REQUIRE(local_scan.ok());
  REQUIRE(local_scan->input.shards.size() > 1);
  const PredictSpec local_spec{.output = f.dir / "out", .keep = {"id"}};
  REQUIRE(BeginPredictions(*f.files, local_spec.output).ok());
  REQUIRE(Predict(f.Run(*local_model, *local_scan), local_spec).ok());

  bundle::FakeHdfsTree tree;
  for (const auto& [name, bytes] : bundle.files) tree.hdfs.content["/m/" + name] = bytes;
  tree.hdfs.content["/d/t.csv"] = table;
  const storage::FileSystem& files = *tree.hdfs.files;
  const std::string base = tree.hdfs.base;
  const auto model = LoadTrainedModel(files, base + "/m");
  INFO(model.status().ToString());
  REQUIRE(model.ok());
  const auto scan = data::PlanScan(files, {.job = model->document.job,
                                           .schema = model->document.schema,
                                           .data = {base + "/d/t.csv"},
                                           .labels = false,
                                           .keep = {"id"},
                                           .format = std::nullopt,
                                           .shard_bytes = 5000});
  INFO(scan.status().ToString());
  REQUIRE(scan.ok());
  const PredictSpec spec{.output = base + "/out", .keep = {"id"}};
  const ScoringRun run{
      .files = files, .model = *model, .reader = data::MakeScanReader(files, *scan)};
  REQUIRE(CheckPrediction(files, *model, scan->input, spec).ok());
  REQUIRE(BeginPredictions(files, spec.output).ok());
  const auto result = Predict(run, spec);
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  CHECK(result->rejected == 1);
  for (const auto& [name, bytes] : f.Parts(local_spec.output)) {
    CHECK(tree.hdfs.content["/out/" + name] == bytes);
  }
  CHECK(tree.hdfs.content.contains("/out/_SUCCESS"));
  CHECK(CheckPrediction(files, *model, scan->input, spec).code() == StatusCode::kAlreadyExists);
  size_t temporary = 0;
  for (const auto& [path, bytes] : tree.hdfs.content) temporary += path.find(".tmp-") != path.npos;
  CHECK(temporary == 0);
}

}  // namespace
}  // namespace espalier::scoring
