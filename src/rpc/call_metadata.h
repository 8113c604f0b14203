// What travels in the metadata of calls, next to their messages.
//
// Thread rule: values.
#pragma once

namespace espalier::rpc {

inline constexpr const char* kVersionKey = "espalier-version";
inline constexpr const char* kErrorKey = "espalier-error-bin";

// Errors travel in trailing metadata, for which gRPC's default limit is 8 KiB.
inline constexpr int kMetadataBytesMax = 256 << 10;

}  // namespace espalier::rpc
