// One worker's part in the training of a job, over all its generations: the step machine with the
// job state and the rows stay; links, reducer and trainer are each generation's own.
//
// A generation may also begin by plan, without a pause: Prepare loads the rows that it lacks on a
// thread of its own; the total that the root stamped ends the present generation, and the next one
// begins with the next round. The links of the one before stay up until its first sums are there,
// because only then has everybody had the last total.
//
// The life of a generation here: the links open, the rows that lack are loaded, MemberReady is told
// with the round that the state is at; when Proceed comes, who is behind fetches the state from the
// holder; then the step loop runs until the job ends, a link breaks or a newer order interrupts.
//
// Thread rule: Run on the job's thread; the others from any, one at a time.
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

// What a finished training leaves for the root to write and tell.
struct Trained {
  training::FinishAction finish;
  std::vector<spec::HistoryRow> history;
  spec::AsyncCounts async;  // of asynchronous training alone
  double step_ms_p50 = 0, step_ms_p99 = 0;
};

// The root's state before a step.
struct RootState {
  const cluster::StartTraining& order;  // of the generation
  int32_t self = 0;
  int64_t step = 0;  // committed
  const std::vector<std::string>& accepted;
  std::function<std::string()> encode;  // the job state's bytes
};

// What the runner lends.
struct MemberHooks {
  std::function<void(cluster::FromWorker)> tell;  // any thread
  std::function<void(int64_t step)> on_step;
  // On the job's thread, in a generation that all begin together, once the links are open: reading
  // a state may take longer than others wait for a link. Calls BeginWith, GoOnFrom, CouldNotRead,
  // or none of them.
  std::function<Status(const cluster::StartTraining& order)> find_state;
  // At a member that is to be the root, before it reports that it is ready; any thread. Reserves
  // the output for the generation (bundle/output.h).
  std::function<Status(const cluster::StartTraining& order, int32_t self)> reserve_output;
  // At the root, on the job's thread; steps wait for them. Whether the state should be kept soon;
  // and: all members hold this one.
  std::function<bool(const RootState&)> checkpoint_due;
  std::function<void(const RootState&)> on_agreed;
  std::function<Result<std::unique_ptr<data::RowStore>>(const spec::TableProfile& profile,
                                                        const OwnRows::Request& rows)>
      load;
  int64_t sum_timeout_ms = 600'000;  // how long a step waits for the sums of others
  int64_t memory_bytes_max = 0;      // bytes for model and rows (training/memory_plan.h)
  StepProbe* probe = nullptr;        // of a test
};

// What an interrupted generation ends with.
inline Status OrderCame() { return Cancelled("a newer order came"); }

// The job state as a member holds it between two generations.
struct HeldState {
  int64_t step = 0;  // committed
  std::vector<std::string> accepted;
  std::string bytes;  // EncodeState
};

class JobMember {
 public:
  virtual ~JobMember() = default;

  // Takes part in a generation until its end: the job is trained (at the root: what it yields), or
  // an error. After one of a broken link, which has been told, the links stay up: the caller waits
  // for a newer order, and then runs again or destroys this.
  struct End {
    Status status;                   // OK, or why the job cannot go on here
    bool broken = false;             // a link, or the agreement: the next generation mends it
    bool left = false;               // the job goes on without this member
    bool root = false;               // this member writes the bundle
    TrainingOrder order;             // of the generation in which it ended
    std::optional<Trained> trained;  // with status OK
  };
  virtual End Run(const TrainingOrder& order) = 0;
  // Ends the present Run soon; until Rearm the next ones too.
  virtual void Interrupt() = 0;
  virtual void Rearm() = 0;
  // All members of that generation are ready.
  virtual void Proceed(const espalier::cluster::Proceed& proceed) = 0;
  // Loads the rows of a generation that is to follow the one that runs; tells MemberReady.
  virtual void Prepare(const TrainingOrder& order) = 0;
  // At the root: ends the present generation.
  virtual void SwitchTo(Generation next) = 0;
  // At the root: the next step of that generation is the last one of the job.
  virtual void EndEarly(Generation generation) = 0;
  // Drops the links of the last generation.
  virtual void Disconnect() = 0;
  // The job's thread, when Run does not run.
  virtual HeldState Held() const = 0;
  // The newest state that all members had; step 0: none.
  virtual HeldState Agreed() const = 0;
  // Whether the held state may be wrong: states differed, or the last run was out of memory.
  virtual bool differs() const = 0;
};

// `spec`, `profile`, `peers` must outlive the member.
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

  // Within find_state: what is begun with instead of a new model; or only its first weights.
  void BeginWith(std::vector<spec::InitialTensor> initial);
  void GoOnFrom(training::TrainingState<T> state);
  // Or why that is not known. Then the job fails unless another member is further.
  void CouldNotRead(Status why) { unread_ = std::move(why); }
  // When Run does not run: committed steps of the state that is held; and who had the newest one of
  // asynchronous training when this member last trained; nobody if it never has.
  int64_t step() const { return machine_.state().step; }
  WorkerId holder() const { return holder_; }
  const training::TrainingPlan& plan() const { return machine_.plan(); }

  // The trained weights, flat.
  const AlignedVector<T>& parameters() const { return machine_.state().parameters; }
  const model::NetworkShape& shape() const { return shape_; }
  // The network that they are of, which may be that of several fits.
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
  // Asynchronous training: its links lead from everybody to the root.
  bool async() const { return spec_.train.mode == spec::TrainMode::kAsync; }
  // Joins a planned generation whose members are about to begin it, or have.
  Status Join(const Place& place);
  Status Begin(const Place& place);
  // The next generation, when this worker is a member of it.
  std::optional<TrainingOrder> TakePrepared(Generation next);
  Status SwitchInto(const Place& before, const Place& place);
  void StopPreparing();
  // Back to the newest state that all had; who never had one begins anew, and will be behind.
  void Revert();
  Result<espalier::cluster::Proceed> WaitForProceed(const TrainingOrder& order);
  Status Level(const TrainingOrder& order, const espalier::cluster::Proceed& proceed);
  void OfferState(const TrainingOrder& order);
  // `round`: that it must be of; none: whatever the holder has.
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
      shape_;  // the machine's, for any thread: the machine is replaced by others
  rpc::PeerNetwork& peers_;
  const MemberHooks hooks_;
  ComputePool pool_;
  training::StepMachine<T> machine_;
  std::atomic<int64_t> model_bytes_{0};  // part of memory_bytes_max that the model takes
  OwnRows rows_;
  StoredRows<T> row_source_;
  StepTimes times_;
  int64_t begun_us_ = 0, pace_told_us_ = 0;
  bool broken_ = false;  // by a link that is not the reducer's, or because states differ
  bool differs_ = false;
  Status unread_;
  WorkerId holder_;
  std::unique_ptr<Exchange>
      exchange_;                      // of the last generation: by mode a Reducer or AsyncExchange
  std::unique_ptr<Exchange> before_;  // of the one before a planned change, until all are over it
  std::optional<training::TrainingState<T>> compared_;  // in the step in flight
  std::optional<training::TrainingState<T>>
      agreed_;  // the newest that all members had, or a checkpoint
  std::optional<rpc::MemberKey> offered_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool interrupted_ = false;
  std::optional<espalier::cluster::Proceed> proceed_;
  StepLoop* trainer_ = nullptr;  // while one runs
  Generation running_;           // the present generation
  Generation switch_to_;         // as ordered
  Generation ends_early_;        // the generation that ends the job, as ordered
  std::optional<TrainingOrder> prepared_;
  std::thread preparing_;                 // the newest; it waits for the one before it
  std::atomic<uint64_t> preparation_{0};  // number of the newest; older ones stop
};

extern template class TypedJobMember<float>;
extern template class TypedJobMember<double>;

}  // namespace espalier::worker
