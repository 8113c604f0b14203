#include "src/coordinator/preparation.h"

#include <string>
#include <utility>

#include "src/bundle/checkpoint_store.h"
#include "src/bundle/output.h"
#include "src/config/job_yaml.h"
#include "src/data/listing.h"
#include "src/data/merge.h"
#include "src/rpc/message_size.h"

namespace espalier {
namespace {

Result<Submission> Prepare(const SubmitRequest& request, const StorageOptions& storage) {
  ESPALIER_ASSIGN_OR_RETURN(const JobSpec job, ParseJob(request.job_yaml, "job"));
  const auto files = MakeFileSystem(storage);
  ESPALIER_RETURN_IF_ERROR(CheckOutput(*files, job.output));
  // One that is broken off would leave its probe behind.
  StorageOptions to_the_end = storage;
  to_the_end.webhdfs.http.cancelled = {};
  ESPALIER_RETURN_IF_ERROR(
      ProbeOutput(*MakeFileSystem(to_the_end), job.output, request.client_request_id));
  ESPALIER_RETURN_IF_ERROR(CheckBeginning(*files, job));
  ESPALIER_ASSIGN_OR_RETURN(InputPlan input, PlanInput(*files, job.data, job.data.shard_bytes));
  ESPALIER_RETURN_IF_ERROR(CheckSendable(input));
  FindHosts(*files, &input);
  Submission submission;
  submission.client_request_id = request.client_request_id;
  submission.job_yaml = request.job_yaml;
  submission.name = job.name;
  submission.output = job.output.path;
  submission.workers_min = job.workers.min;
  submission.workers_max = job.workers.max;
  submission.leaves = LeafCount(job.train);
  submission.input = std::make_shared<const InputPlan>(std::move(input));
  submission.tokens = request.tokens;
  return submission;
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

}  // namespace espalier
