// The service that YARN runs: one coordinator and some workers, as the JSON of YARN's Services API.
// The structure comes from a template that people may read and change (deploy/yarn/service.json).
// This file fills in the values of a specific service. The JSON contains no secrets, because every
// user with access to the ResourceManager can read it.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace espalier::yarn {

inline constexpr const char* kCoordinatorComponent = "coordinator";
inline constexpr const char* kWorkerComponent = "worker";
inline constexpr int64_t kCoordinatorMemoryMbMin = 512, kWorkerMemoryMbMin = 512;
inline constexpr int64_t kYarnWorkersMax = 1000;
inline constexpr size_t kYarnNameBytesMax = 40;
// Each of the coordinator's three large consumers of memory may use one share of its container. A
// share is 1 / kCoordinatorShares of the memory, and at most kCoordinatorShareMaxMb MiB.
inline constexpr int64_t kCoordinatorShares = 4, kCoordinatorShareMaxMb = 1 << 20;
// File names in the service's folder and in its containers.
inline constexpr const char* kHadoopCaFile = "hadoop-ca.pem";
inline constexpr const char* kKeytabFile = "service.keytab";

// Locations of a service's files, as URIs that are valid on every node of the cluster.
struct YarnPlaces {
  std::string package;     // tarball
  std::string folder;      // readable by the user only: certificates, configuration, state
  bool hadoop_ca = false;  // whether it contains kHadoopCaFile
  bool keytab = false;     // whether it contains kKeytabFile
  // Paths below the folder:
  std::string address() const { return folder + "/address"; }  // the coordinator writes it
  std::string state() const { return folder + "/state"; }      // coordinator's journal
  std::string File(const std::string& name) const { return folder + "/" + name; }
};

// A container's share of its node.
struct YarnShare {
  int64_t memory_mb = 0;
  int64_t cores = 1;  // vcores, as the cluster counts them
};

struct YarnRequest {
  std::string name;       // checked by CheckYarnName
  std::string queue;      // empty: default of the user
  std::string user;       // user for HDFS without Kerberos
  std::string principal;  // with Kerberos: principal of places.keytab
  int64_t workers = 1;
  YarnShare worker{4096, 1}, coordinator{1024, 1};
  // Ends the service when its coordinator ends. The coordinator ends after idle_limit_ms without a
  // job.
  bool ends_by_itself = false;
  int64_t idle_limit_ms = 60'000;
  YarnPlaces places;

  // Returns an error for the first field that is out of range, under the name of its flag.
  Status Validate() const;
};

// Returns kInvalidArgument unless YARN accepts the service name: at most 40 lower-case letters,
// digits and -, starting with a letter.
Status CheckYarnName(std::string_view name);
// Returns the valid service name that is nearest to a job's name.
std::string ToYarnName(std::string_view text);

// Returns the bytes of a worker's container that may hold rows. The rest is for the program itself,
// the model and its gradients.
int64_t WorkerRowBytes(int64_t container_memory_mb);

// Returns the bytes of the coordinator's container for each of its three large consumers. These are
// data received over all connections, messages that wait for a slow worker, and profiles in
// progress. Each gets a quarter, at most 1 TiB (the daemon's maximum). In the smallest container a
// quarter is 128 MiB (the daemon's minimum). The fourth quarter is for the program itself.
// REQUIRES: at least kCoordinatorMemoryMbMin.
int64_t CoordinatorShareBytes(int64_t container_memory_mb);

// Returns the JSON to send. kInvalidArgument names the missing part of the template. REQUIRES: the
// request is valid.
Result<std::string> BuildService(std::string_view template_json, const YarnRequest& request);

}  // namespace espalier::yarn
