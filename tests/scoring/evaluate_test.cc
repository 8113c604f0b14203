#include "src/scoring/evaluate.h"

#include <cmath>

#include "src/model/metrics.h"
#include "src/scoring/report.h"
#include "tests/data/scan_rows.h"
#include "tests/scoring/fixture.h"

namespace espalier::scoring {
namespace {

TEST_CASE("metrics equal those of rows counted one by one") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(ClassesDocument());
  const std::string csv = f.dir.Put("t.csv", AnswersCsv(1000));
  const auto scan = f.Scan(model, {csv}, true);
  INFO(scan.status().ToString());
  REQUIRE(scan.ok());
  const auto evaluation = Evaluate(f.Run(model, *scan), false);
  INFO(evaluation.status().ToString());
  REQUIRE(evaluation.ok());
  CHECK(evaluation->rows == 1000);
  CHECK(evaluation->metrics.rows == 1000);

  // The same metrics, from the probabilities of single rows.
  auto scorer = Scorer::Make(model);
  double loss = 0, correct = 0;
  std::vector<double> confusion(9);
  REQUIRE(data::ScanRows(*f.files, *scan, 0, [&](const data::RowPiece& piece) -> Status {
            std::vector<double> values;
            scorer->Predict(piece.rows(), piece.texts, &values);
            const auto& classes = model.document.preprocessing.classes;
            for (size_t r = 0; r < static_cast<size_t>(piece.rows().rows); ++r) {
              const std::string& text = piece.texts.labels.texts()[piece.rows().labels[r]];
              const size_t truth =
                  std::find(classes.begin(), classes.end(), text) - classes.begin();
              const double* p = values.data() + 3 * r;
              const size_t said = std::max_element(p, p + 3) - p;
              loss -= std::log(p[truth]);
              correct += said == truth;
              ++confusion[3 * truth + said];
            }
            return {};
          }).ok());
  CHECK(evaluation->metrics.accuracy == correct / 1000);
  CHECK(evaluation->metrics.confusion == confusion);
  CHECK(evaluation->metrics.loss == Approx(loss / 1000).epsilon(1e-5));
}

// Returns a model whose row weights are in the fifth column.
bundle::ModelDocument WeightedDocument() {
  bundle::ModelDocument document = NumbersDocument();
  document.job.data.weight = std::string("w");
  document.schema.names.push_back("w");
  document.schema.weight = 4;
  return document;
}

TEST_CASE("metrics do not depend on the number of threads") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(WeightedDocument());
  std::string text = "w,v,u,b,a\n";
  for (int i = 0; i < 4000; ++i) {
    text += std::to_string(0.1 + i % 7) + "," + std::to_string(i % 13) + "," +
            std::to_string(i % 11) + "," + std::to_string(i % 17) + "," + std::to_string(i % 5) +
            "\n";
  }
  const auto scan = f.Scan(model, {f.dir.Put("w.csv", text)}, true, {}, 10'000);
  INFO(scan.status().ToString());
  REQUIRE(scan.ok());
  REQUIRE(scan->input.shards.size() > 5);
  const auto one = Evaluate(f.Run(model, *scan, 1), true);
  INFO(one.status().ToString());
  REQUIRE(one.ok());
  CHECK(one->metrics.weight != 4000);
  for (const int threads : {2, 3}) {
    const auto more = Evaluate(f.Run(model, *scan, threads), true);
    REQUIRE(more.ok());
    CHECK(more->totals == one->totals);
    CHECK(more->residuals[1].grid == one->residuals[1].grid);
    CHECK(more->residuals[1].bins == one->residuals[1].bins);
  }
  CHECK(one->residuals.size() == 2);
  CHECK(one->residuals[0].grid.rows() == 4000);
}

TEST_CASE("rows without the weights of the training count 1 each") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(WeightedDocument());
  const auto metrics = [&](const std::string& csv) {
    const auto scan = f.Scan(model, {f.dir.Put("t.csv", csv)}, true);
    INFO(scan.status().ToString());
    REQUIRE(scan.ok());
    CHECK((scan->input.schema.weight < 0) == (csv.find('w') == std::string::npos));
    auto all = Evaluate(f.Run(model, *scan), false);
    REQUIRE(all.ok());
    return all->metrics;
  };
  const spec::Metrics bare = metrics("v,a,u,b\n1,2,3,4\n5,6,7,9\n");
  CHECK(bare.weight == 2);
  CHECK(bare.loss == metrics("v,a,w,u,b\n1,2,1,3,4\n5,6,1,7,9\n").loss);
  CHECK(bare.loss != metrics("v,a,w,u,b\n1,2,1,3,4\n5,6,3,7,9\n").loss);
  const auto short_of = f.Scan(model, {f.dir.Put("s.csv", "v,a,u\n1,2,3\n")}, true);
  CHECK(
      short_of.status().message().starts_with("a feature of the model: column 'b' does not exist"));
}

TEST_CASE("weights without a finite sum are an error, not a result") {
  const ScoringFixture f;
  bundle::ModelDocument document = NumbersDocument();
  document.job.model.precision = spec::Precision::kFloat64;
  document.job.data.weight = std::string("w");
  document.schema.names.push_back("w");
  document.schema.weight = 4;
  const TrainedModel model = f.Model(document);
  const std::string rows = "a,b,u,v,w\n1,2,3,4,1e308\n";
  const auto one = f.Scan(model, {f.dir.Put("one.csv", rows)}, true);
  REQUIRE(one.ok());
  CHECK(Evaluate(f.Run(model, *one), false).ok());
  const auto two = f.Scan(model, {f.dir.Put("two.csv", rows + "1,2,3,4,1e308\n")}, true);
  REQUIRE(two.ok());
  const Status refused = Evaluate(f.Run(model, *two), false).status();
  CHECK(refused.code() == StatusCode::kBadInput);
  CHECK(refused.message().find("the weights of the rows of one shard ('w') add up to inf") !=
        std::string::npos);
  REQUIRE(refused.position());
  CHECK(refused.position()->file == f.dir / "two.csv");
  // A worker reports the same error. Otherwise the coordinator would blame the worker for the sum.
  ScorerPool scorers(model);
  const Status alone =
      EvaluateShard(f.Run(model, *two), data::ClassIndex(std::vector<std::string>{}), 0, &scorers,
                    nullptr)
          .status();
  CHECK(alone.ToString() == refused.ToString());
  const auto apart = f.Scan(model, {f.dir / "one.csv", f.dir.Put("other.csv", rows)}, true);
  REQUIRE(apart.ok());
  const Status all = Evaluate(f.Run(model, *apart), false).status();
  CHECK(all.code() == StatusCode::kBadInput);
  CHECK(all.message().find("the weights of all rows ('w') add up to inf") != std::string::npos);
}

TEST_CASE("a row without a label is a reject") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(ClassesDocument());
  const auto scan =
      f.Scan(model, {f.dir.Put("t.csv", "a,b,answer\n1,2,no\n1,2,\n3,4, yes \n")}, true);
  REQUIRE(scan.ok());
  const auto evaluation = Evaluate(f.Run(model, *scan), false);
  REQUIRE(evaluation.ok());
  CHECK(evaluation->rows == 2);
  CHECK(evaluation->rejected == 1);
  REQUIRE(evaluation->first_rejects.size() == 1);
  CHECK(evaluation->first_rejects[0].position()->row == 3);
  const auto none = f.Scan(model, {f.dir.Put("n.csv", "a,b,answer\n1,2,\n")}, true);
  REQUIRE(none.ok());
  CHECK(Evaluate(f.Run(model, *none), false).status().code() == StatusCode::kBadInput);
  const auto missing = f.Scan(model, {f.dir.Put("m.csv", "a,b\n1,2\n")}, true);
  CHECK(missing.status().code() == StatusCode::kInvalidArgument);
  CHECK(missing.status().message().find("the label of the model") != std::string::npos);
}

TEST_CASE("a row with an unknown label is a mistake") {
  const ScoringFixture f;
  const bool weighted = GENERATE(false, true);
  bundle::ModelDocument document = ClassesDocument();
  document.preprocessing.classes = {"no", "yes"};
  // A linear model whose biases are 0. In rows with b = -1, which is scaled to 0, the sign of the
  // scaled `a` decides. So both classes are predicted.
  document.job.model.hidden.clear();
  if (weighted) {
    document.job.data.weight = std::string("w");
    document.schema.names.push_back("w");
    document.schema.weight = 4;
  }
  const TrainedModel model = f.Model(document);
  const std::string header = "id,a,b,answer,w\n";
  std::string known = header, all = header;
  double known_weight = 0, unknown_weight = 0, unknown_predicted = 0;
  for (int i = 0; i < 1500; ++i) {  // several batches
    const bool odd = i % 2 == 1;
    const double weight = weighted ? 0.5 + i % 3 : 1;
    const std::string fields =
        std::to_string(i) + "," + std::to_string(i % 9) + "," + std::to_string(i % 7 - 3) + ",";
    const std::string end = "," + std::to_string(weight) + "\n";
    all += fields + (odd ? "new" : i % 4 == 0 ? "no" : "yes") + end;
    if (!odd) known += fields + (i % 4 == 0 ? "no" : "yes") + end;
    (odd ? unknown_weight : known_weight) += weight;
  }
  const auto evaluated = [&](const std::string& name, const std::string& csv) {
    const auto scan = f.Scan(model, {f.dir.Put(name, csv)}, true, {}, 5000);
    REQUIRE(scan.ok());
    auto evaluation = Evaluate(f.Run(model, *scan, 2), false);
    INFO(evaluation.status().ToString());
    REQUIRE(evaluation.ok());
    return *std::move(evaluation);
  };
  const Evaluation both = evaluated("all.csv", all), before = evaluated("known.csv", known);
  CHECK(both.rows == 1500);
  CHECK(both.rejected == 0);
  const spec::Metrics &m = both.metrics, &k = before.metrics;
  CHECK(m.unknown_labels == 750);
  CHECK(k.unknown_labels == 0);
  CHECK(m.rows == 1500);
  CHECK(m.weight == Approx(known_weight + unknown_weight));
  const double share = known_weight / (known_weight + unknown_weight);
  CHECK(m.accuracy == Approx(k.accuracy * share));
  CHECK(m.accuracy <= (weighted ? 0.6 : 0.5));
  CHECK(m.loss == Approx(k.loss));
  CHECK(*m.auc == Approx(*k.auc));
  CHECK(m.recall == Approx(k.recall * share));
  CHECK(m.classes[1].recall == Approx(k.classes[1].recall));
  CHECK(m.classes[1].weight == Approx(k.classes[1].weight));
  // Weight predicted per class: the column of the confusion matrix. The rest has unknown labels.
  for (size_t c = 0; c < 2; ++c) {
    const double correct = m.confusion[3 * c];
    const double predicted = m.confusion[c] + m.confusion[2 + c];
    REQUIRE(correct > 0);
    unknown_predicted += correct / m.classes[c].precision - predicted;
    CHECK(m.classes[c].precision <= k.classes[c].precision);
  }
  CHECK(unknown_predicted == Approx(unknown_weight));
  const std::string page = ReportHtml({model, both, "m", "t.csv", ""});
  CHECK(page.find("750 rows have a label") != std::string::npos);

  const Evaluation none = evaluated("none.csv", header + "1,2,3,maybe,1\n");
  CHECK(none.metrics.accuracy == 0);
  CHECK(std::isnan(none.metrics.loss));
  CHECK_FALSE(none.metrics.auc);
}

// Returns a model of the number a and the category city.
bundle::ModelDocument CitiesDocument() {
  bundle::ModelDocument d = ClassesDocument();
  d.schema = {{"city", "a", "answer"}, {0, 1}, {2}};
  d.schema.rules = {{.type = spec::FeatureType::kCategorical, .group = 0}, {}};
  spec::FeatureGroup group;
  group.columns = {std::string("city")};
  group.type = spec::FeatureType::kCategorical;
  d.job.data.features.groups = {group};
  d.preprocessing.features = {{"city"}, {"a", 0.5, 2, 0}};
  d.preprocessing.features[0].codes = 3;
  d.preprocessing.features[0].vocabulary = {"Oslo", "Rome"};  // and one code for other values
  return d;
}

TEST_CASE("values outside the vocabulary are counted, nulls are not") {
  const ScoringFixture f;
  std::string text = "answer,a,city\n";
  for (int i = 0; i < 1200; ++i) {
    const char* city = i % 10 == 3 ? "Bern" : i % 10 == 4 ? "" : i % 2 == 0 ? "Oslo" : "Rome";
    text +=
        std::string(i % 3 == 0 ? "new" : "no") + "," + std::to_string(i % 7) + "," + city + "\n";
  }
  const std::string csv = f.dir.Put("t.csv", text);
  const spec::UnseenCounts expected = {{"city", 120}};  // Bern
  for (const int64_t codes : {3, 2}) {                  // with a code for other values, and without
    bundle::ModelDocument document = CitiesDocument();
    document.preprocessing.features[0].codes = codes;
    const TrainedModel model = f.Model(document);
    for (const bool residuals : {false, true}) {
      const auto scan = f.Scan(model, {csv}, true, {}, 3000);
      INFO(scan.status().ToString());
      REQUIRE(scan.ok());
      const auto evaluation = Evaluate(f.Run(model, *scan, 2), residuals);
      REQUIRE(evaluation.ok());
      CHECK(evaluation->unseen == expected);
      CHECK(ReportHtml({model, *evaluation, "m", "t.csv", ""}).find("Unseen or rare values") !=
            std::string::npos);
    }
    const auto scan = f.Scan(model, {csv}, false, {}, 3000);
    REQUIRE(scan.ok());
    const std::string out = f.dir / ("out" + std::to_string(codes));
    REQUIRE(BeginPredictions(*f.files, out).ok());
    const auto predicted = Predict(f.Run(model, *scan, 2), {.output = out});
    INFO(predicted.status().ToString());
    REQUIRE(predicted.ok());
    CHECK(predicted->unseen == expected);
  }
}

TEST_CASE("curves end in corners, and the area under ROC is the AUC") {
  const ScoringFixture f;
  bundle::ModelDocument document = ClassesDocument();
  document.preprocessing.classes = {"no", "yes"};
  const TrainedModel model = f.Model(document);
  std::string text = "a,b,answer\n";
  for (int i = 0; i < 3000; ++i) {
    const int a = i * 37 % 101, b = i * 53 % 97;
    text += std::to_string(a / 10.0 - 5) + "," + std::to_string(b / 7.0 - 6) + "," +
            (a + b % 31 > 65 ? "yes" : "no") + "\n";
  }
  const auto scan = f.Scan(model, {f.dir.Put("t.csv", text)}, true);
  REQUIRE(scan.ok());
  const auto evaluation = Evaluate(f.Run(model, *scan), false);
  REQUIRE(evaluation.ok());
  REQUIRE(evaluation->metrics.auc);
  const ScoreCurves curves = CurvesOf(model.shape, evaluation->totals);
  CHECK(curves.roc.front() == std::pair(0.0, 0.0));
  CHECK(curves.roc.back() == std::pair(1.0, 1.0));
  double area = 0;
  for (size_t i = 1; i < curves.roc.size(); ++i) {
    const auto [x0, y0] = curves.roc[i - 1];
    const auto [x1, y1] = curves.roc[i];
    CHECK(x1 >= x0);
    CHECK(y1 >= y0);
    area += (x1 - x0) * (y0 + y1) / 2;
  }
  CHECK(area == Approx(*evaluation->metrics.auc).epsilon(1e-12));
  CHECK(curves.precision_recall.back().first == 1.0);
  double precision = 0, recall = 0;
  REQUIRE(curves.f1.size() == curves.precision_recall.size());
  for (size_t i = 0; i < curves.precision_recall.size(); ++i) {
    const auto [r, p] = curves.precision_recall[i];
    precision += (r - recall) * p;
    recall = r;
    CHECK(curves.recall[i].second == r);
    CHECK(curves.precision[i].first == curves.f1[i].first);
    if (i > 0) CHECK(curves.f1[i].first < curves.f1[i - 1].first);
  }
  CHECK(precision == Approx(*evaluation->metrics.average_precision).epsilon(1e-12));
  double yes = 0;
  for (size_t t = 2; t < 4; ++t) yes += evaluation->metrics.confusion[t];
  CHECK(curves.precision_recall.back().second == Approx(yes / 3000));
}

TEST_CASE("a report draws the threshold of two costs") {
  const ScoringFixture f;
  bundle::ModelDocument document = ClassesDocument();
  document.preprocessing.classes = {"no", "yes"};
  const std::string csv = f.dir.Put("t.csv", "a,b,answer\n1,2,yes\n3,4,no\n-2,1,yes\n");
  const auto page = [&](const std::vector<spec::ClassCosts>& costs) {
    document.job.model.costs.given = costs;
    const TrainedModel model = f.Model(document);
    const auto scan = f.Scan(model, {csv}, true);
    REQUIRE(scan.ok());
    const auto evaluation = Evaluate(f.Run(model, *scan), false);
    REQUIRE(evaluation.ok());
    return ReportHtml({model, *evaluation, "m", "t.csv", ""});
  };
  const auto above = [](const std::string& text) {
    return Catch::Contains("its probability is above " + text + " ");
  };
  CHECK_THAT(page({}), above("0.5"));
  CHECK_THAT(page({{"yes", {{"no", 4}}}}), above("0.2"));
  CHECK_THAT(page({{"no", {{"yes", 4}}}}), above("0.8"));
  CHECK_THAT(page({{"no", {{"yes", 3}}}, {"yes", {{"no", 2}}}}), above("0.6"));
  CHECK_THAT(page({{"no", {{"yes", 0}}}, {"yes", {{"no", 0}}}}), above("1"));
  document.job.model.positive = "no";
  CHECK_THAT(page({{"no", {{"yes", 4}}}}), above("0.2"));
}

TEST_CASE("a report is one page without requests or text as HTML") {
  const ScoringFixture f;
  bundle::ModelDocument document = ClassesDocument();
  document.preprocessing.classes = {"<script>alert(1)</script>", "so so", "yes"};
  document.job.name = "a & b";
  const TrainedModel model = f.Model(document);
  const auto scan = f.Scan(model, {f.dir.Put("t.csv", "a,b,answer\n1,2,yes\n3,4,so so\n")}, true);
  REQUIRE(scan.ok());
  const auto evaluation = Evaluate(f.Run(model, *scan), false);
  REQUIRE(evaluation.ok());
  const std::string history =
      "epoch,step,learning_rate,loss,accuracy,val_loss,val_accuracy\n"
      "1,10,0.001,2.5,0.3,2.4,0.35\n2,20,0.001,1.5,0.5,,\n";
  const std::vector<std::string> notes = {"the column <t> is left out"};
  const std::string page = ReportHtml({model, *evaluation, "models/<m>", "t.csv", history, notes});
  CHECK(page.find("<p>Note: the column &lt;t&gt; is left out.</p>") != std::string::npos);
  CHECK(page.find("<script") == std::string::npos);
  CHECK(page.find("&lt;script&gt;") != std::string::npos);
  CHECK(page.find("a &amp; b") != std::string::npos);
  CHECK(page.find("models/&lt;m&gt;") != std::string::npos);
  for (const char* outside : {"http", "src=", "href=", "url("}) {
    CHECK(page.find(outside) == std::string::npos);
  }
  for (const char* part :
       {"Confusion matrix", "loss over epochs", "accuracy over epochs", "By class"}) {
    CHECK(page.find(part) != std::string::npos);
  }
  CHECK(page.find("ROC") == std::string::npos);  // three classes
}

TEST_CASE("the report of a regression shows its residuals") {
  const ScoringFixture f;
  const TrainedModel model = f.Model(NumbersDocument());
  const auto scan =
      f.Scan(model, {f.dir.Put("t.csv", "a,b,u,v\n1,2,90,-2\n3,4,120,-5\n2,2,99,0\n")}, true);
  REQUIRE(scan.ok());
  const auto evaluation = Evaluate(f.Run(model, *scan), true);
  REQUIRE(evaluation.ok());
  const std::string page = ReportHtml({model, *evaluation, "m", "t.csv", ""});
  CHECK(page.find("Residuals of u") != std::string::npos);
  CHECK(page.find("Residuals of v") != std::string::npos);
  CHECK(page.find("By target") != std::string::npos);
  CHECK(page.find("nan") == std::string::npos);
}

TEST_CASE("a malformed history.csv is refused with its line") {
  CHECK(ParseHistory("epoch,loss\n1,2\n3,\n").ok());
  CHECK(std::isnan((*ParseHistory("epoch,loss\n1,2\n3,\n"))[1].values[1]));
  for (const char* bad : {"epoch,loss\n1\n", "epoch,loss\n1,x\n", "epoch\n1,2\n"}) {
    const auto read = ParseHistory(bad);
    CHECK(read.status().code() == StatusCode::kBadInput);
    CHECK(read.status().message().find("line 2") != std::string::npos);
  }
}

}  // namespace
}  // namespace espalier::scoring
