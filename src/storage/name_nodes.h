// Where the NameNodes of an HDFS serve WebHDFS. Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/storage/hadoop_config.h"
#include "src/storage/uri.h"

namespace espalier::storage {

struct NameNode {
  HostPort http;
  std::string why;      // how this address was found, for error messages
  bool secure = false;  // it speaks HTTPS there
  HostPort rpc = {};    // port 0: not known
};

// The NameNodes that serve `uri` (of kind hdfs or webhdfs), in the order to be tried: one, or those
// of a name service. The HTTP address comes from
//   1. dfs.namenode.http-address[.NAMESERVICE[.ID]] where the configuration knows the name service,
//      or an rpc-address equal to the URI's host and port;
//   2. the URI itself when its scheme is webhdfs or swebhdfs;
//   3. port 9870 on the URI's host.
// Over HTTPS, which swebhdfs asks for, and hdfs where dfs.http.policy is HTTPS_ONLY, it is the
// https-address and port 9871. kInvalidArgument: no default file system, one that is not an HDFS,
// bad or missing addresses, webhdfs where only HTTPS is served.
Result<std::vector<NameNode>> FindNameNodes(const Uri& uri, const HadoopConfig& config);

// What delegation tokens of that file system may call their service: "ha-hdfs:ns", "host:port", and
// with the host's addresses. Looks names up.
std::vector<std::string> TokenServices(const Uri& uri, const HadoopConfig& config,
                                       const std::vector<NameNode>& name_nodes);

inline constexpr int kDefaultHttpPort = 9870;
inline constexpr int kDefaultHttpsPort = 9871;
inline constexpr int kDefaultRpcPort = 8020;
inline constexpr size_t kNameNodesMax = 16;  // of one name service

}  // namespace espalier::storage
