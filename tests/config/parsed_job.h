// Jobs from text, for tests.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "src/config/job_yaml.h"
#include "src/spec/job_spec.h"

namespace espalier::config {

// The required keys of a job.
inline const std::string kHead = "data: {train: t.csv, label: y}\noutput: m\n";

inline spec::JobSpec Parsed(const std::string& text) {
  const auto job = ParseJob(text, "job.yaml");
  INFO(text << "\n" << job.status().ToString());
  REQUIRE(job.ok());
  return *job;
}

// Returns "OK", or the error of the text.
inline std::string Error(const std::string& text) {
  const auto job = ParseJob(text, "job.yaml");
  return job.ok() ? "OK" : job.status().message();
}

}  // namespace espalier::config
