// Display of a cluster on YARN, for people and machines.
//
// Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/cli/json.h"
#include "src/spec/snapshots.h"
#include "src/yarn/answers.h"

namespace espalier::cli {

struct YarnView {
  yarn::YarnService service;
  std::string address_file;  // file with the coordinator's address
  std::string coordinator;   // host:port; empty: unknown
  // Answers of the coordinator; absent: it was not reached.
  std::optional<std::vector<spec::WorkerSnapshot>> workers;
  std::optional<std::vector<spec::JobSnapshot>> jobs;
};

// Returns a few lines and a table of containers. Ends with '\n'.
std::string YarnText(const YarnView& view);
// Returns
// {"service":..,"state":..,"application":..,"coordinator":..,"workers_attached":..,
//  "components":[{"name":..,"wanted":..,
//    "containers":[{"id":..,"instance":..,"host":..,"state":..}]}],
//  "jobs":[{"job":..,"name":..,"state":..}]}
// Unknown values are null.
Json YarnJson(const YarnView& view);

// Returns a note for a start that is no longer awaited because of `error`: the service continues,
// and how to end it. One line, or nothing if YARN itself has ended it.
std::string GoesOnNote(const Status& error, const std::string& name);

// Returns, for example, "YARN: ACCEPTED; containers: coordinator 0 of 1, worker 1 of 2".
std::string YarnProgress(const yarn::YarnService& service);

// Returns "worker-0 (container_...)", or only the id if the service does not know it.
std::string ContainerTitle(const yarn::YarnService& service, const std::string& container);

}  // namespace espalier::cli
