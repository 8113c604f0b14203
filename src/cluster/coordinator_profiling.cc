// CoordinatorCore: the members' results for their shards, and the merge of these.
#include <algorithm>
#include <utility>
#include <vector>

#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"
#include "src/cluster/profiling_shards.h"
#include "src/plan/ownership.h"
#include "src/spec/inferred_text.h"

namespace espalier::cluster {
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
  CollectedResults& results = job.profiled.results;
  const int64_t before = results.bytes();
  ESPALIER_ASSIGN_OR_RETURN(
      const bool is_new, results.Add(result, static_cast<size_t>(options_.skipped_rows_kept_max)));
  if (is_new) --member.shards_missing;
  profile_bytes_ += results.bytes() - before;
  return Status::Ok();
}

void CoordinatorCore::MergeIfProfiled(JobRecord& job) {
  ProfilingState& all = job.profiled;
  if (all.merging || !all.results.complete()) return;
  const Submission& submission = job.submission;
  MergeWork work{.job = job.snapshot.job,
                 .generation = job.snapshot.generation,
                 .job_yaml = submission.job_yaml,
                 .input = submission.input,
                 .shards = all.results.Take(),
                 .tokens = submission.tokens};
  if (const ScoringSubmission* scoring = submission.scoring()) {
    work.work =
        ScoreMerge{submission.client_request_id, scoring->model_sha256, all.results.TakeTotals()};
  } else {
    work.work = ProfileMerge{submission.asked_yaml};
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
  job.links.DropOpen();
  job.recovery = {};
  job.keeping.reset();
  job.moved_ms = now_ms_;
  s.state = spec::JobState::kProfiling;
  s.waiting_because.clear();
  queue_moved_ = true;
  Changed(job);
}

Status CoordinatorCore::ProfileTooLarge(const JobRecord& job) const {
  const CollectedResults& results = job.profiled.results;
  const bool counts = results.category_bytes() > results.bytes() / 2;
  const auto bytes = [](int64_t n) { return HumanBytes(static_cast<uint64_t>(n)); };
  return ResourceExhausted(
      "what the profiling pass found does not fit: " + std::to_string(results.count()) + " of " +
      std::to_string(results.size()) + " shards take " + bytes(results.bytes()) + ", other jobs " +
      bytes(profile_bytes_ - results.bytes()) + ", together at most " +
      bytes(options_.profile_bytes_max) + " (profile_bytes_max of the coordinator) are allowed; " +
      (job.snapshot.scores() ? "raise it, or score fewer files at a time"
       : counts ? "raise it, or hash categories of many values (data.features.groups, hash)"
                : "use fewer, larger shards (data.shard_bytes)") +
      (profile_bytes_ > results.bytes() ? ", or submit again when the others have ended" : ""));
}

void CoordinatorCore::ForgetProfile(JobRecord& job) {
  profile_bytes_ -= job.profiled.results.bytes();
  job.profiled = {};
}

void CoordinatorCore::On(const ProfileMerged& event) {
  JobRecord* job = FindJob(event.job);
  if (job == nullptr || spec::IsFinal(job->snapshot.state) || !job->profiled.merging) return;
  if (!event.result.ok()) {
    Fail(*job, event.result.status());
    return;
  }
  if (const auto* replanned = std::get_if<std::shared_ptr<const Replanned>>(&*event.result)) {
    Replan(*job, **replanned);
    return;
  }
  job->profile = std::get<std::shared_ptr<const spec::TableProfile>>(*event.result);
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
  submission.packed_input.reset();
  submission.leaves = plan.leaves;
  PackInput(job);
  job.merges_tried = 0;
  job.snapshot.leaves = plan.leaves;
  job.snapshot.inferred = spec::InferredText(plan.input->schema);
  job.snapshot.notes = plan.input->notes;
}

void CoordinatorCore::NoteProfile(JobRecord& job) {
  std::vector<std::string>& notes = job.snapshot.notes;
  notes = InputOf(job).notes;
  notes.insert(notes.end(), job.profile->warnings.begin(), job.profile->warnings.end());
}

}  // namespace espalier::cluster
