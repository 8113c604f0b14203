// Answers of YARN's REST interfaces, as values. The parsers do not trust them: displayed texts are
// bounded, numbers are in range, and missing values are empty.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace espalier::yarn {

struct YarnContainer {
  std::string id;
  std::string instance;  // "worker-0"
  std::string host;
  std::string state;  // READY, RUNNING_BUT_UNREADY, STOPPED, ...
};

struct YarnComponent {
  std::string name, state;
  int64_t wanted = 0;
  std::vector<YarnContainer> containers;
};

struct YarnService {
  std::string name;
  std::string state;        // ACCEPTED, STARTED, STABLE, STOPPED, SUCCEEDED, FAILED, ...
  std::string application;  // application_..._0001; empty: none yet
  std::string queue;
  std::string diagnostics;
  std::vector<YarnComponent> components;

  // Returns whether the service has stopped and will not restart by itself. Its name is still in
  // use.
  bool ended() const;
  // Returns the component with this name, or null.
  const YarnComponent* Find(std::string_view component) const;
};

// Parses GET .../services/NAME.
Result<YarnService> ParseYarnService(std::string_view body);

// Returns the reason in a refusal: "diagnostics" of the Services API or "message" of a
// RemoteException. Returns its first line, printable and cut at 400 bytes, or "" if the body
// contains neither.
std::string YarnRefusal(std::string_view body);

// GET ws/v1/cluster/apps/ID.
struct YarnApplication {
  std::string state, final_status, diagnostics;
  bool ended() const;
};
Result<YarnApplication> ParseYarnApplication(std::string_view body);

// GET ws/v1/cluster/nodes: nodes that can run containers.
struct YarnNode {
  std::string host, http;  // http: "host:port"
  int64_t memory_mb = 0, cores = 0;
};
Result<std::vector<YarnNode>> ParseYarnNodes(std::string_view body);

// Parses GET .../apps/ID/appattempts. Returns the ids of the attempts, in order.
Result<std::vector<std::string>> ParseYarnAttempts(std::string_view body);

// GET .../appattempts/ID/containers: locations of containers.
struct YarnPlace {
  std::string container;
  std::string node_http;  // host:port of its NodeManager's REST interface
};
Result<std::vector<YarnPlace>> ParseYarnPlaces(std::string_view body);

// Returns the log file in a NodeManager's answer, without the lines that enclose it.
std::string YarnLogContents(const std::string& answer);

}  // namespace espalier::yarn
