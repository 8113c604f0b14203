// Whether one CA file may replace another.
//
// Thread rule: a pure function.
#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"

namespace espalier::security {

struct CaFile {
  std::string_view pem;
  std::string path;  // for messages
};

// Returns OK if the CA file `after` may replace `before` without admitting revoked certificates
// again. Every revocation list of an authority in `before` must be in `after`, or a later one. If
// the two files have no authority in common, the lists of `before` do not apply to `after`.
// kPermissionDenied: a file is unreadable. kFailedPrecondition: the replacement is not allowed.
Status CheckReplaces(const CaFile& before, const CaFile& after);

}  // namespace espalier::security
