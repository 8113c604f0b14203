// Reads one shard of a table to be scored. Thread rule: reentrant.
#pragma once

#include "src/data/profile/table_scan.h"

namespace espalier::data {

inline Status ScanRows(const storage::FileSystem& files, const ScanPlan& scan, int shard,
                       const TakePiece& take) {
  return MakeScanReader(files, scan)->Read(shard, take).status();
}

}  // namespace espalier::data
