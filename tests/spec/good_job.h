// A job that Validate accepts.
#pragma once

#include <string>

#include "src/spec/job_spec.h"

namespace espalier {

inline JobSpec GoodJob() {
  JobSpec job;
  job.data.train = {"/data/*.csv"};
  job.data.label = {std::string("y")};
  job.output.path = "/models/m";
  return job;
}

}  // namespace espalier
