#include "src/model/trials.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "src/base/aligned.h"
#include "src/base/check.h"
#include "src/model/vector_math.h"

namespace espalier::model {
namespace {

constexpr int64_t kTemperatureSteps = 8;  // on each side of 1
constexpr double kStepsAnOctave = 4;
constexpr int64_t kShareSteps = 20;
// Standard deviation of the prior on the natural logarithm of the temperature.
constexpr double kPriorDeviation = 0.25;

using Doubles = AlignedVector<double>;

// Computes 1 / (1 + exp(-z)) of each number, and of its negative.
void BothSides(const Doubles& z, Doubles* ones, Doubles* zeros) {
  for (size_t i = 0; i < z.size(); ++i) (*zeros)[i] = -z[i];
  const auto size = static_cast<int64_t>(z.size());
  Sigmoid(zeros->data(), zeros->data(), size);
  Sigmoid(z.data(), ones->data(), size);
}

// The contributions of a row: the loss of its prediction, by temperature.
class RowTrials {
 public:
  RowTrials(const NetworkShape& shape, const Trials& trials, double* sums)
      : shape_(shape),
        trials_(trials),
        sums_(sums),
        width_(shape.outputs()),
        padded_(Padded(width_)),
        z_(static_cast<size_t>(padded_)),
        p_(z_.size()),
        q_(z_.size()),
        logs_(static_cast<size_t>(Padded(static_cast<int64_t>(trials.shares.size())))) {}

  template <typename T>
  void Add(const OutputRows<T>& rows, int64_t r) {
    const T* outputs = rows.outputs + r * rows.pitch;
    const double weight = rows.weights[r];
    if (!(weight > 0)) return;  // its loss may be NaN
    for (size_t t = 0; t < trials_.temperatures.size(); ++t) {
      for (int64_t i = 0; i < width_; ++i) {
        z_[i] = static_cast<double>(outputs[i]) / trials_.temperatures[t];
      }
      double* sums = sums_ + t * trials_.shares.size();
      if (shape_.task == spec::Task::kClassification) {
        const int32_t label = rows.labels[r];
        AddLogs(OfClass(label), trials_.answer.empty() ? 0 : trials_.answer[label], weight, sums);
      } else if (shape_.task == spec::Task::kMultilabel) {
        AddLabels(rows.targets + r * width_, weight / static_cast<double>(width_), sums);
      } else {
        AddNumbers(rows.targets + r * width_, weight / static_cast<double>(width_), sums);
      }
    }
  }

 private:
  // Returns the probability of a class.
  double OfClass(int32_t label) {
    if (shape_.loss == spec::Loss::kBinaryCrossEntropy) {
      BothSides(z_, &p_, &q_);
      return label == 1 ? p_[0] : q_[0];
    }
    const double most = *std::max_element(z_.begin(), z_.begin() + width_);
    for (int64_t i = 0; i < padded_; ++i) p_[i] = i < width_ ? z_[i] - most : 0;
    Exp(p_.data(), p_.data(), padded_);
    double sum = 0;
    for (int64_t i = 0; i < width_; ++i) sum += p_[i];
    return p_[label] / sum;
  }

  // Adds -weight * log((1 - share) * p + share * answer) for each share.
  void AddLogs(double p, double answer, double weight, double* sums) {
    for (size_t s = 0; s < logs_.size(); ++s) {
      const double share = s < trials_.shares.size() ? trials_.shares[s] : 0;
      const double mixed = (1 - share) * p + share * answer;
      logs_[s] = std::isnan(p) ? p : std::max(mixed, std::numeric_limits<double>::min());
    }
    Log(logs_.data(), logs_.data(), static_cast<int64_t>(logs_.size()));
    for (size_t s = 0; s < trials_.shares.size(); ++s) sums[s] -= weight * logs_[s];
  }

  template <typename T>
  void AddLabels(const T* truth, double weight, double* sums) {
    BothSides(z_, &p_, &q_);
    for (int64_t i = 0; i < width_; ++i) {
      const bool is = truth[i] > 0;
      const double answer = trials_.answer.empty() ? 0 : trials_.answer[i];
      AddLogs(is ? p_[i] : q_[i], is ? answer : 1 - answer, weight, sums);
    }
  }

  template <typename T>
  void AddNumbers(const T* truth, double weight, double* sums) {
    const bool poisson = shape_.loss == spec::Loss::kPoisson;
    if (poisson) Exp(z_.data(), p_.data(), padded_);
    for (int64_t i = 0; i < width_; ++i) {
      const double target = truth[i], own = poisson ? p_[i] : z_[i];
      const double answer = trials_.answer.empty() ? 0 : trials_.answer[i];
      for (size_t s = 0; s < logs_.size(); ++s) {
        const double share = s < trials_.shares.size() ? trials_.shares[s] : 0;
        logs_[s] = (1 - share) * own + share * answer;
      }
      for (size_t s = 0; !poisson && s < trials_.shares.size(); ++s) {
        sums[s] += weight * PenaltyValue(shape_, logs_[s] - target);
      }
      if (!poisson) continue;
      const std::vector<double> rates(logs_.begin(), logs_.end());
      for (double& rate : logs_) rate = std::max(rate, std::numeric_limits<double>::min());
      Log(logs_.data(), logs_.data(), static_cast<int64_t>(logs_.size()));
      for (size_t s = 0; s < trials_.shares.size(); ++s) {
        sums[s] += weight * (rates[s] - target * logs_[s]);
      }
    }
  }

  const NetworkShape& shape_;
  const Trials& trials_;
  double* sums_;
  const int64_t width_, padded_;
  Doubles z_, p_, q_, logs_;
};

}  // namespace

Trials MakeTrials(bool temperatures, std::vector<double> answer) {
  Trials trials;
  if (temperatures) {
    trials.temperatures.clear();
    for (int64_t k = -kTemperatureSteps; k <= kTemperatureSteps; ++k) {
      trials.temperatures.push_back(Power(2, static_cast<double>(std::abs(k)) / kStepsAnOctave));
      if (k < 0) trials.temperatures.back() = 1 / trials.temperatures.back();
    }
  }
  for (int64_t k = 1; !answer.empty() && k <= kShareSteps; ++k) {
    trials.shares.push_back(static_cast<double>(k) / kShareSteps);
  }
  trials.answer = std::move(answer);
  return trials;
}

int64_t TrialsMost() { return (2 * kTemperatureSteps + 1) * (kShareSteps + 1); }

template <typename T>
void AddTrials(const NetworkShape& shape, const OutputRows<T>& rows, const Trials& trials,
               double* sums) {
  RowTrials row(shape, trials, sums);
  for (int64_t r = 0; r < rows.rows; ++r) row.Add(rows, r);
}
template void AddTrials<float>(const NetworkShape&, const OutputRows<float>&, const Trials&,
                               double*);
template void AddTrials<double>(const NetworkShape&, const OutputRows<double>&, const Trials&,
                                double*);

Trial BestTrial(const Trials& trials, const std::vector<double>& sums) {
  const auto size = static_cast<size_t>(trials.size());
  ESPALIER_CHECK(sums.size() == size, std::to_string(sums.size()) + " sums");
  // Starts at temperature 1 and moves outward, so that the closest one wins a tie.
  const size_t middle = trials.temperatures.size() / 2, shares = trials.shares.size();
  Trial best;
  double least = std::numeric_limits<double>::infinity();
  for (size_t k = 0; k < trials.temperatures.size(); ++k) {
    const size_t t = k % 2 == 0 ? middle + k / 2 : middle - (k + 1) / 2;
    const double octaves = (static_cast<double>(t) - static_cast<double>(middle)) / kStepsAnOctave;
    const double deviations = octaves * 0.6931471805599453 / kPriorDeviation;
    for (size_t s = 0; s < shares; ++s) {
      const double loss = sums[t * shares + s] + deviations * deviations / 2;
      if (!(loss < least)) continue;
      least = loss;
      best = {trials.temperatures[t], trials.shares[s]};
    }
  }
  return best;
}

}  // namespace espalier::model
