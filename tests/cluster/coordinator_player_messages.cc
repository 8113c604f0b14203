// CoordinatorPlayer: messages from workers to the coordinator.
#include <algorithm>
#include <sstream>

#include "src/base/check.h"
#include "tests/cluster/coordinator_player.h"

namespace espalier::cluster::script {
namespace {

std::vector<int32_t> ParseNumbers(const std::string& text) {
  std::istringstream in(text);
  std::vector<int32_t> out;
  for (std::string n; std::getline(in, n, ',');) out.push_back(std::stoi(n));
  return out;
}

std::vector<double> ParseDoubles(const std::string& text) {
  std::istringstream in(text);
  std::vector<double> out;
  for (std::string n; std::getline(in, n, ',');) out.push_back(std::stod(n));
  return out;
}

}  // namespace

FromWorker CoordinatorPlayer::Message(const Command& c, const Stream& stream) {
  const std::string verb = c.Word(1);
  const JobPoint at{{static_cast<uint64_t>(c.Number("job", stream.at.job.value))},
                    {static_cast<uint64_t>(c.Number("generation", stream.at.generation.value))}};
  if (verb == "read") return ProfilingProgress{at.job, at.generation, c.Number("bytes", 0)};
  if (verb == "profiles") return Profile(c, stream, at);
  if (verb == "is") {  // "is ready"
    return MemberReady{at.job, at.generation, static_cast<uint64_t>(c.Number("round", 1))};
  }
  if (verb == "misses")
    return LinkBroken{at.job, at.generation, Named(c.Word(2)),
                      Unavailable(c.Text("why", "no answer"))};
  if (verb == "switches") {
    return Switched{at.job, at.generation, static_cast<uint64_t>(c.Number("round", 2))};
  }
  if (verb == "keeps") {
    StateKept kept{at.job, at.generation, c.Number("step", 100), "/m.checkpoints", {}};
    if (!c.Text("why").empty()) kept.why = Unavailable(c.Text("why"));
    return kept;
  }
  if (verb == "differs") {
    return StatesDiffer{at.job, at.generation, c.Number("step", 100),
                        ParseNumbers(c.Text("members"))};
  }
  if (verb == "paces") {
    Uneven u{at.job, at.generation, c.Number("step", 100), {}};
    for (int32_t tenths : ParseNumbers(c.Text("tenths"))) u.leaf_ms.push_back(tenths / 10.0);
    return u;
  }
  if (verb == "asks") return Leaving{c.Text("why", "SIGTERM")};
  if (verb == "beats") {
    return Heartbeat{at.job, at.generation, c.Number("step", 0), c.Text("waiting", "")};
  }
  if (verb == "fails") return Failure(c, at);
  if (verb == "crashes") return Goodbye{c.Text("signal", "SIGSEGV"), true};
  if (verb == "leaves") return Goodbye{c.Text("why", "SIGTERM")};
  if (verb == "greets") return Hello{};
  if (verb == "progresses") {
    Progress p{at.job, at.generation};
    p.progress.step = c.Number("step", 0);
    p.progress.phase = c.Text("phase", "training");
    p.progress.phase_share = static_cast<double>(c.Number("percent", 0)) / 100;
    return p;
  }
  if (verb == "evaluates") {
    HistoryEntry h{at.job, at.generation, {}};
    h.row.step = c.Number("step", 0);
    std::vector<int64_t>& steps = evaluated_[at.job];  // a step reported again has the same row
    if (std::find(steps.begin(), steps.end(), h.row.step) == steps.end()) {
      steps.push_back(h.row.step);
    }
    const auto row = std::find(steps.begin(), steps.end(), h.row.step) - steps.begin();
    h.number = c.Number("row", row);
    h.first = c.Number("first", 0);
    h.row.train.loss = static_cast<double>(c.Number("loss", 1));
    return h;
  }
  ESPALIER_CHECK(verb == "finishes", "what does " + stream.name + " do: " + verb);
  check_later_ = c.Text("check") == "later";
  JobDone done{at.job, at.generation, {}};
  done.result.steps = c.Number("steps", 100);
  done.result.bundle = "/out";
  return done;
}

JobFailed CoordinatorPlayer::Failure(const Command& c, JobPoint at) {
  JobFailed failed{at.job, at.generation, Unavailable(c.Text("why", "out of luck"))};
  if (c.Text("code") == "ok") failed.error = Status::Ok();
  if (c.Text("code") == "aborted") failed.error = Aborted(c.Text("why"));
  if (c.options.contains("file")) {
    failed.error = BadInput(c.Text("why")).At({.file = c.Text("file"), .row = c.Number("row", 1)});
  }
  return failed;
}

ProfilePart CoordinatorPlayer::Profile(const Command& c, const Stream& stream, JobPoint at) {
  ProfilePart part{at.job, at.generation, {}};
  for (int32_t k : c.options.contains("shards") ? ParseNumbers(c.Text("shards")) : stream.shards) {
    if (c.options.contains("scored")) {
      spec::ShardScore score{
          .shard = k, .rows = c.Number("scored", 0), .generation = at.generation.value};
      if (c.options.contains("totals") || c.options.contains("wide")) {
        spec::EvaluatedShard evaluated{ParseDoubles(c.Text("totals"))};
        if (c.options.contains("wide")) {
          evaluated.totals.resize(static_cast<size_t>(c.Number("wide", 0)));
        }
        score.work = std::move(evaluated);
      }
      part.shards.push_back(std::make_shared<const spec::ShardResult>(std::move(score)));
      continue;
    }
    spec::ShardProfile s;
    s.shard = k;
    s.train_rows = c.Number("rows", 10);
    s.skipped_rows = c.Number("skipped", 0);
    s.skipped.resize(static_cast<size_t>(std::max<int64_t>(0, s.skipped_rows)), BadInput("bad"));
    s.features.resize(static_cast<size_t>(c.Number("features", stream.features)));
    for (int64_t i = c.Number("labels", 0); i > 0; --i) s.labels[std::to_string(i)] = 0;
    part.shards.push_back(std::make_shared<const spec::ShardResult>(std::move(s)));
  }
  return part;
}

}  // namespace espalier::cluster::script
