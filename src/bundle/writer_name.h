// Who writes: a part of every temporary name, so that what a dead writer left behind can be told
// from what a live one is writing. "g3-m1-job-17": generation 3, member 1.
//
// A member whose generation is over may not know it yet. The writer of a newer generation removes
// what older ones of its job have begun; their renames then fail. It never touches a newer one's.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/ids.h"

namespace espalier {

struct WriterName {
  JobId job;
  Generation generation;
  int32_t member = 0;

  std::string Text() const;
  // Whether what `other` has begun has no more say: it is of another job (an output is one live
  // job's alone), of an older generation, or this writer's own last attempt.
  bool Supersedes(const WriterName& other) const;
};

// The writer whose name ends `text`, behind the last `marker` in it and perhaps before a counter:
// ".step-7.ckpt.tmp-g3-m1-job-17-2" with the marker ".tmp-".
std::optional<WriterName> FindWriter(std::string_view text, std::string_view marker);

}  // namespace espalier
