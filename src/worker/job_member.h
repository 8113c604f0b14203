// One worker's part in the training of a job, over all its generations: performs the actions of the
// member core (member/member_core.h) with real links, rows, states and rounds. The step machine
// with the job state and the rows stay. Each generation has new links, a new reducer and a new
// trainer.
//
// The core decides and this class performs. Post passes an event to the core, on any thread.
// Reports and interruptions that the core orders are performed at once, on that thread. All other
// actions wait for the job's thread, which performs them in order within Run. One more thread loads
// the rows of a planned generation while the present one trains.
//
// Thread rule: Run on the job's thread. Post is safe from any thread. The others: see each.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/base/thread_pool.h"
#include "src/cluster/messages.h"
#include "src/member/member_core.h"
#include "src/member/state_copies.h"
#include "src/rpc/peer.h"
#include "src/spec/job_spec.h"
#include "src/training/step_machine.h"
#include "src/worker/async_trainer.h"
#include "src/worker/own_rows.h"
#include "src/worker/step_probe.h"
#include "src/worker/trainer.h"

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
  std::function<void(cluster::FromWorker)> report;  // called on any thread; must not call Post
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

// The job state of a member between two generations.
struct HeldState {
  int64_t step = 0;  // last committed step
  std::vector<std::string> accepted;
  std::string bytes;  // EncodeState
};

// `spec`, `profile` and `peers` must outlive the member.
template <typename T>
class JobMember {
 public:
  static Result<std::unique_ptr<JobMember>> Make(const spec::JobSpec& spec,
                                                 std::shared_ptr<const spec::TableProfile> profile,
                                                 int threads, rpc::PeerNetwork& peers,
                                                 MemberHooks hooks);
  ~JobMember();

  // Takes part in a generation, and in planned ones that follow it, until the end of the run. After
  // a broken link, which the member has reported, the links stay up. The caller waits for a newer
  // order, and then runs again or destroys this object.
  member::EndRun Run(const member::TrainingOrder& order);
  // Passes in Interrupt, Rearm, ProceedCame, Prepare, SwitchTo or EndEarly.
  void Post(member::MemberEvent event);

  // Called within find_state: the state from which to continue instead of a new model, or only its
  // first weights.
  void BeginWith(std::vector<spec::InitialTensor> initial);
  void GoOnFrom(training::TrainingState<T> state) {
    states_.GoOnFrom(std::move(state), !async());  // asynchronous training compares nothing
  }
  // Called within find_state if the state is unknown. Then the job fails unless another member is
  // further.
  void CouldNotRead(Status why) { unread_ = std::move(why); }

  // The rest is called on the job's thread while Run is not running, or within find_state.
  // Returns the committed steps of the held state.
  int64_t step() const { return machine_.state().step; }
  // Returns the member with the newest state when this member last trained asynchronously, or none.
  WorkerId holder() const { return holder_; }
  const training::TrainingPlan& plan() const { return machine_.plan(); }
  // Returns the present state.
  HeldState Held() const;
  // Returns the newest state that all members had. Step 0: none.
  HeldState Agreed() const;
  // Returns whether the held state may be wrong: states differed, or the last run was out of
  // memory.
  bool differs() const;
  // Returns the results. REQUIRES: the last run has finished the job.
  Trained trained() const;
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
  // The links of one generation, and the object that works with them: a trainer with its reducer,
  // or the exchange of asynchronous training.
  struct Links {
    std::unique_ptr<Reducer> reducer;
    std::unique_ptr<Trainer<T>> trainer;
    std::unique_ptr<AsyncExchange> exchange;
  };

  JobMember(const spec::JobSpec& spec, std::shared_ptr<const spec::TableProfile> profile,
            model::NetworkShape shape, int threads, rpc::PeerNetwork& peers, MemberHooks hooks);

  // Returns the next action for the job's thread.
  member::MemberAction NextAction();
  void PerformAtOnce(member::MemberAction& action) REQUIRES(mutex_);
  void EndRounds();  // drops the trainer with its memory
  void ReportTheRest();
  void StartStaging(const member::StageRows& action) REQUIRES(mutex_);
  Status Stage(const member::StageRows& action);
  void JoinStaging();

  // Each function performs the action on the job's thread, and posts its result if it has one.
  void Perform(const member::CloseLinks&);
  void Perform(const member::OpenLinks& action);
  void Perform(const member::SetLinksAside&);
  void Perform(const member::CloseLinksAside&) { before_ = {}; }
  void Perform(const member::Report& action) { hooks_.report(action.message); }
  void Perform(const member::FindState& action);
  void Perform(const member::Revert&);
  void Perform(const member::CoverRows& action);
  void Perform(const member::AdoptRows& action);
  void Perform(const member::FetchState& action);
  void Perform(const member::OfferState& action);
  void Perform(const member::WithdrawState&);
  void Perform(const member::AgreeOnPresent& action) { states_.Perform(action); }
  void Perform(const member::HoldCompared& action) { states_.Perform(action); }
  void Perform(const member::AgreeOnCompared& action) { states_.Perform(action); }
  void Perform(const member::OfferCheckpoint& action);
  void Perform(const member::ReportHistory& action);
  void Perform(const member::NextRound& action);
  void Perform(const member::RunRound& action) { Post(links_.trainer->RunRound(action)); }
  void Perform(const member::SendSums& action) { Post(links_.trainer->SendSums(action)); }
  void Perform(const member::Commit&) { Post(links_.trainer->Commit()); }
  void Perform(const member::RunLoop& action);

  // Returns kResourceExhausted if the memory plan of that place exceeds the limit.
  Status PlanMemoryOf(const member::Place& place);
  data::RowRanges RangesOf(plan::LeafSpan own) const;
  Status Reserve(const member::Place& place) const;
  // Returns whether training is asynchronous. Then the links lead from all members to the root.
  bool async() const { return spec_.train.mode == spec::TrainMode::kAsync; }
  std::function<void(int32_t, const Status&)> OnBroken(const member::Place& place);
  TrainerOptions OptionsOf(const member::Place& place) const;
  TrainerHooks HooksOf(const member::PlaceRef& place);
  AsyncHooks AsyncHooksOf(const member::PlaceRef& place);
  std::function<void(const StepReport&)> ReportsOf(const member::Place& place);
  // Fetches the state of a member once. Makes it the present one if it is of `round`, if given.
  member::StateFetched Fetch(const member::Place& place, int32_t holder,
                             std::optional<uint64_t> round);
  // Fetches the state at the end of an asynchronous generation, until the holder offers it.
  Status FetchRound(const member::Place& place, uint64_t round);
  void Pause(int64_t us);  // ends early if this run is interrupted
  bool interrupted() const;
  static RootState RootStateOf(const member::Place& place, const training::TrainingState<T>& state);
  void LogParts(JobId job) const;

  const spec::JobSpec& spec_;
  const std::shared_ptr<const spec::TableProfile> profile_;
  const int32_t leaves_;
  const model::NetworkShape shape_;    // the machine's; for any thread, because states are replaced
  const training::TrainingPlan plan_;  // the machine's at first; for any thread
  rpc::PeerNetwork& peers_;
  const MemberHooks hooks_;
  ComputePool pool_;
  member::StateCopies<T> states_;
  training::StepMachine<T>& machine_;    // with the present state
  std::atomic<int64_t> model_bytes_{0};  // share of memory_bytes_max used by the model
  OwnRows rows_;
  StoredRows<T> row_source_;
  StepTimes times_;
  std::optional<training::FinishAction> finish_;
  int64_t begun_us_ = 0;  // start of asynchronous training
  Status unread_;
  WorkerId holder_;
  Links links_;   // the last generation's
  Links before_;  // the previous generation's, until all members have left it
  std::optional<rpc::MemberKey> offered_;

  std::atomic<uint64_t> staging_number_{0};  // of the newest StageRows; 0: stopped

  mutable Mutex mutex_;
  CondVar changed_;
  member::MemberCore core_ GUARDED_BY(mutex_);
  std::deque<member::MemberAction> todo_ GUARDED_BY(mutex_);  // for the job's thread
  Trainer<T>* trainer_ GUARDED_BY(mutex_) = nullptr;          // of links_
  AsyncTrainer<T>* loop_ GUARDED_BY(mutex_) = nullptr;        // set while one runs
  Status abort_ GUARDED_BY(mutex_);          // why the work of the present generation must end
  Generation end_loop_ GUARDED_BY(mutex_);   // generation that follows the loop, as ordered
  bool end_job_ GUARDED_BY(mutex_) = false;  // the loop's next step is the last one of the job
  std::thread staging_ GUARDED_BY(mutex_);   // newest; waits for the one before it
};

extern template class JobMember<float>;
extern template class JobMember<double>;

// The member of a job, by the type of its weights. It has none before its first training.
using AnyJobMember = std::variant<std::monostate, std::unique_ptr<JobMember<float>>,
                                  std::unique_ptr<JobMember<double>>>;

}  // namespace espalier::worker
