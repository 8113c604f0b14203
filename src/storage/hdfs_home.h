// Who an HDFS takes us for. Kerberos tells a principal; which user that is says the NameNode, by
// rules of its own (hadoop.security.auth_to_local).
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/storage/file_systems.h"

namespace espalier::storage {

// Our home directory there, "/user/ann", whose last part is our name. `prefix` names the file
// system as paths on it begin (uri.h): "hdfs://ns". Errors as file_system.h's. May wait as
// StorageOptions allow.
Result<std::string> HdfsHome(const StorageOptions& options, const std::string& prefix);

// What the NameNode answers for it. kUnavailable: that is no path of a home. A pure function.
Result<std::string> ParseHdfsHome(std::string_view body);

}  // namespace espalier::storage
