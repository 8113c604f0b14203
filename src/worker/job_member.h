// One worker's part in the training of a job, over all its generations. The step machine with the
// job state and the rows stay. Each generation has new links, a new reducer and a new trainer.
//
// A generation may also begin by plan, without a pause. Prepare loads the missing rows on a
// separate thread. The total that the root stamped ends the present generation, and the next one
// begins with the next round. The links of the generation before stay up until the first sums of
// the next one arrive. Only then has every member received the last total.
//
// The life of a generation in this worker: the links open, the missing rows are loaded, and the
// member reports MemberReady with the round of its state. After Proceed, a member that is behind
// fetches the state from the holder. Then the step loop runs until the job ends, a link breaks or a
// newer order interrupts it.
//
// Thread rule: Run on the job's thread. The others are safe from any thread, one at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "src/base/status.h"
#include "src/base/thread_pool.h"
#include "src/cluster/messages.h"
#include "src/rpc/peer.h"
#include "src/spec/job_spec.h"
#include "src/training/step_machine.h"
#include "src/worker/exchange.h"
#include "src/worker/own_rows.h"
#include "src/worker/step_probe.h"
#include "src/worker/trainer.h"
#include "src/worker/training_order.h"

namespace espalier::worker {

// The results of a finished training for the root to write and report.
struct Trained {
  training::FinishAction finish;
  std::vector<spec::HistoryRow> history;
  spec::AsyncCounts async;  // only for asynchronous training
  double step_ms_p50 = 0, step_ms_p99 = 0;
};

// The root's state before a step.
struct RootState {
  const cluster::StartTraining& order;  // order of the generation
  int32_t self = 0;
  int64_t step = 0;  // last committed step
  const std::vector<std::string>& accepted;
  std::function<std::string()> encode;  // returns the bytes of the job state
};

// Functions of the runner.
struct MemberHooks {
  std::function<void(cluster::FromWorker)> tell;  // reports a message; called on any thread
  std::function<void(int64_t step)> on_step;
  // Called on the job's thread in a generation that all members begin together, once the links are
  // open. Reading a state may take longer than other members wait for a link. It calls BeginWith,
  // GoOnFrom, CouldNotRead, or none of them.
  std::function<Status(const cluster::StartTraining& order)> find_state;
  // Reserves the output for the generation (bundle/output.h). Called on any thread of the member
  // that will be the root, before it reports that it is ready.
  std::function<Status(const cluster::StartTraining& order, int32_t self)> reserve_output;
  // Called on the job's thread of the root, while steps wait. checkpoint_due returns whether to
  // save the state soon. on_agreed reports a state that all members have.
  std::function<bool(const RootState&)> checkpoint_due;
  std::function<void(const RootState&)> on_agreed;
  std::function<Result<std::unique_ptr<data::RowStore>>(const spec::TableProfile& profile,
                                                        const OwnRows::Request& rows)>
      load;
  int64_t sum_timeout_ms = 600'000;  // limit for the sums of other members in a step
  int64_t memory_bytes_max = 0;      // bytes for model and rows (training/memory_plan.h)
  StepProbe* probe = nullptr;        // only in tests
};

// Returns the error of an interrupted generation.
inline Status OrderCame() { return Cancelled("a newer order came"); }

// The job state of a member between two generations.
struct HeldState {
  int64_t step = 0;  // last committed step
  std::vector<std::string> accepted;
  std::string bytes;  // EncodeState
};

class JobMember {
 public:
  virtual ~JobMember() = default;

  // Takes part in a generation until its end. The end is either a trained job, with its result at
  // the root, or an error. After the error of a broken link, which the member has reported, the
  // links stay up. The caller waits for a newer order, and then runs again or destroys this object.
  struct End {
    Status status;                   // OK, or why the job cannot continue on this worker
    bool broken = false;             // a link broke or states differ; the next generation recovers
    bool left = false;               // the job continues without this member
    bool root = false;               // this member writes the bundle
    TrainingOrder order;             // order of the generation in which it ended
    std::optional<Trained> trained;  // set with status OK
  };
  virtual End Run(const TrainingOrder& order) = 0;
  // Interrupt ends the present Run soon, and later ones until Rearm.
  virtual void Interrupt() = 0;
  virtual void Rearm() = 0;
  // Reports that all members of that generation are ready.
  virtual void Proceed(const espalier::cluster::Proceed& proceed) = 0;
  // Loads the rows of a generation that will follow the running one, and reports MemberReady.
  virtual void Prepare(const TrainingOrder& order) = 0;
  // At the root: ends the present generation.
  virtual void SwitchTo(Generation next) = 0;
  // At the root: makes the next step of that generation the last one of the job.
  virtual void EndEarly(Generation generation) = 0;
  // Drops the links of the last generation.
  virtual void Disconnect() = 0;
  // Returns the present state. Called on the job's thread while Run is not running.
  virtual HeldState Held() const = 0;
  // Returns the newest state that all members had. Step 0: none.
  virtual HeldState Agreed() const = 0;
  // Returns whether the held state may be wrong: states differed, or the last run was out of
  // memory.
  virtual bool differs() const = 0;
};

// `spec`, `profile` and `peers` must outlive the member.
template <typename T>
class TypedJobMember final : public JobMember {
 public:
  static Result<std::unique_ptr<TypedJobMember>> Make(
      const spec::JobSpec& spec, std::shared_ptr<const spec::TableProfile> profile, int threads,
      rpc::PeerNetwork& peers, MemberHooks hooks);
  ~TypedJobMember() override;

  End Run(const TrainingOrder& order) override;
  void Interrupt() override;
  void Rearm() override;
  void Proceed(const espalier::cluster::Proceed& proceed) override;
  void Prepare(const TrainingOrder& order) override;
  void SwitchTo(Generation next) override;
  void EndEarly(Generation generation) override;
  void Disconnect() override;
  HeldState Held() const override;
  HeldState Agreed() const override;
  bool differs() const override { return differs_; }

  // Called within find_state: the state from which to continue instead of a new model, or only its
  // first weights.
  void BeginWith(std::vector<spec::InitialTensor> initial);
  void GoOnFrom(training::TrainingState<T> state);
  // Called within find_state if the state is unknown. Then the job fails unless another member is
  // further.
  void CouldNotRead(Status why) { unread_ = std::move(why); }
  // Called while Run is not running. step() returns the committed steps of the held state. holder()
  // returns the member with the newest state when this member last trained asynchronously, or none.
  int64_t step() const { return machine_.state().step; }
  WorkerId holder() const { return holder_; }
  const training::TrainingPlan& plan() const { return machine_.plan(); }

  // Returns the trained weights, flat.
  const AlignedVector<T>& parameters() const { return machine_.state().parameters; }
  const model::NetworkShape& shape() const { return shape_; }
  // Returns the network of these weights, which may consist of several fits.
  model::NetworkShape model_shape() const {
    return training::ShapeOfParameters(machine_.plan(), machine_.state());
  }
  double temperature() const { return machine_.state().ensemble.temperature; }
  const std::vector<std::string>& accepted() const { return machine_.state().accepted; }

 private:
  TypedJobMember(const spec::JobSpec& spec, std::shared_ptr<const spec::TableProfile> profile,
                 model::NetworkShape shape, int threads, rpc::PeerNetwork& peers,
                 MemberHooks hooks);
  // Its place in a generation.
  struct Place {
    TrainingOrder order;
    std::vector<plan::TreePlace> tree;
    plan::LeafSpan own;
    bool root = false;
  };
  // Returns kResourceExhausted if its memory plan exceeds the limit.
  Result<Place> PlaceIn(const TrainingOrder& order);
  data::RowRanges RangesOf(plan::LeafSpan own) const;
  Status Reserve(const Place& place) const;
  void Connect(const Place& place);
  // Returns whether training is asynchronous. Then the links lead from all members to the root.
  bool async() const { return spec_.train.mode == spec::TrainMode::kAsync; }
  // Joins a planned generation whose members are about to begin it, or have begun it.
  Status Join(const Place& place);
  Status Begin(const Place& place);
  // Returns the order of the next generation, if this worker is a member of it.
  std::optional<TrainingOrder> TakePrepared(Generation next);
  Status SwitchInto(const Place& before, const Place& place);
  void StopPreparing();
  // Reverts to the newest state that all members had. A member that never had one begins again, and
  // is then behind.
  void Revert();
  Result<espalier::cluster::Proceed> WaitForProceed(const TrainingOrder& order);
  Status Level(const TrainingOrder& order, const espalier::cluster::Proceed& proceed);
  void OfferState(const TrainingOrder& order);
  // Fetches the state. `round`: required round; none: any round of the holder.
  Status FetchState(const TrainingOrder& order, int32_t holder, std::optional<uint64_t> round);
  Result<TrainerEnd> TrainOn(const Place& place);
  std::unique_ptr<StepLoop> MakeLoop(const Place& place, const TrainerOptions& options);
  TrainerHooks Hooks(const Place& place);
  void LogParts(JobId job) const;
  void Probe(Generation generation, TrainerHooks& hooks);
  static RootState RootStateOf(const Place& place, const training::TrainingState<T>& state);
  void TellPace(const cluster::StartTraining& order, const std::vector<double>& leaf_ms);
  void TellBroken(const cluster::StartTraining& order, int32_t member, const Status& why);
  void Withdraw();
  bool interrupted() const;

  const spec::JobSpec& spec_;
  const std::shared_ptr<const spec::TableProfile> profile_;
  const int32_t leaves_;
  const model::NetworkShape
      shape_;  // copy of the machine's shape, for any thread, because machine_ is replaced
  rpc::PeerNetwork& peers_;
  const MemberHooks hooks_;
  ComputePool pool_;
  training::StepMachine<T> machine_;
  std::atomic<int64_t> model_bytes_{0};  // share of memory_bytes_max used by the model
  OwnRows rows_;
  StoredRows<T> row_source_;
  StepTimes times_;
  int64_t begun_us_ = 0, pace_told_us_ = 0;
  bool broken_ = false;  // a link outside the reducer broke, or states differ
  bool differs_ = false;
  Status unread_;
  WorkerId holder_;
  std::unique_ptr<Exchange> exchange_;  // last generation's: a Reducer or AsyncExchange, by mode
  std::unique_ptr<Exchange> before_;    // previous generation's, until all members have left it
  std::optional<training::TrainingState<T>> compared_;  // state that the step in flight compares
  std::optional<training::TrainingState<T>>
      agreed_;  // newest state that all members had, or a checkpoint
  std::optional<rpc::MemberKey> offered_;

  mutable std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  bool interrupted_ = false;
  std::optional<espalier::cluster::Proceed> proceed_;
  StepLoop* trainer_ = nullptr;  // set while one runs
  Generation running_;           // the present generation
  Generation switch_to_;         // next generation, as ordered
  Generation ends_early_;        // the generation that ends the job, as ordered
  std::optional<TrainingOrder> prepared_;
  std::thread preparing_;                 // newest preparation; waits for the one before it
  std::atomic<uint64_t> preparation_{0};  // number of the newest; older ones stop
};

extern template class TypedJobMember<float>;
extern template class TypedJobMember<double>;

}  // namespace espalier::worker
