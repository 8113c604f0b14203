// One job on one worker. The runner profiles the job's shards, takes part in the training
// generations, and at the root writes the bundle. For a scoring job, it only scores the shards. A
// separate thread performs the newest order. An order that arrives in the meantime interrupts the
// current one. `report` sends the runner's messages.
//
// Thread rule: all public calls from the daemon's loop. Only the destructor blocks, because it
// waits for the thread (call Abort first).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/bundle/writer_name.h"
#include "src/cluster/message_filter.h"
#include "src/cluster/messages.h"
#include "src/data/profile/profile_shard.h"
#include "src/data/profile/row_store.h"
#include "src/rpc/peer.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_systems.h"
#include "src/worker/job_checkpoints.h"
#include "src/worker/job_member.h"
#include "src/worker/job_shards.h"
#include "src/worker/profiling_run.h"
#include "src/worker/read_cache.h"
#include "src/worker/scoring_work.h"

namespace espalier::worker {

struct RunnerOptions {
  int threads = 1;
  int64_t memory_bytes_max = 0;
  std::string spill_directory;
  int64_t spill_bytes_max = 0;
  int64_t sum_timeout_ms = 600'000;
  storage::StorageOptions storage;
  std::shared_ptr<ReadCache> cache;
  std::shared_ptr<ShardCache> shards;
  StepProbe* probe = nullptr;  // only in tests
};

class JobRunner {
 public:
  // Starts with the profiling pass. `peers` must outlive this object. `report` is called on any
  // thread.
  JobRunner(RunnerOptions options, rpc::PeerNetwork& peers, cluster::StartProfiling order,
            std::function<void(cluster::FromWorker)> report);
  ~JobRunner();
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;

  JobId job() const { return job_; }
  // Begins a newer generation of the job, which replaces the current work.
  void Profile(cluster::StartProfiling order);
  void Train(member::TrainingOrder order);
  // Reports that all members of that generation are ready.
  void Proceed(const espalier::cluster::Proceed& order);
  // Prepares a generation that follows the current one without a pause. If this worker has no
  // current one, it joins the prepared one.
  void Prepare(member::TrainingOrder order);
  // Reports that all members of the prepared generation are ready. The root then ends the current
  // one.
  void SwitchTo(Generation next);
  void EndEarly(Generation generation);
  // An order to write the job state as a checkpoint, unless one of the same or a later step exists.
  // The runner ends the current work and reports StateKept. `reverts`: writes the newest state that
  // all members had instead.
  struct KeepOrder {
    cluster::JobPoint at;
    bool reverts = false;
  };
  void Keep(KeepOrder order);
  // Sets the job's delegation tokens.
  void TakeTokens(const spec::StorageTokens& tokens);
  // Ends all work on the job within a fraction of a second, unless a file system hangs. After that,
  // the runner reports nothing.
  void Abort(Status why);
  // Handles a crash of the process: commits and checkpoints end before their next step, and the
  // runner reports nothing more. Takes no lock, because the thread that crashed may hold it.
  void Freeze() { aborted_ = interrupted_ = true; }
  // Returns the last committed step.
  int64_t step() const { return step_; }
  // Returns the reason why storage delays the job. Empty: no delay.
  std::string waiting_because() const;
  // Returns whether the job is trained and the root has reported it, so that only the release is
  // pending.
  bool over() const { return over_; }

 private:
  using Order = std::variant<cluster::StartProfiling, member::TrainingOrder, KeepOrder>;

  void Run();
  // Returns the next order. None: aborted.
  std::optional<Order> WaitForOrder();
  void GiveOrder(Order order);
  Status ReadJob();
  Status Perform(const cluster::StartProfiling& order);
  // Returns the file system for the job's rows.
  const storage::FileSystem& input_files() const {
    return cached_files_ ? *cached_files_ : *files_;
  }
  // Returns the work that the order requires for each shard.
  Result<ProfileOne> WorkOf(const cluster::StartProfiling& order);
  Status Perform(const member::TrainingOrder& order);
  Status Perform(const KeepOrder& order);
  template <typename T>
  Status Train(const member::TrainingOrder& order);
  template <typename T>
  Status MakeMember(const member::TrainingOrder& order);
  // Gets the right to write the output in a generation (bundle/output.h). Safe from any thread.
  Status Reserve(const bundle::WriterName& writer);
  void ReleaseReserved();
  Result<std::unique_ptr<data::RowStore>> LoadRows(const spec::TableProfile& profile,
                                                   const OwnRows::Request& rows);
  // The source of the rows of one of the loader's shards: the profile of this job, or a shard kept
  // in the cache. If both are null, the rows are read.
  struct Source {
    int32_t shard = 0;
    data::ProfiledShard* profiled = nullptr;
    std::shared_ptr<const KeptShard> kept;
  };
  // Returns the loader's shards in loading order, and drops the rows that the profiling pass kept
  // of other shards. Kept shards come first, so that their rows make room for the store's.
  std::vector<Source> KeptFirst(const data::RowLoader& loader);
  Status Load(data::RowLoader& loader, const storage::FileSystem& files, Source& source);
  // Finds the state of a member before a generation that all members begin together.
  template <typename T>
  Status FindState(const cluster::StartTraining& order);
  // Finds the first state of a new member of the job.
  template <typename T>
  Status Begin(const cluster::StartTraining& order, JobMember<T>& member);
  // Finds the state from which a member of asynchronous training begins another generation.
  template <typename T>
  Status BeginAgain(JobMember<T>& member, const cluster::StartTraining& order);
  template <typename T>
  Result<std::optional<training::TrainingState<T>>> LoadNewest(const JobMember<T>& member,
                                                               const cluster::StartTraining& order);
  // Writes the bundle and reports the result.
  template <typename T>
  Status Finish(const cluster::StartTraining& order, int32_t self, const JobMember<T>& member,
                const Trained& trained);
  void Report(cluster::FromWorker message);
  void PostToMember(const member::MemberEvent& event) REQUIRES(mutex_);
  // REQUIRES for the next two: mutex_ is held, or the caller is the job's thread.
  bool has_member() const { return member_.index() != 0; }
  template <typename T>
  JobMember<T>& member() {
    return *std::get<std::unique_ptr<JobMember<T>>>(member_);
  }

  const RunnerOptions options_;
  const JobId job_;
  const std::string job_yaml_, request_id_;
  const std::shared_ptr<const spec::InputPlan> input_;
  std::atomic<bool> interrupted_{false};  // the current order must not continue
  mutable Mutex waiting_mutex_;           // separate because storage calls hold locks
  std::string waiting_because_ GUARDED_BY(waiting_mutex_);
  const std::function<void(cluster::FromWorker)> report_;
  const std::shared_ptr<storage::TokenStore> tokens_;
  const std::unique_ptr<storage::FileSystem> files_;  // its waits end on interruption
  const std::unique_ptr<storage::FileSystem>
      cleaning_;  // reaches the storage even during interruption
  rpc::PeerNetwork& peers_;
  // Used only by the job's thread.
  spec::JobSpec spec_;
  std::unique_ptr<CachedFiles> cached_files_;      // only for a job that uses the cache
  std::optional<spec::ScoringSpec> scoring_spec_;  // scoring jobs; replaces spec_
  std::unique_ptr<ScoringWork> scoring_;           // scoring jobs, once the model is read
  std::shared_ptr<data::MemoryBudget>
      profile_room_;                   // memory of profiled_ and of the current profiling pass
  std::unique_ptr<JobShards> shards_;  // training jobs
  std::vector<data::ProfiledShard> profiled_;
  std::unique_ptr<JobCheckpoints> checkpoints_;  // exists as long as a member does
  member::TrainingOrder newest_;                 // newest order to train
  Generation generation_;  // current one, or the newest that ended on this worker
  std::string arithmetic_id_;
  bool begun_ = false;  // the member has read its first state
  std::atomic<int64_t> step_{0};
  std::atomic<bool> aborted_{false};
  std::atomic<bool> over_{false};

  Mutex mutex_;
  CondVar changed_;
  std::optional<Order> next_ GUARDED_BY(mutex_);
  std::set<bundle::WriterName> reserved_ GUARDED_BY(mutex_);
  std::optional<espalier::cluster::Proceed> proceed_ GUARDED_BY(mutex_);
  // Set once, by the job's thread while it holds mutex_. That thread reads it without the mutex,
  // which GUARDED_BY cannot express. Other threads hold the mutex.
  AnyJobMember member_;

  std::thread thread_;  // last: started when all other members exist
};

}  // namespace espalier::worker
