#include "src/scoring/residual_file.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "src/base/random.h"
#include "tests/fuzz/mutate.h"

namespace espalier::scoring {
namespace {

std::vector<TargetResiduals> SomeResiduals(size_t targets, int rows, double scale) {
  std::vector<TargetResiduals> residuals(targets);
  const PhiloxKey key = MakeKey(5, RandomUse::kSweep);
  for (size_t t = 0; t < targets; ++t) {
    for (int r = 0; r < rows; ++r) {
      const double truth = (UnitDouble(RandomBits(key, t, 2 * r)) - 0.5) * scale;
      const double said = truth + UnitDouble(RandomBits(key, t, 2 * r + 1)) - 0.4;
      residuals[t].grid.Add(truth, said);
      residuals[t].bins.Add(said - truth);
    }
  }
  return residuals;
}

bool Same(const std::vector<TargetResiduals>& a, const std::vector<TargetResiduals>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.grid == y.grid && x.bins == y.bins;
  });
}

TEST_CASE("residuals read back from their file unchanged") {
  for (const double scale : {1e-300, 1.0, 1e6, 1e300}) {
    for (const size_t targets : {size_t{1}, kResidualTargetsMax}) {
      const auto residuals = SomeResiduals(targets, 500, scale);
      const std::string text = EncodeResiduals(residuals);
      const auto again = DecodeResiduals(text, targets, 500);
      INFO(again.status().ToString());
      REQUIRE(again.ok());
      CHECK(Same(*again, residuals));
      CHECK((*again)[0].grid.rows() == 500);
      CHECK(EncodeResiduals(*again) == text);
    }
  }
  const auto none = DecodeResiduals(EncodeResiduals(std::vector<TargetResiduals>(2)), 2, 0);
  REQUIRE(none.ok());
  CHECK((*none)[1].grid == ResidualGrid());
  TargetResiduals most;  // both ends of the range
  for (const double end : {-1e300, 1e300, 0.0}) {
    most.grid.Add(end, -end);
    most.bins.Add(end);
  }
  CHECK(Same(*DecodeResiduals(EncodeResiduals({most}), 1, 3), {most}));
}

TEST_CASE("counts from the files of shards add up to those of all rows") {
  const auto a = SomeResiduals(1, 300, 10), b = SomeResiduals(1, 200, 1e4);
  Evaluation direct, told;
  for (const auto& shard : {a, b}) {
    AddResiduals(shard, &direct);
    AddResiduals(*DecodeResiduals(EncodeResiduals(shard), 1, 300), &told);
  }
  CHECK(Same(direct.residuals, told.residuals));
  CHECK(told.residuals[0].grid.rows() == 500);
}

TEST_CASE("a full grid fits into the largest readable file") {
  const std::vector<int64_t> cells(ResidualGrid::kSize, int64_t{1} << 40);
  const std::vector<int64_t> bins(ResidualBins::kSize, int64_t{1} << 40);
  const TargetResiduals full{ResidualGrid(-17, cells), ResidualBins(-17, bins)};
  const std::string text = EncodeResiduals(std::vector<TargetResiduals>(kResidualTargetsMax, full));
  CHECK(static_cast<int64_t>(text.size()) < kResidualBytesMax);
}

TEST_CASE("a malformed residual file is refused with its place") {
  const std::string head = "espalier-residuals 1\n";
  const auto error = [](const std::string& text) {
    const auto decoded = DecodeResiduals(text, 1, 10);
    return decoded.ok() ? "" : decoded.status().message();
  };
  CHECK(error(head + "3 0:1 65535:9\n-4 255:10\n") == "");
  for (const char* lines : {"",
                            "3 0:1\n",
                            "3\n4",
                            "3\n4\n5\n",
                            "3 0:11\n4\n",
                            "3 0:6 1:5\n4\n",
                            "3 0:0\n4\n",
                            "3 0:-1\n4\n",
                            "3 1:1 1:1\n4\n",
                            "3 1:1 0:1\n4\n",
                            "3 65536:1\n4\n",
                            "3\n4 256:1\n",
                            "3 -1:1\n4\n",
                            "991\n4\n",
                            "-961\n4\n",
                            "x\n4\n",
                            "3  0:1\n4\n",
                            "3 0 1\n4\n",
                            "3 0:99999999999999999999\n4\n",
                            "3 0:1.5\n4\n",
                            "3 0:1\r\n4\n"}) {
    INFO(lines);
    CHECK(error(head + lines).find("damaged at byte") != std::string::npos);
  }
  CHECK(error("espalier-residuals 2\n3\n4\n") == "a shard's residuals are damaged at byte 0");
  CHECK(ResidualName(12) == "residuals-00012");
}

TEST_CASE("a mutated residual file is refused or within its rows", "[one thread]") {
  const std::string text = EncodeResiduals(SomeResiduals(2, 40, 5));
  int64_t read = 0;
  for (uint64_t i = 0; i < 5000; ++i) {
    const auto decoded = DecodeResiduals(Mutated(text, "0123456789 :-\n", i), 2, 40);
    if (!decoded.ok()) {
      CHECK(decoded.status().code() == StatusCode::kDataLoss);
      continue;
    }
    ++read;
    for (const TargetResiduals& target : *decoded) {
      CHECK((target.grid.rows() <= 40 && target.bins.rows() <= 40));
    }
    Evaluation all;
    AddResiduals(*decoded, &all);
    AddResiduals(SomeResiduals(2, 1, 1e290), &all);  // cells of any width can be joined
    CHECK(EncodeResiduals(*decoded).starts_with("espalier-residuals 1\n"));
  }
  CHECK(read > 0);
}

}  // namespace
}  // namespace espalier::scoring
