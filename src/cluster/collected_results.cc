#include "src/cluster/collected_results.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "src/cluster/profiling_shards.h"

namespace espalier::cluster {
namespace {

using SharedResult = std::shared_ptr<const spec::ShardResult>;

// Returns a score without its totals. Totals are long if there are many classes, so they are not
// copied.
SharedResult WithoutSums(const spec::ShardScore& score, const SharedResult& shared) {
  if (score.evaluated() == nullptr) return shared;
  return std::make_shared<const spec::ShardResult>(
      spec::ShardScore{.shard = score.shard,
                       .rows = score.rows,
                       .rejected = score.rejected,
                       .first_rejects = score.first_rejects,
                       .generation = score.generation,
                       .unseen = score.unseen,
                       .work = spec::EvaluatedShard()});
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

Result<bool> CollectedResults::Add(const SharedResult& result, size_t skipped_max) {
  SharedResult& kept = shards_[static_cast<size_t>(spec::ShardOf(*result))];
  if (kept != nullptr) return false;
  const auto added_up = [this] { return totals_.bytes() + sums_.bytes(); };
  const int64_t before = added_up();
  ESPALIER_RETURN_IF_ERROR(AddUp(*result));
  kept = WithoutSums(result, skipped_max);
  ++count_;
  bytes_ += MemoryBytes(*kept) + added_up() - before;
  return true;
}

Status CollectedResults::AddUp(const spec::ShardResult& result) {
  if (const auto* score = std::get_if<spec::ShardScore>(&result)) {
    if (score->evaluated() == nullptr) return Status::Ok();
    const std::vector<double>& totals = score->evaluated()->totals;
    if (totals_.width() != 0 && totals.size() != totals_.width()) {
      return FailedPrecondition("its score has " + std::to_string(totals.size()) +
                                " totals, others " + std::to_string(totals_.width()));
    }
    totals_.Add(score->shard, totals);
    return Status::Ok();
  }
  return sums_.Add(std::get<spec::ShardProfile>(result));
}

// Moves the sums of all shards into the results that ShardSums chooses.
void CollectedResults::PutBackSums() {
  std::optional<size_t> first, judged;
  for (size_t i = 0; i < shards_.size(); ++i) {
    const auto* profile = std::get_if<spec::ShardProfile>(shards_[i].get());
    if (profile == nullptr) return;  // the job scores
    if (!first && profile->failure.ok()) first = i;
    if (!judged && !profile->evidence.empty()) judged = i;
  }
  std::map<size_t, spec::ShardProfile> changed;
  for (const auto& at : {first, judged}) {
    if (at) changed[*at] = std::get<spec::ShardProfile>(*shards_[*at]);
  }
  std::vector<spec::ShardProfile*> places;
  for (auto& [at, profile] : changed) places.push_back(&profile);
  sums_.MoveTo(places);
  for (auto& [at, profile] : changed) {
    shards_[at] = std::make_shared<const spec::ShardResult>(std::move(profile));
  }
}

ShardResults CollectedResults::Take() {
  PutBackSums();
  count_ = 0;
  return std::exchange(shards_, {});
}

}  // namespace espalier::cluster
