// Surveys all shards of an input on a number of threads, as a worker does.
// Thread rule: one call at a time.
#pragma once

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "src/data/profile/make_shard_reader.h"
#include "src/data/profile/survey.h"

namespace espalier {

struct Surveyed {
  std::vector<data::SurveyedShard> shards;
  std::vector<spec::ShardSurvey> surveys;
};

inline Result<Surveyed> SurveyAll(const storage::FileSystem& files, const spec::InputPlan& plan,
                                  const spec::JobSpec& job, int threads) {
  Surveyed all;
  all.shards.resize(plan.shards.size());
  const auto reader = data::MakeShardReader({files, plan, job});
  std::atomic<size_t> next{0};
  std::vector<Status> ends(static_cast<size_t>(threads));
  std::vector<std::thread> team;
  for (Status& end : ends) {
    team.emplace_back([&] {
      for (size_t i; end.ok() && (i = next++) < plan.shards.size();) {
        auto shard = data::SurveyShard(*reader, static_cast<int>(i));
        end = shard.status();
        if (shard.ok()) all.shards[i] = std::move(shard).value();
      }
    });
  }
  for (std::thread& thread : team) thread.join();
  for (const Status& end : ends) ESPALIER_RETURN_IF_ERROR(end);
  for (const data::SurveyedShard& shard : all.shards) all.surveys.push_back(shard.survey);
  return all;
}

}  // namespace espalier
