// Validation rows by fraction, with the same share of each class if stratified.
#include "src/data/features/validation_draw.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <random>

#include "src/base/text.h"
#include "tests/data/fixture.h"

namespace espalier::data {
namespace {

spec::JobSpec Job(double fraction, uint64_t seed = 1) {
  spec::JobSpec job;
  job.data.validation.fraction = fraction;
  job.data.validation.stratify = true;
  job.train.seed = seed;
  return job;
}

// Returns the number of validation rows of each class.
std::map<std::string, int64_t> Validated(const spec::TableProfile& profile, const DataFixture& f) {
  std::map<std::string, int64_t> counts;
  for (const ProfiledShard& shard : f.shards) {
    for (const auto& [label, rows] : shard.profile.evaluation_labels) counts[label] += rows;
  }
  int64_t sum = 0;
  for (const auto& [label, rows] : counts) sum += rows;
  CHECK(sum == profile.validation_rows);
  return counts;
}

TEST_CASE("after any number of rows the share is exact to one row") {
  for (const double fraction : {1e-300, 0.01, 0.2, 1.0 / 3, 0.5, 0.9, 0.999}) {
    const spec::JobSpec job = Job(fraction);
    ValidationDraw draw(job, 0);
    for (int part = 0; part < 40; ++part) {
      int64_t drawn = 0;
      for (int row = 1; row <= 500; ++row) {
        drawn += draw.Draws(part, part % 3, std::to_string(part % 3));
        CHECK(std::fabs(static_cast<double>(drawn) - fraction * row) < 1);
      }
    }
  }
}

TEST_CASE("exact shares hold for all rows; single rows are not drawn") {
  spec::JobSpec job = Job(0.1);
  job.data.validation.stratify = false;
  job.data.validation.exact = true;
  ValidationDraw draw(job, 3);
  for (int part = 0; part < 40; ++part) {
    int64_t drawn = draw.Draws(part, 0, "a");
    CHECK(drawn == 0);
    for (int row = 1; row < 100; ++row) drawn += draw.Draws(part, row % 2, "b");
    CHECK(drawn == 10);
  }
}

TEST_CASE("exact shares of classes add up to that of all rows") {
  std::mt19937 random(3);
  for (const double fraction : {0.1, 0.15, 0.2, 1.0 / 3}) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      spec::JobSpec job = Job(fraction, seed);
      job.data.validation.exact = true;
      ValidationDraw draw(job, 0);
      std::map<int32_t, std::pair<int64_t, int64_t>> classes;  // rows, and those drawn
      int64_t drawn = 0;
      for (int row = 1; row <= 150; ++row) {
        const int32_t label = random() % 3 == 0;
        const bool takes = draw.Draws(0, label, std::to_string(label));
        auto& [rows, of_class] = classes[label];
        if (rows == 0) CHECK(!takes);
        ++rows;
        of_class += takes;
        drawn += takes;
      }
      CHECK(std::fabs(static_cast<double>(drawn) - fraction * 150) < 1);
      for (const auto& [label, pair] : classes) {
        const double share = fraction * static_cast<double>(pair.first);
        CHECK(std::fabs(static_cast<double>(pair.second) - share) < 1.0001);
      }
    }
  }
}

TEST_CASE("each place in a part is drawn with the given probability") {
  const double fraction = 0.25;
  std::vector<int> drawn(40);
  constexpr int kParts = 20'000;
  const spec::JobSpec job = Job(fraction);
  ValidationDraw draw(job, 7);
  for (int part = 0; part < kParts; ++part) {
    for (int& place : drawn) place += draw.Draws(part, 0, "a");
  }
  for (const int count : drawn) {  // 5 standard errors
    CHECK(std::fabs(count / double{kParts} - fraction) < 5 * std::sqrt(0.1875 / kParts));
  }
}

spec::JobSpec FoldJob(int64_t fold, int64_t of, uint64_t seed = 1) {
  spec::JobSpec job = Job(0, seed);
  job.data.validation.fold = fold;
  job.data.validation.of = of;
  return job;
}

TEST_CASE("each row of a class is in one fold, and folds stay equal") {
  for (const int64_t of : {2, 3, 5, 7, 10, 100}) {
    std::vector<spec::JobSpec> jobs;
    for (int64_t fold = 0; fold < of; ++fold) jobs.push_back(FoldJob(fold, of));
    std::vector<ValidationDraw> folds;
    for (const spec::JobSpec& job : jobs) folds.emplace_back(job, 0);
    for (int part = 0; part < 10; ++part) {
      std::vector<int64_t> drawn(static_cast<size_t>(of));
      for (int64_t row = 1; row <= 250; ++row) {
        int64_t takers = 0;
        for (size_t f = 0; f < folds.size(); ++f) {
          const bool takes = folds[f].Draws(part, part % 3, std::to_string(part % 3));
          takers += takes;
          drawn[f] += takes;
        }
        CHECK(takers == 1);
        const auto [least, most] = std::minmax_element(drawn.begin(), drawn.end());
        CHECK(*most - *least <= 1);
      }
    }
  }
}

TEST_CASE("each place in a part is in each fold equally often") {
  for (const int64_t of : {2, 3, 5, 10}) {
    constexpr int kParts = 10'000, kRows = 25;
    const double share = 1 / static_cast<double>(of);
    for (const int64_t fold : {int64_t{0}, of - 1}) {
      const spec::JobSpec job = FoldJob(fold, of);
      ValidationDraw draw(job, 7);
      std::vector<int> drawn(kRows);
      for (int part = 0; part < kParts; ++part) {
        for (int& place : drawn) place += draw.Draws(part, 0, "a");
      }
      for (const int count : drawn) {  // 5 standard errors
        CHECK(std::fabs(count / double{kParts} - share) <
              5 * std::sqrt(share * (1 - share) / kParts));
      }
    }
  }
}

TEST_CASE("exact folds share a class that has few rows in each file") {
  for (const int64_t of : {2, 3, 4, 5, 10}) {
    for (const int64_t rows : {int64_t{1}, int64_t{2}, of - 1}) {
      for (const uint64_t seed : {1, 2, 3}) {
        std::vector<int64_t> drawn(static_cast<size_t>(of));
        for (int64_t fold = 0; fold < of; ++fold) {
          spec::JobSpec job = FoldJob(fold, of, seed);
          job.data.validation.exact = true;
          for (int32_t file = 0; file < 2 * of; ++file) {
            ValidationDraw draw(job, file);
            for (int64_t row = 0; row < rows; ++row) {
              drawn[static_cast<size_t>(fold)] += draw.Draws(0, 0, "rare");
            }
          }
        }
        for (const int64_t count : drawn) CHECK(count == 2 * rows);
      }
    }
  }
}

// Returns the largest difference between the sizes of exact folds of a part, and checks that each
// row is in one fold and that the folds have equal shares of each class.
int64_t DifferenceOfFolds(int64_t of, const std::vector<int32_t>& labels, uint64_t seed) {
  std::vector<int64_t> sizes;
  std::vector<int> taken(labels.size());
  std::map<int32_t, std::pair<int64_t, int64_t>> extremes;  // rows of a class in a fold
  for (int64_t fold = 0; fold < of; ++fold) {
    spec::JobSpec job = FoldJob(fold, of, seed);
    job.data.validation.exact = true;
    ValidationDraw draw(job, 0);
    std::map<int32_t, int64_t> rows;
    for (size_t r = 0; r < labels.size(); ++r) {
      const bool drawn = draw.Draws(0, labels[r], std::to_string(labels[r]));
      taken[r] += drawn;
      rows[labels[r]] += drawn;
    }
    sizes.push_back(0);
    for (const auto& [label, count] : rows) {
      auto& [least, most] = extremes.try_emplace(label, count, count).first->second;
      least = std::min(least, count);
      most = std::max(most, count);
      sizes.back() += count;
    }
  }
  CHECK(std::count(taken.begin(), taken.end(), 1) == std::ssize(taken));
  for (const auto& [label, pair] : extremes) CHECK(pair.second - pair.first <= 1);
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  return *most - *least;
}

TEST_CASE("exact folds of two classes differ by one row at most") {
  std::mt19937 random(3);
  for (const int64_t of : {2, 3, 5, 10}) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      std::vector<int32_t> labels(60 + random() % 100);
      for (int32_t& label : labels) label = random() % 3 == 0;
      CHECK(DifferenceOfFolds(of, labels, seed) <= 1);
    }
  }
}

TEST_CASE("exact folds of ten classes are about equal") {
  std::mt19937 random(3);
  int64_t sum = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    std::vector<int32_t> labels(60 + random() % 100);
    for (int32_t& label : labels) label = static_cast<int32_t>(random() % 10);
    sum += DifferenceOfFolds(5, labels, seed);
  }
  CHECK(sum < 180);  // about 300 if each class were divided alone
}

TEST_CASE("classes, parts, files and seeds have different draws") {
  const auto draws = [](uint64_t seed, int32_t file, int64_t part, const std::string& text,
                        int32_t label) {
    const spec::JobSpec job = Job(0.25, seed);
    ValidationDraw draw(job, file);
    std::vector<bool> drawn;
    for (int i = 0; i < 200; ++i) drawn.push_back(draw.Draws(part, label, text));
    return drawn;
  };
  const auto first = draws(1, 0, 0, "a", 0);
  CHECK(draws(1, 0, 0, "a", 5) == first);  // a class is its text, not its number in a shard
  CHECK(draws(2, 0, 0, "a", 0) != first);
  CHECK(draws(1, 1, 0, "a", 0) != first);
  CHECK(draws(1, 0, 1, "a", 0) != first);
  CHECK(draws(1, 0, 0, "b", 0) != first);
}

TEST_CASE("every class of a file has its share, also a rare one") {
  DataFixture f;
  std::string content = "a,y\n";
  for (int i = 0; i < 2000; ++i) {
    const char* label = i % 500 == 250 ? "rare" : i % 3 == 0 ? "some" : "most";
    content += std::to_string(i) + "," + label + "\n";
  }
  f.Train(content);
  f.job.data.validation.fraction = 0.25;
  f.job.data.validation.stratify = true;
  const auto profile = f.Profile();
  REQUIRE(profile.ok());
  const auto counts = Validated(*profile, f);
  CHECK(counts.at("rare") == 1);
  CHECK(std::fabs(static_cast<double>(counts.at("some")) - 666 / 4.0) < 1);
  CHECK(std::fabs(static_cast<double>(counts.at("most")) - 1330 / 4.0) < 1);
}

TEST_CASE("each stratum of a number has its share") {
  DataFixture f;
  f.job.model.task = spec::Task::kRegression;
  std::string content = "a,y\n";
  const std::vector<double> numbers = {-5, 0, 1, 9.5, 10, 99, 1e6};
  for (int i = 0; i < 7000; ++i) {
    content += std::to_string(i) + "," + ShortestDouble(numbers[static_cast<size_t>(i * i % 7)]);
    content += "\n";
  }
  f.Train(content);
  f.job.data.validation = {.fraction = 0.1, .stratify = true, .strata = {0, 10, 1000}};
  REQUIRE(f.Profile().ok());
  REQUIRE(f.shards.size() == 1);
  std::map<size_t, int64_t> rows, drawn;
  const auto count = [&f](int set, std::map<size_t, int64_t>* counts) {
    const DecodedRows& decoded = f.shards[0].rows.sets[static_cast<size_t>(set)];
    for (int64_t r = 0; r < decoded.rows; ++r) {
      const double target = decoded.targets.data()[r];
      ++(*counts)[target < 0 ? 0U : target < 10 ? 1U : target < 1000 ? 2U : 3U];
    }
  };
  count(kTrainSet, &rows);
  count(kValidationSet, &rows);
  count(kValidationSet, &drawn);
  REQUIRE(rows.size() == 3);  // the squares modulo 7 are 0, 1, 2 and 4
  for (const auto& [stratum, of] : rows) {
    CHECK(std::fabs(static_cast<double>(drawn[stratum]) - 0.1 * static_cast<double>(of)) < 1);
  }
}

TEST_CASE("shards do not change the draw and are cut between parts") {
  DataFixture f;
  std::string content = "a,y\n";
  std::mt19937 random(5);
  std::map<std::string, int64_t> rows;
  while (static_cast<int64_t>(content.size()) < 3 * kStratumBytes + 1000) {
    const std::string label = random() % 50 == 0 ? "rare" : random() % 2 == 0 ? "x" : "z";
    ++rows[label];
    content += std::to_string(random()) + ".25," + label + "\n";
  }
  f.Train(content);
  f.job.data.validation.fraction = 0.2;
  f.job.data.validation.stratify = true;
  f.job.data.shard_bytes = 16 << 20;
  const auto whole = f.Profile();
  REQUIRE(whole.ok());
  const auto counts = Validated(*whole, f);
  for (const auto& [label, count] : rows) {  // four parts
    CHECK(std::fabs(static_cast<double>(counts.at(label)) - 0.2 * static_cast<double>(count)) <= 4);
  }
  for (const int64_t shard_bytes : {int64_t{1} << 10, kStratumBytes + 1}) {
    f.job.data.shard_bytes = shard_bytes;
    const auto cut = f.Profile();
    REQUIRE(cut.ok());
    CHECK(f.shards.size() > 1);
    for (const spec::Shard& shard : f.plan.shards) CHECK(shard.begin % kStratumBytes == 0);
    CHECK(Validated(*cut, f) == counts);
    CHECK(cut->train_rows == whole->train_rows);
  }
}

TEST_CASE("folds have equal class shares, each row once, for any cut") {
  DataFixture f;
  std::string content = "a,y\n";
  std::mt19937 random(5);
  std::map<std::string, int64_t> rows;
  int64_t all = 0;
  while (static_cast<int64_t>(content.size()) < kStratumBytes + kStratumBytes / 2) {
    const std::string label = random() % 1000 == 0 ? "rare" : random() % 4 == 0 ? "x" : "z";
    ++rows[label];
    content += std::to_string(all++) + "," + label + "\n";
  }
  f.Train(content);
  constexpr int64_t kFolds = 4;
  std::vector<int> taken(static_cast<size_t>(all));
  std::map<std::string, int64_t> sums;
  for (int64_t fold = 0; fold < kFolds; ++fold) {
    f.job.data.validation = FoldJob(fold, kFolds).data.validation;
    f.job.data.features.scale.kind = spec::ScaleKind::kNone;
    f.job.data.shard_bytes = 16 << 20;
    const auto whole = f.Profile();
    REQUIRE(whole.ok());
    const auto counts = Validated(*whole, f);
    for (const auto& [label, count] : rows) {  // two parts
      CHECK(std::fabs(static_cast<double>(counts.at(label)) - static_cast<double>(count) / kFolds) <
            2);
      sums[label] += counts.at(label);
    }
    const auto store = LoadRows({*f.files, f.plan, f.job}, *whole, f.All(*whole), f.shards, {});
    REQUIRE(store.ok());
    for (const double a : GatherAll(**store, spec::FileRole::kValidation).inputs) {
      ++taken.at(static_cast<size_t>(a));
    }
    f.job.data.shard_bytes = 1 << 10;
    const auto cut = f.Profile();
    REQUIRE(cut.ok());
    CHECK(f.shards.size() > 1);
    CHECK(Validated(*cut, f) == counts);
  }
  CHECK(sums == rows);
  CHECK(std::count(taken.begin(), taken.end(), 1) == all);
}

// Returns a table of one column with the labels `common` in turn, and `rare` at the end.
std::string Labelled(const std::vector<std::string>& common, const std::vector<std::string>& rare) {
  std::string text = "a,y\n";
  int64_t row = 0;
  for (; row < 120; ++row) {
    text += std::to_string(row % 7) + "," + common[static_cast<size_t>(row) % common.size()] + "\n";
  }
  for (const std::string& label : rare) text += std::to_string(row++ % 7) + "," + label + "\n";
  return text;
}

TEST_CASE("a fold may hold out all rows of a class in any spelling") {
  struct Row {
    std::vector<std::string> common, rare;
    std::vector<std::string> classes;  // classes with the rare rows held out
  };
  const Row rows[] = {
      {{"a", "b"}, {"c"}, {"a", "b", "c"}},
      {{"Yes", "yes", "no"}, {"maybe"}, {"Yes", "maybe", "no", "yes"}},
      {{"true", "1", "0"}, {"unsure"}, {"0", "1", "true", "unsure"}},
      {{"1", "1.0", "2"}, {"3"}, {"1", "2", "3"}},
      {{"a", "b"}, {"True", "true"}, {"True", "a", "b", "true"}},
  };
  for (const Row& row : rows) {
    bool held_out = false;
    for (int64_t fold = 0; fold < 3; ++fold) {
      DataFixture f;
      f.Train(Labelled(row.common, row.rare));
      f.job.data.validation.fold = fold;
      f.job.data.validation.of = 3;
      const auto profile = f.Profile();
      INFO(row.rare.front() << " in fold " << fold << ": " << profile.status().ToString());
      REQUIRE(profile.ok());
      int64_t trained = 0;
      for (const ProfiledShard& shard : f.shards) {
        for (const std::string& label : row.rare) {
          const auto found = shard.profile.labels.find(label);
          if (found != shard.profile.labels.end()) trained += found->second;
        }
      }
      // Loading fails if a row has no class.
      (void)f.AllRows();
      const bool noted = !profile->warnings.empty() &&
                         profile->warnings.front().find("no training row") != std::string::npos;
      if (trained == 0) {
        CHECK(profile->preprocessing.classes == row.classes);
        CHECK(noted);
      } else if (row.rare.size() == 1) {
        CHECK(!noted);
      }
      held_out = held_out || trained == 0;
    }
    CHECK((held_out || row.rare.size() > 1));
  }
}

TEST_CASE("many classes without training rows have one note") {
  std::vector<std::string> rare;
  for (int i = 0; i < 500; ++i) rare.push_back("r" + std::to_string(i));
  DataFixture f;
  f.Train(Labelled({"a", "b"}, rare));
  f.job.data.validation.fold = 0;
  f.job.data.validation.of = 2;
  const auto profile = f.Profile();
  REQUIRE(profile.status().ToString() == "OK");
  REQUIRE(!profile->warnings.empty());
  CHECK(profile->warnings.size() < 5);
  CHECK(profile->warnings.front().find("classes have no training row ('r") != std::string::npos);
}

TEST_CASE("a class with a single row stays in training, with a note") {
  DataFixture f;
  f.Train(Labelled({"a", "b"}, {"rare"}));
  f.job.data.validation = {.fraction = 0.2, .stratify = true, .exact = true};
  const auto profile = f.Profile();
  REQUIRE(profile.status().ToString() == "OK");
  CHECK(profile->preprocessing.classes.size() == 3);
  REQUIRE(!profile->warnings.empty());
  CHECK(profile->warnings.front().find("a single row ('rare')") != std::string::npos);
}

TEST_CASE("a fold that leaves one class in training fails") {
  for (int64_t fold = 0; fold < 3; ++fold) {
    DataFixture f;
    f.Train(Labelled({"a"}, {"b"}));
    f.job.data.validation.fold = fold;
    f.job.data.validation.of = 3;
    const auto profile = f.Profile();
    const bool held_out = f.shards.front().profile.labels.size() == 1;
    CHECK(profile.ok() != held_out);
  }
}

TEST_CASE("dropped rows do not count") {
  const auto validated = [](bool nulls) {
    DataFixture f;
    f.job.data.features.nulls.kind = spec::NullKind::kDrop;
    std::string content = "a,y\n";
    for (int i = 0; i < 300; ++i) {
      content += std::to_string(1000 + i) + "," + std::to_string(i % 2) + "\n";
      if (nulls && i % 3 == 0) content += ",1\n";
    }
    f.Train(content);
    f.job.data.validation.fraction = 0.3;
    f.job.data.validation.stratify = true;
    const auto profile = f.Profile();
    REQUIRE(profile.ok());
    const auto store = LoadRows({*f.files, f.plan, f.job}, *profile, f.All(*profile), f.shards, {});
    REQUIRE(store.ok());
    return GatherAll(**store, spec::FileRole::kValidation).inputs;
  };
  CHECK(validated(true) == validated(false));
}

}  // namespace
}  // namespace espalier::data
