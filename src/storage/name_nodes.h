// WebHDFS addresses of the NameNodes of an HDFS.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/storage/hadoop_config.h"
#include "src/storage/uri.h"

namespace espalier::storage {

struct NameNode {
  HostPort http;
  std::string why;      // source of this address, for error messages
  bool secure = false;  // address uses HTTPS
  HostPort rpc = {};    // port 0: unknown
};

// Returns the NameNodes that serve `uri` (of kind hdfs or webhdfs), in the order of use: one, or
// those of a name service. The HTTP address comes from
//   1. dfs.namenode.http-address[.NAMESERVICE[.ID]] if the configuration contains the name service,
//      or an rpc-address equal to the URI's host and port;
//   2. the URI itself if its scheme is webhdfs or swebhdfs;
//   3. port 9870 on the URI's host.
//
// HTTPS uses https-address and port 9871. swebhdfs requires HTTPS, and so does hdfs if
// dfs.http.policy is HTTPS_ONLY. kInvalidArgument: no default file system, a default that is not an
// HDFS, invalid or missing addresses, or webhdfs with an HTTPS-only service.
Result<std::vector<NameNode>> FindNameNodes(const Uri& uri, const HadoopConfig& config);

// Returns the service names that delegation tokens of that file system may contain: "ha-hdfs:ns",
// "host:port", and "host:port" with the host's addresses. Resolves host names, but only those in
// the configuration and `localhost`: with the addresses of any other name, its DNS server would
// choose the file system whose token is sent to it.
std::vector<std::string> TokenServices(const Uri& uri, const HadoopConfig& config,
                                       const std::vector<NameNode>& name_nodes);

// Returns one name for all URIs of one HDFS: "hdfs://NAMESERVICE", or "webhdfs://HOST:PORT" of a
// NameNode without a name service. The URI may give the name service, a NameNode of it, or its
// HTTP or HTTPS address. Hosts are compared as the configuration writes them, in any case, without
// DNS. Returns the errors of FindNameNodes.
Result<std::string> FileSystemName(const Uri& uri, const HadoopConfig& config);

inline constexpr int kDefaultHttpPort = 9870;
inline constexpr int kDefaultHttpsPort = 9871;
inline constexpr int kDefaultRpcPort = 8020;
inline constexpr size_t kNameNodesMax = 16;  // in one name service

}  // namespace espalier::storage
