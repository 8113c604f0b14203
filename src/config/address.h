// host:port, or the path of a Unix socket, as daemons listen on and are reached by. Thread rule:
// pure functions; no name is looked up.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace espalier::config {

inline constexpr size_t kSocketPathBytesMax = 107;  // the kernel's limit, without the final zero

struct Address {
  std::string host;  // a name, IPv4 or IPv6 address, without brackets
  int port = 0;
  std::string path;  // not empty: a Unix socket, without host and port
  bool operator==(const Address&) const = default;
};

// "localhost:7700", "10.0.0.5:7700", "[::1]:7700", or "unix:/absolute/path" of at most
// kSocketPathBytesMax plain characters. Port 0 to 65535; 0 means "any free one" to a listener. The
// message of an error says what is wrong with `text`, not where it stood.
Result<Address> ParseAddress(std::string_view text);
std::string ToString(const Address& address);

// Whether one may connect to it: not so port 0.
bool IsDialable(const Address& address);

// 127.0.0.0/8, ::1, "localhost" or a Unix socket: reachable from this machine alone.
bool IsLoopback(const Address& address);

// What others are told to dial: `advertise` (host, or host:port) with the port that is listened on
// where it names none. When it is empty `listening` itself, or, where that is every address of this
// machine (0.0.0.0, [::]), its name `own_host` if that is not empty.
std::string AdvertisedAddress(const std::string& advertise, const std::string& listening,
                              const std::string& own_host);

// Whether `where` names a file that holds an address: file:PATH, hdfs://... or webhdfs://...
bool IsAddressFile(std::string_view where);

// Whether a daemon may listen there: on loopback, with TLS, or with `insecure` spelled out. A Unix
// socket is the user's alone and takes no TLS: certificates name hosts.
Status CheckListen(std::string_view listen, bool secured, bool insecure);

}  // namespace espalier::config
