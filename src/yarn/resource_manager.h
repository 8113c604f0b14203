// Client of YARN's REST interfaces, without a Hadoop client or Java. It uses the Services API of
// the ResourceManager, its lists of nodes and applications, and the logs of NodeManagers.
//
// yarn-site.xml names the ResourceManager. With several (HA), the client uses the one that answers.
// In a cluster with Kerberos each call authenticates its caller (storage/kerberos.h). Errors:
//   kUnavailable         none answers, or not in time
//   kNotFound            no service has that name
//   kAlreadyExists       a service has that name
//   kFailedPrecondition  YARN's services are disabled
//   kInvalidArgument     YARN refuses; the message contains its reason
//   kPermissionDenied    the user has no permission, or Kerberos does not identify the user; the
//                        message contains the reason
//
// Thread rule: const calls from any thread. They block, and end soon after HttpOptions::cancelled
// returns true.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/storage/hadoop_config.h"
#include "src/storage/http.h"
#include "src/yarn/answers.h"

namespace espalier::yarn {

struct RmAddress {
  std::string url;  // "http://host:port"
  std::string why;  // source of the address, for error messages
};

// Returns the addresses from yarn.resourcemanager.webapp.address (or from .hostname and port 8088),
// one for each id if there are several. With yarn.http.policy HTTPS_ONLY, returns the https
// addresses. kInvalidArgument: the configuration contains none.
Result<std::vector<RmAddress>> FindResourceManagers(const storage::HadoopConfig& config);

// Returns "host:port" of each member of hadoop.registry.zk.quorum, by the rules of ZooKeeper's
// clients. The default port is 2181, and a path starts at the first '/'. Returns an empty list if
// the property is not set. kInvalidArgument: a member is not an address.
Result<std::vector<std::string>> FindZooKeepers(const storage::HadoopConfig& config);

// The caller of the REST interfaces.
struct YarnCaller {
  std::string user;       // sent if the cluster has no Kerberos
  bool kerberos = false;  // whether the cluster has Kerberos
};

class ResourceManager {
 public:
  // REQUIRES: `addresses` is not empty.
  ResourceManager(std::vector<RmAddress> addresses, YarnCaller caller, storage::HttpOptions http);

  Result<YarnService> Service(const std::string& name) const;
  Status Create(std::string_view spec_json) const;
  Status SetContainers(const std::string& name, const std::string& component, int64_t count) const;
  // Ends the service, frees its name and waits until YARN confirms it. Returns OK if the service
  // does not exist.
  Status Destroy(const std::string& name) const;

  Result<std::vector<YarnNode>> Nodes() const;
  Result<YarnApplication> Application(const std::string& id) const;
  Status KillApplication(const std::string& id) const;
  // Returns the locations of an application's containers.
  Result<std::vector<YarnPlace>> Places(const std::string& application) const;

  // Returns the last `bytes_max` bytes of a container's log file, from its NodeManager.
  Result<std::string> Log(const YarnPlace& place, const std::string& file, int64_t bytes_max) const;

  // Waits. Returns false if cancelled during the wait.
  bool Wait(int64_t ms) const { return http_.Wait(ms); }
  // Returns whether host:port refuses connections at once. A timeout does not count.
  bool IsClosed(const std::string& host_and_port) const;
  const std::vector<RmAddress>& addresses() const { return addresses_; }

 private:
  struct Reply {
    Status status;  // kUnavailable: no ResourceManager answered; or an authentication error
    int code = 0;   // HTTP status
    bool json = false;
    std::string body;
  };
  // Makes one authenticated call to `who`. Returns an error if Kerberos does not identify the
  // caller here, or if the server does not accept the identity.
  Result<storage::HttpReply> Call(storage::HttpRequest request, const std::string& who,
                                  const storage::HttpClient& http) const;
  Reply Ask(storage::HttpMethod method, const std::string& path, std::string_view body = {},
            const storage::HttpClient* http = nullptr) const;
  Status Judge(const Reply& reply, const std::string& doing) const;
  // Returns whether a request that every ResourceManager supports succeeds.
  bool IsWell() const;
  Result<std::string> Get(const std::string& path, const std::string& doing) const;

  const std::vector<RmAddress> addresses_;
  const YarnCaller caller_;
  const storage::HttpClient http_, patient_;  // patient_: for calls that may take a minute
};

}  // namespace espalier::yarn
