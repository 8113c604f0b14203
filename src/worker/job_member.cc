#include "src/worker/job_member.h"

#include <algorithm>
#include <utility>

#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/base/text.h"
#include "src/cluster/arrangement.h"
#include "src/model/arithmetic.h"
#include "src/model/optimizer.h"
#include "src/plan/ownership.h"
#include "src/plan/rows.h"
#include "src/training/state_codec.h"
#include "src/worker/clock.h"

namespace espalier {
namespace {

constexpr int64_t kPaceTellUs = 1'000'000;

// The network of a surveyed job.
Result<NetworkShape> ShapeOf(const JobSpec& spec, const SurveyResult& survey) {
  auto shape = MakeNetworkShape(spec, InputsOf(survey.preprocessing),
                                AnswersOf(spec.model.task, survey.preprocessing));
  // Where it cannot be, the row loader refuses the survey.
  if (!shape.ok()) return shape;
  shape->sparse = survey.sparse && shape->tables.empty() && spec.model.task != Task::kAutoencoder;
  return shape;
}

// Parameters, their gradient as it is computed and as it is summed, and the optimizer's state.
template <typename T>
Status CheckMemory(const JobSpec& spec, const NetworkShape& shape) {
  const int64_t count = ParameterCount(shape);
  const int64_t bytes = count * (3 + SlotCount(spec.train.optimizer)) * int64_t{sizeof(T)};
  const int64_t memory = PhysicalMemoryBytes();
  if (bytes <= memory) return {};
  const auto shown = [](int64_t n) { return HumanBytes(static_cast<uint64_t>(n)); };
  return ResourceExhausted("the model has " + HumanCount(count) + " parameters and takes " +
                           shown(bytes) + " on each worker; this one has " + shown(memory) +
                           " of memory: take a smaller model, or workers with more");
}

double Quantile(std::vector<float> values, double q) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<int64_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

template <typename T>
Result<std::unique_ptr<TypedJobMember<T>>> TypedJobMember<T>::Make(
    const JobSpec& spec, std::shared_ptr<const SurveyResult> survey, int threads,
    PeerNetwork& peers, MemberHooks hooks) {
  ESPALIER_ASSIGN_OR_RETURN(NetworkShape shape, ShapeOf(spec, *survey));
  ESPALIER_RETURN_IF_ERROR(CheckMemory<T>(spec, shape));
  return std::unique_ptr<TypedJobMember>(new TypedJobMember(
      spec, std::move(survey), std::move(shape), threads, peers, std::move(hooks)));
}

template <typename T>
TypedJobMember<T>::TypedJobMember(const JobSpec& spec, std::shared_ptr<const SurveyResult> survey,
                                  NetworkShape shape, int threads, PeerNetwork& peers,
                                  MemberHooks hooks)
    : spec_(spec),
      survey_(std::move(survey)),
      leaves_(static_cast<int32_t>(LeafCount(spec.train))),
      peers_(peers),
      hooks_(std::move(hooks)),
      pool_(threads, PrepareComputeThread),
      machine_({spec.train, std::move(shape), survey_->preprocessing.targets, survey_->train_rows,
                survey_->validation_rows, survey_->test_rows,
                survey_->preprocessing.class_weights}),
      rows_([this](const RowRanges& ranges, int64_t memory, int64_t spool,
                   const std::function<bool()>& cancelled) {
        return hooks_.load(*survey_, ranges, memory, spool, cancelled);
      }),
      row_source_(rows_) {
  machine_.Begin();
}

template <typename T>
void TypedJobMember<T>::BeginWith(std::vector<InitialTensor> initial) {
  TrainingPlan plan = machine_.plan();
  plan.initial = std::make_shared<const std::vector<InitialTensor>>(std::move(initial));
  machine_ = StepMachine<T>(std::move(plan));
  machine_.Begin();
}

template <typename T>
void TypedJobMember<T>::GoOnFrom(TrainingState<T> state) {
  agreed_ = state;
  machine_ = StepMachine<T>(machine_.plan(), std::move(state));
}

template <typename T>
TypedJobMember<T>::~TypedJobMember() {
  StopPreparing();
  Disconnect();
}

template <typename T>
void TypedJobMember<T>::Disconnect() {
  Withdraw();
  before_.reset();
  reducer_.reset();
}

template <typename T>
void TypedJobMember<T>::Withdraw() {
  if (offered_) peers_.WithdrawState(*offered_);
  offered_.reset();
}

template <typename T>
bool TypedJobMember<T>::interrupted() const {
  std::lock_guard lock(mutex_);
  return interrupted_;
}

template <typename T>
void TypedJobMember<T>::Interrupt() {
  {
    std::lock_guard lock(mutex_);
    interrupted_ = true;
    if (trainer_ != nullptr) trainer_->Abort(OrderCame());
  }
  changed_.notify_all();
}

template <typename T>
void TypedJobMember<T>::Rearm() {
  std::lock_guard lock(mutex_);
  interrupted_ = false;
}

template <typename T>
void TypedJobMember<T>::Proceed(const espalier::Proceed& proceed) {
  {
    std::lock_guard lock(mutex_);
    proceed_ = proceed;
  }
  changed_.notify_all();
}

template <typename T>
Result<typename TypedJobMember<T>::Place> TypedJobMember<T>::PlaceIn(
    const TrainingOrder& order) const {
  ESPALIER_ASSIGN_OR_RETURN(const Ownership ownership, OwnershipOf(order.order, leaves_));
  Place place{order, PlanTree(ownership, leaves_), ownership.intervals[order.self], false};
  place.root = place.tree[order.self].is_root();
  return place;
}

template <typename T>
JobMember::End TypedJobMember<T>::Run(const TrainingOrder& order) {
  StopPreparing();
  End end;
  end.status = [&]() -> Status {
    ESPALIER_ASSIGN_OR_RETURN(Place place, PlaceIn(order));
    ESPALIER_RETURN_IF_ERROR(order.order.planned ? Join(place) : Begin(place));
    for (;;) {
      end.root = place.root;
      end.order = place.order;
      ESPALIER_ASSIGN_OR_RETURN(TrainerEnd trained, TrainOn(place));
      if (trained.finish) {
        end.trained = Trained{*std::move(trained.finish), machine_.state().history,
                              Quantile(times_.step_ms, 0.5), Quantile(times_.step_ms, 0.99)};
        return Status::Ok();
      }
      const auto next = TakePrepared(trained.next);
      if (!next) {
        end.left = true;
        return Status::Ok();
      }
      ESPALIER_ASSIGN_OR_RETURN(Place into, PlaceIn(*next));
      ESPALIER_RETURN_IF_ERROR(SwitchInto(place, into));
      place = std::move(into);
    }
  }();
  StopPreparing();
  end.broken = std::exchange(broken_, false) || (reducer_ && reducer_->broken());
  return end;
}

template <typename T>
Status TypedJobMember<T>::Begin(const Place& place) {
  const TrainingOrder& order = place.order;
  // The links open before the rows are loaded, which takes some members longer than others.
  Disconnect();
  Connect(place);
  if (order.order.reverts && begun_us_ != 0) Revert();  // a new member has been nowhere
  differs_ = false;
  ESPALIER_RETURN_IF_ERROR(rows_.Cover(RangesOf(place.own)));
  hooks_.tell(MemberReady{order.order.job, order.order.generation, machine_.state().round});
  ESPALIER_ASSIGN_OR_RETURN(const espalier::Proceed proceed, WaitForProceed(order));
  return Level(order, proceed);
}

template <typename T>
void TypedJobMember<T>::Connect(const Place& place) {
  const StartTraining& start = place.order.order;
  const int64_t round_bytes =
      RoundBytesMax(machine_.plan().shape, sizeof(T), static_cast<int32_t>(start.members.size()));
  reducer_ = std::make_unique<Reducer>(
      ReduceIdentity{start.incarnation, start.job, start.generation}, place.tree[place.order.self],
      NamesOf(start), round_bytes,
      [this, start](int32_t member, const Status& why) { TellBroken(start, member, why); });
  if (place.tree.size() > 1) {
    reducer_->Start(peers_.Open(LinksOf(place.order, place.tree, round_bytes), reducer_.get()));
  }
}

template <typename T>
void TypedJobMember<T>::TellBroken(const StartTraining& order, int32_t member, const Status& why) {
  if (interrupted()) return;  // a newer generation: others drop their links of this one
  hooks_.tell(LinkBroken{order.job, order.generation, order.members[member].worker, why});
}

template <typename T>
RowRanges TypedJobMember<T>::RangesOf(LeafSpan own) const {
  const auto range = [&](int64_t rows) {
    return Range{LeafRows(rows, leaves_, own.begin).begin,
                 LeafRows(rows, leaves_, own.end - 1).end};
  };
  return {range(survey_->train_rows), range(survey_->validation_rows), range(survey_->test_rows)};
}

template <typename T>
Result<TrainerEnd> TypedJobMember<T>::TrainOn(const Place& place) {
  const StartTraining& start = place.order.order;
  TrainerOptions options;
  options.shuffle = spec_.data.shuffle;
  options.leaves = leaves_;
  options.own = place.own;
  options.members = static_cast<int32_t>(start.members.size());
  options.self = place.order.self;
  if (spec_.checkpoint) options.checkpoint_steps = spec_.checkpoint->every_steps.value_or(0);
  options.reduce_timeout_ms = hooks_.sum_timeout_ms;
  options.max_time_ms = spec_.train.max_time_ms.value_or(0);
  const auto evaluations = static_cast<int64_t>(machine_.state().history.size());
  options.history_told = static_cast<size_t>(std::max<int64_t>(0, evaluations - kHistoryRowsMax));
  if (begun_us_ == 0) begun_us_ = NowUs();
  options.begun_us = begun_us_;
  Trainer<T> trainer(machine_, options, row_source_, pool_, *reducer_, place.root, times_,
                     Hooks(place));
  {
    std::lock_guard lock(mutex_);
    if (interrupted_) return OrderCame();
    trainer_ = &trainer;
    running_ = start.generation;
    if (switch_to_ > running_) trainer.SwitchTo(switch_to_);
  }
  auto end = trainer.Run();
  {
    std::lock_guard lock(mutex_);
    trainer_ = nullptr;
  }
  if (!end.ok()) {
    if (const auto& d = trainer.divergence()) {
      broken_ = differs_ = true;
      hooks_.tell(StatesDiffer{start.job, start.generation, d->step, d->members});
    }
    return end;
  }
  if (!end->finish) return end;
  const StepParts& sums = times_.sums;
  const double steps = static_cast<double>(std::max<int64_t>(1, times_.steps));
  LogInfo(ToString(start.job) + ": a step's mean parts in ms: leaves " +
          std::to_string(sums.leaves_ms / steps) + ", gradients " +
          std::to_string(sums.gradients_ms / steps) + ", waiting for sums " +
          std::to_string(sums.wait_ms / steps) + ", update " +
          std::to_string(sums.update_ms / steps));
  return end;
}

template <typename T>
TrainerHooks TypedJobMember<T>::Hooks(const Place& place) {
  TrainerHooks hooks;
  hooks.now_us = NowUs;
  const StartTraining& start = place.order.order;
  const JobId job = start.job;
  const Generation generation = start.generation;
  const bool root = place.root;
  const double epochs_total = EpochLimit(spec_.train).value_or(0);
  hooks.on_report = [this, job, generation, root, epochs_total](const StepReport& r) {
    hooks_.on_step(r.step);
    if (!root) return;
    Progress p;
    p.job = job;
    p.generation = generation;
    p.step = r.step;
    p.steps_total = r.steps_total;
    p.epoch = r.epoch;
    p.epochs_total = epochs_total;
    p.loss = r.running.loss;
    p.accuracy = r.running.accuracy;
    p.learning_rate = r.learning_rate;
    p.rows_per_second = r.rows_per_second;
    p.phase = r.evaluating ? "evaluating" : "training";
    p.phase_share = r.evaluated_share;
    hooks_.tell(std::move(p));
  };
  if (root) {
    hooks.on_history = [this, job, generation](int64_t number, const HistoryRow& row) {
      hooks_.tell(HistoryEntry{job, generation, row, number});
    };
    hooks.on_pace = [this, &start](const std::vector<double>& leaf_ms) {
      TellPace(start, leaf_ms);
    };
    hooks.agreement_due = [this, &place] {
      return hooks_.checkpoint_due(RootStateOf(place, machine_.state()));
    };
  }
  hooks.on_first_totals = [this] {
    Withdraw();
    before_.reset();
  };
  hooks.on_compare = [this] { compared_ = machine_.state(); };
  hooks.on_agreed = [this, &place] {
    agreed_ = std::exchange(compared_, std::nullopt);
    if (place.root) hooks_.on_agreed(RootStateOf(place, *agreed_));
  };
  if (hooks_.probe != nullptr) Probe(generation, hooks);
  return hooks;
}

template <typename T>
void TypedJobMember<T>::Probe(Generation generation, TrainerHooks& hooks) {
  StepProbe* const probe = hooks_.probe;
  hooks.on_boundary = [this, probe] {
    TrainingState<T>& state = machine_.state();
    probe->OnBoundary(state.step, std::as_writable_bytes(std::span(state.parameters)));
  };
  hooks.on_leaf = [=](const GradientAction& step, int32_t leaf, std::span<const int64_t> rows) {
    probe->OnLeaf(generation, step.step, step.epoch, leaf, rows);
  };
  hooks.on_commit = [=](int64_t step) { probe->OnCommit(generation, step); };
}

template <typename T>
RootState TypedJobMember<T>::RootStateOf(const Place& place, const TrainingState<T>& state) {
  return {place.order.order, place.order.self, state.step, state.accepted,
          [&state] { return EncodeState(state); }};
}

template <typename T>
void TypedJobMember<T>::TellPace(const StartTraining& order, const std::vector<double>& leaf_ms) {
  if (std::any_of(leaf_ms.begin(), leaf_ms.end(), [](double ms) { return !(ms > 0); })) return;
  if (NowUs() - pace_told_us_ < kPaceTellUs || !BetterOwnership(order.leaves, leaf_ms)) return;
  pace_told_us_ = NowUs();
  hooks_.tell(Uneven{order.job, order.generation, machine_.state().step, leaf_ms});
}

template class TypedJobMember<float>;
template class TypedJobMember<double>;

}  // namespace espalier
