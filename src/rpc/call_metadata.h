// Keys and limits of the metadata that accompanies the messages of calls.
//
// Thread rule: values.
#pragma once

namespace espalier::rpc {

inline constexpr const char* kVersionKey = "espalier-version";
inline constexpr const char* kErrorKey = "espalier-error-bin";

// Limit of trailing metadata, which carries errors. gRPC's default limit is 8 KiB.
inline constexpr int kMetadataBytesMax = 256 << 10;

}  // namespace espalier::rpc
