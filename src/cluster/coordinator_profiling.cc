// CoordinatorCore: the members' results for their shards, and the merge of these.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"
#include "src/cluster/profiling_shards.h"
#include "src/plan/ownership.h"

namespace espalier::cluster {
namespace {

using SharedResult = std::shared_ptr<const spec::ShardResult>;

// Returns a score without its totals. Totals are long if there are many classes, so they are not
// copied.
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

// Returns a profile without its sums, and with only the first skipped rows.
SharedResult WithoutSums(const spec::ShardProfile& profile, size_t skipped_max,
                         const SharedResult& shared) {
  const bool sums = !profile.sample.keys.empty() || !profile.probe.keys.empty() ||
                    !profile.places.keys.empty() || !profile.categories.empty() ||
                    !profile.evidence.empty() || !profile.alike.hashes.empty();
  if (!sums && profile.skipped.size() <= skipped_max) return shared;
  spec::ShardProfile shorter = profile;
  shorter.skipped.resize(std::min(shorter.skipped.size(), skipped_max));
  spec::TakeOutSums(&shorter);
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

// Moves the sums of all shards into the results that ShardSums chooses.
void CoordinatorCore::PutBackSums(ProfilingState& all) {
  std::optional<size_t> first, judged;
  for (size_t i = 0; i < all.shards.size(); ++i) {
    const auto* profile = std::get_if<spec::ShardProfile>(all.shards[i].get());
    if (profile == nullptr) return;  // the job scores
    if (!first && profile->failure.ok()) first = i;
    if (!judged && !profile->evidence.empty()) judged = i;
  }
  std::map<size_t, spec::ShardProfile> changed;
  for (const auto& at : {first, judged}) {
    if (at) changed[*at] = std::get<spec::ShardProfile>(*all.shards[*at]);
  }
  std::vector<spec::ShardProfile*> places;
  for (auto& [at, profile] : changed) places.push_back(&profile);
  all.sums.MoveTo(places);
  for (auto& [at, profile] : changed) {
    all.shards[at] = std::make_shared<const spec::ShardResult>(std::move(profile));
  }
}

void CoordinatorCore::Obey(Worker& worker, const ProfilingProgress& message) {
  JobRecord* planning = FindJob(worker.at.job);
  if (planning != nullptr && planning->plan && planning->snapshot.job == message.job &&
      planning->plan->generation == message.generation) {  // it loads the planned generation's rows
    if (!planning->plan->ready.contains(worker.id)) planning->plan->since_ms = now_ms_;
    return;
  }
  const Place at = Judge(worker, {message.job, message.generation}, "ProfilingProgress");
  if (at.job == nullptr) return;
  if (at.job->snapshot.state != spec::JobState::kProfiling) {  // it loads the rows of its leaves
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
  // An earlier life of this coordinator assigned these shards to the member and has received them
  // all.
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
  const auto added_up = [&all] { return all.totals.bytes() + all.sums.bytes(); };
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
  return all.sums.Add(std::get<spec::ShardProfile>(result));
}

void CoordinatorCore::MergeIfProfiled(JobRecord& job) {
  if (job.profiled.merging) return;
  for (const auto& shard : job.profiled.shards) {
    if (shard == nullptr) return;
  }
  ProfilingState& all = job.profiled;
  PutBackSums(all);
  const Submission& submission = job.submission;
  // The merge adds in the order of shards, not of arrival.
  MergeWork work{.job = job.snapshot.job,
                 .generation = job.snapshot.generation,
                 .job_yaml = submission.job_yaml,
                 .input = submission.input,
                 .shards = std::exchange(all.shards, {}),
                 .tokens = submission.tokens,
                 .kind = submission.kind(),
                 .request_id = submission.client_request_id,
                 .asked_yaml = submission.asked_yaml};
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
  const bool counts = job.profiled.sums.category_bytes > job.profiled.bytes / 2;
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
  if (event.replanned != nullptr) {
    Replan(*job, *event.replanned);
    return;
  }
  job->profile = *event.result;
  job->merges_tried = 0;
  NoteProfile(*job);
  ForgetProfile(*job);
  out_.persist.push_back(ProfileRecorded{event.job, job->profile});
  Log(LogLevel::kInfo,
      ToString(event.job) + " profiled: " + Counted(job->profile->train_rows, "training row"));
  if (job->recovery.since_ms != 0) return;  // too few workers are left
  // The same generation continues, now with leaves.
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

// Restarts the pass with the plan that follows from all rows. The core releases the members,
// because they keep rows of the plan before.
void CoordinatorCore::Replan(JobRecord& job, const Replanned& plan) {
  spec::JobSnapshot& s = job.snapshot;
  TakePlan(job, plan);
  s.generation = {++job.generations};  // a generation without members
  ReleaseMembers(job, "its profiling pass begins again");
  QueueAgain(job);
  out_.persist.push_back(JobReplanned{s.job, plan});
  out_.persist.push_back(StartOf(job));
  queue_moved_ = true;
  Changed(job);
  for (const std::string& note : s.notes) {
    Log(LogLevel::kInfo, ToString(s.job) + ": " + Printable(note, 1000));
  }
}

void CoordinatorCore::TakePlan(JobRecord& job, const Replanned& plan) {
  Submission& submission = job.submission;
  submission.job_yaml = plan.job_yaml;
  submission.input = plan.input;
  submission.leaves = plan.leaves;
  job.plan_bytes = PlanBytes(submission);
  job.merges_tried = 0;
  job.snapshot.leaves = plan.leaves;
  job.snapshot.inferred = spec::InferredText(plan.input->schema);
  job.snapshot.notes = plan.input->notes;
}

void CoordinatorCore::NoteProfile(JobRecord& job) {
  std::vector<std::string>& notes = job.snapshot.notes;
  notes = job.submission.input->notes;
  notes.insert(notes.end(), job.profile->warnings.begin(), job.profile->warnings.end());
}

}  // namespace espalier::cluster
