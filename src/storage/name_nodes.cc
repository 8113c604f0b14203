#include "src/storage/name_nodes.h"

#include <algorithm>

#include "src/base/text.h"

namespace espalier {
namespace {

constexpr const char* kHttpAddress = "dfs.namenode.http-address";
constexpr const char* kRpcAddress = "dfs.namenode.rpc-address";
constexpr size_t kNameNodesMax = 16;

// The address under `key`; one with host 0.0.0.0 (or empty) gets `host`. Port 0: it is not set.
Result<HostPort> HttpAddressOf(const HadoopConfig& config, const std::string& key,
                               const std::string& host) {
  ESPALIER_ASSIGN_OR_RETURN(std::string text, config.Get(key));
  if (text.empty()) return HostPort{};
  if (text.starts_with(":")) text = "0.0.0.0" + text;
  ESPALIER_ASSIGN_OR_RETURN(HostPort address, ParseHostPort(text, key + " in " + config.origin()));
  if (address.host == "0.0.0.0" || address.host == "::") address.host = host;
  if (address.port == 0) address.port = kDefaultHttpPort;
  if (address.host.empty()) {
    return InvalidArgument(key + " in " + config.origin() + " is '" + Printable(text) +
                           "', which names no host; expected HOST:PORT");
  }
  return address;
}

// The host in the rpc-address with the same suffix; it stands in where an http-address has none.
Result<std::string> RpcHostOf(const HadoopConfig& config, const std::string& suffix) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string text, config.Get(kRpcAddress + suffix));
  if (text.empty()) return std::string();
  ESPALIER_ASSIGN_OR_RETURN(HostPort address,
                            ParseHostPort(text, kRpcAddress + suffix + " in " + config.origin()));
  return address.host;
}

Result<std::vector<NameNode>> NameNodesOfService(const std::string& service,
                                                 const HadoopConfig& config) {
  ESPALIER_ASSIGN_OR_RETURN(auto ids, config.GetList("dfs.ha.namenodes." + service));
  if (ids.size() > kNameNodesMax) {
    return InvalidArgument("dfs.ha.namenodes." + service + " in " + config.origin() + " lists " +
                           std::to_string(ids.size()) + " NameNodes; at most " +
                           std::to_string(kNameNodesMax) + " are used");
  }
  if (ids.empty()) ids.emplace_back();  // a name service with one NameNode has no ids
  std::vector<NameNode> found;
  for (const std::string& id : ids) {
    const std::string suffix = "." + service + (id.empty() ? "" : "." + id);
    const std::string key = kHttpAddress + suffix;
    ESPALIER_ASSIGN_OR_RETURN(const std::string rpc_host, RpcHostOf(config, suffix));
    ESPALIER_ASSIGN_OR_RETURN(HostPort address, HttpAddressOf(config, key, rpc_host));
    std::string why = key;
    if (address.port == 0) {
      if (rpc_host.empty()) {
        return InvalidArgument("neither " + key + " nor " + kRpcAddress + suffix + " is set in " +
                               config.origin() + "; the NameNode's HTTP address is needed");
      }
      address = {rpc_host, kDefaultHttpPort};
      why = "the default port on the host of " + (kRpcAddress + suffix);
    }
    found.push_back({std::move(address), std::move(why)});
  }
  return found;
}

// Whether `authority` of an hdfs URI is the NameNode with this key suffix.
Result<bool> IsRpcAddress(const HadoopConfig& config, const std::string& suffix, const Uri& uri) {
  ESPALIER_ASSIGN_OR_RETURN(std::string text, config.Get(kRpcAddress + suffix));
  if (text.empty() && suffix.empty()) {
    // Without an rpc-address the default file system names it.
    ESPALIER_ASSIGN_OR_RETURN(text, config.Get("fs.defaultFS"));
    if (!text.starts_with("hdfs://")) return false;
    text = text.substr(7, text.find('/', 7) - 7);
  }
  if (text.empty()) return false;
  ESPALIER_ASSIGN_OR_RETURN(HostPort address,
                            ParseHostPort(text, kRpcAddress + suffix + " in " + config.origin()));
  const auto port = [](int given) { return given == 0 ? kDefaultRpcPort : given; };
  return address.host == uri.host && port(address.port) == port(uri.port);
}

// The http-address of the NameNode whose rpc-address the URI names; port 0: none is configured.
Result<NameNode> ByRpcAddress(const Uri& uri, const HadoopConfig& config) {
  std::vector<std::string> suffixes = {""};
  ESPALIER_ASSIGN_OR_RETURN(const auto services, config.GetList("dfs.nameservices"));
  for (const std::string& service : services) {
    suffixes.push_back("." + service);
    ESPALIER_ASSIGN_OR_RETURN(const auto ids, config.GetList("dfs.ha.namenodes." + service));
    for (const std::string& id : ids) suffixes.push_back("." + service + "." + id);
  }
  for (const std::string& suffix : suffixes) {
    ESPALIER_ASSIGN_OR_RETURN(const bool same, IsRpcAddress(config, suffix, uri));
    if (!same) continue;
    ESPALIER_ASSIGN_OR_RETURN(HostPort address,
                              HttpAddressOf(config, kHttpAddress + suffix, uri.host));
    if (address.port != 0) return NameNode{std::move(address), kHttpAddress + suffix};
  }
  return NameNode{};
}

Result<bool> IsService(const std::string& name, const HadoopConfig& config) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string provider,
                            config.Get("dfs.client.failover.proxy.provider." + name));
  ESPALIER_ASSIGN_OR_RETURN(const std::string ids, config.Get("dfs.ha.namenodes." + name));
  ESPALIER_ASSIGN_OR_RETURN(const auto services, config.GetList("dfs.nameservices"));
  return !provider.empty() || !ids.empty() ||
         std::find(services.begin(), services.end(), name) != services.end();
}

// The default file system, as a URI with a host.
Result<Uri> DefaultFileSystem(const Uri& uri, const HadoopConfig& config) {
  const std::string shown = "'" + Printable(uri.prefix + uri.path) + "'";
  ESPALIER_ASSIGN_OR_RETURN(std::string text, config.Get("fs.defaultFS"));
  if (text.empty()) {
    ESPALIER_ASSIGN_OR_RETURN(text, config.Get("fs.default.name"));  // its name in Hadoop 1
  }
  if (text.empty()) {
    return InvalidArgument(shown + " is on the default file system, and fs.defaultFS is not set: " +
                           config.origin() + "; or name the host: hdfs://HOST:PORT/PATH");
  }
  Result<Uri> base = ParseUri(text + "/");
  if (!base.ok() || base->kind == Uri::Kind::kLocal || base->host.empty()) {
    return InvalidArgument(shown + " is on the default file system, but fs.defaultFS in " +
                           config.origin() + " is '" + Printable(text) +
                           "'; expected hdfs://HOST:PORT or hdfs://NAMESERVICE");
  }
  return base;
}

}  // namespace

Result<std::vector<NameNode>> FindNameNodes(const Uri& given, const HadoopConfig& config) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string policy, config.Get("dfs.http.policy"));
  if (policy == "HTTPS_ONLY") {
    return Unimplemented("dfs.http.policy in " + config.origin() +
                         " is HTTPS_ONLY; WebHDFS over HTTPS is not in this build: allow HTTP, or "
                         "copy the files to a local disk");
  }
  Uri uri = given;
  if (uri.host.empty()) {
    ESPALIER_ASSIGN_OR_RETURN(uri, DefaultFileSystem(given, config));
  }
  if (uri.port == 0) {
    ESPALIER_ASSIGN_OR_RETURN(const bool service, IsService(uri.host, config));
    if (service) return NameNodesOfService(uri.host, config);
  }
  std::vector<NameNode> found(1);
  if (uri.kind == Uri::Kind::kWebHdfs) {
    found[0].http = {uri.host, uri.port == 0 ? kDefaultHttpPort : uri.port};
    found[0].why = uri.port == 0 ? "the URI and the default port" : "the URI";
    return found;
  }
  ESPALIER_ASSIGN_OR_RETURN(found[0], ByRpcAddress(uri, config));
  if (found[0].http.port == 0) {
    found[0].http = {uri.host, kDefaultHttpPort};
    found[0].why = "the URI and the default port: ";
    found[0].why += config.empty() ? config.origin()
                                   : std::string("no ") + kHttpAddress + " in " + config.origin() +
                                         " belongs to " + ToString(HostPort{uri.host, uri.port});
  }
  return found;
}

}  // namespace espalier
