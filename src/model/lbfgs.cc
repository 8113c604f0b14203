#include "src/model/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/check.h"
#include "src/model/tile_sum.h"

namespace espalier::model {
namespace {

constexpr double kGradientNormMin = 1e-8, kStepNormMin = 1e-10;

// One call of AdvanceLbfgs.
template <typename T>
class Advance {
 public:
  Advance(const LbfgsJob<T>& job, LbfgsState& state, T* parameters, T* gradient, T* const* slots)
      : job_(job),
        spec_(job.train.optimizer),
        s_(state),
        parameters_(parameters),
        gradient_(gradient),
        slots_(slots) {}

  void Run(double mean_loss, double inverse_weight) {
    double objective = std::numeric_limits<double>::quiet_NaN(), slope = objective;
    if (!s_.nonfinite) {
      objective = mean_loss + Penalize(inverse_weight);
      slope = s_.begun ? Dot(gradient_, Slot(kLbfgsDirection)) : 0;
    }
    s_.nonfinite = false;
    if (!s_.begun) {
      s_.begun = true;
      s_.first_objective = objective;
      return MoveTo(objective);
    }
    switch (Judge(objective, slope)) {
      case SearchAnswer::kAsk:
        s_.verdict = LbfgsVerdict::kSearching;
        return Ask();
      case SearchAnswer::kTake:
        s_.failed = false;
        ++s_.iterations;
        s_.objectives.push_back(objective);
        if (s_.objectives.size() > kLbfgsMemory) s_.objectives.erase(s_.objectives.begin());
        Remember();
        return MoveTo(objective);
      case SearchAnswer::kFail:
        return Fail();
    }
  }

 private:
  T* Slot(size_t k) const { return slots_[k]; }
  // Return the parts of the `age`-th newest pair.
  T* Step(int64_t age) const { return slots_[PairAt(age)]; }
  T* Change(int64_t age) const { return slots_[PairAt(age) + 1]; }
  size_t PairAt(int64_t age) const {
    const int64_t place = (s_.newest - age + spec_.history) % spec_.history;
    return kLbfgsPairs + 2 * static_cast<size_t>(place);
  }

  // Calls body(begin, end) for runs of elements that together cover all.
  template <typename Body>
  void OverRuns(Body&& body) const {
    job_.each(static_cast<int64_t>(job_.chunks.size()), [&](int64_t c) {
      const plan::Chunk& chunk = job_.chunks[c];
      body(chunk.offset, chunk.offset + chunk.size);
    });
  }
  // Returns the sum of term(i) over all elements.
  template <typename Term>
  double Sum(Term&& term) const {
    std::vector<double> sums(job_.chunks.size());
    job_.each(static_cast<int64_t>(sums.size()), [&](int64_t c) {
      const plan::Chunk& chunk = job_.chunks[c];
      sums[c] = TileSum(chunk.size, [&](int64_t i) { return term(chunk.offset + i); });
    });
    double total = 0;
    for (double sum : sums) total += sum;
    return total;
  }
  double Dot(const T* a, const T* b) const {
    return Sum([=](int64_t i) { return static_cast<double>(a[i]) * static_cast<double>(b[i]); });
  }
  double Norm(const T* a) const { return std::sqrt(Dot(a, a)); }
  // Computes into += factor * from.
  void Add(double factor, const T* from, T* into) const {
    const T f = static_cast<T>(factor);
    OverRuns([=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) into[i] += f * from[i];
    });
  }

  // Converts gradient_ to that of the objective. Returns the sum of the penalties.
  double Penalize(double inverse_weight) const {
    std::vector<double> sums(job_.chunks.size());
    job_.each(static_cast<int64_t>(sums.size()), [&](int64_t c) {
      const plan::Chunk& chunk = job_.chunks[c];
      const bool trained = !IsFrozen(job_.shape, chunk);
      const int64_t weights = chunk.offset + WeightsOf(job_.shape, chunk);
      const int64_t end = chunk.offset + chunk.size;
      sums[c] = PenalizeRun(chunk.offset, weights, inverse_weight, trained) +
                PenalizeRun(weights, end, inverse_weight, trained && job_.train.decay_biases);
    });
    double total = 0;
    for (double sum : sums) total += sum;
    return total;
  }
  double PenalizeRun(int64_t begin, int64_t end, double inverse_weight, bool decays) const {
    const double decay = decays ? job_.train.weight_decay : 0, l1 = decays ? job_.train.l1 : 0;
    const T scale = static_cast<T>(inverse_weight);
    const T decay_t = static_cast<T>(decay), l1_t = static_cast<T>(l1);
    T* g = gradient_ + begin;
    const T* p = parameters_ + begin;
    for (int64_t i = 0; i < end - begin; ++i) {
      g[i] = g[i] * scale + (p[i] > 0 ? l1_t : p[i] < 0 ? -l1_t : T{0}) + decay_t * p[i];
    }
    if (decay == 0 && l1 == 0) return 0;
    return TileSum(end - begin, [=](int64_t i) {
      const double x = p[i];
      return decay / 2 * x * x + l1 * std::fabs(x);
    });
  }

  SearchAnswer Judge(double objective, double slope) {
    if (spec_.line_search == spec::LineSearchKind::kNone) {
      return std::isfinite(objective) ? SearchAnswer::kTake : SearchAnswer::kFail;
    }
    const SearchAnswer answer = Answer(s_.search, objective, slope, spec_.max_line_search);
    const bool took = answer == SearchAnswer::kTake;
    const bool moves = !took || s_.search.t * Norm(Slot(kLbfgsGradient)) >= kStepNormMin;
    return moves ? answer : SearchAnswer::kFail;
  }

  // Stores the pair of the step from the newest iterate to `parameters_`.
  void Remember() {
    const int64_t newest = s_.pairs == 0 ? 0 : (s_.newest + 1) % spec_.history;
    T* const step = slots_[kLbfgsPairs + 2 * static_cast<size_t>(newest)];
    T* const change = slots_[kLbfgsPairs + 2 * static_cast<size_t>(newest) + 1];
    const T* x = Slot(kLbfgsIterate);
    const T* g = Slot(kLbfgsGradient);
    OverRuns([&, this](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        step[i] = parameters_[i] - x[i];
        change[i] = gradient_[i] - g[i];
      }
    });
    const double curvature = Dot(step, change);
    // The new pair overwrites the oldest one, which is lost in either case.
    if (s_.pairs == spec_.history) --s_.pairs;
    if (!(curvature > std::numeric_limits<double>::epsilon() * Dot(change, change))) return;
    s_.newest = newest;
    ++s_.pairs;
  }

  void MoveTo(double objective) {
    s_.objective = objective;
    T* const x = Slot(kLbfgsIterate);
    T* const g = Slot(kLbfgsGradient);
    OverRuns([&, this](int64_t begin, int64_t end) {
      std::copy(parameters_ + begin, parameters_ + end, x + begin);
      std::copy(gradient_ + begin, gradient_ + end, g + begin);
    });
    s_.verdict = Converged() ? LbfgsVerdict::kConverged : LbfgsVerdict::kMoved;
    if (s_.verdict == LbfgsVerdict::kMoved) SetOut();
  }

  bool Converged() const {
    const double norm = Norm(Slot(kLbfgsGradient));
    if (norm <= std::max(spec_.tolerance * std::fabs(s_.objective), kGradientNormMin)) return true;
    if (s_.objectives.size() < kLbfgsMemory) return false;
    const auto [least, most] = std::minmax_element(s_.objectives.begin(), s_.objectives.end());
    return *most - *least <= spec_.tolerance * std::fabs(s_.first_objective);
  }

  // Computes direction = -H g.
  void Direct() const {
    T* const d = Slot(kLbfgsDirection);
    const T* g = Slot(kLbfgsGradient);
    OverRuns([=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) d[i] = -g[i];
    });
    if (s_.pairs == 0) return;
    std::vector<double> curvature(static_cast<size_t>(s_.pairs)), share(curvature.size());
    for (int64_t age = 0; age < s_.pairs; ++age) {
      curvature[age] = Dot(Step(age), Change(age));
      share[age] = Dot(Step(age), d) / curvature[age];
      Add(-share[age], Change(age), d);
    }
    const T scale = static_cast<T>(curvature[0] / Dot(Change(0), Change(0)));
    OverRuns([=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) d[i] *= scale;
    });
    for (int64_t age = s_.pairs - 1; age >= 0; --age) {
      Add(share[age] - Dot(Change(age), d) / curvature[age], Step(age), d);
    }
  }

  double FirstStep() const {
    if (s_.iterations > 0) return spec_.learning_rate;
    if (spec_.line_search == spec::LineSearchKind::kStrongWolfe) {
      return spec_.learning_rate / Norm(Slot(kLbfgsDirection));
    }
    const T* g = Slot(kLbfgsGradient);
    const double sum = Sum([=](int64_t i) { return std::fabs(static_cast<double>(g[i])); });
    return spec_.learning_rate * std::min(1.0, 1 / sum);
  }

  // Starts a new direction from the newest iterate, at its first point.
  void SetOut() {
    Direct();
    double slope = Dot(Slot(kLbfgsGradient), Slot(kLbfgsDirection));
    if (!(slope < 0) && s_.pairs > 0) {
      s_.pairs = 0;
      s_.failed = true;
      Direct();
      slope = Dot(Slot(kLbfgsGradient), Slot(kLbfgsDirection));
    }
    s_.search = BeginSearch(s_.objective, slope, FirstStep());
    Ask();
  }

  void Ask() const {
    const T t = static_cast<T>(s_.search.t);
    const T* x = Slot(kLbfgsIterate);
    const T* d = Slot(kLbfgsDirection);
    OverRuns([&, this](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) parameters_[i] = x[i] + t * d[i];
    });
  }

  void Fail() {
    if (s_.failed || spec_.line_search == spec::LineSearchKind::kNone) {
      s_.verdict = LbfgsVerdict::kStuck;
      return;
    }
    s_.failed = true;
    s_.pairs = 0;
    s_.verdict = LbfgsVerdict::kSearching;
    SetOut();
  }

  const LbfgsJob<T>& job_;
  const spec::OptimizerSpec& spec_;
  LbfgsState& s_;
  T* const parameters_;
  T* const gradient_;
  T* const* const slots_;
};

}  // namespace

template <typename T>
void AdvanceLbfgs(const LbfgsJob<T>& job, double mean_loss, double inverse_weight,
                  LbfgsState& state, T* parameters, T* gradient, T* const* slots) {
  ESPALIER_CHECK(state.begun || !state.nonfinite, "no iterate to go back to");
  Advance<T>(job, state, parameters, gradient, slots).Run(mean_loss, inverse_weight);
}

#define ESPALIER_INSTANTIATE(T) \
  template void AdvanceLbfgs<T>(const LbfgsJob<T>&, double, double, LbfgsState&, T*, T*, T* const*);
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::model
