// One job on one worker: profiles its shards, takes part in training generation after generation,
// and at the root writes the bundle. Of a job that scores it only scores its shards. A thread of
// its own performs the newest order; an order that comes meanwhile interrupts the one underway.
// What it has to tell goes out by `report`.
//
// Thread rule: all public calls from the daemon's loop; none blocks but the destructor, which waits
// for the thread (call Abort first).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "src/base/status.h"
#include "src/bundle/writer_name.h"
#include "src/cluster/fate.h"
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
  StepProbe* probe = nullptr;  // of a test
};

class JobRunner {
 public:
  // Starts with the profiling pass. `peers` must outlive this; `report` is called on any thread.
  JobRunner(RunnerOptions options, rpc::PeerNetwork& peers, cluster::StartProfiling order,
            std::function<void(cluster::FromWorker)> report);
  ~JobRunner();
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;

  JobId job() const { return job_; }
  // A newer generation of the job: takes the place of what is underway.
  void Profile(cluster::StartProfiling order);
  void Train(TrainingOrder order);
  // All members of that generation are ready.
  void Proceed(const espalier::cluster::Proceed& order);
  // A generation that is to follow the one underway without a pause; or, when there is none here,
  // one to join.
  void Prepare(TrainingOrder order);
  // All members of it are ready: at the root, ends the one underway.
  void SwitchTo(Generation next);
  void EndEarly(Generation generation);
  // The job state is to be written as a checkpoint, unless one that is as far is there; reports
  // StateKept. Ends what is underway. `reverts`: the newest state that all members had, instead.
  struct KeepOrder {
    cluster::JobPoint at;
    bool reverts = false;
  };
  void Keep(KeepOrder order);
  // The job's delegation tokens from now on.
  void TakeTokens(const spec::StorageTokens& tokens);
  // Everything about the job ends within a fraction of a second, unless a file system hangs;
  // nothing is reported any more.
  void Abort(Status why);
  // The process has crashed: commits and checkpoints end before their next step, and nothing is
  // reported any more. Takes no lock, because the thread that crashed may hold it.
  void Freeze() { aborted_ = interrupted_ = true; }
  // The last committed step.
  int64_t step() const { return step_; }
  // What storage keeps it from getting on; empty: nothing.
  std::string waiting_because() const;
  // Trained, and told if it was the root's to tell: only the release is waited for.
  bool over() const { return over_; }

 private:
  using Order = std::variant<cluster::StartProfiling, TrainingOrder, KeepOrder>;

  void Run();
  // The next order; none: aborted.
  std::optional<Order> WaitForOrder();
  void GiveOrder(Order order);
  Status ReadJob();
  Status Perform(const cluster::StartProfiling& order);
  // Where the job's rows are read.
  const storage::FileSystem& input_files() const {
    return cached_files_ ? *cached_files_ : *files_;
  }
  // What the order says to do with each shard.
  Result<ProfileOne> WorkOf(const cluster::StartProfiling& order);
  Status Perform(const TrainingOrder& order);
  Status Perform(const KeepOrder& order);
  template <typename T>
  Status Train(const TrainingOrder& order);
  // The right to write the output in a generation (bundle/output.h); any thread.
  Status Reserve(const bundle::WriterName& writer);
  void ReleaseReserved();
  Result<std::unique_ptr<data::RowStore>> LoadRows(const spec::TableProfile& profile,
                                                   const OwnRows::Request& rows);
  // Where the rows of one of the loader's shards come from: the profile of this job, or what is
  // kept beyond it; neither: they are read.
  struct Source {
    int32_t shard = 0;
    data::ProfiledShard* profiled = nullptr;
    std::shared_ptr<const KeptShard> kept;
  };
  // The loader's shards in the order to load them in. Drops what the profiling pass kept of others.
  // Those that it kept come first, so that their rows make room for the store's.
  std::vector<Source> KeptFirst(const data::RowLoader& loader);
  Status Load(data::RowLoader& loader, const storage::FileSystem& files, Source& source);
  // What a member has before a generation that all begin together.
  template <typename T>
  Status FindState(const cluster::StartTraining& order);
  // What a new member of the job begins with.
  template <typename T>
  Status Begin(const cluster::StartTraining& order, TypedJobMember<T>& member);
  // What a member of asynchronous training begins another generation with.
  template <typename T>
  Status BeginAgain(TypedJobMember<T>& member, const cluster::StartTraining& order);
  template <typename T>
  Result<std::optional<training::TrainingState<T>>> LoadNewest(const TypedJobMember<T>& member,
                                                               const cluster::StartTraining& order);
  // Writes the bundle and tells the result.
  template <typename T>
  Status Finish(const cluster::StartTraining& order, int32_t self, const TypedJobMember<T>& member,
                const Trained& trained);
  void Tell(cluster::FromWorker message);

  const RunnerOptions options_;
  const JobId job_;
  const std::string job_yaml_, request_id_;
  const std::shared_ptr<const spec::InputPlan> input_;
  std::atomic<bool> interrupted_{false};  // the order underway is not to be gone on with
  mutable std::mutex waiting_mutex_;      // guards the next; apart, as storage calls under locks
  std::string waiting_because_;
  const std::function<void(cluster::FromWorker)> report_;
  const std::shared_ptr<storage::TokenStore> tokens_;
  const std::unique_ptr<storage::FileSystem> files_;  // its waits end when interrupted
  const std::unique_ptr<storage::FileSystem>
      cleaning_;  // reaches the storage also when interrupted
  rpc::PeerNetwork& peers_;
  // Of the job's thread.
  spec::JobSpec spec_;
  std::unique_ptr<CachedFiles> cached_files_;  // of a job that is to use the cache
  std::optional<spec::ScoringSpec>
      scoring_spec_;                      // of a job that scores, in place of the one above
  std::unique_ptr<ScoringWork> scoring_;  // of it, once its model is read
  std::shared_ptr<data::MemoryBudget>
      profile_room_;                   // of profiled_ and of the profiling pass underway
  std::unique_ptr<JobShards> shards_;  // of a job that trains
  std::vector<data::ProfiledShard> profiled_;
  std::unique_ptr<JobCheckpoints> checkpoints_;  // as long as there is a member
  TrainingOrder newest_;                         // of the orders to train
  Generation generation_;                        // underway, or the newest that ended here
  std::string arithmetic_id_;
  bool begun_ = false;  // the member has read what it begins with
  std::atomic<int64_t> step_{0};
  std::atomic<bool> aborted_{false};
  std::atomic<bool> over_{false};

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::optional<Order> next_;
  std::set<bundle::WriterName> reserved_;
  std::optional<espalier::cluster::Proceed> proceed_;
  std::unique_ptr<JobMember> member_;  // set once, by the job's thread

  std::thread thread_;  // last: started when all else stands
};

}  // namespace espalier::worker
