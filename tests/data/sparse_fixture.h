// Synthetic wide sparse tables, and their path to the network and back.
#pragma once

#include <cmath>
#include <map>
#include <random>

#include "src/data/features/sparse_choice.h"
#include "tests/data/fixture.h"

namespace espalier::data {

inline constexpr int32_t kWidth = 1500;

struct Table {
  std::vector<std::map<int32_t, double>> rows;  // by feature, from 0
  std::vector<int> labels;

  std::string Libsvm() const {
    std::string text;
    for (size_t r = 0; r < rows.size(); ++r) {
      text += std::to_string(labels[r]);
      for (const auto& [feature, value] : rows[r]) {
        text += " " + std::to_string(feature + 1) + ":" + Number(value);
      }
      text += "\n";
    }
    return text;
  }
  std::string Csv() const {
    std::string text;
    for (size_t r = 0; r < rows.size(); ++r) {
      text += std::to_string(labels[r]);
      for (int32_t f = 0; f < kWidth; ++f) text += "," + Number(At(r, f));
      text += "\n";
    }
    return text;
  }
  double At(size_t row, int32_t feature) const {
    const auto found = rows[row].find(feature);
    return found == rows[row].end() ? 0 : found->second;
  }
  static std::string Number(double value) {
    if (value != value) return "nan";
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
  }
};

enum class Kind : uint8_t { kBytes, kFloats, kDoubles };

// Makes rows with a mean of `entries` numbers. The first feature is always 1, and some rows have no
// other.
inline Table MakeTable(Kind kind, int rows, int entries, uint64_t seed) {
  std::mt19937_64 random(seed);
  Table table;
  for (int r = 0; r < rows; ++r) {
    auto& row = table.rows.emplace_back();
    table.labels.push_back(static_cast<int>(random() % 2));
    row[0] = 1;
    for (int e = 0; r % 7 != 0 && e < entries; ++e) {
      const auto n = static_cast<double>(random() % 200) + 1;
      row[static_cast<int32_t>(random() % kWidth)] = kind == Kind::kBytes    ? n
                                                     : kind == Kind::kFloats ? n / 8 - 10.03125
                                                                             : n / 3 - 30;
    }
  }
  return table;
}

class SparseFixture : public DataFixture {
 public:
  SparseFixture() {
    job.data.csv.header = false;
    job.data.label = {int64_t{0}};
    job.data.features.columns = {spec::ColumnRange{1, kWidth}};
  }

  // Returns the training rows as dense rows.
  std::vector<double> Inputs(const RowStoreOptions& options = {}) {
    const auto profile = Profile();
    INFO(profile.status().ToString());
    REQUIRE(profile.ok());
    result = *profile;
    const auto loaded = LoadRows({*files, plan, job}, *profile, All(*profile), shards, options);
    INFO(loaded.status().ToString());
    REQUIRE(loaded.ok());
    memory_bytes = (*loaded)->memory_bytes();
    spill_bytes = (*loaded)->spill_bytes();
    return Gather(**loaded);
  }

  std::vector<double> Gather(const RowStore& store) {
    const plan::Range range = store.rows(spec::FileRole::kTrain);
    std::vector<int64_t> rows;  // backwards, as after a shuffle
    for (int64_t r = range.end; r-- > range.begin;) rows.push_back(r);
    const size_t width = static_cast<size_t>(store.features());
    std::vector<double> inputs(rows.size() * width);
    spec::SparseRows<double> sparse;
    labels.assign(rows.size(), -1);
    codes.assign(rows.size() * static_cast<size_t>(store.coded()), -2);
    store.Gather<double>(spec::FileRole::kTrain, rows, inputs.data(), codes.data(), labels.data(),
                         nullptr, nullptr, &sparse);
    if (!store.sparse()) return inputs;
    REQUIRE(sparse.ends.size() == rows.size());
    for (size_t r = 0; r < rows.size(); ++r) {
      double* row = inputs.data() + r * width;
      if (!sparse.base.empty()) std::copy(sparse.base.begin(), sparse.base.end(), row);
      for (int64_t e = sparse.begin(static_cast<int64_t>(r)), last = -1; e < sparse.ends[r]; ++e) {
        REQUIRE(sparse.columns[e] > last);
        last = sparse.columns[e];
        row[last] += sparse.values[e];
      }
    }
    return inputs;
  }

  // Returns the preprocessed table, the last row first.
  std::vector<double> Expected(const Table& table) const {
    std::vector<double> inputs;
    for (size_t r = table.rows.size(); r-- > 0;) {
      for (int32_t f = 0; f < kWidth; ++f) {
        const spec::FittedFeature& fitted = result.preprocessing.features[static_cast<size_t>(f)];
        const double x = table.At(r, f);
        inputs.push_back(((x == x ? x : fitted.null_value) - fitted.shift) * fitted.factor);
      }
    }
    return inputs;
  }

  void CheckInputs(const std::vector<double>& inputs, const Table& table) const {
    const std::vector<double> expected = Expected(table);
    REQUIRE(inputs.size() == expected.size());
    double worst = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      worst = std::max(worst, std::fabs(inputs[i] - expected[i]));
    }
    CHECK(worst < 1e-12);
    for (size_t i = 0; i < labels.size(); ++i) {
      CHECK(classes()[static_cast<size_t>(labels[i])] ==
            std::to_string(table.labels[labels.size() - 1 - i]));
    }
  }
  const std::vector<std::string>& classes() const { return result.preprocessing.classes; }

  spec::TableProfile result;
  std::vector<int32_t> labels, codes;
  int64_t memory_bytes = 0, spill_bytes = 0;
};

}  // namespace espalier::data
