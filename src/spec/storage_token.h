// StorageToken: a delegation token of a job for one file system.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::spec {

// SECRET: its bearer acts as its owner. It never appears in a log or a snapshot.
struct StorageToken {
  std::string file_system;  // prefix of the paths on the file system (storage/uri.h): "hdfs://ns"
  std::string text;         // in WebHDFS format
  bool operator==(const StorageToken&) const = default;
};
using StorageTokens = std::vector<StorageToken>;
inline constexpr int64_t kStorageTokensMax = 16;

}  // namespace espalier::spec
