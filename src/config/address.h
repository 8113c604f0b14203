// Addresses of daemons, to listen on or to connect to: host:port, or the path of a Unix socket.
//
// Thread rule: pure functions. No names are resolved.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace espalier::config {

inline constexpr size_t kSocketPathBytesMax = 107;  // limit of the kernel, without the final zero

struct Address {
  std::string host;  // name, IPv4 or IPv6 address, without brackets
  int port = 0;
  std::string path;  // nonempty: a Unix socket, without host and port
  bool operator==(const Address&) const = default;
};

// Parses "localhost:7700", "10.0.0.5:7700", "[::1]:7700", or "unix:/absolute/path" of at most
// kSocketPathBytesMax plain characters. Ports are 0 to 65535. For a listener, port 0 means any free
// port. An error describes the problem with `text`, but not the place of `text`.
Result<Address> ParseAddress(std::string_view text);
std::string ToString(const Address& address);

// Returns whether a client can connect to the address. Port 0 is not dialable.
bool IsDialable(const Address& address);

// Returns whether the address is 127.0.0.0/8, ::1, "localhost" or a Unix socket. These are
// reachable only from this machine.
bool IsLoopback(const Address& address);

// Returns the address that other processes connect to. If `advertise` (host, or host:port) is set,
// it is that address, with the listener's port if it has no port. Otherwise it is `listening`. If
// `listening` is every address of this machine (0.0.0.0, [::]) and `own_host` is set, the host is
// `own_host`.
std::string AdvertisedAddress(const std::string& advertise, const std::string& listening,
                              const std::string& own_host);

// Returns whether `where` is a file that holds an address: file:PATH, hdfs://..., webhdfs://... or
// swebhdfs://...
bool IsAddressFile(std::string_view where);

// Checks that a daemon may listen on the address: on loopback, with TLS, or with explicit
// `insecure`. A Unix socket belongs to its user and does not support TLS, because certificates name
// hosts.
Status CheckListen(std::string_view listen, bool secured, bool insecure);

}  // namespace espalier::config
