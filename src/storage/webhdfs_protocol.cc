#include "src/storage/webhdfs_protocol.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "src/base/text.h"
#include "src/storage/bounded_json.h"

namespace espalier::storage {
namespace {

Status Unexpected(const std::string& what, std::string_view body) {
  return Unavailable("the reply is not what WebHDFS says: " + what + ": '" + Printable(body, 60) +
                     "'");
}

using Json = nlohmann::json;

Json Parse(std::string_view body) { return ParseJsonObject(body); }
const Json& Member(const Json& json, const char* name) { return JsonMember(json, name); }
std::string Text(const Json& json) { return JsonText(json); }
int64_t Count(const Json& json) { return JsonCount(json); }

bool ToInfo(const Json& json, FileInfo* info) {
  const std::string type = Text(Member(json, "type"));
  info->path = Text(Member(json, "pathSuffix"));
  info->length = Count(Member(json, "length"));
  info->modified_ms = Count(Member(json, "modificationTime"));
  info->is_directory = type == "DIRECTORY";
  if (info->is_directory) info->length = 0;
  const bool known = info->is_directory || type == "FILE" || type == "SYMLINK";
  return known && info->length >= 0 && info->modified_ms >= 0;
}

bool IsName(const std::string& name) {
  return name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

bool ToBlock(const Json& json, LocatedBlock* block) {
  BlockLocation& where = block->where;
  const Json& nodes = Member(json, "locations");
  if (nodes.is_array()) {  // GET_BLOCK_LOCATIONS
    where.offset = Count(Member(json, "startOffset"));
    where.length = Count(Member(Member(json, "block"), "numBytes"));
    for (const Json& node : nodes) {
      DataNode data_node{.ip = Text(Member(node, "ipAddr")),
                         .host = Text(Member(node, "hostName"))};
      const int64_t port = Count(Member(node, "xferPort")), http = Count(Member(node, "infoPort"));
      if (port < 1 || port > 65535 || data_node.ip.empty()) return false;
      data_node.name = ToString(HostPort{data_node.ip, static_cast<int>(port)});
      const int64_t https = Count(Member(node, "infoSecurePort"));
      data_node.http_port = http >= 1 && http <= 65535 ? static_cast<int>(http) : 0;
      data_node.https_port = https >= 1 && https <= 65535 ? static_cast<int>(https) : 0;
      where.hosts.push_back(data_node.host);
      block->nodes.push_back(std::move(data_node));
    }
  } else {  // GETFILEBLOCKLOCATIONS
    where.offset = Count(Member(json, "offset"));
    where.length = Count(Member(json, "length"));
    const Json& hosts = Member(json, "hosts");
    for (const Json& host : hosts) where.hosts.push_back(Text(host));
  }
  return where.offset >= 0 && where.length >= 0;
}

}  // namespace

std::string PercentEncoded(std::string_view text, std::string_view kept) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const unsigned char c : text) {
    if (c < 0x80 &&
        (std::isalnum(c) || std::string_view("-._~").find(c) != std::string_view::npos ||
         kept.find(c) != std::string_view::npos)) {
      encoded += c;
    } else {
      ((encoded += '%') += kDigits[c >> 4]) += kDigits[c & 15];
    }
  }
  return encoded;
}

std::string OperationUrl(const HostPort& name_node, bool secure, std::string_view path,
                         std::string_view op, const Parameters& parameters) {
  std::string url = (secure ? "https://" : "http://") + ToString(name_node) + "/webhdfs/v1" +
                    PercentEncoded(path, "/") + "?op=" + std::string(op);
  for (const auto& [name, value] : parameters)
    url += "&" + name + "=" + PercentEncoded(value, ":,");
  return url;
}

// Returns whether a segment is "." or "..", plain or percent-encoded, because servers may resolve
// it.
bool HasDotSegment(std::string_view path) {
  std::string segment;
  for (size_t i = 0; i <= path.size(); ++i) {
    if (i == path.size() || path[i] == '/' || path[i] == '\\') {
      if (segment == "." || segment == "..") return true;
      segment.clear();
    } else if (path.substr(i, 3) == "%2e" || path.substr(i, 3) == "%2E") {
      segment += '.';
      i += 2;
    } else {
      segment += path[i];
    }
  }
  return false;
}

Result<HostPort> RedirectTarget(const std::string& location, bool secure) {
  const bool http = location.starts_with("http://"), https = location.starts_with("https://");
  if (!https && (!http || secure)) {
    // The message contains nothing of a malformed URL, because any part of it may be the token.
    return Unavailable(std::string("it redirects to an address that is not ") +
                       (secure ? "https" : "http or https"));
  }
  const size_t begin = https ? 8 : 7;
  const size_t end = std::min(location.find_first_of("/?#", begin), location.size());
  Result<HostPort> target =
      ParseHostPort(std::string_view(location).substr(begin, end - begin), "its redirect");
  if (!target.ok()) return Unavailable("it redirects to an address without a valid host and port");
  // A NameNode must not make this process fetch content that only this process can reach.
  const std::string_view path = std::string_view(location).substr(end);
  if (!path.starts_with("/webhdfs/v1/") ||
      HasDotSegment(path.substr(0, path.find_first_of("?#")))) {
    return Unavailable("it redirects to a path that is not a DataNode's, /webhdfs/v1/...");
  }
  if (target->port == 0) target->port = https ? 443 : 80;
  return target;
}

RemoteException ParseRemoteException(std::string_view body) {
  const Json json = Parse(body);
  const Json& exception = Member(json, "RemoteException");
  RemoteException remote{.name = Printable(Text(Member(exception, "exception")), 100)};
  const std::string message = Text(Member(exception, "message"));
  remote.message = Printable(message.substr(0, message.find('\n')), 300);
  return remote;
}

Result<FileInfo> ParseFileStatus(std::string_view body) {
  const Json json = Parse(body);
  FileInfo info;
  if (!ToInfo(Member(json, "FileStatus"), &info)) {
    return Unexpected("a FileStatus was expected", body);
  }
  return info;
}

Result<Listing> ParseListing(std::string_view body) {
  const Json json = Parse(body);
  const Json& batch = Member(json, "DirectoryListing");
  const Json& statuses =
      Member(batch.is_object() ? Member(batch, "partialListing") : json, "FileStatuses");
  const Json& entries = Member(statuses, "FileStatus");
  Listing listing;
  if (batch.is_object()) listing.remaining = Count(Member(batch, "remainingEntries"));
  if (!entries.is_array() || listing.remaining < 0) {
    return Unexpected("a listing was expected", body);
  }
  for (const Json& entry : entries) {
    FileInfo info;
    if (!ToInfo(entry, &info) || !IsName(info.path)) {
      return Unexpected("an entry of a listing is wrong", entry.dump(-1, ' ', true));
    }
    listing.entries.push_back(std::move(info));
  }
  return listing;
}

Result<bool> ParseBoolean(std::string_view body) {
  const Json json = Parse(body);
  const Json& value = Member(json, "boolean");
  if (!value.is_boolean()) return Unexpected("a boolean was expected", body);
  return value.get<bool>();
}

Result<std::vector<LocatedBlock>> ParseBlockLocations(std::string_view body) {
  const Json json = Parse(body);
  const Json& newer = Member(json, "BlockLocations");
  const Json& list = newer.is_object() ? Member(newer, "BlockLocation")
                                       : Member(Member(json, "LocatedBlocks"), "locatedBlocks");
  if (!list.is_array()) return Unexpected("block locations were expected", body);
  std::vector<LocatedBlock> blocks;
  for (const Json& item : list) {
    LocatedBlock block;
    if (!ToBlock(item, &block)) return Unexpected("a block's location is wrong", body);
    blocks.push_back(std::move(block));
  }
  return blocks;
}

Result<std::string> ParseToken(std::string_view body) {
  const Json json = Parse(body);
  std::string text = Text(Member(Member(json, "Token"), "urlString"));
  if (text.empty()) {
    return Unavailable("the reply is not what WebHDFS says: no delegation token is in it");
  }
  return text;
}

Result<int64_t> ParseLong(std::string_view body) {
  const Json json = Parse(body);
  const int64_t value = Count(Member(json, "long"));
  if (value < 0) return Unexpected("a number was expected", body);
  return value;
}

std::string DataNodeName(const std::vector<LocatedBlock>& blocks, const HostPort& address) {
  for (const LocatedBlock& block : blocks) {
    for (const DataNode& node : block.nodes) {
      if ((node.http_port == address.port || node.https_port == address.port) &&
          (node.host == address.host || node.ip == address.host)) {
        return node.name;
      }
    }
  }
  return {};
}

}  // namespace espalier::storage
