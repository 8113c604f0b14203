// Decides which rows of a training file go to validation by `validation.fraction`, or by `fold` of
// `of`.
//
// Plain draw: a keyed hash of its identity decides each row independently. Folds divide the range
// of the hash into equal parts, so that each row is in exactly one fold.
//
// Stratified split (`stratify`): every class has the same fraction. Folds are fractions of 1/of.
// The rows of a run are distributed over the folds in an order drawn for the run. Each row is
// therefore in exactly one fold here too. With `exact`, all rows count as one class of this scheme.
// In a regression, an interval between two bounds of `strata` is a class.
//
// The rule must not depend on the division into shards and must not need a separate pass. It
// therefore uses parts of the file that no shard divides: kStratumBytes of (decompressed) text, or
// a row group of Parquet. Within each part, the rows of each class are cut into runs of 1/fraction,
// and one random row of each run is drawn. After any number of rows, the number drawn differs from
// the fraction by less than one row. (The row is random because a fixed one would lose, for
// example, one of five sensors whose rows alternate. If 1/fraction is not an integer, the lengths
// of runs differ by one row, at random.)
//
// With `exact`, the parts and files take turns: the fold of the first row of a class in a part
// depends on the numbers of the part and of the file. A class with one row in each of `of`
// successive parts therefore has a row in every fold. The next rows go to the folds with the fewest
// rows in the part, among those that the run of the class has left. So the sizes of folds differ by
// one row with one or two classes, and hardly by more with many.
//
// With `exact` and `stratify`, a class draws earlier if the part misses a row, and later if it has
// one too many, within its run. So the share of all rows is exact too with one or two classes, and
// hardly more than one row off with many.
//
// In a file with one part, all classes have their share up to one row. In longer files, the
// rounding errors of the parts are independent. They add up to much less than the error of
// independent draws. Classes with less than one run per part are the exception: their error is that
// of independent draws. Rows that are bad or dropped do not count.
//
// Thread rule: one thread per draw.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/random.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

inline constexpr int64_t kStratumBytes = 1 << 20;

class ValidationDraw {
 public:
  // For the rows of one shard, in file order.
  ValidationDraw(const spec::JobSpec& job, int32_t file);

  bool active() const { return validation_.by_hash(); }
  bool by_part() const { return by_part_; }
  bool stratified() const { return stratified_; }
  // Returns whether the row at `position` goes to validation. REQUIRES: !by_part().
  bool Draws(uint64_t position) const;
  // Returns the same for the next good row of a part. `label` and `text` are the number and text of
  // its class in the shard, which matter only with `stratify`. REQUIRES: by_part().
  bool Draws(int64_t part, int32_t label, std::string_view text);
  // Returns the same in a regression. `target` is the label of the row. REQUIRES: by_part().
  bool Draws(int64_t part, double target);

 private:
  // Rows of a class in a part, and its current run.
  struct Stratum {
    int64_t part = -1;
    uint64_t name = 0;  // hash of its class
    PhiloxKey key;
    // Phase in [0, 1): run r ends before row r / fraction + phase, rounded down. Folds ignore it,
    // because their runs are whole numbers of rows.
    double phase = 0;
    int64_t rows = 0;  // rows so far
    int64_t run = 0, run_end = 0, drawn = 0;
    std::vector<int16_t> folds = {};  // exact folds: those of the run without a row, in its order
  };
  bool DrawsOf(int64_t part, int32_t label, std::string_view text);
  int64_t ExactFold(Stratum* stratum);
  bool DrawsBalanced(Stratum* stratum);
  int64_t& FoldRows(int64_t fold) { return fold_rows_[static_cast<size_t>(fold)]; }
  void BeginRun(Stratum* stratum) const;

  const spec::ValidationSpec& validation_;  // part of a job that outlives this
  const double fraction_;
  const bool by_part_, stratified_;
  const uint64_t file_;
  const int64_t turn_step_;
  const PhiloxKey key_;
  std::vector<Stratum> strata_;             // by label
  std::vector<std::string> names_;          // regression: of the strata
  int64_t part_ = -1;                       // part of the last row
  int64_t part_rows_ = 0, part_drawn_ = 0;  // rows of the part, and those of them that were drawn
  std::vector<int64_t> fold_rows_;          // exact folds: rows of the part, by fold
};

}  // namespace espalier::data
