#include "src/cli/yarn_view.h"

#include "src/base/text.h"
#include "src/cli/format.h"

namespace espalier::cli {
namespace {

// Returns, for example, "job-1 TRAINING (mnist)".
std::string JobWords(const spec::JobSnapshot& job) {
  return ToString(job.job) + " " + spec::JobStateName(job.state) + " (" + Printable(job.name) + ")";
}

std::string JobsLine(const std::vector<spec::JobSnapshot>& jobs) {
  std::string open;
  size_t ended = 0;
  for (const spec::JobSnapshot& job : jobs) {
    if (spec::IsFinal(job.state)) {
      ++ended;
    } else {
      open += (open.empty() ? "" : ", ") + JobWords(job);
    }
  }
  if (open.empty()) open = "none runs or waits";
  return open + (ended == 0 ? "" : "; ended: " + std::to_string(ended));
}

}  // namespace

std::string GoesOnNote(const Status& error, const std::string& name) {
  if (error.code() == StatusCode::kAborted) return "";
  return "note: the service " + name + " continues in YARN; `espalier yarn down " + name +
         "` ends it\n";
}

std::string YarnProgress(const yarn::YarnService& service) {
  std::string out = "YARN: " + Printable(service.state);
  for (const yarn::YarnComponent& c : service.components) {
    out += (&c == service.components.data() ? "; containers: " : ", ") + Printable(c.name) + " " +
           std::to_string(c.containers.size()) + " of " + std::to_string(c.wanted);
  }
  return out;
}

std::string ContainerTitle(const yarn::YarnService& service, const std::string& container) {
  for (const yarn::YarnComponent& component : service.components) {
    for (const yarn::YarnContainer& c : component.containers) {
      if (c.id == container) return Printable(c.instance) + " (" + container + ")";
    }
  }
  return container;
}

std::string YarnText(const YarnView& view) {
  const yarn::YarnService& s = view.service;
  std::string out = "service      " + Printable(s.name) + ": " + Printable(s.state) +
                    (s.queue.empty() ? "" : ", queue " + Printable(s.queue)) + "\n";
  if (!s.application.empty()) out += "application  " + Printable(s.application) + "\n";
  if (!s.diagnostics.empty()) out += "YARN says    " + s.diagnostics + "\n";
  if (s.ended()) return out;
  out += "coordinator  " +
         (view.coordinator.empty() ? "no address yet in " + view.address_file
                                   : Printable(view.coordinator)) +
         (view.workers ? "" : "; not reached") + "\n";
  if (view.workers) {
    out += "workers      " + Counted(static_cast<int64_t>(view.workers->size()), "worker") +
           " attached\n";
  }
  if (view.jobs) out += "jobs         " + JobsLine(*view.jobs) + "\n";
  std::vector<std::vector<std::string>> rows = {{"CONTAINER", "STATE", "HOST", "ID"}};
  for (const yarn::YarnComponent& component : s.components) {
    for (const yarn::YarnContainer& c : component.containers) {
      rows.push_back(
          {Printable(c.instance), Printable(c.state), Printable(c.host), Printable(c.id)});
    }
    const int64_t missing = component.wanted - static_cast<int64_t>(component.containers.size());
    if (missing > 0) {
      rows.push_back({Printable(component.name), "waits for a node", std::to_string(missing), "-"});
    }
  }
  return out + LeftTable(rows, "");
}

Json YarnJson(const YarnView& view) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  Json components = Json::array();
  for (const yarn::YarnComponent& component : view.service.components) {
    Json containers = Json::array();
    for (const yarn::YarnContainer& c : component.containers) {
      containers.push_back(
          {{"id", c.id}, {"instance", c.instance}, {"host", c.host}, {"state", c.state}});
    }
    components.push_back(
        {{"name", component.name}, {"wanted", component.wanted}, {"containers", containers}});
  }
  Json jobs;
  if (view.jobs) {
    jobs = Json::array();
    for (const spec::JobSnapshot& job : *view.jobs) {
      jobs.push_back({{"job", ToString(job.job)},
                      {"name", job.name},
                      {"state", spec::JobStateName(job.state)}});
    }
  }
  return {{"service", view.service.name},
          {"state", view.service.state},
          {"application", or_null(view.service.application)},
          {"coordinator", or_null(view.coordinator)},
          {"workers_attached", view.workers ? Json(view.workers->size()) : Json()},
          {"components", std::move(components)},
          {"jobs", std::move(jobs)}};
}

}  // namespace espalier::cli
