// What YARN is asked to run: a service of one coordinator and some workers, as the JSON of YARN's
// Services API. The form comes from a template that people may read and change
// (deploy/yarn/service.json); what one service differs by from another is filled in here. Nothing
// secret stands in it: whoever may look at the ResourceManager reads it.
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
// Each of the coordinator's three large consumers of memory may use one share of its container:
// 1 / kCoordinatorShares of the memory, and at most kCoordinatorShareMaxMb MiB.
inline constexpr int64_t kCoordinatorShares = 4, kCoordinatorShareMaxMb = 1 << 20;
// In the service's folder, and in its containers.
inline constexpr const char* kHadoopCaFile = "hadoop-ca.pem";
inline constexpr const char* kKeytabFile = "service.keytab";

// Where a service's files lie, all URIs that every node of the cluster understands.
struct YarnPlaces {
  std::string package;     // the tarball
  std::string folder;      // readable by the user alone: certificates, configuration, state
  bool hadoop_ca = false;  // kHadoopCaFile is among them
  bool keytab = false;     // kKeytabFile is
  // Below it:
  std::string address() const { return folder + "/address"; }  // the coordinator writes it
  std::string state() const { return folder + "/state"; }      // its journal
  std::string File(const std::string& name) const { return folder + "/" + name; }
};

// A container's share of its node.
struct YarnShare {
  int64_t memory_mb = 0;
  int64_t cores = 1;  // virtual ones, as the cluster counts
};

struct YarnRequest {
  std::string name;       // IsYarnName
  std::string queue;      // "": the user's own
  std::string user;       // to HDFS without Kerberos
  std::string principal;  // where there is Kerberos: of places.keytab
  int64_t workers = 1;
  YarnShare worker{4096, 1}, coordinator{1024, 1};
  // The service ends when its coordinator does, which it does after idle_limit_ms without a job.
  bool ends_by_itself = false;
  int64_t idle_limit_ms = 60'000;
  YarnPlaces places;

  // Names the first field that is out of its range, as flags are called.
  Status Validate() const;
};

// kInvalidArgument unless YARN takes it as a service's name: lower-case letters, digits and -, a
// letter first, at most 40.
Status CheckYarnName(std::string_view name);
// The nearest such name to a job's.
std::string ToYarnName(std::string_view text);

// Of a worker's container what may hold rows, in bytes: the rest is for the program itself, the
// model and its gradients.
int64_t WorkerRowBytes(int64_t container_memory_mb);

// Of the coordinator's container what each of its three large consumers may hold, in bytes: what
// comes in over all connections, what waits for a worker that reads slowly, and profiles under way.
// A quarter each, which in the smallest container is the least that the daemon takes (128 MiB), and
// at most the most (1 TiB); the fourth is for the program itself. REQUIRES: at least
// kCoordinatorMemoryMbMin.
int64_t CoordinatorShareBytes(int64_t container_memory_mb);

// The JSON to be sent. kInvalidArgument says what the template lacks. REQUIRES: the request is
// valid.
Result<std::string> BuildService(std::string_view template_json, const YarnRequest& request);

}  // namespace espalier::yarn
