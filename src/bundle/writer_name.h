// The writer of a file or directory, as a part of its temporary name. "g3-m1-t1700000000000-job-17"
// is member 1 of generation 3 of job 17, which was submitted at that time. The name distinguishes
// the leftovers of a dead writer from the files of a live one.
//
// Writers of one place are ordered. A later generation supersedes an earlier one of its job, and a
// job that was submitted later supersedes an earlier one. A coordinator gives a place to one live
// job at a time. The times also order the jobs of coordinators without a common journal, as far as
// their clocks agree.
//
// Thread rule: values and pure functions.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/ids.h"

namespace espalier::bundle {

struct WriterName {
  JobId job;
  Generation generation;
  int32_t member = 0;
  int64_t submitted_ms = 0;  // ms since 1970; 0 in names of version 0.1.0

  auto operator<=>(const WriterName&) const = default;
  std::string Text() const;
  bool IsOf(JobId its_job, int64_t its_submitted_ms) const {
    return job == its_job && submitted_ms == its_submitted_ms;
  }
  // Returns whether the work of `other` is obsolete: it belongs to an earlier job or generation, or
  // it is this writer's own previous attempt.
  bool Supersedes(const WriterName& other) const;
};

// Returns the writer at the end of `text`, after the last `marker` and possibly before a counter:
// ".step-7.ckpt.tmp-g3-m1-t1-job-17-2" with the marker ".tmp-".
std::optional<WriterName> FindWriter(std::string_view text, std::string_view marker);

}  // namespace espalier::bundle
