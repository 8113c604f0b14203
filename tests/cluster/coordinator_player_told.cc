// CoordinatorPlayer: lines for the actions of the core.
#include <algorithm>

#include "src/base/text.h"
#include "tests/cluster/coordinator_player.h"

namespace espalier::cluster::script {
namespace {

std::string Point(JobId job, Generation generation) {
  return ToString(job) + "/" + std::to_string(generation.value);
}

std::string Numbers(const std::vector<int32_t>& numbers) {
  std::string out;
  for (int32_t n : numbers) out += " " + std::to_string(n);
  return out.empty() ? " none" : out;
}

}  // namespace

void CoordinatorPlayer::Feed(const CoordinatorEvent& event) {
  CoordinatorActions actions = core_->Step(event, now_ms_);
  for (const JournalEntry& entry : actions.persist) Tell(entry);
  journal_.insert(journal_.end(), actions.persist.begin(), actions.persist.end());
  for (SendToWorker& send : actions.send) Tell(send);
  for (const CloseSession& close : actions.close) {
    Stream& stream = streams_[close.session];
    stream.open = false;
    Say(stream.name + " closed" + (close.why.ok() ? "" : ": " + close.why.ToString()));
  }
  for (const Reply& reply : actions.reply) {
    Say("reply " + (reply.result.ok() ? ToString(*reply.result)
                                      : "error " + reply.result.status().ToString()));
  }
  for (const DrainReply& reply : actions.drained) {
    Say("drain " + (reply.result.ok() ? ToString(*reply.result) + " leaves"
                                      : "error " + reply.result.status().ToString()));
  }
  for (const JobChanged& changed : actions.notify) Tell(changed);
  for (const MergeWork& work : actions.work) {
    std::vector<int32_t> shards;
    for (const auto& s : work.shards) shards.push_back(spec::ShardOf(*s));
    std::string text;
    const std::vector<double> totals =
        work.score() != nullptr ? work.score()->totals : std::vector<double>();
    for (size_t i = 0; i < std::min<size_t>(totals.size(), 3); ++i) {
      text += (i == 0 ? ", totals " : " ") + ShortestDouble(totals[i]);
    }
    Say("merge " + Point(work.job, work.generation) + " shards" + Numbers(shards) + text);
  }
  for (const FenceWork& work : actions.fence) {
    Say("fence " + ToString(work.job) + " at " + work.output);
  }
  for (const CheckWork& work : actions.check) {
    if (check_later_) {
      Say("check " + ToString(work.job) + " at " + work.output);
    } else {
      Feed(OutputChecked{work.job, true});
    }
  }
  for (const ClearWork& work : actions.clear) {
    Say("clear " + ToString(work.job) + " beside " + work.output +
        (work.succeeded ? "" : ", and what it put there") + (work.again ? ", again" : ""));
  }
}

void CoordinatorPlayer::Tell(const JournalEntry& entry) {
  if (const auto* e = std::get_if<JobAccepted>(&entry)) Say("persist accepted " + ToString(e->job));
  if (const auto* e = std::get_if<GenerationStarted>(&entry)) {
    std::string members;
    for (const Member& m : e->members) members += " " + ToString(m.worker);
    Say("persist started " + Point(e->job, e->generation) + " with" + members +
        (e->leaves.empty() ? "" : ", leaves"));
  }
  const auto* tried = std::get_if<MergeTried>(&entry);
  if (tried && tried->times != 1) Say("persist merge " + std::to_string(tried->times) + " again");
  if (const auto* e = std::get_if<JobReplanned>(&entry)) {
    Say("persist replanned " + ToString(e->job) + " with " + std::to_string(e->plan.leaves) +
        " leaves");
  }
  if (const auto* e = std::get_if<MemberCrashed>(&entry)) {
    Say("persist crash of " + e->label);
  }
  if (const auto* e = std::get_if<ProfileRecorded>(&entry)) {
    Say("persist profile of " + ToString(e->job));
  }
  if (const auto* e = std::get_if<HistoryRecorded>(&entry)) {
    Say("persist history of " + ToString(e->job) + " row " + std::to_string(e->number) + ", step " +
        std::to_string(e->row.step));
  }
  if (const auto* e = std::get_if<JobEnded>(&entry)) {
    Say("persist ended " + ToString(e->snapshot.job) + " " + spec::JobStateName(e->snapshot.state));
  }
  if (const auto* e = std::get_if<JobForgotten>(&entry)) {
    Say("persist forgotten " + ToString(e->job));
  }
  if (const auto* e = std::get_if<IncarnationTaken>(&entry)) {
    Say("persist incarnation " + std::to_string(e->incarnation.value));
  }
}

void CoordinatorPlayer::Tell(SendToWorker& send) {
  Stream& stream = streams_[send.session];
  const std::string to = stream.name + " <- ";
  if (const auto* m = std::get_if<Welcome>(&send.message)) {
    names_[m->worker] = stream.worker;
    Say(to + "Welcome " + ToString(m->worker));
  } else if (const auto* m = std::get_if<Refused>(&send.message)) {
    Say(to + "Refused " + m->error.ToString());
  } else if (const auto* m = std::get_if<StartProfiling>(&send.message)) {
    stream.at = {m->job, m->generation};
    stream.shards = m->shards;
    Say(to + "StartProfiling " + Point(m->job, m->generation) + " shards" + Numbers(m->shards));
  } else if (const auto* m = std::get_if<ProfileTaken>(&send.message)) {
    Say(to + "ProfileTaken " + Point(m->job, m->generation) + " " + std::to_string(m->shards));
  } else if (const auto* m = std::get_if<StartTraining>(&send.message)) {
    if (!m->planned) stream.at = {m->job, m->generation};
    std::string leaves;
    for (size_t i = 0; i < m->leaves.size(); ++i) {
      if (m->members[i].name == stream.worker) stream.self = static_cast<int32_t>(i);
      leaves += " " + m->members[i].name + " [" + std::to_string(m->leaves[i].begin) + "," +
                std::to_string(m->leaves[i].end) + ")";
    }
    Say(to + "StartTraining " + Point(m->job, m->generation) +
        (m->planned ? " planned, state from member " + std::to_string(m->holder) : "") +
        (m->reverts ? " reverting" : "") + " with" + leaves);
  } else if (const auto* m = std::get_if<SwitchOver>(&send.message)) {
    Say(to + "SwitchOver " + Point(m->job, m->generation) + " to " + std::to_string(m->next.value));
  } else if (const auto* m = std::get_if<EndTraining>(&send.message)) {
    Say(to + "EndTraining " + Point(m->job, m->generation));
  } else if (const auto* m = std::get_if<KeepState>(&send.message)) {
    Say(to + "KeepState " + Point(m->job, m->generation) + (m->reverts ? " reverting" : ""));
  } else if (const auto* m = std::get_if<Proceed>(&send.message)) {
    Say(to + "Proceed " + Point(m->job, m->generation) + " from round " + std::to_string(m->round) +
        (m->holder != stream.self ? ", state from member " + std::to_string(m->holder) : "") +
        (m->fetched ? ", others take its state" : ""));
  } else if (const auto* m = std::get_if<Release>(&send.message)) {
    if (stream.at.job == m->job) stream.at = {};
    Say(to + "Release " + Point(m->job, m->generation) + " " + m->reason);
  } else if (const auto* m = std::get_if<Dismiss>(&send.message)) {
    Say(to + "Dismiss " + m->reason);
  }
}

void CoordinatorPlayer::Tell(const JobChanged& changed) {
  const auto s = core_->Job(changed.job);
  if (!s || changed.progress_only) return;
  std::string line = "watch " + ToString(s->job) + " " + spec::JobStateName(s->state);
  for (const std::string& name : s->workers) line += (name == s->workers[0] ? " on " : " ") + name;
  if (!s->waiting_because.empty()) line += ", " + s->waiting_because;
  if (!s->error.ok()) line += ", " + s->error.ToString();
  if (lines_.empty() || lines_.back() != line) Say(line);
}

}  // namespace espalier::cluster::script
