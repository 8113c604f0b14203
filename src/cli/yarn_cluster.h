// A cluster in YARN containers, as the commands of `espalier yarn` use it: files on HDFS, requests
// to YARN, and waiting.
//
// Thread rule: the main thread. Calls block, and end soon after an interrupt.
#pragma once

#include <memory>
#include <string>

#include "src/cli/commands.h"
#include "src/storage/hadoop_config.h"
#include "src/yarn/resource_manager.h"
#include "src/yarn/service_principal.h"
#include "src/yarn/service_spec.h"
#include "src/yarn/staging.h"

namespace espalier::cli {

class YarnCluster {
 public:
  // Reads Hadoop's configuration. With Kerberos also asks HDFS for the user name. `context` must
  // outlive the result.
  static Result<YarnCluster> Open(const CommandContext& context);
  // Does the same for commands that start a service. With Kerberos also reads the keytab.
  static Result<YarnCluster> OpenToStart(const CommandContext& context);

  const yarn::ResourceManager& rm() const { return *rm_; }
  yarn::YarnPlaces PlacesOf(const std::string& name) const;

  // Sends the files and makes YARN start the service. Prints the progress on standard output unless
  // --json is set. First removes an ended service with that name. After an error nothing is
  // running, unless YARN did not answer the request. In that case the message states it.
  Status Start(yarn::YarnRequest request);
  // Waits until the coordinator answers, and prints the progress as Start does. `context` has the
  // coordinator's address in its options.
  Status AwaitCoordinator(const CommandContext& context, const std::string& name);
  // Waits until `count` workers are attached, and prints their number. Returns false if that takes
  // longer than `limit_ms`.
  Result<bool> AwaitWorkers(const CommandContext& context, int64_t count, int64_t limit_ms);
  // Ends the service and removes its files on HDFS and on this machine. Returns false if it did not
  // exist.
  Result<bool> End(const std::string& name);
  // Returns the number of nodes with the memory and the vcores for a worker, as of Start.
  int64_t nodes() const { return nodes_; }

 private:
  explicit YarnCluster(const CommandContext& context) : context_(context) {}
  static Result<YarnCluster> Open(const CommandContext& context, bool starts);
  // Reads and checks the login of a service to start.
  Status TakeIdentity();
  // Finds the user name on HDFS and the base directory.
  Status FindBase();
  Status CheckNameIsFree(const std::string& name);
  Status CheckNodes(const yarn::YarnRequest& request);
  Status CheckZooKeeper() const;
  Result<std::string> FindTarball() const;
  Result<std::string> ReadTemplate() const;
  // Removes a service's files on HDFS and on this machine.
  Status RemoveRemains(const std::string& name) const;
  Status CheckKeptKeys(const std::string& name) const;
  void TakeBack(const std::string& name) const;
  void Say(const std::string& words) const;
  // Prints a text unless it was the last one printed.
  void SayNew(const std::string& words);
  // Prints YARN's progress. Returns an error if the service can no longer start.
  Status CheckAlive(const std::string& name);

  const CommandContext& context_;
  storage::HadoopConfig config_;
  bool kerberos_ = false;
  yarn::YarnIdentity identity_;
  std::string user_, base_;
  std::unique_ptr<yarn::ResourceManager> rm_;
  int64_t nodes_ = 0;
  std::string said_;  // last text of SayNew
};

}  // namespace espalier::cli
