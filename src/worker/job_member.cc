#include "src/worker/job_member.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/base/text.h"
#include "src/bundle/safetensors.h"
#include "src/data/features/class_weights.h"
#include "src/data/features/sparse_choice.h"
#include "src/model/arithmetic.h"
#include "src/model/metrics.h"
#include "src/model/optimizer.h"
#include "src/plan/rows.h"
#include "src/training/memory_plan.h"
#include "src/training/state_codec.h"
#include "src/worker/clock.h"
#include "src/worker/training_order.h"

namespace espalier::worker {
namespace {

constexpr int64_t kStateSlackBytes = int64_t{256} << 20;  // allowance for history and metrics

// Returns the maximum size of an encoded state of the job.
template <typename T>
int64_t StateBytesMax(const training::StepMachine<T>& machine) {
  // The slots, the parameters, the best and the averaged ones, the accumulated gradient, and twice
  // those of all fits.
  const auto vectors = static_cast<int64_t>(machine.state().slots.size()) + 4 +
                       2 * machine.plan().train.ensemble.fits;
  return vectors * model::ParameterCount(machine.plan().shape) * static_cast<int64_t>(sizeof(T)) +
         kStateSlackBytes;
}

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
  ESPALIER_ASSIGN_OR_RETURN(shape->costs,
                            data::CostsOfClasses(spec.model.costs, profile.preprocessing.classes));
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

member::MemberCoreOptions CoreOptionsOf(const spec::JobSpec& spec) {
  member::MemberCoreOptions options;
  options.leaves = static_cast<int32_t>(spec::LeafCount(spec.train));
  options.async = spec.train.mode == spec::TrainMode::kAsync;
  if (spec.checkpoint) options.checkpoint_steps = spec.checkpoint->every_steps.value_or(0);
  options.max_time_us = 1000 * spec.train.max_time_ms.value_or(0);
  return options;
}

double Quantile(std::vector<float> values, double q) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<int64_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

template <typename T>
Result<std::unique_ptr<JobMember<T>>> JobMember<T>::Make(
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
  return std::unique_ptr<JobMember>(
      new JobMember(spec, std::move(profile), std::move(shape), threads, peers, std::move(hooks)));
}

template <typename T>
JobMember<T>::JobMember(const spec::JobSpec& spec,
                        std::shared_ptr<const spec::TableProfile> profile,
                        model::NetworkShape shape, int threads, rpc::PeerNetwork& peers,
                        MemberHooks hooks)
    : spec_(spec),
      profile_(std::move(profile)),
      leaves_(static_cast<int32_t>(spec::LeafCount(spec.train))),
      shape_(std::move(shape)),
      plan_(PlanOf(spec, shape_, *profile_)),
      peers_(peers),
      hooks_(std::move(hooks)),
      pool_(threads, model::PrepareComputeThread),
      states_(plan_),
      machine_(states_.machine()),
      rows_([this](OwnRows::Request rows) {
        rows.memory_bytes += model_bytes_;
        return hooks_.load(*profile_, rows);
      }),
      row_source_(rows_),
      core_(CoreOptionsOf(spec)) {}

template <typename T>
JobMember<T>::~JobMember() {
  staging_number_ = 0;
  JoinStaging();
  Perform(member::CloseLinks{});
}

// ---- the core --------------------------------------------------------------------------------

template <typename T>
void JobMember<T>::Post(member::MemberEvent event) {
  {
    MutexLock lock(mutex_);
    for (member::MemberAction& action : core_.Step(std::move(event), NowUs())) {
      PerformAtOnce(action);
    }
  }
  changed_.NotifyAll();
}

// Performs an action that must not wait for the job's thread, or keeps it for that thread.
template <typename T>
void JobMember<T>::PerformAtOnce(member::MemberAction& action) {
  // A report waits for the actions before it: the coordinator may react at once.
  if (auto* report = std::get_if<member::Report>(&action); report != nullptr && todo_.empty()) {
    return hooks_.report(std::move(report->message));
  }
  if (auto* abort = std::get_if<member::AbortRound>(&action)) {
    abort_ = abort->why;
    if (trainer_ != nullptr) trainer_->Abort(abort_);
    if (loop_ != nullptr) loop_->Abort(abort_);
    return;
  }
  if (const auto* end = std::get_if<member::EndLoop>(&action)) {
    if (end->job) end_job_ = true;
    if (end->next) end_loop_ = end->next;
    if (loop_ != nullptr && end->job) loop_->EndEarly();
    if (loop_ != nullptr && !end->job) loop_->SwitchTo(end->next);
    return;
  }
  if (const auto* stage = std::get_if<member::StageRows>(&action)) return StartStaging(*stage);
  if (std::holds_alternative<member::StopStaging>(action)) {
    staging_number_ = 0;
    return;
  }
  // The work of another generation begins, which no earlier action ends.
  if (std::holds_alternative<member::OpenLinks>(action)) {
    abort_ = {};
    end_loop_ = {};
    end_job_ = false;
  }
  todo_.push_back(std::move(action));
}

template <typename T>
member::MemberAction JobMember<T>::NextAction() {
  MutexLock lock(mutex_);
  while (todo_.empty()) changed_.Wait(mutex_);
  member::MemberAction action = std::move(todo_.front());
  todo_.pop_front();
  return action;
}

template <typename T>
member::EndRun JobMember<T>::Run(const member::TrainingOrder& order) {
  Post(member::TakePart{order});
  for (;;) {
    member::MemberAction action = NextAction();
    if (auto* end = std::get_if<member::EndRun>(&action)) {
      if (end->finished) {
        if (links_.trainer) finish_ = links_.trainer->finish();
        LogParts(end->place->at().job);
      }
      EndRounds();
      JoinStaging();
      ReportTheRest();
      return std::move(*end);
    }
    const Status performed = CatchOutOfMemory([&] {
      std::visit(
          [this](const auto& a) {
            if constexpr (requires { this->Perform(a); }) Perform(a);
          },
          action);
      return Status::Ok();
    });
    if (performed.ok()) continue;
    {
      // The other actions need what this one should have made.
      MutexLock lock(mutex_);
      std::erase_if(todo_, [](const member::MemberAction& other) {
        return !std::holds_alternative<member::Report>(other) &&
               !std::holds_alternative<member::EndRun>(other);
      });
    }
    Post(member::Failed{performed});
  }
}

// Sends the reports of events that came after the end of the run.
template <typename T>
void JobMember<T>::ReportTheRest() {
  MutexLock lock(mutex_);
  for (const member::MemberAction& action : std::exchange(todo_, {})) {
    if (const auto* report = std::get_if<member::Report>(&action)) hooks_.report(report->message);
  }
}

template <typename T>
bool JobMember<T>::interrupted() const {
  MutexLock lock(mutex_);
  return core_.interrupted();
}

template <typename T>
void JobMember<T>::Pause(int64_t us) {
  MutexLock lock(mutex_);
  changed_.WaitFor(mutex_, std::chrono::microseconds(us),
                   [this]() REQUIRES(mutex_) { return core_.interrupted(); });
}

template <typename T>
bool JobMember<T>::differs() const {
  MutexLock lock(mutex_);
  return core_.differs();
}

template <typename T>
Trained JobMember<T>::trained() const {
  return {*finish_, machine_.state().history, machine_.state().async, Quantile(times_.step_ms, 0.5),
          Quantile(times_.step_ms, 0.99)};
}

// ---- links -----------------------------------------------------------------------------------

template <typename T>
void JobMember<T>::Perform(const member::CloseLinks&) {
  Perform(member::WithdrawState{});
  EndRounds();
  before_ = {};
  links_ = {};
  states_.DropCompared();
}

template <typename T>
void JobMember<T>::EndRounds() {
  {
    MutexLock lock(mutex_);
    trainer_ = nullptr;
  }
  links_.trainer.reset();
}

template <typename T>
void JobMember<T>::Perform(const member::OpenLinks& action) {
  const member::Place& place = *action.place;
  const cluster::StartTraining& start = place.start();
  const int64_t round_bytes = RoundBytesMax(machine_.plan(), sizeof(T), place.members());
  const collective::ReduceIdentity identity{start.incarnation, start.job, start.generation};
  Exchange* exchange = nullptr;
  if (async()) {
    links_.exchange = std::make_unique<AsyncExchange>(
        identity, place.self(), plan::RootOf(place.tree()), NamesOf(start),
        round_bytes / kMessageBytesMin, round_bytes, OnBroken(place));
    exchange = links_.exchange.get();
  } else {
    links_.reducer =
        std::make_unique<Reducer>(identity, place.tree()[static_cast<size_t>(place.self())],
                                  NamesOf(start), round_bytes, OnBroken(place));
    exchange = links_.reducer.get();
  }
  if (!place.alone()) {
    exchange->Start(peers_.Open(LinksOf(place, async(), round_bytes), exchange));
  }
}

template <typename T>
std::function<void(int32_t, const Status&)> JobMember<T>::OnBroken(const member::Place& place) {
  return [this, generation = place.at().generation](int32_t member, const Status& why) {
    Post(member::LinkBroke{generation, member, why});
  };
}

template <typename T>
void JobMember<T>::Perform(const member::SetLinksAside&) {
  EndRounds();
  before_ = std::exchange(links_, {});
}

// ---- rows ------------------------------------------------------------------------------------

template <typename T>
Status JobMember<T>::PlanMemoryOf(const member::Place& place) {
  const int64_t others = place.members() - 1;
  training::MemoryPart part;
  part.leaves = place.own.end - place.own.begin;
  part.states = async() || others == 0 ? 2 : 3;
  part.encoded = (place.root() ? 2 : 0) + (others > 0 ? 1 : 0);
  part.pushers = async() && place.root() ? others : 0;
  const training::MemoryPlan memory = training::PlanMemory(plan_, part, sizeof(T));
  ESPALIER_RETURN_IF_ERROR(training::CheckMemory(memory, part, hooks_.memory_bytes_max));
  model_bytes_ = training::BudgetedBytes(memory.total_bytes());
  return Status::Ok();
}

template <typename T>
data::RowRanges JobMember<T>::RangesOf(plan::LeafSpan own) const {
  const auto range = [&](int64_t rows) {
    return plan::Range{plan::LeafRows(rows, leaves_, own.begin).begin,
                       plan::LeafRows(rows, leaves_, own.end - 1).end};
  };
  return {range(profile_->train_rows), range(profile_->validation_rows),
          range(profile_->test_rows)};
}

template <typename T>
Status JobMember<T>::Reserve(const member::Place& place) const {
  return place.root() ? hooks_.reserve_output(place.start(), place.self()) : Status::Ok();
}

template <typename T>
void JobMember<T>::Perform(const member::CoverRows& action) {
  JoinStaging();
  const member::Place& place = *action.place;
  const Status covered = CatchOutOfMemory([&]() -> Status {
    ESPALIER_RETURN_IF_ERROR(PlanMemoryOf(place));
    ESPALIER_RETURN_IF_ERROR(rows_.Cover(RangesOf(place.own), place.at().generation));
    return Reserve(place);
  });
  Post(member::RowsCovered{covered, machine_.state().round});
}

template <typename T>
void JobMember<T>::StartStaging(const member::StageRows& action) {
  staging_number_ = action.number;
  staging_ = std::thread([this, action, last = std::move(staging_)]() mutable {
    if (last.joinable()) last.join();
    Post(member::RowsStaged{action.number, CatchOutOfMemory([&] { return Stage(action); })});
  });
}

template <typename T>
Status JobMember<T>::Stage(const member::StageRows& action) {
  const member::Place& place = *action.place;
  const auto stopped = [this, number = action.number] { return staging_number_ != number; };
  if (stopped()) return member::OrderCame();
  ESPALIER_RETURN_IF_ERROR(PlanMemoryOf(place));
  ESPALIER_RETURN_IF_ERROR(rows_.Stage(RangesOf(place.own), place.at().generation, stopped));
  return stopped() ? member::OrderCame() : Reserve(place);
}

template <typename T>
void JobMember<T>::JoinStaging() {
  std::thread last;
  {
    MutexLock lock(mutex_);
    last = std::move(staging_);
  }
  if (last.joinable()) last.join();
}

template <typename T>
void JobMember<T>::Perform(const member::AdoptRows& action) {
  JoinStaging();
  rows_.Adopt(RangesOf(action.place->own));
}

// ---- states ----------------------------------------------------------------------------------

template <typename T>
void JobMember<T>::Perform(const member::FindState& action) {
  unread_ = {};
  Status found = PlanMemoryOf(*action.place);
  if (found.ok()) found = hooks_.find_state(action.place->start());
  Post(member::StateFound{std::move(found), std::exchange(unread_, {})});
}

template <typename T>
void JobMember<T>::BeginWith(std::vector<spec::InitialTensor> initial) {
  training::TrainingPlan plan = machine_.plan();
  plan.initial = std::make_shared<const std::vector<spec::InitialTensor>>(std::move(initial));
  states_.BeginWith(std::move(plan));
}

template <typename T>
void JobMember<T>::Perform(const member::Revert& action) {
  const int64_t from = machine_.state().step;
  states_.Perform(action);
  LogWarning("the members' states differ; from step " + std::to_string(from) + " back to step " +
             std::to_string(machine_.state().step) + ", on which all agreed");
}

template <typename T>
void JobMember<T>::Perform(const member::OfferState& action) {
  const member::Place& place = *action.place;
  const cluster::StartTraining& start = place.start();
  const auto bytes = std::make_shared<const std::string>(training::EncodeState(machine_.state()));
  offered_ = rpc::MemberKey{start.incarnation, start.job, start.generation,
                            static_cast<uint32_t>(place.self())};
  rpc::StateOffer offer;
  for (const cluster::Member& m : start.members) offer.members.push_back(m.name);
  offer.encode = [bytes] { return bytes; };
  peers_.OfferState(*offered_, std::move(offer));
}

template <typename T>
void JobMember<T>::Perform(const member::WithdrawState&) {
  if (offered_) peers_.WithdrawState(*offered_);
  offered_.reset();
}

template <typename T>
void JobMember<T>::Perform(const member::FetchState& action) {
  if (action.delay_us > 0) Pause(action.delay_us);
  Post(Fetch(*action.place, action.holder, action.round));
}

template <typename T>
member::StateFetched JobMember<T>::Fetch(const member::Place& place, int32_t holder_index,
                                         std::optional<uint64_t> round) {
  const cluster::StartTraining& start = place.start();
  const int64_t begin_us = NowUs();
  const cluster::Member& holder = start.members[static_cast<size_t>(holder_index)];
  const rpc::MemberKey key{start.incarnation, start.job, start.generation,
                           static_cast<uint32_t>(holder_index)};
  rpc::StateFetch fetch;
  fetch.holder = holder.name;
  fetch.bytes_max = StateBytesMax(machine_);
  fetch.cancelled = [this] { return interrupted(); };
  const Result<std::string> bytes = peers_.FetchState(holder.address, key, fetch);
  if (bytes.ok() && interrupted()) return {};  // the state is not used
  member::StateFetched fetched = states_.Take(bytes, round);
  if (fetched.status.ok() && fetched.decoded.ok()) {
    LogInfo(ToString(key.job) + ": fetched the job state, " + std::to_string(bytes->size()) +
            " bytes of round " + std::to_string(fetched.round) + ", from " + holder.name + " in " +
            std::to_string((NowUs() - begin_us) / 1000) + " ms");
  }
  return fetched;
}

template <typename T>
HeldState JobMember<T>::Held() const {
  const training::TrainingState<T>& state = machine_.state();
  return {state.step, state.accepted, training::EncodeState(state)};
}

template <typename T>
HeldState JobMember<T>::Agreed() const {
  const auto& agreed = states_.agreed();
  if (!agreed) return {};
  return {agreed->step, agreed->accepted, training::EncodeState(*agreed)};
}

template <typename T>
void JobMember<T>::Perform(const member::OfferCheckpoint& action) {
  hooks_.on_agreed(RootStateOf(*action.place, *states_.agreed()));
}

template <typename T>
RootState JobMember<T>::RootStateOf(const member::Place& place,
                                    const training::TrainingState<T>& state) {
  return {place.start(), place.self(), state.step, state.accepted,
          [&state] { return training::EncodeState(state); }};
}

template class JobMember<float>;
template class JobMember<double>;

}  // namespace espalier::worker
