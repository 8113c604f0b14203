// YARN by its REST interfaces alone: the Services API of the ResourceManager (no Hadoop client, no
// Java), its lists of nodes and applications, and the logs that NodeManagers show.
//
// Which ResourceManager: yarn-site.xml says; of several (HA) the one that answers. Where the
// cluster has Kerberos each call proves who makes it (storage/kerberos.h). Errors:
//   kUnavailable        none answers, or not in time
//   kNotFound           there is no service of that name
//   kAlreadyExists      there is one
//   kFailedPrecondition YARN's services are switched off; kInvalidArgument: YARN refuses, in its
//   words; kPermissionDenied: this user may not, or Kerberos does not say who it is, and why.
//
// Thread rule: const calls from any thread; they block, and end soon when HttpOptions::cancelled
// says so.
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
  std::string why;  // how it was found, for error messages
};

// Those of yarn.resourcemanager.webapp.address (or of .hostname and port 8088), of each id where
// there are several; with yarn.http.policy HTTPS_ONLY the https ones. kInvalidArgument: the
// configuration names none.
Result<std::vector<RmAddress>> FindResourceManagers(const storage::HadoopConfig& config);

// "host:port" of each member of hadoop.registry.zk.quorum, by the rules of ZooKeeper's clients: its
// port is 2181 unless it is given, and what follows the first '/' is a path. None: it is not set.
// kInvalidArgument: a member is no address.
Result<std::vector<std::string>> FindZooKeepers(const storage::HadoopConfig& config);

// Who asks.
struct YarnCaller {
  std::string user;       // as is told where the cluster has no Kerberos
  bool kerberos = false;  // it has
};

class ResourceManager {
 public:
  // REQUIRES: `addresses` is not empty.
  ResourceManager(std::vector<RmAddress> addresses, YarnCaller caller, storage::HttpOptions http);

  Result<YarnService> Service(const std::string& name) const;
  Status Create(std::string_view spec_json) const;
  Status SetContainers(const std::string& name, const std::string& component, int64_t count) const;
  // Ends the service and frees its name; waits until YARN says so. OK when there was none.
  Status Destroy(const std::string& name) const;

  Result<std::vector<YarnNode>> Nodes() const;
  Result<YarnApplication> Application(const std::string& id) const;
  Status KillApplication(const std::string& id) const;
  // Where the containers of an application run.
  Result<std::vector<YarnPlace>> Places(const std::string& application) const;

  // The last `bytes_max` bytes of one of a container's log files, from its NodeManager.
  Result<std::string> Log(const YarnPlace& place, const std::string& file, int64_t bytes_max) const;

  // Waits; false when cancelled meanwhile.
  bool Wait(int64_t ms) const { return http_.Wait(ms); }
  // Whether nobody listens at host:port: it answered "no", rather than nothing at all.
  bool IsClosed(const std::string& host_and_port) const;
  const std::vector<RmAddress>& addresses() const { return addresses_; }

 private:
  struct Reply {
    Status status;  // kUnavailable: no ResourceManager answered; or who asks is not believed
    int code = 0;   // HTTP's
    bool json = false;
    std::string body;
  };
  // One call to `who`, with what says who makes it. An error: Kerberos does not say so here, or is
  // not believed there.
  Result<storage::HttpReply> Call(storage::HttpRequest request, const std::string& who,
                                  const storage::HttpClient& http) const;
  Reply Ask(storage::HttpMethod method, const std::string& path, std::string_view body = {},
            const storage::HttpClient* http = nullptr) const;
  Status Judge(const Reply& reply, const std::string& doing) const;
  // Whether it answers what every ResourceManager does.
  bool IsWell() const;
  Result<std::string> Get(const std::string& path, const std::string& doing) const;

  const std::vector<RmAddress> addresses_;
  const YarnCaller caller_;
  const storage::HttpClient http_, patient_;  // patient_: for what may take a minute by design
};

}  // namespace espalier::yarn
