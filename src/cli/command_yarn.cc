// `espalier yarn up|scale|status|logs|down`. See command_yarn_run.cc for `run`.
#include <algorithm>

#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/coordinator_address.h"
#include "src/cli/exit_code.h"
#include "src/cli/options_yarn.h"
#include "src/cli/yarn_cluster.h"
#include "src/cli/yarn_kept.h"
#include "src/cli/yarn_view.h"
#include "src/config/units.h"
#include "src/rpc/coordinator_address.h"

namespace espalier::cli {
namespace {

constexpr int64_t kWorkersWaitMs = 120'000;
constexpr const char* kLogFiles[] = {"stderr.txt", "stdout.txt"};

int ShowYarnError(const CommandContext& context, const Status& error) {
  if (context.interrupts.any()) return ShowError(context, error, kExitInterrupted);
  return ShowError(context, error, ExitCodeOf(error));
}

// Asks the coordinator itself, if it is reachable.
void AskCoordinator(const CommandContext& context, YarnView* view) {
  const auto address = rpc::FindCoordinator(view->address_file, context.address_files);
  if (address.ok()) view->coordinator = *address;
  const auto client = ConnectTo(context);
  if (!client.ok()) return;
  const auto workers = (*client)->Workers();
  const auto jobs = workers.ok() ? (*client)->List() : workers.status();
  if (!jobs.ok()) return;
  view->workers = *workers;
  view->jobs = *jobs;
}

Status CheckEnds(const yarn::YarnService& service) {
  if (!service.ended()) return {};
  return FailedPrecondition("the service " + service.name + " has ended (" +
                            Printable(service.state) + "); `espalier yarn up " + service.name +
                            "` starts it again");
}

// Returns the end of each log file of one container, as text for standard output.
Result<std::string> LogsOf(const yarn::ResourceManager& rm, const yarn::YarnPlace& place,
                           const std::string& title, int64_t bytes) {
  std::string out;
  Status last;
  for (const char* file : kLogFiles) {
    const Result<std::string> log = rm.Log(place, file, bytes);
    if (!log.ok()) {
      last = log.status();
      continue;
    }
    if (log->empty()) continue;
    out += "==> " + title + " " + file + " <==\n" + *log + (log->ends_with('\n') ? "" : "\n");
  }
  if (out.empty() && !last.ok()) return last;
  return out;
}

// Returns the logs of each running container of the service, and of the requested one on any node.
Result<std::string> GatherLogs(const CommandContext& context, const YarnCluster& cluster,
                               const yarn::YarnService& service, int* unreadable) {
  const std::string& wanted = context.options.yarn.container;
  const int64_t bytes = *config::ParseBytes(context.options.yarn.log_bytes);
  ESPALIER_ASSIGN_OR_RETURN(auto places, cluster.rm().Places(service.application));
  if (!wanted.empty()) {
    std::erase_if(places, [&wanted](const yarn::YarnPlace& p) { return p.container != wanted; });
    if (places.empty()) {
      // An ended container was on one of the nodes.
      ESPALIER_ASSIGN_OR_RETURN(const auto nodes, cluster.rm().Nodes());
      for (const yarn::YarnNode& node : nodes) {
        const auto log = LogsOf(cluster.rm(), {wanted, node.http}, wanted, bytes);
        if (log.ok() && !log->empty()) return log;
      }
      return NotFound("no node shows a log of " + Printable(wanted) +
                      "; if YARN aggregates the logs of ended applications, `yarn logs "
                      "-applicationId " +
                      service.application + "` of a Hadoop client shows them");
    }
  }
  std::string out;
  for (const yarn::YarnPlace& place : places) {
    const std::string title = ContainerTitle(service, place.container);
    const auto log = LogsOf(cluster.rm(), place, title, bytes);
    if (log.ok()) {
      out += *log;
    } else if (title == place.container) {
      continue;  // the service's master has files with other names
    } else {
      ++*unreadable;
      context.console.Err(title + ": " + log.status().message() + "\n");
    }
  }
  return out;
}

}  // namespace

int RunYarnUp(const CommandContext& context) {
  auto cluster = YarnCluster::OpenToStart(context);
  if (!cluster.ok()) return ShowYarnError(context, cluster.status());
  const std::string& name = context.options.yarn.name;
  yarn::YarnRequest request = *ToYarnRequest(context.options.yarn);
  if (const Status s = cluster->Start(request); !s.ok()) return ShowYarnError(context, s);
  const auto leave = [&context, &name](const Status& error) {
    const int code = ShowYarnError(context, error);
    context.console.Err(GoesOnNote(error, name));
    return code;
  };
  if (const Status s = cluster->AwaitCoordinator(context, name); !s.ok()) return leave(s);
  const int64_t count = std::min(request.workers, cluster->nodes());
  const Result<bool> all = cluster->AwaitWorkers(context, count, kWorkersWaitMs);
  if (!all.ok()) return leave(all.status());
  if (!*all) {
    context.console.Err("note: not all workers have come yet; `espalier yarn status " + name +
                        "` shows which\n");
  }
  if (context.options.json) {
    context.console.Out(JsonLine({{"service", name},
                                  {"coordinator", kYarnCoordinator + name},
                                  {"workers", request.workers}}));
  } else {
    context.console.Out("the cluster is there. Next:\n  espalier submit job.yaml --coordinator " +
                        (kYarnCoordinator + name) + "\n  espalier yarn scale " + name +
                        " N\n  espalier yarn down " + name + "\n");
  }
  return kExitSuccess;
}

int RunYarnScale(const CommandContext& context) {
  const YarnArguments& y = context.options.yarn;
  auto cluster = YarnCluster::Open(context);
  if (!cluster.ok()) return ShowYarnError(context, cluster.status());
  const Result<yarn::YarnService> service = cluster->rm().Service(y.name);
  if (!service.ok()) return ShowYarnError(context, service.status());
  if (const Status s = CheckEnds(*service); !s.ok()) return ShowYarnError(context, s);
  const yarn::YarnComponent* workers = service->Find(yarn::kWorkerComponent);
  const int64_t before = workers == nullptr ? 0 : workers->wanted;
  const Status s = cluster->rm().SetContainers(y.name, yarn::kWorkerComponent, y.workers);
  if (!s.ok()) return ShowYarnError(context, s);
  if (context.options.json) {
    context.console.Out(JsonLine({{"service", y.name}, {"workers", y.workers}, {"was", before}}));
  } else {
    context.console.Out(y.name + " gets " + Counted(y.workers, "worker") + "; it had " +
                        std::to_string(before) + ". Running jobs continue meanwhile\n");
  }
  return kExitSuccess;
}

int RunYarnStatus(const CommandContext& context) {
  auto cluster = YarnCluster::Open(context);
  if (!cluster.ok()) return ShowYarnError(context, cluster.status());
  const std::string& name = context.options.yarn.name;
  YarnView view;
  Result<yarn::YarnService> service = cluster->rm().Service(name);
  if (!service.ok()) return ShowYarnError(context, service.status());
  view.service = *std::move(service);
  view.address_file = cluster->PlacesOf(name).address();
  if (!view.service.ended()) AskCoordinator(context, &view);
  context.console.Out(context.options.json ? JsonLine(YarnJson(view)) : YarnText(view));
  return kExitSuccess;
}

int RunYarnLogs(const CommandContext& context) {
  auto cluster = YarnCluster::Open(context);
  if (!cluster.ok()) return ShowYarnError(context, cluster.status());
  const Result<yarn::YarnService> service = cluster->rm().Service(context.options.yarn.name);
  if (!service.ok()) return ShowYarnError(context, service.status());
  int unreadable = 0;
  const auto logs = GatherLogs(context, *cluster, *service, &unreadable);
  if (!logs.ok()) return ShowYarnError(context, logs.status());
  if (context.options.json) {
    context.console.Out(JsonLine({{"service", service->name}, {"logs", *logs}}));
  } else {
    context.console.KeepOutLines();
    context.console.Out(*logs);
  }
  if (logs->empty() && unreadable == 0) {
    context.console.Err("no container of " + service->name +
                        " runs now. Name an ended one with --container\n");
  }
  return unreadable == 0 ? kExitSuccess : kExitUnreachable;
}

int RunYarnDown(const CommandContext& context) {
  auto cluster = YarnCluster::Open(context);
  if (!cluster.ok()) return ShowYarnError(context, cluster.status());
  const std::string& name = context.options.yarn.name;
  const Result<bool> ended = cluster->End(name);
  if (!ended.ok()) return ShowYarnError(context, ended.status());
  if (context.options.json) {
    context.console.Out(JsonLine({{"service", name}, {"ended", *ended}}));
  } else {
    context.console.Out(*ended ? name + " has ended; its name is free\n"
                               : "there was no service " + name + "\n");
  }
  return kExitSuccess;
}

}  // namespace espalier::cli
