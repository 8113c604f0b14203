#include "src/config/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "src/base/text.h"
#include "src/config/units.h"

namespace espalier::config {
namespace {

bool IsIpv4(const std::string& host) {
  in_addr unused;
  return inet_pton(AF_INET, host.c_str(), &unused) == 1;
}

bool IsIpv6(const std::string& host) {
  in6_addr unused;
  return inet_pton(AF_INET6, host.c_str(), &unused) == 1;
}

// Returns whether the system would not read `host` as an IPv4 address. The name of a container with
// twelve digits is a host name.
bool IsHostName(const std::string& host) {
  constexpr size_t kNumberDigitsMax = 10;
  const bool digits = std::all_of(host.begin(), host.end(),
                                  [](unsigned char c) { return std::isdigit(c) || c == '.'; });
  const bool numeric =
      digits && (host.size() <= kNumberDigitsMax || host.find('.') != std::string::npos);
  return !host.empty() && host.size() <= 253 && !numeric && host[0] != '-' &&
         std::all_of(host.begin(), host.end(), [](unsigned char c) {
           return (c < 0x80 && std::isalnum(c)) || c == '-' || c == '.' || c == '_';
         });
}

constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kSocketPathMarks = "/._-+=@~";

// Returns whether a path is safe in an address. gRPC parses addresses as URIs, and as lists at
// commas, so only characters without a special meaning are accepted.
bool IsSocketPath(std::string_view path) {
  return path.size() > 1 && path.size() <= kSocketPathBytesMax && path[0] == '/' &&
         path[1] != '/' && std::all_of(path.begin(), path.end(), [](unsigned char c) {
           return (c < 0x80 && std::isalnum(c)) ||
                  kSocketPathMarks.find(static_cast<char>(c)) != std::string_view::npos;
         });
}

}  // namespace

Result<Address> ParseAddress(std::string_view text) {
  const auto wrong = [text](const std::string& expected) {
    return InvalidArgument("found '" + Printable(text) + "', expected " + expected);
  };
  if (text.starts_with(kUnix)) {
    std::string path(text.substr(kUnix.size()));
    if (!IsSocketPath(path)) {
      return wrong("unix: and the absolute path of a socket, at most " +
                   std::to_string(kSocketPathBytesMax) + " of a-z, A-Z, 0-9 and " +
                   std::string(kSocketPathMarks));
    }
    return Address{.path = std::move(path)};
  }
  const std::string form = "host:port, such as 127.0.0.1:7700 or [::1]:7700, or unix:/PATH";
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong(form);
  std::string host(text.substr(0, colon));
  const auto port = ParseWhole(text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535) return wrong(form + ", with a port from 0 to 65535");
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const bool valid = bracketed ? IsIpv6(host) : IsIpv4(host) || IsHostName(host);
  if (!valid) return wrong(form);
  return Address{.host = std::move(host), .port = static_cast<int>(*port)};
}

std::string ToString(const Address& address) {
  if (!address.path.empty()) return std::string(kUnix) + address.path;
  const bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

bool IsDialable(const Address& address) { return !address.path.empty() || address.port > 0; }

bool IsLoopback(const Address& address) {
  if (!address.path.empty() || address.host == "localhost") return true;
  in6_addr v6;
  if (inet_pton(AF_INET6, address.host.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return IsIpv4(address.host) && address.host.starts_with("127.");
}

std::string AdvertisedAddress(const std::string& advertise, const std::string& listening,
                              const std::string& own_host) {
  if (ParseAddress(advertise).ok()) return advertise;
  Result<Address> listened = ParseAddress(listening);
  if (!listened.ok() || !listened->path.empty()) return listening;
  if (!advertise.empty()) return advertise + ":" + std::to_string(listened->port);
  const bool everywhere = listened->host == "0.0.0.0" || listened->host == "::";
  if (!everywhere || own_host.empty()) return listening;
  listened->host = own_host;
  return ToString(*listened);
}

bool IsAddressFile(std::string_view where) {
  return where.starts_with("file:") || where.starts_with("hdfs:") ||
         where.starts_with("webhdfs:") || where.starts_with("swebhdfs:");
}

Status CheckListen(std::string_view listen, bool secured, bool insecure) {
  const Result<Address> address = ParseAddress(listen);
  if (!address.ok()) return InvalidArgument("listen: " + address.status().message());
  if (secured && !address->path.empty()) {
    return InvalidArgument(
        "listen: found '" + Printable(listen) +
        "' with certificates, expected host:port. Set host:port, or remove tls.*: "
        "only its user can open a Unix socket");
  }
  if (secured || insecure || IsLoopback(*address)) return {};
  return InvalidArgument(
      "listen: found '" + Printable(listen) +
      "', which other machines can reach, expected a loopback address: without certificates "
      "connections are neither encrypted nor authenticated. Give tls.ca, tls.certificate and "
      "tls.key (--tls-ca, --tls-certificate, --tls-key; `espalier certs` makes them), listen on "
      "127.0.0.1, or set `insecure: true` (--insecure) if every machine on that network may be "
      "trusted");
}

}  // namespace espalier::config
