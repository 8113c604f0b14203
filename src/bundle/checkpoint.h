// A checkpoint: the job's state in one file, with what it belongs to. Little-endian:
//
//   8 bytes   "ESPALCKP"
//   uint32    format, 1
//   uint32    H, bytes of the header
//   uint64    S, bytes of the state
//   H bytes   header: a JSON object, {"step": 1200, "job": .., "data_fingerprint": ..,
//             "arithmetic_id": .., "accepted": [..], "written_by": "espalier 0.1.0"},
//             "preprocessing": that of model.json as a text, where the header holds it, and
//             "compared": false when the members had not compared the state
//   uint32    CRC-32C of all before it: a header can be trusted without reading the state
//   S bytes   state (training/state_codec.h)
//   64 bytes  SHA-256 of all before it, in hexadecimal
//
// Of the profile, only the fitted preprocessing is stored. A job that starts from the weights reads
// it to learn their inputs (initial_weights.h). A resumed run repeats the profiling pass: it costs
// one reading of the data, and the data's fingerprint proves that the rows have not changed.
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
  int64_t step = 0;  // committed
  std::string job;   // CanonicalText of the job
  std::string data_fingerprint;
  std::string arithmetic_id;
  std::vector<std::string> accepted;  // what was accepted to differ when this run was resumed
  // Whether all members held it; else it is one member's, who may hold another than the others
  // without anybody having noticed yet.
  bool compared = true;
  // EncodePreprocessing: which columns, categories and classes the weights are for. Empty: not
  // known, in checkpoints of before it was written down, or when it was too long for a header.
  std::string preprocessing = {};
  bool operator==(const CheckpointHeader&) const = default;
};

struct Checkpoint {
  CheckpointHeader header;
  std::string state;
};

std::string EncodeCheckpoint(const CheckpointHeader& header, std::string_view state);

inline constexpr size_t kCheckpointPrefixBytes = 24;  // up to the header
inline constexpr size_t kCheckpointHeaderBytesMax = size_t{8} << 20;

// How long the parts of a file of `file_bytes` bytes are, by its first kCheckpointPrefixBytes.
// kDataLoss says what is wrong: not a checkpoint, cut off, or lengths that cannot be.
struct CheckpointParts {
  size_t header_bytes = 0;  // of the header alone
  uint64_t state_bytes = 0;
};
Result<CheckpointParts> ParseCheckpointPrefix(std::string_view prefix, uint64_t file_bytes);
// The header, from the bytes up to the state. REQUIRES: `front` is as long as the parts say.
Result<CheckpointHeader> ParseCheckpointHeader(std::string_view front);
// Takes a whole file apart. kDataLoss: not one byte of it may differ.
Result<Checkpoint> DecodeCheckpoint(std::string bytes);

// What a job needs a checkpoint to be.
struct CheckpointDemand {
  std::string job;               // CanonicalText; empty: of any job
  std::string data_fingerprint;  // empty: not known yet, not compared
  std::string arithmetic_id;     // the same
  bool accept_data = false;      // other data, from other files if need be
  bool accept_arithmetic = false;
  bool accept_history = true;  // false: nothing may have been accepted before either
  bool accept_end = false;     // another end: epochs, steps, max_time, early_stopping
  bool compared_only = false;  // states have been found to differ
  uint64_t state_bytes_max = UINT64_MAX;
};

// How an accepted difference of the end of training starts.
inline constexpr std::string_view kOtherEnd = "end of training";
// The differences that the demand accepts, as model.json will tell them; kFailedPrecondition for
// the first that it does not, with both values and how to mend it.
Result<std::vector<std::string>> AcceptedDifferences(const CheckpointHeader& header,
                                                     const CheckpointDemand& demand);

}  // namespace espalier::bundle
