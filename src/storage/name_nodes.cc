#include "src/storage/name_nodes.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "src/base/text.h"

namespace espalier::storage {
namespace {

// HTTP or HTTPS for WebHDFS: key of the addresses and default port.
struct Speech {
  bool secure = false;
  std::string key = "dfs.namenode.http-address";
  int port = kDefaultHttpPort;
};
const Speech kPlain, kSecure{true, "dfs.namenode.https-address", kDefaultHttpsPort};
constexpr const char* kRpcAddress = "dfs.namenode.rpc-address";

// Returns a host name as names are compared: in lower case, without the dot at the end.
std::string PlainHost(std::string host) {
  for (char& c : host) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (host.ends_with('.')) host.pop_back();
  return host;
}

// Returns the address under `key`. Replaces host 0.0.0.0 (or an empty one) by `host`. Port 0: it is
// not set.
Result<HostPort> HttpAddressOf(const HadoopConfig& config, const Speech& speech,
                               const std::string& suffix, const std::string& host) {
  const std::string key = speech.key + suffix;
  ESPALIER_ASSIGN_OR_RETURN(std::string text, config.Get(key));
  if (text.empty()) return HostPort{};
  if (text.starts_with(":")) text = "0.0.0.0" + text;
  ESPALIER_ASSIGN_OR_RETURN(HostPort address, ParseHostPort(text, key + " in " + config.origin()));
  if (address.host == "0.0.0.0" || address.host == "::") address.host = host;
  if (address.port == 0) address.port = speech.port;
  if (address.host.empty()) {
    return InvalidArgument(key + " in " + config.origin() + " is '" + Printable(text) +
                           "', which names no host; expected HOST:PORT");
  }
  return address;
}

// Returns the rpc-address with the same suffix. Its host is used if an http-address has none.
Result<HostPort> RpcAddressOf(const HadoopConfig& config, const std::string& suffix) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string text, config.Get(kRpcAddress + suffix));
  if (text.empty()) return HostPort{};
  ESPALIER_ASSIGN_OR_RETURN(HostPort address,
                            ParseHostPort(text, kRpcAddress + suffix + " in " + config.origin()));
  if (address.port == 0) address.port = kDefaultRpcPort;
  return address;
}

Result<std::vector<NameNode>> NameNodesOfService(const std::string& service,
                                                 const HadoopConfig& config, const Speech& speech) {
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
    const std::string key = speech.key + suffix;
    ESPALIER_ASSIGN_OR_RETURN(HostPort rpc, RpcAddressOf(config, suffix));
    ESPALIER_ASSIGN_OR_RETURN(HostPort address, HttpAddressOf(config, speech, suffix, rpc.host));
    std::string why = key;
    if (address.port == 0) {
      if (rpc.host.empty()) {
        return InvalidArgument("neither " + key + " nor " + kRpcAddress + suffix + " is set in " +
                               config.origin() + "; the NameNode's HTTP address is needed");
      }
      address = {rpc.host, speech.port};
      why = "the default port on the host of " + (kRpcAddress + suffix);
    }
    found.push_back({std::move(address), std::move(why), speech.secure, std::move(rpc)});
  }
  return found;
}

// Returns whether the host and port of an hdfs URI are the NameNode with this key suffix.
Result<bool> IsRpcAddress(const HadoopConfig& config, const std::string& suffix, const Uri& uri) {
  ESPALIER_ASSIGN_OR_RETURN(std::string text, config.Get(kRpcAddress + suffix));
  if (text.empty() && suffix.empty()) {
    // Without an rpc-address the default file system contains it.
    ESPALIER_ASSIGN_OR_RETURN(text, config.Get("fs.defaultFS"));
    if (!text.starts_with("hdfs://")) return false;
    text = text.substr(7, text.find('/', 7) - 7);
  }
  if (text.empty()) return false;
  ESPALIER_ASSIGN_OR_RETURN(HostPort address,
                            ParseHostPort(text, kRpcAddress + suffix + " in " + config.origin()));
  const auto port = [](int given) { return given == 0 ? kDefaultRpcPort : given; };
  return PlainHost(address.host) == PlainHost(uri.host) && port(address.port) == port(uri.port);
}

// Suffix of the keys of one NameNode's addresses.
struct KeySuffix {
  std::string text;     // "", ".NAMESERVICE" or ".NAMESERVICE.ID"
  std::string service;  // "" or the name service
};

Result<std::vector<KeySuffix>> Suffixes(const HadoopConfig& config) {
  std::vector<KeySuffix> suffixes(1);
  ESPALIER_ASSIGN_OR_RETURN(const auto services, config.GetList("dfs.nameservices"));
  for (const std::string& service : services) {
    suffixes.push_back({"." + service, service});
    ESPALIER_ASSIGN_OR_RETURN(const auto ids, config.GetList("dfs.ha.namenodes." + service));
    for (const std::string& id : ids) suffixes.push_back({"." + service + "." + id, service});
  }
  return suffixes;
}

// Returns the http-address of the NameNode with the URI's rpc-address. Port 0: none is configured.
Result<NameNode> ByRpcAddress(const Uri& uri, const HadoopConfig& config, const Speech& speech) {
  ESPALIER_ASSIGN_OR_RETURN(const auto suffixes, Suffixes(config));
  for (const auto& [suffix, service] : suffixes) {
    ESPALIER_ASSIGN_OR_RETURN(const bool same, IsRpcAddress(config, suffix, uri));
    if (!same) continue;
    ESPALIER_ASSIGN_OR_RETURN(HostPort address, HttpAddressOf(config, speech, suffix, uri.host));
    if (address.port != 0) {
      return NameNode{std::move(address), speech.key + suffix, speech.secure, {}};
    }
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

// Returns the default file system, as a URI with a host.
Result<Uri> DefaultFileSystem(const Uri& uri, const HadoopConfig& config) {
  const std::string shown = "'" + Printable(uri.prefix + uri.path) + "'";
  ESPALIER_ASSIGN_OR_RETURN(std::string text, config.Get("fs.defaultFS"));
  if (text.empty()) {
    ESPALIER_ASSIGN_OR_RETURN(text, config.Get("fs.default.name"));  // the name in Hadoop 1
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

namespace {

Result<Speech> SpeechOf(const Uri& uri, const HadoopConfig& config) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string policy, config.Get("dfs.http.policy"));
  const bool only_https = policy == "HTTPS_ONLY";
  if (uri.kind == Uri::Kind::kSecureWebHdfs) return kSecure;
  if (uri.kind == Uri::Kind::kHdfs && only_https) return kSecure;
  if (!only_https) return kPlain;
  return InvalidArgument("'" + Printable(uri.prefix + uri.path) +
                         "' asks for plain HTTP, but dfs.http.policy in " + config.origin() +
                         " is HTTPS_ONLY; write swebhdfs://HOST:PORT/PATH (port 9871 unless "
                         "configured otherwise) or hdfs://HOST/PATH");
}

// Returns the HTTP and the HTTPS address of the NameNode with this key suffix, as far as the
// configuration gives them.
std::vector<NameNode> WebAddresses(const HadoopConfig& config, const std::string& suffix) {
  const auto rpc = RpcAddressOf(config, suffix);
  std::string host = rpc.ok() ? rpc->host : "";
  if (host.empty() && suffix.empty()) {
    const auto base = DefaultFileSystem(Uri{}, config);
    const auto service = base.ok() ? IsService(base->host, config) : Result<bool>(true);
    if (service.ok() && !*service) host = base->host;
  }
  std::vector<NameNode> found;
  for (const Speech& speech : {kPlain, kSecure}) {
    auto address = HttpAddressOf(config, speech, suffix, host);
    if (!address.ok()) continue;
    if (address->port == 0) address = HostPort{host, speech.port};
    if (!address->host.empty()) found.push_back({*std::move(address), "", speech.secure, {}});
  }
  return found;
}

// Returns "webhdfs://HOST:PORT". The default ports of HTTP and HTTPS give one name.
std::string NameOfNode(const NameNode& node) {
  const bool usual = node.http.port == (node.secure ? kSecure : kPlain).port;
  return "webhdfs://" +
         ToString({PlainHost(node.http.host), usual ? kDefaultHttpPort : node.http.port});
}

// Returns whether the configuration names this host of a NameNode.
bool IsConfigured(const HadoopConfig& config, const std::string& host) {
  const auto suffixes = Suffixes(config);
  if (!suffixes.ok()) return false;
  return std::any_of(suffixes->begin(), suffixes->end(), [&](const KeySuffix& suffix) {
    const auto rpc = RpcAddressOf(config, suffix.text);
    if (rpc.ok() && PlainHost(rpc->host) == PlainHost(host)) return true;
    const auto known = WebAddresses(config, suffix.text);
    return std::any_of(known.begin(), known.end(), [&host](const NameNode& node) {
      return PlainHost(node.http.host) == PlainHost(host);
    });
  });
}

// Adds the host itself, its addresses and the port, as tokens contain them. Resolves only an
// address or a `trusted` name.
void AddServices(const HostPort& address, bool trusted, std::vector<std::string>* services) {
  if (address.port == 0 || address.host.empty()) return;
  services->push_back(ToString(address));
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  if (!trusted && PlainHost(address.host) != "localhost") hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.host.c_str(), nullptr, &hints, &found) != 0) return;
  for (const addrinfo* i = found; i != nullptr; i = i->ai_next) {
    std::array<char, NI_MAXHOST> ip = {};
    if (getnameinfo(i->ai_addr, i->ai_addrlen, ip.data(), ip.size(), nullptr, 0, NI_NUMERICHOST) ==
        0) {
      services->push_back(ToString({ip.data(), address.port}));
    }
  }
  freeaddrinfo(found);
}

// Returns the rpc-address of the NameNode that the configuration lists under this HTTP or HTTPS
// address.
HostPort RpcAddressBehind(const HadoopConfig& config, const NameNode& node) {
  const auto suffixes = Suffixes(config);
  if (!suffixes.ok()) return {};
  for (const auto& [suffix, service] : *suffixes) {
    const auto rpc = RpcAddressOf(config, suffix);
    if (!rpc.ok() || rpc->host.empty()) continue;
    const auto http = HttpAddressOf(config, node.secure ? kSecure : kPlain, suffix, rpc->host);
    if (http.ok() && *http == node.http) return *rpc;
  }
  return {};
}

}  // namespace

Result<std::vector<NameNode>> FindNameNodes(const Uri& given, const HadoopConfig& config) {
  ESPALIER_ASSIGN_OR_RETURN(const Speech speech, SpeechOf(given, config));
  Uri uri = given;
  if (uri.host.empty()) {
    ESPALIER_ASSIGN_OR_RETURN(uri, DefaultFileSystem(given, config));
  }
  if (uri.port == 0) {
    ESPALIER_ASSIGN_OR_RETURN(const bool service, IsService(uri.host, config));
    if (service) return NameNodesOfService(uri.host, config, speech);
  }
  std::vector<NameNode> found(1);
  if (uri.kind != Uri::Kind::kHdfs) {
    found[0].http = {uri.host, uri.port == 0 ? speech.port : uri.port};
    found[0].why = uri.port == 0 ? "the URI and the default port" : "the URI";
    found[0].secure = speech.secure;
    return found;
  }
  ESPALIER_ASSIGN_OR_RETURN(found[0], ByRpcAddress(uri, config, speech));
  if (found[0].http.port == 0) {
    found[0].http = {uri.host, speech.port};
    found[0].why = "the URI and the default port: ";
    found[0].why += config.empty() ? config.origin()
                                   : "no " + speech.key + " in " + config.origin() +
                                         " belongs to " + ToString(HostPort{uri.host, uri.port});
  }
  found[0].secure = speech.secure;
  found[0].rpc = {uri.host, uri.port == 0 ? kDefaultRpcPort : uri.port};
  return found;
}

Result<std::string> FileSystemName(const Uri& uri, const HadoopConfig& config) {
  ESPALIER_ASSIGN_OR_RETURN(const auto nodes, FindNameNodes(uri, config));
  ESPALIER_ASSIGN_OR_RETURN(auto suffixes, Suffixes(config));
  std::rotate(suffixes.begin(), suffixes.begin() + 1, suffixes.end());  // name services first
  for (const auto& [suffix, service] : suffixes) {
    const std::vector<NameNode> known = WebAddresses(config, suffix);
    const bool same = std::any_of(known.begin(), known.end(), [&](const NameNode& node) {
      return node.secure == nodes[0].secure && node.http.port == nodes[0].http.port &&
             PlainHost(node.http.host) == PlainHost(nodes[0].http.host);
    });
    if (same) return service.empty() ? NameOfNode(known[0]) : "hdfs://" + service;
  }
  return NameOfNode(nodes[0]);
}

std::vector<std::string> TokenServices(const Uri& uri, const HadoopConfig& config,
                                       const std::vector<NameNode>& name_nodes) {
  std::vector<std::string> services;
  const Result<Uri> whole = uri.host.empty() ? DefaultFileSystem(uri, config) : Result<Uri>(uri);
  if (whole.ok() && whole->port == 0) services.push_back("ha-hdfs:" + whole->host);
  for (const NameNode& node : name_nodes) {
    for (const HostPort& address :
         {node.rpc.port == 0 ? RpcAddressBehind(config, node) : node.rpc, node.http}) {
      AddServices(address, IsConfigured(config, address.host), &services);
    }
  }
  return services;
}

}  // namespace espalier::storage
