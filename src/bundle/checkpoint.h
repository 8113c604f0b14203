// A checkpoint: the job's state in one file, with a header that identifies the job. Little-endian:
//
//   8 bytes   "ESPALCKP"
//   uint32    format, 1
//   uint32    H, bytes of the header
//   uint64    S, bytes of the state
//   H bytes   header: a JSON object, {"step": 1200, "job": .., "data_fingerprint": ..,
//             "arithmetic_id": .., "accepted": [..], "written_by": "espalier 0.1.0"},
//             "preprocessing": that of model.json as a text, if the header contains it, and
//             "compared": false if the members had not compared the state
//   uint32    CRC-32C of all preceding bytes, so that a header can be verified without the state
//   S bytes   state (training/state_codec.h)
//   64 bytes  SHA-256 of all preceding bytes, in hexadecimal
//
// Of the profile, only the fitted preprocessing is stored. A job that starts from the weights reads
// it to learn their inputs (initial_weights.h). A resumed run repeats the profiling pass. The pass
// costs one reading of the data, and the data fingerprint proves that the rows have not changed.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace espalier::bundle {

struct CheckpointHeader {
  int64_t step = 0;  // last committed step
  std::string job;   // CanonicalText of the job
  std::string data_fingerprint;
  std::string arithmetic_id;
  std::vector<std::string> accepted;  // differences accepted when this run was resumed
  // Whether all members had the same state. Otherwise it is the state of one member, which may
  // differ from the others' without being detected yet.
  bool compared = true;
  // EncodePreprocessing: the columns, categories and classes of the weights. Empty: unknown,
  // because an older version wrote the checkpoint or the text was too long for a header.
  std::string preprocessing = {};
  std::string writer = {};  // WriterName::Text; empty: an older version wrote the checkpoint
  bool operator==(const CheckpointHeader&) const = default;
};

struct Checkpoint {
  CheckpointHeader header;
  std::string state;
};

std::string EncodeCheckpoint(const CheckpointHeader& header, std::string_view state);

inline constexpr size_t kCheckpointPrefixBytes = 24;  // bytes before the header
inline constexpr size_t kCheckpointHeaderBytesMax = size_t{8} << 20;

// Lengths of the parts of a file. ParseCheckpointPrefix reads them from the first
// kCheckpointPrefixBytes bytes of a file of `file_bytes` bytes. kDataLoss states the problem: not a
// checkpoint, truncated, or impossible lengths.
struct CheckpointParts {
  size_t header_bytes = 0;  // of the header only
  uint64_t state_bytes = 0;
};
Result<CheckpointParts> ParseCheckpointPrefix(std::string_view prefix, uint64_t file_bytes);
// Parses the header, from the bytes before the state. REQUIRES: `front` has the length that the
// parts state.
Result<CheckpointHeader> ParseCheckpointHeader(std::string_view front);
// Parses a whole file. kDataLoss: any byte has changed.
Result<Checkpoint> DecodeCheckpoint(std::string bytes);

// Requirements of a job for a checkpoint.
struct CheckpointDemand {
  std::string job;               // CanonicalText; empty: any job
  std::string data_fingerprint;  // empty: unknown, not compared
  std::string arithmetic_id;     // empty: unknown, not compared
  bool accept_data = false;      // accepts other data, including other files
  bool accept_arithmetic = false;
  bool accept_history = true;  // false: rejects any earlier accepted difference
  bool accept_end = false;     // accepts another end: epochs, steps, max_time, early_stopping
  bool compared_only = false;  // rejects uncompared states, after states differed
  uint64_t state_bytes_max = UINT64_MAX;
};

// Prefix of an accepted difference in the end of training.
inline constexpr std::string_view kOtherEnd = "end of training";
// Returns the differences that the demand accepts, in the form for model.json. Returns
// kFailedPrecondition for the first one that it rejects, with both values and the fix.
Result<std::vector<std::string>> AcceptedDifferences(const CheckpointHeader& header,
                                                     const CheckpointDemand& demand);

}  // namespace espalier::bundle
