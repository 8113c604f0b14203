#include "src/storage/uri.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>

#include "src/base/text.h"

namespace espalier::storage {
namespace {

constexpr const char* kExpected =
    "expected a path, file:///PATH, hdfs://HOST[:PORT]/PATH, hdfs://NAMESERVICE/PATH, "
    "hdfs:///PATH, "
    "webhdfs://HOST:PORT/PATH or swebhdfs://HOST:PORT/PATH";

// Returns "hdfs" for "hdfs://host/path" or "hdfs:/path", and "" for a plain path.
std::string_view SchemeOf(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  const std::string_view scheme = text.substr(0, colon), rest = text.substr(colon + 1);
  const bool is_word = std::all_of(scheme.begin(), scheme.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '+' || c == '-' || c == '.';
  });
  const bool known =
      scheme == "file" || scheme == "hdfs" || scheme == "webhdfs" || scheme == "swebhdfs";
  const bool is_uri = rest.starts_with("//") || (known && rest.starts_with("/"));
  return is_word && is_uri ? scheme : std::string_view{};
}

// Returns "/a/b" for "//a///b/".
Result<std::string> CleanPath(std::string_view path, const std::string& text) {
  std::string clean;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (segment.empty()) continue;
    if (segment == "." || segment == "..") {
      return InvalidArgument("the path '" + Printable(text) + "' holds '" + std::string(segment) +
                             "', which HDFS does not know; write the path without it");
    }
    (clean += '/') += segment;
  }
  return clean.empty() ? "/" : clean;
}

Result<Uri> ParseLocal(std::string_view rest, const std::string& text) {
  Uri uri;
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    if (rest.starts_with("localhost/")) rest.remove_prefix(9);
    if (!rest.starts_with("/")) {
      return InvalidArgument("'" + Printable(text) + "' names a host; expected file:///PATH");
    }
  }
  uri.path = rest;
  return uri;
}

}  // namespace

std::string CanonicalPath(const std::string& text) {
  const Result<Uri> uri = ParseUri(text);
  if (!uri.ok()) return text;
  if (uri->kind != Uri::Kind::kLocal) return uri->prefix + uri->path;
  std::error_code error;
  const std::filesystem::path place = std::filesystem::weakly_canonical(uri->path, error);
  if (error) return text;
  // "a/" becomes "a".
  return (place.has_filename() || !place.has_relative_path() ? place : place.parent_path())
      .string();
}

Result<HostPort> ParseHostPort(std::string_view text, const std::string& what) {
  const auto bad = [&](const std::string& why) {
    return InvalidArgument(what + ": '" + Printable(text) + "' " + why + "; expected HOST:PORT");
  };
  HostPort address;
  std::string_view port;
  if (text.starts_with("[")) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return bad("has no ']' after its address");
    address.host = text.substr(1, close - 1);
    port = text.substr(close + 1);
    if (!port.empty() && port[0] != ':') return bad("has something other than a port after ']'");
  } else {
    const size_t colon = std::min(text.find(':'), text.size());
    address.host = text.substr(0, colon);
    port = text.substr(colon);
  }
  const bool v6 = text.starts_with("[");
  const bool good = !address.host.empty() && address.host.size() <= 253 &&
                    std::all_of(address.host.begin(), address.host.end(), [&](unsigned char c) {
                      return std::isalnum(c) || c == '.' || c == '-' || c == '_' ||
                             (v6 && (c == ':' || c == '%'));
                    });
  if (!good) return bad("has no valid host name");
  if (port.empty()) return address;
  const char* end = port.data() + port.size();
  const auto [stop, error] = std::from_chars(port.data() + 1, end, address.port);
  if (error != std::errc() || stop != end || address.port < 1 || address.port > 65535) {
    return bad("has no port between 1 and 65535");
  }
  return address;
}

std::string ToString(const HostPort& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + address.host + "]" : address.host;
  return address.port == 0 ? host : host + ":" + std::to_string(address.port);
}

Result<Uri> ParseUri(const std::string& text) {
  if (text.empty()) return InvalidArgument("a path is empty; expected the name of a file");
  if (text.find('\0') != std::string::npos) {
    return InvalidArgument("the path '" + Printable(text) + "' holds a NUL byte");
  }
  const std::string_view scheme = SchemeOf(text);
  if (scheme.empty()) return ParseLocal(text, text);
  std::string_view rest = std::string_view(text).substr(scheme.size() + 1);
  if (scheme == "file") return ParseLocal(rest, text);
  Uri uri;
  if (scheme == "hdfs") {
    uri.kind = Uri::Kind::kHdfs;
  } else if (scheme == "webhdfs") {
    uri.kind = Uri::Kind::kWebHdfs;
  } else if (scheme == "swebhdfs") {
    uri.kind = Uri::Kind::kSecureWebHdfs;
  } else {
    return InvalidArgument("the scheme '" + Printable(scheme) + "' of '" + Printable(text) +
                           "' is not supported; " + kExpected);
  }
  std::string_view authority;
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    authority = rest.substr(0, std::min(rest.find('/'), rest.size()));
    rest.remove_prefix(authority.size());
  }
  uri.prefix = std::string(scheme) + "://" + std::string(authority);
  if (!authority.empty()) {
    ESPALIER_ASSIGN_OR_RETURN(auto address, ParseHostPort(authority, "'" + Printable(text) + "'"));
    uri.host = std::move(address.host);
    uri.port = address.port;
  } else if (uri.kind != Uri::Kind::kHdfs) {
    return InvalidArgument("'" + Printable(text) + "' names no host; " + kExpected);
  }
  if (rest.empty()) {
    return InvalidArgument("'" + Printable(text) + "' has no path after its host; " + kExpected);
  }
  ESPALIER_ASSIGN_OR_RETURN(uri.path, CleanPath(rest, text));
  return uri;
}

}  // namespace espalier::storage
