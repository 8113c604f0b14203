// A cluster in YARN's containers as the commands of `espalier yarn` handle it: what is staged on
// HDFS, what YARN is asked, what it is waited for.
//
// Thread rule: the main thread; calls block, and end soon after an interrupt.
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
  // Reads Hadoop's configuration. With Kerberos it also asks HDFS for our name. `context` must
  // outlive the result.
  static Result<YarnCluster> Open(const CommandContext& context);
  // The same for commands that start a service. With Kerberos it also reads the keytab.
  static Result<YarnCluster> OpenToStart(const CommandContext& context);

  const yarn::ResourceManager& rm() const { return *rm_; }
  yarn::YarnPlaces PlacesOf(const std::string& name) const;

  // Sends what is needed and has YARN start the service; what goes on is told on standard output
  // unless JSON is wanted. An ended service of that name is removed first. An error leaves nothing
  // running, unless YARN did not answer when it was asked: then it says so.
  Status Start(yarn::YarnRequest request);
  // Until the coordinator answers; how far it is, is told as Start does. `context`: with the
  // coordinator to be reached in its options.
  Status AwaitCoordinator(const CommandContext& context, const std::string& name);
  // Until as many workers are attached, telling how many are; false when that takes longer than
  // `limit_ms`.
  Result<bool> AwaitWorkers(const CommandContext& context, int64_t count, int64_t limit_ms);
  // Ends the service and removes what it left on HDFS and on this machine; false: there was none.
  Result<bool> End(const std::string& name);
  // How many nodes have the memory and the vcores for a worker; from Start.
  int64_t nodes() const { return nodes_; }

 private:
  explicit YarnCluster(const CommandContext& context) : context_(context) {}
  static Result<YarnCluster> Open(const CommandContext& context, bool starts);
  // By whom a service that is started logs in; what is wrong with that.
  Status TakeIdentity();
  // Who we are on HDFS, and where our files are.
  Status FindBase();
  Status CheckNameIsFree(const std::string& name);
  Status CheckNodes(const yarn::YarnRequest& request);
  Status CheckZooKeeper() const;
  Result<std::string> FindTarball() const;
  Result<std::string> ReadTemplate() const;
  // What a service left on HDFS and on this machine.
  Status RemoveRemains(const std::string& name) const;
  Status CheckKeptKeys(const std::string& name) const;
  void TakeBack(const std::string& name) const;
  void Say(const std::string& words) const;
  // Only what was not the last that was told.
  void SayNew(const std::string& words);
  // Tells how far YARN is; an error when the service can no longer come up.
  Status CheckAlive(const std::string& name);

  const CommandContext& context_;
  storage::HadoopConfig config_;
  bool kerberos_ = false;
  yarn::YarnIdentity identity_;
  std::string user_, base_;
  std::unique_ptr<yarn::ResourceManager> rm_;
  int64_t nodes_ = 0;
  std::string said_;  // by SayNew
};

}  // namespace espalier::cli
