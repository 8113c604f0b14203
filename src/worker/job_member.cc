#include "src/worker/job_member.h"

#include <algorithm>
#include <utility>

#include "src/base/memory.h"
#include "src/base/text.h"
#include "src/data/sparse_choice.h"
#include "src/model/arithmetic.h"
#include "src/model/metrics.h"
#include "src/model/optimizer.h"
#include "src/plan/ownership.h"
#include "src/plan/rows.h"
#include "src/worker/async_exchange.h"
#include "src/worker/reducer.h"

namespace espalier {
namespace {

// The network of a surveyed job.
Result<NetworkShape> ShapeOf(const JobSpec& spec, const SurveyResult& survey) {
  auto shape = MakeNetworkShape(spec, InputsOf(survey.preprocessing),
                                AnswersOf(spec.model.task, survey.preprocessing));
  // Where it cannot be, the row loader refuses the survey.
  if (!shape.ok()) return shape;
  shape->sparse = survey.sparse && CanBeSparse(spec, survey.preprocessing);
  if (spec.model.task == Task::kMultilabel) {
    shape->positive_weights = survey.preprocessing.class_weights;
  }
  return shape;
}

TrainingPlan PlanOf(const JobSpec& spec, const NetworkShape& shape, const SurveyResult& survey) {
  const bool classes = spec.model.task == Task::kClassification;
  return {spec.train,
          shape,
          survey.preprocessing.targets,
          survey.train_rows,
          survey.validation_rows,
          survey.test_rows,
          classes ? survey.preprocessing.class_weights : std::vector<double>()};
}

// Most rows of a step that a leaf has.
int64_t LeafStepRows(const TrainingPlan& plan) {
  const auto ceil = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  return ceil(ceil(plan.train_rows, LeafCount(plan.train)),
              std::max<int64_t>(1, plan.StepsPerEpoch()));
}

// A member's vectors like the parameters: those of the state in `states` copies (the state, that
// which all had agreed on or that is written, and, beside others, the one that is being compared);
// the gradient as it is computed and as it is summed. Who holds the parameters for `pushers` others
// has them on the way to each of those, or its gradient.
int64_t VectorCount(const TrainingPlan& plan, int64_t states, int64_t pushers) {
  const TrainSpec& train = plan.train;
  const bool best = train.early_stopping && train.early_stopping->restore_best;
  const bool averages = train.averaging.kind != AveragingKind::kNone;
  return states * (1 + SlotCount(train.optimizer) + plan.Accumulates() + averages + best) + 2 +
         2 * pushers;
}

// Of one leaf's rows: inputs, and of each layer's units the value, its gradient and what that
// needs.
int64_t LeafNumbers(const TrainingPlan& plan) {
  int64_t a_row = plan.shape.sparse ? 0 : plan.shape.inputs();
  for (const LayerShape& layer : plan.shape.layers) a_row += 3 * layer.out;
  return LeafStepRows(plan) * a_row;
}

// `leaves`: that the worker has.
template <typename T>
Status CheckMemory(const TrainingPlan& plan, int64_t leaves, int64_t states, int64_t pushers) {
  if (const int64_t rows = LeafStepRows(plan); rows >= kLeafRowsMax) {
    return InvalidArgument("train.batch: a leaf has " + HumanCount(rows) +
                           " rows of a step, expected fewer than " + HumanCount(kLeafRowsMax) +
                           ": lower train.batch or raise train.leaves");
  }
  constexpr int64_t kSize = sizeof(T);
  const int64_t count = ParameterCount(plan.shape);
  const auto model = static_cast<double>(count) * VectorCount(plan, states, pushers) * kSize;
  const auto rows = static_cast<double>(LeafNumbers(plan)) * leaves * kSize;
  const bool evaluates = plan.validation_rows > 0 || plan.test_rows > 0;
  const auto totals = static_cast<double>(evaluates ? EvaluationBytes(plan.shape, leaves) : 0);
  const int64_t memory = PhysicalMemoryBytes();
  if (model + rows + totals <= static_cast<double>(memory)) return {};
  const auto shown = [](double n) { return HumanBytes(static_cast<uint64_t>(n)); };
  return ResourceExhausted(
      "the model has " + HumanCount(count) + " parameters and takes " + shown(model) +
      (pushers > 0 ? " on the one that holds them for " + std::to_string(pushers) + " other workers"
                   : " on each worker") +
      ", and the rows of a step another " + shown(rows) +
      (evaluates ? " and the totals of an evaluation " + shown(totals) : "") + "; this one has " +
      shown(static_cast<double>(memory)) +
      " of memory: take a smaller model, a lower train.batch or fewer train.leaves" +
      (pushers > 0 ? ", fewer workers" : "") + ", or workers with more");
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
  ESPALIER_RETURN_IF_ERROR(CheckMemory<T>(PlanOf(spec, shape, *survey), 1, 2, 0));
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
      shape_(std::move(shape)),
      peers_(peers),
      hooks_(std::move(hooks)),
      pool_(threads, PrepareComputeThread),
      machine_(PlanOf(spec, shape_, *survey_)),
      rows_([this](const OwnRows::Request& rows) { return hooks_.load(*survey_, rows); }),
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
  exchange_.reset();
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
  const auto others = static_cast<int64_t>(place.tree.size()) - 1;
  ESPALIER_RETURN_IF_ERROR(
      CheckMemory<T>(PlanOf(spec_, shape_, *survey_), place.own.end - place.own.begin,
                     async() || others == 0 ? 2 : 3, async() && place.root ? others : 0));
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
        end.trained =
            Trained{*std::move(trained.finish), machine_.state().history, machine_.state().async,
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
  end.broken = std::exchange(broken_, false) || (exchange_ && exchange_->broken());
  return end;
}

template <typename T>
Status TypedJobMember<T>::Begin(const Place& place) {
  const TrainingOrder& order = place.order;
  // The links open before states are read and rows loaded, which takes some longer than others.
  Disconnect();
  Connect(place);
  unread_ = {};
  ESPALIER_RETURN_IF_ERROR(hooks_.find_state(order.order));
  if (order.order.reverts && begun_us_ != 0) Revert();  // a new member has been nowhere
  differs_ = false;
  ESPALIER_RETURN_IF_ERROR(rows_.Cover(RangesOf(place.own), place.order.order.generation));
  ESPALIER_RETURN_IF_ERROR(Reserve(place));
  hooks_.tell(MemberReady{order.order.job, order.order.generation, machine_.state().round});
  ESPALIER_ASSIGN_OR_RETURN(const espalier::Proceed proceed, WaitForProceed(order));
  return Level(order, proceed);
}

template <typename T>
Status TypedJobMember<T>::Reserve(const Place& place) const {
  return place.root ? hooks_.reserve_output(place.order.order, place.order.self) : Status::Ok();
}

template <typename T>
void TypedJobMember<T>::Connect(const Place& place) {
  const StartTraining& start = place.order.order;
  const int64_t round_bytes =
      RoundBytesMax(machine_.plan().shape, sizeof(T), static_cast<int32_t>(start.members.size()));
  const ReduceIdentity identity{start.incarnation, start.job, start.generation};
  const auto on_broken = [this, start](int32_t member, const Status& why) {
    TellBroken(start, member, why);
  };
  if (async()) {
    exchange_ = std::make_unique<AsyncExchange>(identity, place.order.self, RootOf(place.tree),
                                                NamesOf(start), round_bytes / kMessageBytesMin,
                                                round_bytes, on_broken);
  } else {
    exchange_ = std::make_unique<Reducer>(identity, place.tree[place.order.self], NamesOf(start),
                                          round_bytes, on_broken);
  }
  if (place.tree.size() > 1) {
    exchange_->Start(
        peers_.Open(LinksOf(place.order, place.tree, async(), round_bytes), exchange_.get()));
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

template class TypedJobMember<float>;
template class TypedJobMember<double>;

}  // namespace espalier
