// The user name of this process on an HDFS. Kerberos provides a principal, and the NameNode maps it
// to a user by its own rules (hadoop.security.auth_to_local).
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/storage/file_systems.h"

namespace espalier::storage {

// Returns this process's home directory on the HDFS, for example "/user/ann". Its last part is the
// user name. `prefix` identifies the file system by the start of its paths (uri.h): "hdfs://ns".
// Errors are those of file_system.h. May wait as long as StorageOptions allow.
Result<std::string> HdfsHome(const StorageOptions& options, const std::string& prefix);

// Parses the NameNode's answer. kUnavailable: it is not the path of a home directory. A pure
// function.
Result<std::string> ParseHdfsHome(std::string_view body);

}  // namespace espalier::storage
