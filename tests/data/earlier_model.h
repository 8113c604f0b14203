// The model of an earlier job, for tests of jobs that keep its columns.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "src/data/input/complete_job.h"

namespace espalier::data {

// Completes a job. REQUIRES: it is valid.
inline JobCompletion::Completed CompletedJob(const storage::FileSystem& files,
                                             const std::string& yaml,
                                             const spec::EarlierModel* earlier = nullptr) {
  auto completion = JobCompletion::Read(yaml, "job.yaml");
  INFO(completion.status().ToString());
  REQUIRE(completion.ok());
  auto completed = completion->Complete(files, earlier);
  INFO(completed.status().ToString());
  REQUIRE(completed.ok());
  return *std::move(completed);
}

inline spec::EarlierModel EarlierModelOf(const JobCompletion::Completed& completed) {
  spec::EarlierModel earlier;
  earlier.schema = completed.input.schema;
  for (size_t i = 0; i < earlier.schema.features.size(); ++i) {
    const spec::FeatureRule rule = earlier.schema.rule(i);
    earlier.options.push_back(spec::OptionsOf(completed.job.data.features, rule));
    earlier.options.back().type = rule.type;
  }
  return earlier;
}

}  // namespace espalier::data
