// StorageToken: a delegation token of a job for one file system.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::spec {

// SECRET: its bearer acts as its owner. It appears in no log and no snapshot.
struct StorageToken {
  std::string file_system;  // prefix of the paths on it (storage/uri.h): "hdfs://ns"
  std::string text;         // in the form that WebHDFS writes
  bool operator==(const StorageToken&) const = default;
};
using StorageTokens = std::vector<StorageToken>;
inline constexpr int64_t kStorageTokensMax = 16;

}  // namespace espalier::spec
