#include "src/yarn/resource_manager.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/storage/kerberos.h"
#include "src/storage/uri.h"
#include "src/storage/webhdfs_protocol.h"

namespace espalier::yarn {
namespace {

constexpr int kDefaultPort = 8088, kDefaultHttpsPort = 8090, kZooKeeperPort = 2181;
constexpr const char* kQuorum = "hadoop.registry.zk.quorum";
constexpr int64_t kDestroyMs = 150'000;  // without ZooKeeper, YARN needs more than a minute
constexpr int64_t kIdBytesMax = 200;
constexpr const char* kServices = "/app/v1/services";
constexpr const char* kCluster = "/ws/v1/cluster";
constexpr const char* kNoSecureIo = "Secure IO is not possible without native code extensions";
constexpr const char* kSwitchedOff =
    "YARN's services are switched off there: the administrator must set "
    "yarn.webapp.api-service.enable to true in the ResourceManager's yarn-site.xml, "
    "hadoop.registry.zk.quorum to a ZooKeeper in core-site.xml, and restart the ResourceManager";

std::string PathOfService(const std::string& name) {
  return std::string(kServices) + "/" + storage::PercentEncoded(name);
}

// Converts an address of the configuration to the start of a URL. Uses the default port if it has
// none.
Result<RmAddress> ToAddress(const std::string& text, bool https, const std::string& key) {
  ESPALIER_ASSIGN_OR_RETURN(storage::HostPort address, storage::ParseHostPort(text, key));
  if (address.port == 0) address.port = https ? kDefaultHttpsPort : kDefaultPort;
  return RmAddress{(https ? "https://" : "http://") + storage::ToString(address), "from " + key};
}

// Returns the address of one ResourceManager. `suffix` is ".ID" if there are several.
Result<RmAddress> AddressOf(const storage::HadoopConfig& config, const std::string& suffix,
                            bool https) {
  const std::string key =
      std::string("yarn.resourcemanager.webapp.") + (https ? "https.address" : "address") + suffix;
  ESPALIER_ASSIGN_OR_RETURN(const std::string found, config.Get(key));
  if (!found.empty()) return ToAddress(found, https, key);
  const std::string host_key = "yarn.resourcemanager.hostname" + suffix;
  ESPALIER_ASSIGN_OR_RETURN(const std::string host, config.Get(host_key));
  if (!host.empty()) return ToAddress(host, https, host_key);
  return InvalidArgument("no ResourceManager is known: " + config.origin() +
                         " sets neither yarn.resourcemanager.webapp.address" + suffix +
                         " nor yarn.resourcemanager.hostname" + suffix +
                         "; HADOOP_CONF_DIR must name a directory with yarn-site.xml");
}

// Returns the host of "http://host:port/path".
Result<std::string> HostOf(const std::string& url) {
  const size_t begin = url.find("://") + 3;
  ESPALIER_ASSIGN_OR_RETURN(
      const storage::HostPort address,
      storage::ParseHostPort(url.substr(begin, url.find('/', begin) - begin), "YARN"));
  return address.host;
}

// Returns an error if the server `who` rejects this caller's identity. YARN's own refusals are
// JSON.
Status CheckBelieved(const storage::HttpReply& reply, const std::string& who, bool kerberos) {
  if (reply.content_type.find("json") != std::string::npos) return {};
  if (reply.status != 401 && reply.status != 403) return {};
  if (const std::string words = storage::GssWords(reply.body); !words.empty()) {
    return storage::RefusedProof(who, words);
  }
  if (reply.status == 403) return {};
  if (!kerberos && reply.asks_negotiate) {
    return PermissionDenied(who +
                            " asks for Kerberos, but the Hadoop configuration here does not; "
                            "expected hadoop.security.authentication: kerberos in core-site.xml: "
                            "HADOOP_CONF_DIR must name the cluster's own");
  }
  if (!kerberos) return {};
  return PermissionDenied(
      who + (reply.asks_negotiate
                 ? " does not take our Kerberos identity; is it of a realm that it trusts?"
                 : " asks for authentication of a kind that is not spoken here; with Kerberos its "
                   "hadoop.http.authentication.type must be kerberos, too"));
}

bool IsStandby(int code, const std::string& body) {
  return code == 307 || code == 302 || body.find("This is standby RM") != std::string::npos;
}

}  // namespace

Result<std::vector<RmAddress>> FindResourceManagers(const storage::HadoopConfig& config) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string policy, config.Get("yarn.http.policy"));
  ESPALIER_ASSIGN_OR_RETURN(const auto ids, config.GetList("yarn.resourcemanager.ha.rm-ids"));
  ESPALIER_ASSIGN_OR_RETURN(const std::string ha, config.Get("yarn.resourcemanager.ha.enabled"));
  const bool https = policy == "HTTPS_ONLY";
  std::vector<std::string> suffixes = {""};
  if (ha == "true" && !ids.empty()) {
    suffixes.clear();
    for (const std::string& id : ids) suffixes.push_back("." + id);
  }
  std::vector<RmAddress> out;
  for (const std::string& suffix : suffixes) {
    ESPALIER_ASSIGN_OR_RETURN(RmAddress address, AddressOf(config, suffix, https));
    out.push_back(std::move(address));
  }
  return out;
}

Result<std::vector<std::string>> FindZooKeepers(const storage::HadoopConfig& config) {
  ESPALIER_ASSIGN_OR_RETURN(const auto members, config.GetList(kQuorum));
  std::vector<std::string> out;
  for (const std::string& member : members) {
    const size_t end = std::min(member.find('/'), member.size());
    if (end > 0) {
      ESPALIER_ASSIGN_OR_RETURN(
          storage::HostPort address,
          storage::ParseHostPort(member.substr(0, end),
                                 std::string(kQuorum) + " in " + config.origin()));
      if (address.port == 0) address.port = kZooKeeperPort;
      out.push_back(storage::ToString(address));
    }
    if (end < member.size()) break;  // a path may contain commas
  }
  return out;
}

ResourceManager::ResourceManager(std::vector<RmAddress> addresses, YarnCaller caller,
                                 storage::HttpOptions http)
    : addresses_(std::move(addresses)), caller_(std::move(caller)), http_(http), patient_([&http] {
        http.reply_ms = std::max(http.reply_ms, kDestroyMs);
        http.stall_ms = std::max(http.stall_ms, kDestroyMs);
        return http;
      }()) {}

Result<storage::HttpReply> ResourceManager::Call(storage::HttpRequest request,
                                                 const std::string& who,
                                                 const storage::HttpClient& http) const {
  if (caller_.kerberos) {
    ESPALIER_ASSIGN_OR_RETURN(const std::string host, HostOf(request.url));
    auto proof =
        storage::NegotiateHeader(host, {http_.options().reply_ms, http_.options().cancelled});
    if (!proof.ok()) {
      return Status(proof.status().code(), who + " asks for Kerberos: " + proof.status().message());
    }
    request.authorization = *std::move(proof);
  } else if (!caller_.user.empty()) {
    const char separator = request.url.find('?') == std::string::npos ? '?' : '&';
    request.url += separator + ("user.name=" + storage::PercentEncoded(caller_.user));
  }
  storage::HttpReply reply = http.Call(request);
  if (reply.failure != storage::HttpFailure::kNone) return reply;
  ESPALIER_RETURN_IF_ERROR(CheckBelieved(reply, who, caller_.kerberos));
  return reply;
}

ResourceManager::Reply ResourceManager::Ask(storage::HttpMethod method, const std::string& path,
                                            std::string_view body,
                                            const storage::HttpClient* http) const {
  Reply out;
  std::string trouble;
  for (const RmAddress& address : addresses_) {
    storage::HttpRequest request{.method = method, .url = address.url + path, .content = body};
    request.content_type = "application/json";
    const std::string who =
        "the ResourceManager " + address.url + " (its address is " + address.why + ")";
    const Result<storage::HttpReply> called =
        Call(std::move(request), who, http == nullptr ? http_ : *http);
    if (!called.ok()) {  // another ResourceManager may accept the caller
      out.status = called.status();
      if (out.status.code() == StatusCode::kCancelled) return out;
      continue;
    }
    const storage::HttpReply& reply = *called;
    if (reply.failure == storage::HttpFailure::kCancelled) {
      out.status = Cancelled("interrupted");
      return out;
    }
    if (reply.failure != storage::HttpFailure::kNone) {
      trouble += (trouble.empty() ? "" : "; ") + who + " cannot be reached: " + reply.reason;
      continue;
    }
    if (IsStandby(reply.status, reply.body) && addresses_.size() > 1) {
      trouble += (trouble.empty() ? "" : "; ") + who + " is not the active one";
      continue;
    }
    out.status = {};
    out.code = reply.status;
    out.json = reply.content_type.find("json") != std::string::npos;
    out.body = reply.body;
    return out;
  }
  if (out.status.ok()) out.status = Unavailable(trouble + "; is YARN running there?");
  return out;
}

bool ResourceManager::IsWell() const {
  const Reply reply = Ask(storage::HttpMethod::kGet, std::string(kCluster) + "/info");
  return reply.status.ok() && reply.code == 200 && reply.json;
}

Status ResourceManager::Judge(const Reply& reply, const std::string& doing) const {
  ESPALIER_RETURN_IF_ERROR(reply.status);
  if (reply.code >= 200 && reply.code < 300 && reply.json) return {};
  const std::string refusal = reply.json ? YarnRefusal(reply.body) : "";
  const std::string words = "cannot " + doing + ": YARN says: " +
                            (refusal.empty() ? "HTTP " + std::to_string(reply.code) : refusal);
  if (reply.code == 401 || reply.code == 403) return PermissionDenied(words);
  // Depending on its version, YARN returns "not found" or an internal error for this page.
  if ((reply.code == 404 || reply.code == 500) && !reply.json && IsWell()) {
    return FailedPrecondition("cannot " + doing + ": " + kSwitchedOff);
  }
  if (reply.code == 404) return NotFound(words);
  const auto says = [&refusal](const char* text) {
    return refusal.find(text) != std::string::npos;
  };
  if (says("already exists") || says("already taken")) return AlreadyExists(words);
  if (says("does not exist") || says("doesn't exist") || says("not found")) return NotFound(words);
  // YARN itself cannot reach another service, for example HDFS.
  if (says("ConnectException")) return Unavailable(words);
  if (refusal.empty() && reply.code >= 500) return Unavailable(words);
  return InvalidArgument(words);
}

Result<std::string> ResourceManager::Get(const std::string& path, const std::string& doing) const {
  Reply reply = Ask(storage::HttpMethod::kGet, path);
  ESPALIER_RETURN_IF_ERROR(Judge(reply, doing));
  return std::move(reply.body);
}

Result<YarnService> ResourceManager::Service(const std::string& name) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string body,
                            Get(PathOfService(name), "look up the service " + name));
  return ParseYarnService(body);
}

Status ResourceManager::Create(std::string_view spec_json) const {
  return Judge(Ask(storage::HttpMethod::kPost, kServices, spec_json), "start the service");
}

Status ResourceManager::SetContainers(const std::string& name, const std::string& component,
                                      int64_t count) const {
  const std::string body = "{\"number_of_containers\":" + std::to_string(count) + "}";
  return Judge(
      Ask(storage::HttpMethod::kPut, PathOfService(name) + "/components/" + component, body),
      "change the number of containers of " + name);
}

Status ResourceManager::Destroy(const std::string& name) const {
  const Status status = Judge(Ask(storage::HttpMethod::kDelete, PathOfService(name), {}, &patient_),
                              "end the service " + name);
  return status.code() == StatusCode::kNotFound ? Status() : status;
}

Result<std::vector<YarnNode>> ResourceManager::Nodes() const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string body,
                            Get(std::string(kCluster) + "/nodes", "list the nodes"));
  return ParseYarnNodes(body);
}

Result<YarnApplication> ResourceManager::Application(const std::string& id) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string body,
                            Get(std::string(kCluster) + "/apps/" + storage::PercentEncoded(id),
                                "look up " + Printable(id)));
  return ParseYarnApplication(body);
}

Status ResourceManager::KillApplication(const std::string& id) const {
  return Judge(Ask(storage::HttpMethod::kPut,
                   std::string(kCluster) + "/apps/" + storage::PercentEncoded(id) + "/state",
                   "{\"state\":\"KILLED\"}"),
               "end " + Printable(id));
}

Result<std::vector<YarnPlace>> ResourceManager::Places(const std::string& application) const {
  const std::string app = std::string(kCluster) + "/apps/" + storage::PercentEncoded(application);
  ESPALIER_ASSIGN_OR_RETURN(const std::string body,
                            Get(app + "/appattempts", "list the attempts of " + application));
  ESPALIER_ASSIGN_OR_RETURN(const auto attempts, ParseYarnAttempts(body));
  std::vector<YarnPlace> out;
  for (const std::string& attempt : attempts) {
    ESPALIER_ASSIGN_OR_RETURN(
        const std::string list,
        Get(app + "/appattempts/" + storage::PercentEncoded(attempt) + "/containers",
            "list the containers of " + Printable(attempt, kIdBytesMax)));
    ESPALIER_ASSIGN_OR_RETURN(const auto places, ParseYarnPlaces(list));
    for (const YarnPlace& place : places) {
      const bool known = std::any_of(out.begin(), out.end(), [&place](const YarnPlace& other) {
        return other.container == place.container;
      });
      if (!known) out.push_back(place);
    }
  }
  return out;
}

Result<std::string> ResourceManager::Log(const YarnPlace& place, const std::string& file,
                                         int64_t bytes_max) const {
  const bool https = addresses_[0].url.starts_with("https:");
  const std::string url = std::string(https ? "https://" : "http://") + place.node_http +
                          "/ws/v1/node/containerlogs/" + storage::PercentEncoded(place.container) +
                          "/" + storage::PercentEncoded(file) + "?size=-" +
                          std::to_string(bytes_max);
  const std::string who = "the log of " + Printable(place.container, kIdBytesMax) +
                          " at the NodeManager " + place.node_http;
  const Result<storage::HttpReply> called =
      Call({.url = url}, "the NodeManager " + place.node_http, http_);
  if (!called.ok()) return called.status().Wrap(who + " cannot be read");
  const storage::HttpReply& reply = *called;
  if (reply.failure != storage::HttpFailure::kNone) {
    return Unavailable(who + " cannot be read: " + reply.reason);
  }
  if (reply.body.find(kNoSecureIo) != std::string::npos) {
    return FailedPrecondition(
        who +
        " cannot be read: with Kerberos it takes Hadoop's native library (libhadoop.so), "
        "which that NodeManager runs without");
  }
  if (reply.status != 200) {
    return NotFound(who + " cannot be read: HTTP " + std::to_string(reply.status) +
                    (YarnRefusal(reply.body).empty() ? "" : ", " + YarnRefusal(reply.body)));
  }
  return YarnLogContents(reply.body);
}

bool ResourceManager::IsClosed(const std::string& host_and_port) const {
  const storage::HttpReply reply = http_.Call({.url = "http://" + host_and_port + "/"});
  return reply.failure == storage::HttpFailure::kConnect &&
         reply.elapsed_ms < http_.options().connect_ms / 2;
}

}  // namespace espalier::yarn
