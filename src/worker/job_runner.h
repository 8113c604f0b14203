// One job on one worker: survey, wait for the order to train, load rows, train, and at the root
// write the bundle. A thread of its own does all that in sequence; what it has to tell goes out by
// `report`, in order.
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
#include <string>
#include <thread>
#include <vector>

#include "src/base/status.h"
#include "src/cluster/messages.h"
#include "src/data/row_store.h"
#include "src/data/survey.h"
#include "src/rpc/peer.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_systems.h"
#include "src/worker/trainer.h"

namespace espalier {

struct RunnerOptions {
  int threads = 1;
  int64_t memory_bytes_max = 0;
  std::string spool_directory;
  int64_t spool_bytes_max = 0;
  StorageOptions storage;
};

class JobRunner {
 public:
  // Starts with the survey. `peers` must outlive this; `report` is called on the job's thread
  // and, during the survey, on those that read, one call at a time.
  JobRunner(RunnerOptions options, PeerNetwork& peers, StartSurvey order,
            std::function<void(FromWorker)> report);
  ~JobRunner();
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;

  void StartTraining(espalier::StartTraining order);
  // Everything about the job ends within a fraction of a second, unless a file system hangs;
  // nothing is reported any more.
  void Abort(Status why);
  // The last committed step.
  int64_t step() const { return step_; }
  // Trained, and told if it was the root's to tell: only the release is waited for.
  bool over() const { return over_; }

 private:
  void Run();
  Status RunJob();
  Status Survey(const JobSpec& spec);
  Result<espalier::StartTraining> WaitForTraining();
  // Ends with Abort, which a Release, the coordinator's absence or the daemon's end leads to.
  void WaitForRelease();
  Result<std::unique_ptr<RowStore>> LoadOwnRows(const JobSpec& spec, const SurveyResult& survey,
                                                const RowRanges& ranges);
  template <typename T>
  Status Train(const JobSpec& spec, const espalier::StartTraining& order);
  TrainerHooks Hooks(const JobSpec& spec, bool root);
  // Writes the bundle and tells the result.
  template <typename T>
  Status Finish(const JobSpec& spec, const SurveyResult& survey, const NetworkShape& shape,
                const TrainerResult<T>& trained);
  void Tell(FromWorker message);
  Status AbortReason() const;

  const RunnerOptions options_;
  const std::unique_ptr<FileSystem> files_;  // its waits end with Abort
  PeerNetwork& peers_;
  const StartSurvey order_;
  const std::function<void(FromWorker)> report_;
  std::vector<SurveyedShard> surveyed_;  // of the job's thread
  std::vector<HistoryRow> history_;      // of the job's thread
  WorkerId suspect_;                     // of the job's thread: whose link broke
  std::atomic<int64_t> step_{0};
  std::atomic<bool> aborted_{false};
  std::atomic<bool> over_{false};

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::optional<espalier::StartTraining> training_;
  Status abort_reason_;
  std::function<void(Status)> abort_trainer_;  // set while a trainer runs

  std::thread thread_;  // last: started when all else stands
};

}  // namespace espalier
