// Which rows of a training file `validation.fraction`, or `fold` of `of`, takes for validation.
//
// Plain: each row by a keyed hash of its identity, by itself. Folds cut the hash's range into equal
// parts, so that each row is in one of them.
//
// With `exact` all rows count as one class of what follows.
//
// With `stratify`: of every class the same share; folds are fractions of 1/of, and a run's rows are
// dealt out to them, in an order drawn for it, so that each row is in one of them here too. The
// rule must not depend on how shards are cut, nor need a pass of its own, so it goes by parts of
// the file that no shard divides: kStratumBytes of (decompressed) text, a row group of Parquet. In
// each of them the rows of each class are cut into runs of 1/fraction, and of each run one row is
// drawn, any of them: after any number of rows the share is that of the fraction up to less than
// one row. (Which one is random, or a table whose rows take turns, as those of five sensors do,
// would lose one of them. Where 1/fraction is broken runs differ by a row, at random.) So in a file
// of one part all classes have their share up to a row; in longer ones the parts' rounding errors,
// which are independent, add up to far less than rows drawn by themselves give, except for classes
// of less than a run a part, which are drawn like these. Rows that are bad or dropped do not count.
//
// Thread rule: one thread a draw.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/base/random.h"
#include "src/spec/job_spec.h"

namespace espalier::data {

inline constexpr int64_t kStratumBytes = 1 << 20;

class ValidationDraw {
 public:
  // Of the rows of one shard, in the order of the file.
  ValidationDraw(const spec::JobSpec& job, int32_t file);

  bool active() const { return validation_.by_hash(); }
  bool by_part() const { return by_part_; }
  bool stratified() const { return stratified_; }
  // Whether the row at `position` goes to validation. REQUIRES: !by_part().
  bool Draws(uint64_t position) const;
  // The same of the next good row of a part, of the class that has this number and text in the
  // shard; only with `stratify` they matter. REQUIRES: by_part().
  bool Draws(int64_t part, int32_t label, std::string_view text);

 private:
  // A class's rows in a part, and their run at hand.
  struct Stratum {
    int64_t part = -1;
    PhiloxKey key;
    double phase = 0;  // in [0, 1): run r ends before row r / fraction + phase, rounded down; of
                       // folds, whose runs are whole numbers of rows, 0
    int64_t rows = 0;  // so far
    int64_t run = 0, run_end = 0, drawn = 0;
  };
  bool DrawsOf(int64_t part, int32_t label, std::string_view text);
  void BeginRun(Stratum* stratum) const;

  const spec::ValidationSpec& validation_;  // of a job that outlives this
  const double fraction_;
  const bool by_part_, stratified_;
  const uint64_t file_;
  const PhiloxKey key_;
  std::vector<Stratum> strata_;  // by label
};

}  // namespace espalier::data
