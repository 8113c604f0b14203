// What YARN's REST interfaces answer, as values. Nothing in it is believed: texts are bounded when
// they are shown, numbers are in range, what is missing is empty.
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
  std::string application;  // application_..._0001; "": none yet
  std::string queue;
  std::string diagnostics;
  std::vector<YarnComponent> components;

  // It runs no more, and will not by itself; only its name is still taken.
  bool ended() const;
  // Null when there is none of that name.
  const YarnComponent* Find(std::string_view component) const;
};

// GET .../services/NAME.
Result<YarnService> ParseYarnService(std::string_view body);

// What a refusal says in its own words: "diagnostics" of the Services API, "message" of a
// RemoteException; the first line, printable, cut at 400 bytes; "" when the body is neither.
std::string YarnRefusal(std::string_view body);

// GET ws/v1/cluster/apps/ID.
struct YarnApplication {
  std::string state, final_status, diagnostics;
  bool ended() const;
};
Result<YarnApplication> ParseYarnApplication(std::string_view body);

// GET ws/v1/cluster/nodes: those that can run containers.
struct YarnNode {
  std::string host, http;  // http: "host:port"
  int64_t memory_mb = 0, cores = 0;
};
Result<std::vector<YarnNode>> ParseYarnNodes(std::string_view body);

// GET .../apps/ID/appattempts: the ids of the attempts, in order.
Result<std::vector<std::string>> ParseYarnAttempts(std::string_view body);

// GET .../appattempts/ID/containers: where containers run.
struct YarnPlace {
  std::string container;
  std::string node_http;  // "host:port" of its NodeManager's REST interface
};
Result<std::vector<YarnPlace>> ParseYarnPlaces(std::string_view body);

// A NodeManager's answer for a log file: the file alone, without the lines that it is wrapped in.
std::string YarnLogContents(const std::string& answer);

}  // namespace espalier::yarn
