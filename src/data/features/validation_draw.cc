#include "src/data/features/validation_draw.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/data/features/feature_decoder.h"
#include "src/plan/rows.h"

namespace espalier::data {
namespace {

// Purposes of the random numbers of a stratum.
constexpr uint64_t kPhase = 0, kPlace = 1, kLaterPlace = 2;
// Purpose of the random numbers of a class. Other numbers of key_ have the file in this place.
constexpr uint64_t kTurns = uint64_t{1} << 63;
constexpr double kFar = 0x1p62;  // no file has this many rows

// Returns the step between the turns of successive parts. It has no common factor with the number
// of folds, so that each of them has its turn. It is close to the golden section, so that parts
// with several rows of a class do not repeat the folds of the part before.
int64_t TurnStep(int64_t folds) {
  const double golden = 0.618 * static_cast<double>(folds);
  int64_t best = 1;
  for (int64_t step = 1; step < folds; ++step) {
    const bool closer = std::fabs(static_cast<double>(step) - golden) <
                        std::fabs(static_cast<double>(best) - golden);
    if (closer && std::gcd(step, folds) == 1) best = step;
  }
  return best;
}

}  // namespace

ValidationDraw::ValidationDraw(const spec::JobSpec& job, int32_t file)
    : validation_(job.data.validation),
      fraction_(job.data.validation.fraction),
      by_part_(job.data.validation.by_part()),
      stratified_(job.data.validation.stratify),
      file_(static_cast<uint64_t>(file)),
      turn_step_(TurnStep(job.data.validation.of.value_or(1))),
      key_(MakeKey(job.data.validation.seed.value_or(job.train.seed), RandomUse::kValidation)) {
  for (size_t i = 0; i <= validation_.strata.size(); ++i) names_.push_back(std::to_string(i));
}

bool ValidationDraw::Draws(uint64_t position) const {
  const double place = UnitDouble(RandomBits(key_, file_, position));
  if (!validation_.fold) return place < fraction_;
  return static_cast<int64_t>(place * static_cast<double>(*validation_.of)) == *validation_.fold;
}

// Returns the fold of the next row of a class. Each run of the class has one row for each fold.
int64_t ValidationDraw::ExactFold(Stratum* s) {
  const int64_t of = *validation_.of;
  if (s->folds.empty()) {
    const bool first = s->run == 0;
    const uint64_t seed = first ? RandomBits(key_, kTurns, s->name)
                                : RandomBits(s->key, kPlace, static_cast<uint64_t>(s->run));
    const plan::KeyedPermutation places(of, seed, 0, 0);
    const int64_t turn = first ? (static_cast<int64_t>(file_) + s->part) % of * turn_step_ % of : 0;
    ++s->run;
    s->folds.resize(static_cast<size_t>(of));
    for (int64_t fold = 0; fold < of; ++fold) {
      s->folds[static_cast<size_t>((places.At(fold) + turn) % of)] = static_cast<int16_t>(fold);
    }
  }
  // The first row of a class takes its turn. Other rows go to the smallest fold.
  const auto smaller = [this](int64_t a, int64_t b) { return FoldRows(a) < FoldRows(b); };
  const auto next =
      s->rows == 0 ? s->folds.begin() : std::min_element(s->folds.begin(), s->folds.end(), smaller);
  const int64_t fold = *next;
  s->folds.erase(next);
  ++FoldRows(fold);
  return fold;
}

// Begins a run with the next row. A run has at least one row, because the fraction is below 1.
void ValidationDraw::BeginRun(Stratum* s) const {
  if (validation_.fold) {
    const uint64_t seed = RandomBits(s->key, kPlace, static_cast<uint64_t>(s->run));
    const plan::KeyedPermutation places(*validation_.of, seed, 0, 0);
    ++s->run;
    s->run_end = s->rows + *validation_.of;
    s->drawn = s->rows + places.At(*validation_.fold);
    return;
  }
  const double place = UnitDouble(RandomBits(s->key, kPlace, static_cast<uint64_t>(s->run)));
  ++s->run;
  const double end = std::floor(static_cast<double>(s->run) / fraction_ + s->phase);
  s->run_end = static_cast<int64_t>(std::min(end, kFar));  // a fraction may be almost 0
  // A class with one row is useful only in training.
  const bool spares = validation_.exact && s->rows == 0 && s->run_end > 1;
  const int64_t begin = s->rows + spares;
  s->drawn = begin + static_cast<int64_t>(place * static_cast<double>(s->run_end - begin));
}

// Returns whether the next row of a class is drawn, so that the whole part has the share too.
bool ValidationDraw::DrawsBalanced(Stratum* s) {
  if (s->drawn < s->rows) return false;  // the run has its row
  const double missing =
      fraction_ * static_cast<double>(part_rows_) - static_cast<double>(part_drawn_);
  const bool spared = s->rows == 0 && s->run_end > 1;
  if (missing >= 1 && !spared) s->drawn = s->rows;
  const int64_t begin = s->rows + 1;
  if (missing <= 0 && s->drawn == s->rows && begin < s->run_end) {
    const double place = UnitDouble(RandomBits(s->key, kLaterPlace, static_cast<uint64_t>(begin)));
    s->drawn = begin + static_cast<int64_t>(place * static_cast<double>(s->run_end - begin));
  }
  const bool drawn = s->drawn == s->rows;
  part_drawn_ += drawn;
  return drawn;
}

bool ValidationDraw::Draws(int64_t part, int32_t label, std::string_view text) {
  return stratified_ ? DrawsOf(part, label, text) : DrawsOf(part, 0, {});
}

bool ValidationDraw::Draws(int64_t part, double target) {
  const std::vector<double>& bounds = validation_.strata;
  const auto above = std::upper_bound(bounds.begin(), bounds.end(), target);
  const auto stratum = static_cast<size_t>(above - bounds.begin());
  return Draws(part, static_cast<int32_t>(stratum), names_[stratum]);
}

bool ValidationDraw::DrawsOf(int64_t part, int32_t label, std::string_view text) {
  if (static_cast<size_t>(label) >= strata_.size()) strata_.resize(static_cast<size_t>(label) + 1);
  Stratum& s = strata_[static_cast<size_t>(label)];
  if (s.part != part) {
    s = Stratum();
    s.part = part;
    s.name = static_cast<uint64_t>(HashedCode(text, int64_t{1} << 32));
    const uint64_t bits = RandomBits(key_, file_ << 32 | s.name, static_cast<uint64_t>(part));
    s.key = {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
    s.phase = UnitDouble(RandomBits(s.key, kPhase, 0));
  }
  if (part != part_) {
    part_ = part;
    part_rows_ = part_drawn_ = 0;
    fold_rows_.assign(static_cast<size_t>(validation_.of.value_or(0)), 0);
  }
  ++part_rows_;
  bool drawn = false;
  if (validation_.fold && validation_.exact) {
    drawn = ExactFold(&s) == *validation_.fold;
  } else {
    if (s.rows == s.run_end) BeginRun(&s);
    drawn = validation_.exact && stratified_ ? DrawsBalanced(&s) : s.rows == s.drawn;
  }
  ++s.rows;
  return drawn;
}

}  // namespace espalier::data
