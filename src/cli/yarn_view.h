// How a cluster on YARN looks to a person and to a machine. Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/cli/json_view.h"
#include "src/spec/snapshots.h"
#include "src/yarn/answers.h"

namespace espalier::cli {

struct YarnView {
  yarn::YarnService service;
  std::string address_file;  // where the coordinator's address is
  std::string coordinator;   // "host:port"; "": not known
  // What it says; absent: it was not reached.
  std::optional<std::vector<spec::WorkerSnapshot>> workers;
  std::optional<std::vector<spec::JobSnapshot>> jobs;
};

// A few lines and a table of containers. Ends with '\n'.
std::string YarnText(const YarnView& view);
// {"service":..,"state":..,"application":..,"coordinator":..,"workers_attached":..,
//  "components":[{"name":..,"wanted":..,
//    "containers":[{"id":..,"instance":..,"host":..,"state":..}]}],
//  "jobs":[{"job":..,"name":..,"state":..}]}; what is not known is null.
Json YarnJson(const YarnView& view);

// What is said of a service whose start is no longer waited for because of `error`: that it goes
// on, and how it is ended; a line, or nothing when YARN itself has ended it.
std::string GoesOnNote(const Status& error, const std::string& name);

// "YARN: ACCEPTED; containers: coordinator 0 of 1, worker 1 of 2".
std::string YarnProgress(const yarn::YarnService& service);

// "worker-0 (container_...)", or the id alone when the service does not know it.
std::string ContainerTitle(const yarn::YarnService& service, const std::string& container);

}  // namespace espalier::cli
