#include "src/training/state_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "src/base/checksum.h"
#include "src/base/text.h"
#include "src/model/metrics.h"
#include "src/model/optimizer.h"

namespace espalier::training {
namespace {

static_assert(std::endian::native == std::endian::little, "states are written as memory has them");

constexpr char kMagic[] = {'E', 'S', 'P', 'S'};
// The first layout with TrainingNotes, several fits and their choices, the fit of each evaluation,
// and with metrics of targets, average precision and coverage. No release has it yet, so its fields
// may still change.
constexpr uint32_t kLayout = 8;
constexpr uint32_t kLayoutWithDescent = 7;
constexpr uint32_t kLayoutWithAsync = 6;
constexpr uint32_t kLayoutOldest = 5;  // oldest layout that is read
constexpr size_t kCrcBytes = sizeof(uint32_t);
constexpr size_t kRowBytesMin = 14 * sizeof(int64_t);  // minimum size of a HistoryRow

// Visits the fields of a Metrics, in both directions. A missing field is a compile error.
template <typename M, typename Visitor>
void VisitMetrics(M& m, Visitor& visit) {
  auto& [rows, weight, loss, accuracy, precision, recall, f1, auc, classes, confusion, rmse, mae,
         r2, classification, f1_micro, f1_macro, unknown_labels, targets, average_precision,
         coverage] = m;
  visit(rows), visit(weight), visit(loss), visit(accuracy), visit(precision), visit(recall);
  visit(f1), visit(auc), visit(classes), visit(confusion), visit(rmse), visit(mae), visit(r2);
  visit(classification), visit(f1_micro), visit(f1_macro), visit.Later(targets);
  visit.Later(average_precision), visit.Later(coverage);
  (void)unknown_labels;  // the labels of a job are known
}

template <typename T, typename Visitor>
void VisitTarget(T& target, Visitor& visit) {
  auto& [name, rmse, mae, r2, constant, coverage] = target;
  visit(name), visit(rmse), visit(mae), visit(r2), visit(constant), visit(coverage);
}

template <typename R, typename Visitor>
void VisitRow(R& row, Visitor& visit) {
  auto& [epoch, step, learning_rate, train, validation, fit, fit_epoch] = row;
  visit(epoch), visit(step), visit(learning_rate), visit(train), visit(validation);
  visit.Later(fit), visit.Later(fit_epoch);
}

template <typename P, typename Visitor>
void VisitPoint(P& point, Visitor& visit) {
  auto& [t, value, slope] = point;
  visit(t), visit(value), visit(slope);
}

template <typename S, typename Visitor>
void VisitSearch(S& search, Visitor& visit) {
  auto& [start, low, high, t, narrows, evaluations] = search;
  VisitPoint(start, visit), VisitPoint(low, visit), VisitPoint(high, visit);
  visit(t), visit(narrows), visit(evaluations);
}

template <typename S, typename Visitor>
void VisitLbfgs(S& state, Visitor& visit) {
  auto& [search, begun, first_objective, objective, objectives, iterations, pairs, newest, failed,
         nonfinite, verdict] = state;
  VisitSearch(search, visit);
  visit(begun), visit(first_objective), visit(objective), visit(objectives), visit(iterations);
  visit(pairs), visit(newest), visit(failed), visit(nonfinite), visit(verdict);
}

template <typename A, typename Visitor>
void VisitAsync(A& counts, Visitor& visit) {
  auto& [largest_lag, refused] = counts;
  visit(largest_lag), visit(refused);
}

template <typename D, typename Visitor>
void VisitDescent(D& descent, Visitor& visit) {
  auto& [converged] = descent;
  visit(converged);
}

template <typename N, typename Visitor>
void VisitNotes(N& notes, Visitor& visit) {
  auto& [kept_value, kept_step, skipped_steps, by_request] = notes;
  visit(kept_value), visit(kept_step), visit(skipped_steps), visit(by_request);
}

template <typename E, typename Visitor>
void VisitEnsemble(E& ensemble, Visitor& visit) {
  auto& [fit, begun_step, weights, finished, answer, temperature, share, threshold, thresholds,
         half_widths, earlier, earlier_fits] = ensemble;
  visit(fit), visit(begun_step), visit(weights), visit(finished), visit(answer);
  visit(temperature), visit(share), visit(threshold), visit(thresholds), visit(half_widths);
  visit(earlier), visit(earlier_fits);
}

template <typename C, typename Visitor>
void VisitThreshold(C& chosen, Visitor& visit) {
  auto& [metric, threshold, value, value_at_half, reached] = chosen;
  visit(metric), visit(threshold), visit(value), visit(value_at_half), visit(reached);
}

template <typename V>
inline constexpr bool kIsEnsemble =
    std::is_same_v<V, EnsembleState<float>> || std::is_same_v<V, EnsembleState<double>>;

template <typename V>
inline constexpr bool kIsPlain =
    std::is_arithmetic_v<V> || std::is_enum_v<V> || std::is_same_v<V, spec::ClassMetrics> ||
    std::is_same_v<V, FitRecord>;
static_assert(sizeof(spec::ClassMetrics) == 4 * sizeof(double));
static_assert(sizeof(FitRecord) == 3 * sizeof(double));

// A sink that only counts.
struct Count {
  void append(const char* /*data*/, size_t size) { bytes += size; }
  size_t bytes = 0;
};

// Writes fields to a std::string or a Count.
template <typename Sink>
class Writer {
 public:
  explicit Writer(Sink* out) : out_(out) {}
  void Raw(const void* data, size_t size) { out_->append(static_cast<const char*>(data), size); }
  template <typename V>
  void operator()(const V& value) {
    if constexpr (std::is_same_v<V, spec::Metrics>) {
      VisitMetrics(value, *this);
    } else if constexpr (std::is_same_v<V, spec::TargetMetrics>) {
      VisitTarget(value, *this);
    } else if constexpr (std::is_same_v<V, spec::HistoryRow>) {
      VisitRow(value, *this);
    } else if constexpr (std::is_same_v<V, model::LbfgsState>) {
      VisitLbfgs(value, *this);
    } else if constexpr (std::is_same_v<V, spec::AsyncCounts>) {
      VisitAsync(value, *this);
    } else if constexpr (std::is_same_v<V, DescentState>) {
      VisitDescent(value, *this);
    } else if constexpr (std::is_same_v<V, TrainingNotes>) {
      VisitNotes(value, *this);
    } else if constexpr (std::is_same_v<V, spec::ChosenThreshold>) {
      VisitThreshold(value, *this);
    } else if constexpr (kIsEnsemble<V>) {
      VisitEnsemble(value, *this);
    } else if constexpr (std::is_integral_v<V> || std::is_enum_v<V>) {
      const auto wide = static_cast<int64_t>(value);
      Raw(&wide, sizeof wide);
    } else if constexpr (std::is_floating_point_v<V>) {
      Raw(&value, sizeof value);
    } else {
      Array(value);
    }
  }
  template <typename V>
  void operator()(const std::optional<V>& value) {
    Raw(value ? "\1" : "\0", 1);
    if (value) (*this)(*value);
  }
  // Writes a field that layouts before kLayout do not have.
  template <typename V>
  void Later(const V& value) {
    (*this)(value);
  }

 private:
  template <typename A>
  void Array(const A& array) {
    using Element = typename A::value_type;
    (*this)(static_cast<int64_t>(array.size()));
    if constexpr (kIsPlain<Element>) {
      Raw(array.data(), array.size() * sizeof(Element));
    } else {
      for (const Element& e : array) (*this)(e);
    }
  }
  Sink* const out_;
};

template <typename T, typename Sink>
void WriteFields(const TrainingState<T>& state, Sink* out) {
  Writer<Sink> writer(out);
  writer.Raw(kMagic, sizeof kMagic);
  const uint32_t head[] = {kLayout, sizeof(T)};
  writer.Raw(head, sizeof head);
  TrainingState<T>::VisitFields(state, writer);
}

// Reads the output of WriteFields. After the first error, all values are zero.
class Reader {
 public:
  Reader(std::string_view in, uint32_t layout) : in_(in), layout_(layout) {}
  bool ok() const { return ok_; }
  bool at_end() const { return in_.empty(); }

  template <typename V>
  void operator()(V& value) {
    if constexpr (std::is_same_v<V, spec::Metrics>) {
      VisitMetrics(value, *this);
    } else if constexpr (std::is_same_v<V, spec::TargetMetrics>) {
      VisitTarget(value, *this);
    } else if constexpr (std::is_same_v<V, spec::HistoryRow>) {
      VisitRow(value, *this);
    } else if constexpr (std::is_same_v<V, model::LbfgsState>) {
      VisitLbfgs(value, *this);
    } else if constexpr (std::is_same_v<V, spec::AsyncCounts>) {
      if (layout_ >= kLayoutWithAsync) VisitAsync(value, *this);
    } else if constexpr (std::is_same_v<V, DescentState>) {
      if (layout_ >= kLayoutWithDescent) VisitDescent(value, *this);
    } else if constexpr (std::is_same_v<V, TrainingNotes>) {
      if (layout_ >= kLayout) VisitNotes(value, *this);
    } else if constexpr (std::is_same_v<V, spec::ChosenThreshold>) {
      VisitThreshold(value, *this);
    } else if constexpr (kIsEnsemble<V>) {
      if (layout_ >= kLayout) VisitEnsemble(value, *this);
    } else if constexpr (std::is_integral_v<V> || std::is_enum_v<V>) {
      int64_t wide = 0;
      Raw(&wide, sizeof wide);
      value = static_cast<V>(wide);
      if (static_cast<int64_t>(value) != wide) ok_ = false;
    } else if constexpr (std::is_floating_point_v<V>) {
      Raw(&value, sizeof value);
    } else {
      Array(value);
    }
  }
  template <typename V>
  void operator()(std::optional<V>& value) {
    char given = 0;
    Raw(&given, 1);
    if (given != 0 && given != 1) ok_ = false;
    value.reset();
    if (ok_ && given == 1) (*this)(value.emplace());
  }
  // Reads a field that layouts before kLayout do not have.
  template <typename V>
  void Later(V& value) {
    if (layout_ >= kLayout) (*this)(value);
  }

 private:
  void Raw(void* data, size_t size) {
    if (size == 0) return;  // `data` may be null
    if (!ok_ || in_.size() < size) {
      ok_ = false;
      std::memset(data, 0, size);
      return;
    }
    std::memcpy(data, in_.data(), size);
    in_.remove_prefix(size);
  }
  template <typename A>
  void Array(A& array) {
    using Element = typename A::value_type;
    int64_t size = 0;
    (*this)(size);
    // Minimum size of an element.
    constexpr size_t kBytes = kIsPlain<Element>                           ? sizeof(Element)
                              : std::is_same_v<Element, spec::HistoryRow> ? kRowBytesMin
                                                                          : sizeof(int64_t);
    if (size < 0 || static_cast<uint64_t>(size) > in_.size() / kBytes) ok_ = false;
    array.clear();
    if (!ok_) return;
    array.resize(static_cast<size_t>(size));
    if constexpr (kIsPlain<Element>) {
      Raw(array.data(), array.size() * sizeof(Element));
    } else {
      for (Element& e : array) (*this)(e);
    }
  }
  std::string_view in_;
  const uint32_t layout_;
  bool ok_ = true;
};

Status Bad(const std::string& what) {
  return Status(StatusCode::kBadInput, "this is not a job state that can be resumed: " + what);
}

// Checks the bytes around the fields and returns the layout.
Result<uint32_t> CheckEnvelope(std::string_view bytes, size_t element_bytes) {
  uint32_t layout = 0, element = 0, crc = 0;
  if (bytes.size() < sizeof kMagic + sizeof layout + sizeof element + kCrcBytes ||
      std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    return Bad("it does not start with ESPS, or is cut off");
  }
  std::memcpy(&layout, bytes.data() + sizeof kMagic, sizeof layout);
  std::memcpy(&element, bytes.data() + sizeof kMagic + sizeof layout, sizeof element);
  std::memcpy(&crc, bytes.data() + bytes.size() - kCrcBytes, kCrcBytes);
  if (layout < kLayoutOldest || layout > kLayout) {
    return Bad("its layout is " + std::to_string(layout) + ", this program's is " +
               std::to_string(kLayout));
  }
  if (crc != Crc32c(bytes.data(), bytes.size() - kCrcBytes)) {
    return Bad("its checksum differs from its " + std::to_string(bytes.size()) + " bytes");
  }
  if (element != element_bytes) {
    return Bad("it has numbers of " + std::to_string(element) + " bytes, the job's have " +
               std::to_string(element_bytes));
  }
  return layout;
}

// Returns whether all indices stay within the job's vectors. The numbers may have any value. A
// damaged state would lead to other weights, which the checksum prevents.
bool CouldBe(const TrainingPlan& plan, const model::LbfgsState& s) {
  if (!plan.Searches()) return s.pairs == 0 && !s.begun && s.objectives.empty();
  const int64_t history = plan.train.optimizer.history;
  return s.pairs >= 0 && s.pairs <= history && s.newest >= 0 && s.newest < history &&
         s.iterations >= 0 && s.search.evaluations >= 0 && (s.begun || !s.nonfinite) &&
         s.objectives.size() <= model::kLbfgsMemory && s.verdict <= model::LbfgsVerdict::kStuck;
}

// Returns whether the phases after the decision, and only these, have the choices that the job
// makes by the held-out rows. The held-out rows may give no intervals.
template <typename T>
bool CouldBeChosen(const TrainingPlan& plan, const TrainingState<T>& s) {
  const EnsembleState<T>& e = s.ensemble;
  const bool decided = s.phase == TrainingPhase::kFinalTraining ||
                       s.phase == TrainingPhase::kFinalValidation ||
                       s.phase == TrainingPhase::kFinalTest || s.phase == TrainingPhase::kFinished;
  const bool chooses = decided && plan.train.threshold.kind != spec::ThresholdKind::kNone;
  const auto inside = [](double t) { return t > 0 && t < 1; };
  const auto positive = [](double width) { return width > 0 && std::isfinite(width); };
  const size_t widths = e.half_widths.size();
  return e.threshold.has_value() == chooses && e.thresholds.size() == (chooses ? 2 : 0) &&
         (!chooses || inside(e.threshold->threshold)) &&
         std::all_of(e.thresholds.begin(), e.thresholds.end(), inside) &&
         (widths == 0 || (decided && plan.train.intervals > 0 &&
                          widths == static_cast<size_t>(plan.shape.answers()))) &&
         std::all_of(e.half_widths.begin(), e.half_widths.end(), positive);
}

// Returns an error unless the fits are those of the job, and the parameters those of a fit or of
// the model.
template <typename T>
Status CheckFits(const TrainingPlan& plan, const TrainingState<T>& s, size_t size) {
  const EnsembleState<T>& e = s.ensemble;
  const int64_t fits = plan.train.ensemble.fits, fit = e.fit, begun = e.begun_step;
  const size_t answers = static_cast<size_t>(plan.shape.answers());
  if (fit < 0 || fit > (plan.Assembles() ? fits : 0) || begun < 0 || begun > s.step ||
      e.weights.size() != static_cast<size_t>(fit) * size || !(e.temperature > 0) ||
      !(e.share >= 0 && e.share <= 1) || (e.temperature != 1 && !plan.train.calibrate) ||
      (e.share > 0 && !plan.train.ensemble.shrink) || (e.share > 0 && e.answer.empty()) ||
      (!e.answer.empty() && e.answer.size() != answers)) {
    return Bad("its fits cannot be those of the job");
  }
  if (!CouldBeChosen(plan, s)) {
    return Bad("its threshold or its intervals cannot be those of the job");
  }
  const auto total = static_cast<double>(plan.StepsTotal());
  const auto counts = [](const std::vector<FitRecord>& records, double most) {
    return std::all_of(records.begin(), records.end(), [most](const FitRecord& r) {
      return r.steps >= 0 && r.steps == std::floor(r.steps) && r.steps <= most &&
             r.kept_step >= -1 && r.kept_step == std::floor(r.kept_step) &&
             r.kept_step <= r.steps && std::isfinite(r.kept_value);
    });
  };
  if (e.finished.size() != static_cast<size_t>(fit) ||
      !counts(e.finished, static_cast<double>(s.step)) || !counts(e.earlier_fits, total - 1) ||
      e.earlier_fits.size() > static_cast<size_t>(plan.Averages() ? fits : 0) ||
      e.earlier.size() != e.earlier_fits.size() * size) {
    return Bad("its fits cannot continue those of an earlier run");
  }
  const bool trains =
      s.phase == TrainingPhase::kSteps || s.phase == TrainingPhase::kEpochEvaluation;
  const bool shrinks = plan.train.ensemble.shrink;
  const bool underway = !trains || fit < (plan.Assembles() ? fits : 1);
  const bool over = trains || !plan.Assembles() || fit > 0;
  const bool answers_fit = s.phase != TrainingPhase::kOutOfFold || shrinks;
  const bool tries = s.phase != TrainingPhase::kTrials || shrinks || plan.train.calibrate;
  const bool decides = s.phase != TrainingPhase::kDecision || plan.Decides();
  if (!underway || !over || !answers_fit || !tries || !decides || (!e.answer.empty() && !shrinks)) {
    return Bad("its fits do not belong to its phase");
  }
  const auto wanted = static_cast<size_t>(model::ParameterCount(ShapeOfParameters(plan, s)));
  if (s.parameters.size() == wanted) return Status::Ok();
  return Bad("it has " + std::to_string(s.parameters.size()) + " parameters, the job has " +
             std::to_string(wanted));
}

template <typename T>
Status CheckAgainst(const TrainingPlan& plan, const TrainingState<T>& s) {
  const auto size = static_cast<size_t>(model::ParameterCount(plan.shape));
  ESPALIER_RETURN_IF_ERROR(CheckFits(plan, s, size));
  if (!s.best_parameters.empty() && s.best_parameters.size() != size) {
    return Bad("its best parameters are not those of the job");
  }
  const auto slots = static_cast<size_t>(model::SlotCount(plan.train.optimizer));
  bool same = s.slots.size() == slots;
  for (const AlignedVector<T>& slot : s.slots) same = same && slot.size() == size;
  if (!same) return Bad("its optimizer's state is not that of the job's optimizer");
  const size_t accumulated = plan.Accumulates() ? size : 0;
  const size_t averaged = plan.train.averaging.kind != spec::AveragingKind::kNone ? size : 0;
  if (s.accumulated.size() != accumulated || s.averaged.size() != averaged) {
    return Bad("its accumulated gradient or its averaged weights are not those of the job");
  }
  const int64_t total = plan.StepsTotal(), taken = s.step - s.ensemble.begun_step;
  if (total > 0 && taken > total) {
    return Bad("it has taken " + HumanCount(taken) + " steps, more than the " + HumanCount(total) +
               " of this job. Raise train.epochs or train.steps");
  }
  if (s.step < 0 || s.updates < 0 || s.updates > s.step || s.averaged_updates < 0 ||
      s.averaged_updates > s.updates || s.evaluations_without_gain < 0 || s.best_step < -1 ||
      s.best_step > s.step || s.notes.kept_step < -1 || s.notes.kept_step > s.step ||
      s.notes.skipped_steps < 0) {
    return Bad("its step " + std::to_string(s.step) + " cannot be one of the job's");
  }
  if (!(s.accumulated_weight >= 0 && s.rate_left >= 0 && s.rate_left <= 1) ||
      s.plateau_evaluations < 0 || s.plateau_cooldown < 0) {
    return Bad("its learning rate or the weight of its gradients cannot be");
  }
  if (s.async.largest_lag < 0 || s.async.refused < 0) return Bad("its counts cannot be");
  if (s.descent.converged && plan.train.optimizer.step_tolerance == 0) {
    return Bad("it has converged, which the job's optimizer never does");
  }
  if (!CouldBe(plan, s.lbfgs)) return Bad("its line search or its pairs cannot be");
  if (s.phase > TrainingPhase::kDecision || (s.phase != TrainingPhase::kSteps && !s.train) ||
      s.epoch_totals.size() !=
          static_cast<size_t>(model::TotalsSize(plan.shape, model::TotalsKind::kTraining))) {
    return Bad("its parts contradict each other");
  }
  return Status::Ok();
}

}  // namespace

template <typename T>
std::string EncodeState(const TrainingState<T>& state) {
  Count count;
  WriteFields(state, &count);
  std::string out;
  out.reserve(count.bytes + kCrcBytes);  // a growing string would hold its bytes twice
  WriteFields(state, &out);
  const uint32_t crc = Crc32c(out.data(), out.size());
  out.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return out;
}

template <typename T>
Result<TrainingState<T>> DecodeState(std::string_view bytes, const TrainingPlan& plan) {
  ESPALIER_ASSIGN_OR_RETURN(const uint32_t layout, CheckEnvelope(bytes, sizeof(T)));
  bytes.remove_prefix(sizeof kMagic + 2 * sizeof(uint32_t));
  bytes.remove_suffix(kCrcBytes);
  Reader reader(bytes, layout);
  TrainingState<T> state;
  TrainingState<T>::VisitFields(state, reader);
  if (!reader.ok() || !reader.at_end()) return Bad("its fields do not fill its bytes");
  if (layout < kLayout) {  // the best evaluation was the last gain
    state.notes.kept_value = state.best_value;
    state.notes.kept_step = state.best_step;
  }
  ESPALIER_RETURN_IF_ERROR(CheckAgainst(plan, state));
  return state;
}

template <typename T>
int64_t ChecksumOf(const TrainingState<T>& state) {
  const size_t bytes = state.parameters.size() * sizeof(T);
  uint32_t crc = Crc32c(state.parameters.data(), bytes);
  for (const AlignedVector<T>& slot : state.slots) crc = Crc32c(slot.data(), bytes, crc);
  for (const AlignedVector<T>* more :
       {&state.accumulated, &state.averaged, &state.ensemble.weights}) {
    crc = Crc32c(more->data(), more->size() * sizeof(T), crc);
  }
  return int64_t{crc} + 1;
}

template int64_t ChecksumOf<float>(const TrainingState<float>&);
template int64_t ChecksumOf<double>(const TrainingState<double>&);
template std::string EncodeState<float>(const TrainingState<float>&);
template std::string EncodeState<double>(const TrainingState<double>&);
template Result<TrainingState<float>> DecodeState<float>(std::string_view, const TrainingPlan&);
template Result<TrainingState<double>> DecodeState<double>(std::string_view, const TrainingPlan&);

}  // namespace espalier::training
