// WebHDFS requests and replies as text: URLs of calls and the JSON of their replies (Hadoop's
// WebHDFS.md). Replies are not trusted: depth is bounded, names have no slashes, and numbers are in
// range. Anything else is kUnavailable, and the message states what was found.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/storage/file_system.h"
#include "src/storage/uri.h"

namespace espalier::storage {

using Parameters = std::vector<std::pair<std::string, std::string>>;

// Returns "http://host:port/webhdfs/v1/a%20b?op=OPEN&offset=5", or https if `secure`. `path` is
// absolute and used unchanged.
std::string OperationUrl(const HostPort& name_node, bool secure, std::string_view path,
                         std::string_view op, const Parameters& parameters);
// Encodes all bytes as %XX, except letters, digits, - . _ ~ and `kept`.
std::string PercentEncoded(std::string_view text, std::string_view kept = {});

// Returns host and port of a redirect. kUnavailable unless it is http or https (with `secure`,
// https) and its path is a WebHDFS path. The URL itself may contain a token, so messages never
// contain it.
Result<HostPort> RedirectTarget(const std::string& location, bool secure);

// The error that Hadoop describes in a reply: {"RemoteException": {...}}.
struct RemoteException {
  std::string name;     // "FileNotFoundException"; empty: not in the reply
  std::string message;  // first line, printable, at most 300 bytes
};
RemoteException ParseRemoteException(std::string_view body);

// Parses one entry of a listing or a GETFILESTATUS. `path` is the bare name, and empty for the path
// itself.
Result<FileInfo> ParseFileStatus(std::string_view body);

struct Listing {
  std::vector<FileInfo> entries;
  int64_t remaining = 0;  // entries after these
};
// Parses LISTSTATUS and LISTSTATUS_BATCH.
Result<Listing> ParseListing(std::string_view body);

Result<bool> ParseBoolean(std::string_view body);

struct DataNode {
  std::string name;  // IP:transfer port, the name for excludedatanodes
  std::string ip, host;
  int http_port = 0, https_port = 0;  // 0: unknown
};
struct LocatedBlock {
  BlockLocation where;
  std::vector<DataNode> nodes;
};
// Parses GETFILEBLOCKLOCATIONS and GET_BLOCK_LOCATIONS.
Result<std::vector<LocatedBlock>> ParseBlockLocations(std::string_view body);

// Parses GETDELEGATIONTOKEN. Returns the token's text, which is SECRET and never part of an error.
Result<std::string> ParseToken(std::string_view body);
// Parses RENEWDELEGATIONTOKEN. Returns the new end, in ms since 1970.
Result<int64_t> ParseLong(std::string_view body);

// Returns the transfer name of the node that serves HTTP or HTTPS at `address`, or "" if no block
// contains it.
std::string DataNodeName(const std::vector<LocatedBlock>& blocks, const HostPort& address);

}  // namespace espalier::storage
