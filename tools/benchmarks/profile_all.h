// Profiles all shards of an input on several threads, as a worker does.
// Thread rule: one call at a time.
#pragma once

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "src/data/profile/make_shard_reader.h"
#include "src/data/profile/profile_shard.h"

namespace espalier {

struct Profiled {
  std::vector<data::ProfiledShard> shards;
  std::vector<spec::ShardProfile> profiles;
};

inline Result<Profiled> ProfileAll(const storage::FileSystem& files, const spec::InputPlan& plan,
                                   const spec::JobSpec& job, int threads) {
  Profiled all;
  all.shards.resize(plan.shards.size());
  const auto reader = data::MakeShardReader({files, plan, job});
  std::atomic<size_t> next{0};
  std::vector<Status> ends(static_cast<size_t>(threads));
  std::vector<std::thread> team;
  for (Status& end : ends) {
    team.emplace_back([&] {
      for (size_t i; end.ok() && (i = next++) < plan.shards.size();) {
        auto shard = data::ProfileShard(*reader, static_cast<int>(i));
        end = shard.status();
        if (shard.ok()) all.shards[i] = std::move(shard).value();
      }
    });
  }
  for (std::thread& thread : team) thread.join();
  for (const Status& end : ends) ESPALIER_RETURN_IF_ERROR(end);
  for (const data::ProfiledShard& shard : all.shards) all.profiles.push_back(shard.profile);
  return all;
}

}  // namespace espalier
