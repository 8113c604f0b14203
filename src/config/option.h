// Option: the declaration of one option of a daemon. It determines the YAML key, the range, the
// command-line flag with its help, and the commented configuration file.
//
// Thread rule: values.
#pragma once

#include <cstdint>

#include "src/spec/key.h"

namespace espalier::config {

inline constexpr int64_t kPathBytesMax = 4096;

struct Option {
  using Unit = spec::Key::Unit;

  static constexpr Option Text(const char* key, const char* doc,
                               int64_t bytes_max = kPathBytesMax) {
    return {key, doc, 0, bytes_max};
  }
  static constexpr Option Switch(const char* key, const char* doc) { return {key, doc}; }
  static constexpr Option Count(const char* key, int64_t min, int64_t max, const char* doc) {
    return {key, doc, min, max};
  }
  // Milliseconds, or a time with a unit ("5 min").
  static constexpr Option Milliseconds(const char* key, int64_t min, int64_t max, const char* doc) {
    return {key, doc, min, max, Unit::kMilliseconds};
  }
  // Bytes, or a size with a unit ("64MiB").
  static constexpr Option Bytes(const char* key, int64_t min, int64_t max, const char* doc) {
    return {key, doc, min, max, Unit::kBytes};
  }

  // In YAML, "tls.ca" is the key `ca` of the map `tls`. The flag is --tls-ca.
  const char* key;
  // Sentences for the configuration file. The first one is also the help of the flag.
  const char* doc;
  // Range of a number. For a text, `max` is its maximum length in bytes.
  int64_t min = 0, max = 0;
  Unit unit = Unit::kNone;
};

// An option with an earlier name. Files and command lines with that name are still accepted.
struct RenamedOption {
  const char* before;
  const char* now;
};
inline constexpr RenamedOption kRenamedOptions[] = {
    {"spool_directory", "spill_directory"},
    {"spool_bytes_max", "spill_bytes_max"},
    {"survey_timeout_ms", "profiling_timeout_ms"},
    {"survey_bytes_max", "profile_bytes_max"},
};

}  // namespace espalier::config
