// What a path given by a user names: a file of this machine, or one on an HDFS.
//
//   /a/b  a/b  file:/a/b  file:///a/b   this machine's
//   hdfs://HOST[:PORT]/a/b              the HDFS whose NameNode is HOST (PORT is the RPC port)
//   hdfs://NAMESERVICE/a/b              the HDFS that Hadoop's configuration calls so
//   hdfs:///a/b  hdfs:/a/b              the default file system of Hadoop's configuration
//   webhdfs://HOST[:PORT]/a/b           the HDFS whose NameNode serves WebHDFS there
//   swebhdfs://HOST[:PORT]/a/b          the same over HTTPS
//
// As in Hadoop's own tools the path of a URI is taken as it stands: %20 is three characters, `?`
// and
// `#` are parts of names. Thread rule: values and pure functions.
#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"

namespace espalier::storage {

struct Uri {
  enum class Kind { kLocal, kHdfs, kWebHdfs, kSecureWebHdfs };
  Kind kind = Kind::kLocal;
  std::string prefix;  // "hdfs://host:8020" as given, without a slash at the end; empty: local
  std::string host;    // a name, an address or a name service; empty: local, or the default HDFS
  int port = 0;        // 0: none given
  // Local: as given. Else absolute, without `//`, `.`, `..` or a slash at the end (but "/").
  std::string path;
};

// kInvalidArgument: an empty path, a NUL byte, a scheme that is not in the list above, a bad host
// or port, a relative path after a host.
Result<Uri> ParseUri(const std::string& text);

// Returns the same text for all names of one place: without `.`, `..` and symbolic links, as far as
// the path exists. A name that cannot be resolved is returned as it is. (Two URIs of one HDFS, as
// hdfs:// and webhdfs://, stay two places.)
std::string CanonicalPath(const std::string& text);

// Host and port of "host", "host:1", "[::1]:1". `what` names the text in an error.
struct HostPort {
  std::string host;  // without brackets
  int port = 0;      // 0: none given
  bool operator==(const HostPort&) const = default;
};
Result<HostPort> ParseHostPort(std::string_view text, const std::string& what);
// "host:port", with brackets around an IPv6 address.
std::string ToString(const HostPort& address);

}  // namespace espalier::storage
