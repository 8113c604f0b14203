// Paths from users: files on the local machine or on an HDFS.
//
//   /a/b  a/b  file:/a/b  file:///a/b   local file
//   hdfs://HOST[:PORT]/a/b              the HDFS with NameNode HOST (PORT is the RPC port)
//   hdfs://NAMESERVICE/a/b              the HDFS with that name in Hadoop's configuration
//   hdfs:///a/b  hdfs:/a/b              the default file system of Hadoop's configuration
//   webhdfs://HOST[:PORT]/a/b           the HDFS whose NameNode serves WebHDFS there
//   swebhdfs://HOST[:PORT]/a/b          the same over HTTPS
//
// As in Hadoop's own tools, the path of a URI is used unchanged: %20 is three characters, and `?`
// and `#` are parts of names.
//
// Thread rule: values and pure functions.
#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"

namespace espalier::storage {

struct Uri {
  enum class Kind { kLocal, kHdfs, kWebHdfs, kSecureWebHdfs };
  Kind kind = Kind::kLocal;
  std::string prefix;  // "hdfs://host:8020" as given, without a trailing slash; empty: local
  std::string host;    // name, address or name service; empty: local or default HDFS
  int port = 0;        // 0: none given
  // Local: as given. HDFS: absolute, without `//`, `.`, `..` or a trailing slash (except "/").
  std::string path;
};

// Parses a path. kInvalidArgument: an empty path, a NUL byte, a scheme outside the list above, an
// invalid host or port, or a relative path after a host.
Result<Uri> ParseUri(const std::string& text);

// Returns the same text for all names of one place: without `.`, `..` and symbolic links, as far as
// the path exists. A name that cannot be resolved is returned unchanged. Two URIs of one HDFS, for
// example hdfs:// and webhdfs://, remain two texts: PlaceName (file_systems.h) compares them.
std::string CanonicalPath(const std::string& text);

// Host and port of "host", "host:1" or "[::1]:1". `what` names the text in an error.
struct HostPort {
  std::string host;  // without brackets
  int port = 0;      // 0: none given
  bool operator==(const HostPort&) const = default;
};
Result<HostPort> ParseHostPort(std::string_view text, const std::string& what);
// Returns "host:port", with brackets around an IPv6 address.
std::string ToString(const HostPort& address);

}  // namespace espalier::storage
