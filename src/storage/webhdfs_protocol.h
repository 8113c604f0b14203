// WebHDFS as text: addresses of calls and the JSON of their replies (Hadoop's WebHDFS.md). Replies
// are not trusted: bounded in depth, names without slashes, numbers in range; anything else is
// kUnavailable with words that say what was found. Thread rule: pure functions.
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

// "http://host:port/webhdfs/v1/a%20b?op=OPEN&offset=5", https when `secure`. `path` is absolute and
// taken as it stands.
std::string OperationUrl(const HostPort& name_node, bool secure, std::string_view path,
                         std::string_view op, const Parameters& parameters);
// All bytes but letters, digits, - . _ ~ and `kept` as %XX.
std::string PercentEncoded(std::string_view text, std::string_view kept = {});

// Host and port of where a reply redirects to. kUnavailable unless it is http or https, with
// `secure` https, and its path one of WebHDFS. The address itself may carry a token and is in no
// message.
Result<HostPort> RedirectTarget(const std::string& location, bool secure);

// The error that Hadoop describes in a reply: {"RemoteException": {...}}.
struct RemoteException {
  std::string name;     // "FileNotFoundException"; empty: the reply holds none
  std::string message;  // its first line, made printable, at most 300 bytes
};
RemoteException ParseRemoteException(std::string_view body);

// One entry of a listing or a GETFILESTATUS; `path` is the bare name, empty for the path itself.
Result<FileInfo> ParseFileStatus(std::string_view body);

struct Listing {
  std::vector<FileInfo> entries;
  int64_t remaining = 0;  // entries after these
};
// LISTSTATUS and LISTSTATUS_BATCH.
Result<Listing> ParseListing(std::string_view body);

Result<bool> ParseBoolean(std::string_view body);

struct DataNode {
  std::string name;  // IP:transfer port, the name that excludedatanodes knows
  std::string ip, host;
  int http_port = 0, https_port = 0;  // 0: not told
};
struct LocatedBlock {
  BlockLocation where;
  std::vector<DataNode> nodes;
};
// GETFILEBLOCKLOCATIONS and GET_BLOCK_LOCATIONS.
Result<std::vector<LocatedBlock>> ParseBlockLocations(std::string_view body);

// GETDELEGATIONTOKEN: the token's text, which is SECRET and in no error.
Result<std::string> ParseToken(std::string_view body);
// RENEWDELEGATIONTOKEN: when it ends now, in ms since 1970.
Result<int64_t> ParseLong(std::string_view body);

// The transfer name of the node that serves HTTP or HTTPS at `address`; empty when no block names
// it.
std::string DataNodeName(const std::vector<LocatedBlock>& blocks, const HostPort& address);

}  // namespace espalier::storage
