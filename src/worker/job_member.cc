#include "src/worker/job_member.h"

#include <algorithm>
#include <utility>

#include "src/base/text.h"
#include "src/bundle/safetensors.h"
#include "src/data/features/class_weights.h"
#include "src/data/features/sparse_choice.h"
#include "src/model/arithmetic.h"
#include "src/model/metrics.h"
#include "src/model/optimizer.h"
#include "src/plan/ownership.h"
#include "src/plan/rows.h"
#include "src/training/memory_plan.h"
#include "src/worker/async_exchange.h"
#include "src/worker/reducer.h"

namespace espalier::worker {
namespace {

// Returns the network of a profiled job.
Result<model::NetworkShape> ShapeOf(const spec::JobSpec& spec, const spec::TableProfile& profile) {
  auto shape = model::MakeNetworkShape(spec, spec::InputsOf(profile.preprocessing),
                                       spec::AnswersOf(spec.model.task, profile.preprocessing));
  // If sparse rows are impossible, the row loader refuses the profiling pass.
  if (!shape.ok()) return shape;
  shape->sparse = profile.sparse && data::CanBeSparse(spec, profile.preprocessing);
  if (spec.model.task == spec::Task::kMultilabel) {
    shape->positive_weights = profile.preprocessing.class_weights;
  }
  model::LimitPredictions(profile.preprocessing.targets, &*shape);
  if (profile.preprocessing.label_smoothing) {
    shape->label_smoothing = *profile.preprocessing.label_smoothing;
  }
  ESPALIER_ASSIGN_OR_RETURN(shape->positive,
                            data::PositiveClass(spec, profile.preprocessing.classes));
  return shape;
}

training::TrainingPlan PlanOf(const spec::JobSpec& spec, const model::NetworkShape& shape,
                              const spec::TableProfile& profile) {
  const bool classes = spec.model.task == spec::Task::kClassification;
  training::TrainingPlan plan = {
      spec.train,
      shape,
      profile.preprocessing.targets,
      profile.train_rows,
      profile.validation_rows,
      profile.test_rows,
      classes ? profile.preprocessing.class_weights : std::vector<double>()};
  plan.starts_at_constant = spec.model.start_at_constant;
  return plan;
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
    const spec::JobSpec& spec, std::shared_ptr<const spec::TableProfile> profile, int threads,
    rpc::PeerNetwork& peers, MemberHooks hooks) {
  ESPALIER_ASSIGN_OR_RETURN(model::NetworkShape shape, ShapeOf(spec, *profile));
  const training::TrainingPlan plan = PlanOf(spec, shape, *profile);
  ESPALIER_RETURN_IF_ERROR(training::CheckLeafRows(plan));
  ESPALIER_RETURN_IF_ERROR(training::CheckHeldOutRows(plan));
  const int64_t fits = spec.train.ensemble.fits;
  if (fits > 1 && (fits * std::ssize(model::Tensors(shape)) > bundle::kTensorsMax ||
                   fits * model::ParameterCount(shape) > model::kParametersMax)) {
    return InvalidArgument("train.ensemble.fits: found " + std::to_string(fits) +
                           ", which make a model too large for one bundle. Set fewer.");
  }
  ESPALIER_RETURN_IF_ERROR(
      training::CheckMemory(training::PlanMemory(plan, {}, sizeof(T)), {}, hooks.memory_bytes_max));
  return std::unique_ptr<TypedJobMember>(new TypedJobMember(
      spec, std::move(profile), std::move(shape), threads, peers, std::move(hooks)));
}

template <typename T>
TypedJobMember<T>::TypedJobMember(const spec::JobSpec& spec,
                                  std::shared_ptr<const spec::TableProfile> profile,
                                  model::NetworkShape shape, int threads, rpc::PeerNetwork& peers,
                                  MemberHooks hooks)
    : spec_(spec),
      profile_(std::move(profile)),
      leaves_(static_cast<int32_t>(spec::LeafCount(spec.train))),
      shape_(std::move(shape)),
      peers_(peers),
      hooks_(std::move(hooks)),
      pool_(threads, model::PrepareComputeThread),
      machine_(PlanOf(spec, shape_, *profile_)),
      rows_([this](OwnRows::Request rows) {
        rows.memory_bytes += model_bytes_;
        return hooks_.load(*profile_, rows);
      }),
      row_source_(rows_) {
  machine_.Begin();
}

template <typename T>
void TypedJobMember<T>::BeginWith(std::vector<spec::InitialTensor> initial) {
  training::TrainingPlan plan = machine_.plan();
  plan.initial = std::make_shared<const std::vector<spec::InitialTensor>>(std::move(initial));
  machine_ = training::StepMachine<T>(std::move(plan));
  machine_.Begin();
}

template <typename T>
void TypedJobMember<T>::GoOnFrom(training::TrainingState<T> state) {
  agreed_ = state;
  machine_ = training::StepMachine<T>(machine_.plan(), std::move(state));
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
void TypedJobMember<T>::Proceed(const espalier::cluster::Proceed& proceed) {
  {
    std::lock_guard lock(mutex_);
    proceed_ = proceed;
  }
  changed_.notify_all();
}

template <typename T>
Result<typename TypedJobMember<T>::Place> TypedJobMember<T>::PlaceIn(const TrainingOrder& order) {
  ESPALIER_ASSIGN_OR_RETURN(const plan::Ownership ownership, OwnershipOf(order.order, leaves_));
  Place place{order, plan::PlanTree(ownership, leaves_), ownership.intervals[order.self], false};
  place.root = place.tree[order.self].is_root();
  const auto others = static_cast<int64_t>(place.tree.size()) - 1;
  const training::MemoryPart part{place.own.end - place.own.begin, async() || others == 0 ? 2 : 3,
                                  async() && place.root ? others : 0};
  const training::MemoryPlan memory =
      training::PlanMemory(PlanOf(spec_, shape_, *profile_), part, sizeof(T));
  ESPALIER_RETURN_IF_ERROR(training::CheckMemory(memory, part, hooks_.memory_bytes_max));
  model_bytes_ = training::BudgetedBytes(memory.total_bytes());
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
  // The links open before states are read and rows loaded, because some members need longer for
  // these than others.
  Disconnect();
  Connect(place);
  unread_ = {};
  ESPALIER_RETURN_IF_ERROR(hooks_.find_state(order.order));
  if (order.order.reverts && begun_us_ != 0) Revert();  // a new member has no state to revert
  differs_ = false;
  ESPALIER_RETURN_IF_ERROR(rows_.Cover(RangesOf(place.own), place.order.order.generation));
  ESPALIER_RETURN_IF_ERROR(Reserve(place));
  hooks_.tell(
      cluster::MemberReady{order.order.job, order.order.generation, machine_.state().round});
  ESPALIER_ASSIGN_OR_RETURN(const espalier::cluster::Proceed proceed, WaitForProceed(order));
  return Level(order, proceed);
}

template <typename T>
Status TypedJobMember<T>::Reserve(const Place& place) const {
  return place.root ? hooks_.reserve_output(place.order.order, place.order.self) : Status::Ok();
}

template <typename T>
void TypedJobMember<T>::Connect(const Place& place) {
  const cluster::StartTraining& start = place.order.order;
  const int64_t round_bytes =
      RoundBytesMax(machine_.plan(), sizeof(T), static_cast<int32_t>(start.members.size()));
  const collective::ReduceIdentity identity{start.incarnation, start.job, start.generation};
  const auto on_broken = [this, start](int32_t member, const Status& why) {
    TellBroken(start, member, why);
  };
  if (async()) {
    exchange_ = std::make_unique<AsyncExchange>(
        identity, place.order.self, plan::RootOf(place.tree), NamesOf(start),
        round_bytes / kMessageBytesMin, round_bytes, on_broken);
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
void TypedJobMember<T>::TellBroken(const cluster::StartTraining& order, int32_t member,
                                   const Status& why) {
  if (interrupted()) return;  // a newer generation began: others drop their links of this one
  hooks_.tell(cluster::LinkBroken{order.job, order.generation, order.members[member].worker, why});
}

template <typename T>
data::RowRanges TypedJobMember<T>::RangesOf(plan::LeafSpan own) const {
  const auto range = [&](int64_t rows) {
    return plan::Range{plan::LeafRows(rows, leaves_, own.begin).begin,
                       plan::LeafRows(rows, leaves_, own.end - 1).end};
  };
  return {range(profile_->train_rows), range(profile_->validation_rows),
          range(profile_->test_rows)};
}

template class TypedJobMember<float>;
template class TypedJobMember<double>;

}  // namespace espalier::worker
