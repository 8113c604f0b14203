// A job that Validate accepts, and changes that it refuses.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "src/spec/job_spec.h"
#include "tests/testing/says.h"

namespace espalier::spec {

inline JobSpec GoodJob() {
  JobSpec job;
  job.data.train = {"/data/*.csv"};
  job.data.label = {std::string("y")};
  job.output.path = "/models/m";
  return job;
}

// A change to the good job, and the pattern for its error in Says.
struct Row {
  std::function<void(JobSpec&)> change;
  std::string message;
};

inline void CheckRefused(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    JobSpec job = GoodJob();
    row.change(job);
    CHECK_THAT(job.Validate().message(), Says(row.message));
    CHECK(job.Validate().code() == StatusCode::kInvalidArgument);
  }
}

}  // namespace espalier::spec
