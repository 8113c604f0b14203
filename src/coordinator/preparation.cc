#include "src/coordinator/preparation.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/checksum.h"
#include "src/base/text.h"
#include "src/bundle/checkpoint_store.h"
#include "src/bundle/output.h"
#include "src/config/job_yaml.h"
#include "src/config/scoring_yaml.h"
#include "src/data/input/listing.h"
#include "src/data/profile/merge.h"
#include "src/rpc/message_size.h"
#include "src/scoring/scoring_job.h"
#include "src/scoring/staging.h"
#include "src/storage/delegation_tokens.h"
#include "src/storage/uri.h"
#include "src/training/memory_plan.h"

namespace espalier {
namespace {

constexpr size_t kProbeDigits = 16;

// One that is broken off would leave its probe behind.
Status Probe(const OutputSpec& output, const SubmitRequest& request, StorageOptions storage) {
  storage.webhdfs.http.cancelled = {};
  return ProbeOutput(*MakeFileSystem(storage), output, request.client_request_id);
}

Status ProbeParts(const ScoringSpec& job, const SubmitRequest& request, StorageOptions storage) {
  storage.webhdfs.http.cancelled = {};
  const std::string output = PredictSpecOf(job).output;
  // The same submission may be read by another coordinator, or by this one once more.
  static std::atomic<int64_t> readings{0};
  char host[256] = {};
  (void)gethostname(host, sizeof(host) - 1);
  const std::string who = Sha256Hex(std::string(host) + ":" + std::to_string(getpid()) + ":" +
                                    std::to_string(++readings))
                              .substr(0, kProbeDigits);
  return ProbeStaging(*MakeFileSystem(storage), output,
                      StagingDirectory(output, request.client_request_id), who);
}

// A relative path would be taken from wherever this daemon happened to be started.
Status CheckAbsolute(const char* key, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const Result<Uri> uri = ParseUri(path);
    if (path.empty() || !uri.ok() || uri->kind != Uri::Kind::kLocal || uri->path.starts_with('/')) {
      continue;  // none, or told by who reads it
    }
    return InvalidArgument(std::string(key) + ": found the relative path " + QuotedPath(path) +
                           ", expected an absolute one: whoever submits a job makes its paths "
                           "absolute, as `espalier submit` does");
  }
  return Status::Ok();
}

Status CheckPaths(const JobSpec& job) {
  ESPALIER_RETURN_IF_ERROR(CheckAbsolute("data.train", job.data.train));
  ESPALIER_RETURN_IF_ERROR(CheckAbsolute("data.test", job.data.test));
  ESPALIER_RETURN_IF_ERROR(CheckAbsolute("data.validation.files", job.data.validation.files));
  ESPALIER_RETURN_IF_ERROR(CheckAbsolute("output", {job.output.path}));
  if (job.resume) ESPALIER_RETURN_IF_ERROR(CheckAbsolute("resume", {job.resume->from}));
  if (!job.train.initial) return Status::Ok();
  return CheckAbsolute("train.initial", {job.train.initial->from});
}

Status CheckPaths(const ScoringSpec& job) {
  ESPALIER_RETURN_IF_ERROR(CheckAbsolute("model", {job.model}));
  ESPALIER_RETURN_IF_ERROR(CheckAbsolute("data", job.data));
  return CheckAbsolute("output", {job.output.path});
}

Result<Submission> PrepareTraining(const SubmitRequest& request, const StorageOptions& storage) {
  ESPALIER_ASSIGN_OR_RETURN(const JobSpec job, ParseJob(request.job_yaml, "job"));
  ESPALIER_RETURN_IF_ERROR(CheckPaths(job));
  const auto files = MakeFileSystem(storage);
  ESPALIER_RETURN_IF_ERROR(CheckOutput(*files, job.output));
  ESPALIER_RETURN_IF_ERROR(Probe(job.output, request, storage));
  ESPALIER_RETURN_IF_ERROR(CheckBeginning(*files, job));
  ESPALIER_ASSIGN_OR_RETURN(InputPlan input, PlanInput(*files, job.data, job.data.shard_bytes));
  ESPALIER_RETURN_IF_ERROR(CheckSendable(input));
  FindHosts(*files, &input);
  Submission submission;
  submission.client_request_id = request.client_request_id;
  submission.job_yaml = request.job_yaml;
  submission.name = job.name;
  submission.output = job.output.path;
  submission.output_place = CanonicalPath(submission.output);
  submission.workers_min = job.workers.min;
  submission.workers_max = job.workers.max;
  submission.leaves = LeafCount(job.train);
  submission.work = TrainingSubmission{.star = job.train.mode == TrainMode::kAsync,
                                       .least_model_bytes = LeastModelBytes(job)};
  submission.input = std::make_shared<const InputPlan>(std::move(input));
  submission.tokens = request.tokens;
  return submission;
}

Result<Submission> PrepareScoring(const SubmitRequest& request, const StorageOptions& storage) {
  ESPALIER_ASSIGN_OR_RETURN(const ScoringSpec job, ParseScoring(request.job_yaml, "job"));
  ESPALIER_RETURN_IF_ERROR(CheckPaths(job));
  const auto files = MakeFileSystem(storage);
  ESPALIER_ASSIGN_OR_RETURN(ScoringPlan plan, PlanScoring(*files, job));
  InputPlan& input = plan.input;
  ESPALIER_RETURN_IF_ERROR(CheckSendable(input));
  if (!job.output.path.empty()) {
    ESPALIER_RETURN_IF_ERROR(Probe(job.output, request, storage));
  }
  if (job.kind == JobKind::kPredict) {
    ESPALIER_RETURN_IF_ERROR(ProbeParts(job, request, storage));
  }
  FindHosts(*files, &input);
  Submission submission;
  submission.client_request_id = request.client_request_id;
  submission.job_yaml = request.job_yaml;
  submission.work = ScoringSubmission{job.kind, std::move(plan.model_sha256)};
  submission.name = job.name;
  submission.output = PredictSpecOf(job).output;
  if (!submission.output.empty()) submission.output_place = CanonicalPath(submission.output);
  submission.workers_min = job.workers.min;
  submission.workers_max = job.workers.max;
  // No more workers than shards have anything to do.
  const auto shards = static_cast<int64_t>(input.shards.size());
  submission.leaves = std::clamp<int64_t>(shards, 1, std::numeric_limits<int32_t>::max());
  submission.input = std::make_shared<const InputPlan>(std::move(input));
  submission.tokens = request.tokens;
  return submission;
}

// A token that cannot be renewed is replaced by one of the owner that it names: it must not be one
// that the submitter has written.
Status CheckTokens(const StorageTokens& tokens, const StorageOptions& storage) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string& file_system = tokens[i].file_system;
    for (size_t j = 0; j < i; ++j) {
      if (tokens[j].file_system == file_system) {
        return InvalidArgument("two delegation tokens of '" + Printable(file_system, 300) +
                               "' came with the job; expected one of each file system");
      }
    }
    ESPALIER_RETURN_IF_ERROR(ProveToken(storage, file_system, tokens[i].text));
  }
  return Status::Ok();
}

Result<Submission> Prepare(const SubmitRequest& request, const StorageOptions& storage) {
  ESPALIER_RETURN_IF_ERROR(CheckTokens(request.tokens, storage));
  ESPALIER_ASSIGN_OR_RETURN(const JobKind kind, JobKindOf(request.job_yaml, "job"));
  return kind == JobKind::kTrain ? PrepareTraining(request, storage)
                                 : PrepareScoring(request, storage);
}

// To clients of a coordinator kUnavailable means that it is away itself; here storage is.
Status AsFailure(const Status& error) {
  if (error.code() != StatusCode::kUnavailable && error.code() != StatusCode::kDeadlineExceeded) {
    return error;
  }
  std::string message;
  for (const Status* s = &error; !s->ok(); s = &s->cause()) {
    message += (message.empty() ? "" : " <- ") + s->message();
  }
  const Status failure = Aborted(std::move(message));
  return error.position() ? failure.At(*error.position()) : failure;
}

}  // namespace

Result<Submission> PrepareSubmission(const SubmitRequest& request, const StorageOptions& storage) {
  Result<Submission> prepared = Prepare(request, storage);
  if (!prepared.ok()) return AsFailure(prepared.status());
  return prepared;
}

Result<std::shared_ptr<const SurveyResult>> MergeShards(MergeWork work,
                                                        const StorageOptions& storage) {
  ESPALIER_ASSIGN_OR_RETURN(const JobSpec job, ParseJob(work.job_yaml, "job"));
  const auto files = MakeFileSystem(storage);
  std::vector<ShardSurvey> shards;
  shards.reserve(work.shards.size());
  for (auto& shard : work.shards) {
    shards.push_back(*shard);
    shard.reset();
  }
  ESPALIER_ASSIGN_OR_RETURN(SurveyResult merged,
                            MergeShardSurveys(*work.input, job, std::move(shards), files.get()));
  ESPALIER_RETURN_IF_ERROR(CheckSendable(merged));
  return std::make_shared<const SurveyResult>(std::move(merged));
}

Result<ScoringResult> MergeScored(MergeWork work, const StorageOptions& storage,
                                  const std::function<bool()>& wanted) {
  ESPALIER_ASSIGN_OR_RETURN(const ScoringSpec job, ParseScoring(work.job_yaml, "job"));
  ScoringMerge merge{.staging = StagingDirectory(PredictSpecOf(job).output, work.request_id),
                     .model_sha256 = work.model_sha256,
                     .shards = {},
                     .totals = std::move(work.totals),
                     .wanted = wanted};
  merge.shards.reserve(work.shards.size());
  for (auto& shard : work.shards) {
    merge.shards.push_back(*shard->score);
    shard.reset();
  }
  ESPALIER_ASSIGN_OR_RETURN(ScoringResult result,
                            MergeScores(*MakeFileSystem(storage), job, merge));
  ESPALIER_RETURN_IF_ERROR(CheckSendable(result));
  return result;
}

namespace {

constexpr int kCheckTries = 5;
constexpr int64_t kCheckAgainMs = 500;

// Fences all writers of the job that `work`, a FenceWork or ClearWork, is about.
template <typename Work>
Status FenceWriters(const FileSystem& files, const Work& work) {
  return FenceOutput(files, work.output, [&](const WriterName& writer) {
    return writer.IsOf(work.job, work.submitted_ms);
  });
}

}  // namespace

Result<std::optional<Generation>> FenceJob(const FenceWork& work, const StorageOptions& storage) {
  const auto files = MakeFileSystem(storage);
  ESPALIER_RETURN_IF_ERROR(FenceWriters(*files, work));
  return WrittenBy(*files, work.output, work.request_id);
}

Result<bool> CheckJob(const CheckWork& work, const StorageOptions& storage) {
  const auto files = MakeFileSystem(storage);
  const WriterName writer{work.job, {}, 0, work.submitted_ms};
  for (int tries = 1;; ++tries) {
    const auto holds =
        HoldsModel(*files, work.output, writer, work.request_id, work.weights_sha256);
    if (!holds.ok() || *holds || tries >= kCheckTries) return holds;
    std::this_thread::sleep_for(std::chrono::milliseconds(kCheckAgainMs));
  }
}

Status ClearJob(const ClearWork& work, const StorageOptions& storage) {
  if (work.kind == JobKind::kTrain) {
    return FenceWriters(*MakeFileSystem(storage), work);
  }
  return RemoveStaging(*MakeFileSystem(storage), work.output,
                       StagingDirectory(work.output, work.request_id), work.succeeded);
}

}  // namespace espalier
