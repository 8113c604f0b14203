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
#include "src/bundle/initial_weights.h"
#include "src/bundle/output.h"
#include "src/config/job_yaml.h"
#include "src/config/scoring_yaml.h"
#include "src/data/input/complete_job.h"
#include "src/data/input/listing.h"
#include "src/data/profile/merge.h"
#include "src/rpc/message_size.h"
#include "src/scoring/scoring_job.h"
#include "src/scoring/staging.h"
#include "src/storage/delegation_tokens.h"
#include "src/storage/uri.h"
#include "src/training/memory_plan.h"

namespace espalier::coordinator {
namespace {

constexpr size_t kProbeDigits = 16;

// Probes the output. Cancellation is disabled, because an interrupted probe would leave its file
// behind.
Status Probe(const spec::OutputSpec& output, const spec::SubmitRequest& request,
             storage::StorageOptions storage) {
  storage.webhdfs.http.cancelled = {};
  return bundle::ProbeOutput(*storage::MakeFileSystem(storage), output, request.client_request_id);
}

Status ProbeParts(const spec::ScoringSpec& job, const spec::SubmitRequest& request,
                  storage::StorageOptions storage) {
  storage.webhdfs.http.cancelled = {};
  const std::string output = scoring::OutputPath(job.output);
  // Another coordinator, or this one again, may read the same submission.
  static std::atomic<int64_t> readings{0};
  char host[256] = {};
  (void)gethostname(host, sizeof(host) - 1);
  const std::string who = Sha256Hex(std::string(host) + ":" + std::to_string(getpid()) + ":" +
                                    std::to_string(++readings))
                              .substr(0, kProbeDigits);
  return scoring::ProbeStaging(*storage::MakeFileSystem(storage), output,
                               scoring::StagingDirectory(output, request.client_request_id), who);
}

// Rejects relative paths, which would depend on the directory where this daemon started.
Status CheckAbsolute(const char* key, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const Result<storage::Uri> uri = storage::ParseUri(path);
    if (path.empty() || !uri.ok() || uri->kind != storage::Uri::Kind::kLocal ||
        uri->path.starts_with('/')) {
      continue;  // empty, or the reader of the path reports the problem
    }
    return InvalidArgument(std::string(key) + ": found the relative path " + QuotedPath(path) +
                           ", expected an absolute one. Make the paths of a job absolute before "
                           "you submit it, as `espalier submit` does.");
  }
  return Status::Ok();
}

Status CheckPaths(const spec::JobSpec& job) {
  ESPALIER_RETURN_IF_ERROR(CheckAbsolute("data.train", job.data.train));
  ESPALIER_RETURN_IF_ERROR(CheckAbsolute("data.test", job.data.test));
  ESPALIER_RETURN_IF_ERROR(CheckAbsolute("data.validation.files", job.data.validation.files));
  ESPALIER_RETURN_IF_ERROR(CheckAbsolute("output", {job.output.path}));
  if (job.resume) ESPALIER_RETURN_IF_ERROR(CheckAbsolute("resume", {job.resume->from}));
  if (!job.train.initial) return Status::Ok();
  return CheckAbsolute("train.initial", {job.train.initial->from});
}

Status CheckPaths(const spec::ScoringSpec& job) {
  ESPALIER_RETURN_IF_ERROR(CheckAbsolute("model", {job.model}));
  ESPALIER_RETURN_IF_ERROR(CheckAbsolute("data", job.data));
  return CheckAbsolute("output", {job.output.path});
}

// Returns the name of an output's place, or "" for a job without an output.
Result<std::string> PlaceOf(const std::string& output, const storage::StorageOptions& storage) {
  if (output.empty()) return std::string();
  return storage::PlaceName(output, storage);
}

Result<cluster::Submission> PrepareTraining(const spec::SubmitRequest& request,
                                            const storage::StorageOptions& storage) {
  ESPALIER_ASSIGN_OR_RETURN(const data::JobCompletion completion,
                            data::JobCompletion::Read(request.job_yaml, "job"));
  const auto files = storage::MakeFileSystem(storage);
  const spec::JobSpec& asked = completion.job();
  ESPALIER_RETURN_IF_ERROR(CheckPaths(asked));
  ESPALIER_ASSIGN_OR_RETURN(std::string place, PlaceOf(asked.output.path, storage));
  ESPALIER_RETURN_IF_ERROR(bundle::CheckOutput(*files, asked.output));
  ESPALIER_RETURN_IF_ERROR(Probe(asked.output, request, storage));
  const auto earlier = bundle::ReadEarlierModel(*files, asked);
  ESPALIER_ASSIGN_OR_RETURN(data::JobCompletion::Completed completed,
                            completion.Complete(*files, earlier ? &*earlier : nullptr));
  const spec::JobSpec& job = completed.job;
  ESPALIER_RETURN_IF_ERROR(bundle::CheckBeginning(*files, job));
  spec::InputPlan& input = completed.input;
  ESPALIER_RETURN_IF_ERROR(rpc::CheckSendable(input));
  data::FindHosts(*files, &input);
  cluster::Submission submission;
  submission.client_request_id = request.client_request_id;
  submission.job_yaml = std::move(completed.yaml);
  submission.name = job.name;
  submission.output = job.output.path;
  submission.output_place = std::move(place);
  submission.workers_min = job.workers.min;
  submission.workers_max = job.workers.max;
  submission.leaves = spec::LeafCount(job.train);
  if (completed.open()) submission.asked_yaml = std::move(completed.asked);
  submission.work =
      cluster::TrainingSubmission{.star = job.train.mode == spec::TrainMode::kAsync,
                                  .least_model_bytes = training::LeastModelBytes(job)};
  submission.input = std::make_shared<const spec::InputPlan>(std::move(input));
  submission.tokens = request.tokens;
  return submission;
}

Result<cluster::Submission> PrepareScoring(const spec::SubmitRequest& request,
                                           const storage::StorageOptions& storage) {
  ESPALIER_ASSIGN_OR_RETURN(const spec::ScoringSpec job,
                            config::ParseScoring(request.job_yaml, "job"));
  ESPALIER_RETURN_IF_ERROR(CheckPaths(job));
  const std::string output = scoring::OutputPath(job.output);
  ESPALIER_ASSIGN_OR_RETURN(std::string place, PlaceOf(output, storage));
  const auto files = storage::MakeFileSystem(storage);
  ESPALIER_ASSIGN_OR_RETURN(scoring::ScoringPlan plan, scoring::PlanScoring(*files, job));
  spec::InputPlan& input = plan.input;
  ESPALIER_RETURN_IF_ERROR(rpc::CheckSendable(input));
  if (!job.output.path.empty()) {
    ESPALIER_RETURN_IF_ERROR(Probe(job.output, request, storage));
  }
  if (job.prediction() != nullptr) {
    ESPALIER_RETURN_IF_ERROR(ProbeParts(job, request, storage));
  }
  data::FindHosts(*files, &input);
  cluster::Submission submission;
  submission.client_request_id = request.client_request_id;
  submission.job_yaml = request.job_yaml;
  submission.work = cluster::ScoringSubmission{job.kind(), std::move(plan.model_sha256)};
  submission.name = job.name;
  submission.output = output;
  if (!submission.output.empty()) submission.output_place = std::move(place);
  submission.workers_min = job.workers.min;
  submission.workers_max = job.workers.max;
  // More workers than shards would have no work.
  const auto shards = static_cast<int64_t>(input.shards.size());
  submission.leaves = std::clamp<int64_t>(shards, 1, std::numeric_limits<int32_t>::max());
  submission.input = std::make_shared<const spec::InputPlan>(std::move(input));
  submission.tokens = request.tokens;
  return submission;
}

// Checks the tokens. A token that cannot be renewed is replaced by one of the owner that it names,
// so the submitter must not have forged the token.
Status CheckTokens(const spec::StorageTokens& tokens, const storage::StorageOptions& storage) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string& file_system = tokens[i].file_system;
    for (size_t j = 0; j < i; ++j) {
      if (tokens[j].file_system == file_system) {
        return InvalidArgument("two delegation tokens of '" + Printable(file_system, 300) +
                               "' came with the job; expected one of each file system");
      }
    }
    ESPALIER_RETURN_IF_ERROR(storage::ProveToken(storage, file_system, tokens[i].text));
  }
  return Status::Ok();
}

Result<cluster::Submission> Prepare(const spec::SubmitRequest& request,
                                    const storage::StorageOptions& storage) {
  ESPALIER_RETURN_IF_ERROR(CheckTokens(request.tokens, storage));
  ESPALIER_ASSIGN_OR_RETURN(const spec::JobKind kind, config::JobKindOf(request.job_yaml, "job"));
  return kind == spec::JobKind::kTrain ? PrepareTraining(request, storage)
                                       : PrepareScoring(request, storage);
}

// A client takes kUnavailable to mean that the coordinator is unreachable. In this case storage is.
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

Result<cluster::Submission> PrepareSubmission(const spec::SubmitRequest& request,
                                              const storage::StorageOptions& storage) {
  Result<cluster::Submission> prepared = Prepare(request, storage);
  if (!prepared.ok()) return AsFailure(prepared.status());
  return prepared;
}

Result<cluster::MergedProfile> MergeShards(cluster::MergeWork work,
                                           const storage::StorageOptions& storage) {
  ESPALIER_ASSIGN_OR_RETURN(const spec::JobSpec job, config::ParseJob(work.job_yaml, "job"));
  std::vector<spec::ShardProfile> shards;
  shards.reserve(work.shards.size());
  for (auto& shard : work.shards) {
    shards.push_back(std::get<spec::ShardProfile>(*shard));
    shard.reset();
  }
  const std::string& asked_yaml = work.profile()->asked_yaml;
  if (!asked_yaml.empty()) {
    ESPALIER_ASSIGN_OR_RETURN(const data::JobCompletion completion,
                              data::JobCompletion::Read(asked_yaml, "job"));
    ESPALIER_ASSIGN_OR_RETURN(auto judged, completion.Judge(*work.input, work.job_yaml, shards));
    if (judged) {
      ESPALIER_RETURN_IF_ERROR(rpc::CheckSendable(judged->input));
      return cluster::MergedProfile(std::make_shared<const cluster::Replanned>(cluster::Replanned{
          judged->yaml, std::make_shared<const spec::InputPlan>(std::move(judged->input)),
          spec::LeafCount(judged->job.train)}));
    }
  }
  const auto files = storage::MakeFileSystem(storage);
  ESPALIER_ASSIGN_OR_RETURN(const auto earlier, bundle::ReadEarlierFit(*files, job));
  ESPALIER_ASSIGN_OR_RETURN(spec::TableProfile merged,
                            data::MergeShardProfiles(*work.input, job, std::move(shards),
                                                     files.get(), earlier ? &*earlier : nullptr));
  ESPALIER_RETURN_IF_ERROR(rpc::CheckSendable(merged));
  return cluster::MergedProfile(std::make_shared<const spec::TableProfile>(std::move(merged)));
}

Result<spec::ScoringResult> MergeScored(cluster::MergeWork work,
                                        const storage::StorageOptions& storage,
                                        const std::function<bool()>& wanted) {
  ESPALIER_ASSIGN_OR_RETURN(const spec::ScoringSpec job,
                            config::ParseScoring(work.job_yaml, "job"));
  auto& score = std::get<cluster::ScoreMerge>(work.work);
  scoring::ScoringMerge merge{
      .staging = scoring::StagingDirectory(scoring::OutputPath(job.output), score.request_id),
      .model_sha256 = score.model_sha256,
      .shards = {},
      .totals = std::move(score.totals),
      .notes = work.input->notes,
      .wanted = wanted};
  merge.shards.reserve(work.shards.size());
  for (auto& shard : work.shards) {
    if (spec::KindOf(*shard) != job.kind()) {
      return Internal("the score of shard " + std::to_string(spec::ShardOf(*shard)) +
                      " is not of this kind of job");
    }
    merge.shards.push_back(std::get<spec::ShardScore>(*shard));
    shard.reset();
  }
  ESPALIER_ASSIGN_OR_RETURN(spec::ScoringResult result,
                            scoring::MergeScores(*storage::MakeFileSystem(storage), job, merge));
  ESPALIER_RETURN_IF_ERROR(rpc::CheckSendable(result));
  return result;
}

namespace {

constexpr int kCheckTries = 5;
constexpr int64_t kCheckAgainMs = 500;

// Fences all writers of the job of `work`, which is a FenceWork or ClearWork.
template <typename Work>
Status FenceWriters(const storage::FileSystem& files, const Work& work) {
  return bundle::FenceOutput(files, work.output, [&](const bundle::WriterName& writer) {
    return writer.IsOf(work.job, work.submitted_ms);
  });
}

}  // namespace

Result<std::optional<Generation>> FenceJob(const cluster::FenceWork& work,
                                           const storage::StorageOptions& storage) {
  const auto files = storage::MakeFileSystem(storage);
  ESPALIER_RETURN_IF_ERROR(FenceWriters(*files, work));
  return bundle::WrittenBy(*files, work.output, work.request_id);
}

Result<bool> CheckJob(const cluster::CheckWork& work, const storage::StorageOptions& storage) {
  const auto files = storage::MakeFileSystem(storage);
  const bundle::WriterName writer{work.job, {}, 0, work.submitted_ms};
  for (int tries = 1;; ++tries) {
    const auto holds =
        bundle::HoldsModel(*files, work.output, writer, work.request_id, work.weights_sha256);
    if (!holds.ok() || *holds || tries >= kCheckTries) return holds;
    std::this_thread::sleep_for(std::chrono::milliseconds(kCheckAgainMs));
  }
}

Status ClearJob(const cluster::ClearWork& work, const storage::StorageOptions& storage) {
  if (work.kind == spec::JobKind::kTrain) {
    return FenceWriters(*storage::MakeFileSystem(storage), work);
  }
  return scoring::RemoveStaging(*storage::MakeFileSystem(storage), work.output,
                                scoring::StagingDirectory(work.output, work.request_id),
                                work.succeeded);
}

}  // namespace espalier::coordinator
