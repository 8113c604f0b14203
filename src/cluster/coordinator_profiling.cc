// CoordinatorCore: what members found in their shards, and the merge of it.
#include <algorithm>
#include <utility>

#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"
#include "src/cluster/profiling_shards.h"
#include "src/plan/ownership.h"

namespace espalier::cluster {
namespace {

using SharedResult = std::shared_ptr<const spec::ShardResult>;

// A score without its totals. They are long where there are many classes, so they are not copied.
SharedResult WithoutSums(const spec::ShardScore& score, const SharedResult& shared) {
  if (score.totals.empty()) return shared;
  return std::make_shared<const spec::ShardResult>(
      spec::ShardScore{.shard = score.shard,
                       .rows = score.rows,
                       .rejected = score.rejected,
                       .first_rejects = score.first_rejects,
                       .parts = score.parts,
                       .reject_parts = score.reject_parts,
                       .generation = score.generation,
                       .unseen = score.unseen});
}

// A profile without its sample and its counts of values, and with the first skipped rows only.
SharedResult WithoutSums(const spec::ShardProfile& profile, size_t skipped_max,
                         const SharedResult& shared) {
  if (profile.sample.keys.empty() && profile.categories.empty() &&
      profile.skipped.size() <= skipped_max) {
    return shared;
  }
  spec::ShardProfile shorter = profile;
  shorter.skipped.resize(std::min(shorter.skipped.size(), skipped_max));
  shorter.sample = {};
  for (auto& values : shorter.categories) values.clear();
  return std::make_shared<const spec::ShardResult>(std::move(shorter));
}

// Returns `result` without what AddUp has added to the sums of all shards.
SharedResult WithoutSums(const SharedResult& result, size_t skipped_max) {
  if (const auto* score = std::get_if<spec::ShardScore>(result.get())) {
    return WithoutSums(*score, result);
  }
  return WithoutSums(std::get<spec::ShardProfile>(*result), skipped_max, result);
}

}  // namespace

void CoordinatorCore::Obey(Worker& worker, const ProfilingProgress& message) {
  JobRecord* planning = FindJob(worker.at.job);
  if (planning != nullptr && planning->plan && planning->snapshot.job == message.job &&
      planning->plan->generation == message.generation) {  // it reads the rows it is to have
    if (!planning->plan->ready.contains(worker.id)) planning->plan->since_ms = now_ms_;
    return;
  }
  const Place at = Judge(worker, {message.job, message.generation}, "ProfilingProgress");
  if (at.job == nullptr) return;
  if (at.job->snapshot.state != spec::JobState::kProfiling) {  // it reads the rows of its leaves
    if (!at.member->ready) at.job->moved_ms = now_ms_;
    return;
  }
  const int64_t bytes = std::clamp<int64_t>(message.bytes_done, 0, at.member->bytes);
  if (bytes <= at.member->bytes_done) return;
  at.member->bytes_done = bytes;
  at.member->moved_ms = now_ms_;
  Changed(*at.job, true);
}

void CoordinatorCore::Obey(Worker& worker, const ProfilePart& message) {
  const Place at = Judge(worker, {message.job, message.generation}, "ProfilePart");
  if (at.job == nullptr) return;
  JobRecord& job = *at.job;
  MemberState& member = *at.member;
  // The member was given them by an earlier life of this coordinator, which has taken them all.
  if (job.profile != nullptr && member.shards.empty()) return;
  if (Status s =
          CheckProfile(*job.submission.input, job.submission.kind(), member.shards, message.shards);
      !s.ok()) {
    Blame(job, worker, std::move(s));
    return;
  }
  const bool all_came_before = member.shards_missing == 0;
  if (!all_came_before) {
    for (const auto& shard : message.shards) {
      if (Status s = TakeShard(job, member, shard); !s.ok()) {
        return Blame(job, worker,
                     s.Wrap("profile of shard " + std::to_string(spec::ShardOf(*shard))));
      }
    }
    if (profile_bytes_ > options_.profile_bytes_max) {
      Fail(job, ProfileTooLarge(job));
      return;
    }
  }
  Send(worker.session,
       ProfileTaken{options_.incarnation, job.snapshot.job, job.snapshot.generation,
                    static_cast<int64_t>(member.shards.size() - member.shards_missing)});
  if (all_came_before) return;  // a repeated part
  member.moved_ms = job.moved_ms = now_ms_;
  if (member.shards_missing == 0) member.bytes_done = member.bytes;
  Changed(job, true);
  MergeIfProfiled(job);
}

Status CoordinatorCore::TakeShard(JobRecord& job, MemberState& member,
                                  const std::shared_ptr<const spec::ShardResult>& result) {
  ProfilingState& all = job.profiled;
  auto& kept = all.shards[static_cast<size_t>(spec::ShardOf(*result))];
  if (kept != nullptr) return Status::Ok();  // repeated
  const auto added_up = [&all] {
    return all.totals.bytes() + spec::MemoryBytes(all.sample) + all.category_bytes;
  };
  const int64_t before = added_up();
  ESPALIER_RETURN_IF_ERROR(AddUp(*result, all));
  kept = WithoutSums(result, static_cast<size_t>(options_.skipped_rows_kept_max));
  --member.shards_missing;
  const int64_t bytes = MemoryBytes(*kept) + added_up() - before;
  all.bytes += bytes;
  profile_bytes_ += bytes;
  return Status::Ok();
}

Status CoordinatorCore::AddUp(const spec::ShardResult& result, ProfilingState& all) {
  if (const auto* score = std::get_if<spec::ShardScore>(&result)) {
    const std::vector<double>& totals = score->totals;
    if (totals.empty()) return Status::Ok();
    if (all.totals.width() != 0 && totals.size() != all.totals.width()) {
      return FailedPrecondition("its score has " + std::to_string(totals.size()) +
                                " totals, others " + std::to_string(all.totals.width()));
    }
    all.totals.Add(score->shard, totals);
    return Status::Ok();
  }
  const auto& profile = std::get<spec::ShardProfile>(result);
  const size_t columns = profile.categories.size();
  if (!all.categories.empty() && columns != all.categories.size()) {
    return FailedPrecondition("it counts the values of " + std::to_string(columns) +
                              " columns, others of " + std::to_string(all.categories.size()));
  }
  ESPALIER_RETURN_IF_ERROR(spec::MergeSample(profile.sample, &all.sample));
  all.category_bytes += spec::AddCategories(profile.categories, &all.categories);
  return Status::Ok();
}

void CoordinatorCore::MergeIfProfiled(JobRecord& job) {
  if (job.profiled.merging) return;
  for (const auto& shard : job.profiled.shards) {
    if (shard == nullptr) return;
  }
  ProfilingState& all = job.profiled;
  if (!all.sample.keys.empty() || !all.categories.empty()) {
    auto first = std::get<spec::ShardProfile>(*all.shards.front());
    first.sample = std::exchange(all.sample, {});
    first.categories = std::exchange(all.categories, {});
    all.shards.front() = std::make_shared<const spec::ShardResult>(std::move(first));
  }
  const Submission& submission = job.submission;
  // The merge adds in the order of shards, not of arrival.
  MergeWork work{.job = job.snapshot.job,
                 .generation = job.snapshot.generation,
                 .job_yaml = submission.job_yaml,
                 .input = submission.input,
                 .shards = std::exchange(all.shards, {}),
                 .tokens = submission.tokens,
                 .kind = submission.kind(),
                 .request_id = submission.client_request_id};
  if (const ScoringSubmission* scoring = submission.scoring()) {
    work.model_sha256 = scoring->model_sha256;
    if (scoring->kind == spec::JobKind::kEvaluate) work.totals = all.totals.Take();
  }
  out_.persist.push_back(MergeTried{job.snapshot.job, ++job.merges_tried});
  out_.work.push_back(std::move(work));
  all.merging = true;
  if (submission.scoring() != nullptr) LetMembersGo(job);
}

// Releases the members when all shards are scored. Only the coordinator has work left, and the loss
// of a worker does not affect it.
void CoordinatorCore::LetMembersGo(JobRecord& job) {
  spec::JobSnapshot& s = job.snapshot;
  for (const MemberState& m : job.members) job.profiled.bytes_done += m.bytes_done;
  ReleaseMembers(job, "all of it is scored");
  job.members.clear();
  job.complaints.clear();
  job.recovery = {};
  job.keeping.reset();
  job.moved_ms = now_ms_;
  s.state = spec::JobState::kProfiling;
  s.waiting_because.clear();
  queue_moved_ = true;
  Changed(job);
}

Status CoordinatorCore::ProfileTooLarge(const JobRecord& job) const {
  const bool counts = job.profiled.category_bytes > job.profiled.bytes / 2;
  int64_t came = 0;
  for (const auto& shard : job.profiled.shards) came += shard != nullptr;
  const auto bytes = [](int64_t n) { return HumanBytes(static_cast<uint64_t>(n)); };
  return ResourceExhausted(
      "what the profiling pass found does not fit: " + std::to_string(came) + " of " +
      std::to_string(job.profiled.shards.size()) + " shards take " + bytes(job.profiled.bytes) +
      ", other jobs " + bytes(profile_bytes_ - job.profiled.bytes) + ", together at most " +
      bytes(options_.profile_bytes_max) + " (profile_bytes_max of the coordinator) are allowed; " +
      (job.snapshot.kind != spec::JobKind::kTrain ? "raise it, or score fewer files at a time"
       : counts ? "raise it, or hash categories of many values (data.features.groups, hash)"
                : "use fewer, larger shards (data.shard_bytes)") +
      (profile_bytes_ > job.profiled.bytes ? ", or submit again when the others have ended" : ""));
}

void CoordinatorCore::ForgetProfile(JobRecord& job) {
  profile_bytes_ -= job.profiled.bytes;
  job.profiled = {};
}

void CoordinatorCore::On(const ProfileMerged& event) {
  JobRecord* job = FindJob(event.job);
  if (job == nullptr || spec::IsFinal(job->snapshot.state) || !job->profiled.merging) return;
  if (!event.result.ok()) {
    Fail(*job, event.result.status());
    return;
  }
  job->profile = *event.result;
  job->merges_tried = 0;
  ForgetProfile(*job);
  out_.persist.push_back(ProfileRecorded{event.job, job->profile});
  Log(LogLevel::kInfo, ToString(event.job) + " profiled: " + HumanCount(job->profile->train_rows) +
                           " training rows");
  if (job->recovery.since_ms != 0) return;  // too few workers are left
  // The same generation goes on, now with leaves.
  const auto ownership = plan::PlanOwnership(static_cast<int32_t>(job->snapshot.leaves),
                                             static_cast<int32_t>(job->members.size()));
  for (const plan::LeafSpan& i : ownership.intervals) job->leaves.push_back({i.begin, i.end});
  out_.persist.push_back(StartOf(*job));
  job->snapshot.state = spec::JobState::kLoading;
  job->moved_ms = now_ms_;
  job->may_write = true;
  for (size_t i = 0; i < job->members.size(); ++i) SendTraining(*job, i);
  Changed(*job);
}

}  // namespace espalier::cluster
