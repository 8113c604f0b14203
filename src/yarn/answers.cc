#include "src/yarn/answers.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/storage/bounded_json.h"
#include "src/storage/uri.h"

namespace espalier::yarn {
namespace {

using Json = nlohmann::json;

constexpr size_t kEntriesMax = 100'000, kRefusalBytesMax = 400;

std::string Text(const Json& json, const char* name) {
  return storage::JsonText(storage::JsonMember(json, name));
}

Status Unexpected(const std::string& what, std::string_view body) {
  return Unavailable("the ResourceManager's reply is not what YARN says: " + what + ": '" +
                     Printable(body, 60) + "'");
}

// Returns the members of a list, or none if `list` is not a list.
std::vector<const Json*> Entries(const Json& list) {
  std::vector<const Json*> out;
  if (!list.is_array()) return out;
  for (const Json& entry : list) {
    if (out.size() == kEntriesMax) break;
    if (entry.is_object()) out.push_back(&entry);
  }
  return out;
}

YarnContainer ToContainer(const Json& json) {
  return {.id = Text(json, "id"),
          .instance = Text(json, "component_instance_name"),
          .host = Text(json, "bare_host"),
          .state = Text(json, "state")};
}

YarnComponent ToComponent(const Json& json) {
  YarnComponent out{.name = Text(json, "name"),
                    .state = Text(json, "state"),
                    .wanted = std::max<int64_t>(
                        storage::JsonCount(storage::JsonMember(json, "number_of_containers")), 0)};
  for (const Json* entry : Entries(storage::JsonMember(json, "containers"))) {
    out.containers.push_back(ToContainer(*entry));
  }
  return out;
}

// Returns "host:port" of an address that may start with a scheme, or "" for an invalid address.
std::string HostAndPort(std::string text) {
  const size_t scheme = text.find("://");
  if (scheme != std::string::npos) text = text.substr(scheme + 3);
  text = text.substr(0, text.find('/'));
  const Result<storage::HostPort> parsed = storage::ParseHostPort(text, "a node's address");
  return parsed.ok() && parsed->port > 0 ? storage::ToString(*parsed) : "";
}

}  // namespace

bool YarnService::ended() const {
  return state == "STOPPED" || state == "SUCCEEDED" || state == "FAILED";
}

const YarnComponent* YarnService::Find(std::string_view component) const {
  for (const YarnComponent& c : components) {
    if (c.name == component) return &c;
  }
  return nullptr;
}

Result<YarnService> ParseYarnService(std::string_view body) {
  const Json json = storage::ParseJsonObject(body);
  YarnService out{.name = Text(json, "name"),
                  .state = Text(json, "state"),
                  .application = Text(json, "id"),
                  .queue = Text(json, "queue"),
                  .diagnostics = Printable(Text(json, "diagnostics"), kRefusalBytesMax)};
  if (out.name.empty()) return Unexpected("no service", body);
  for (const Json* entry : Entries(storage::JsonMember(json, "components"))) {
    out.components.push_back(ToComponent(*entry));
  }
  return out;
}

std::string YarnRefusal(std::string_view body) {
  const Json json = storage::ParseJsonObject(body);
  std::string words = Text(json, "diagnostics");
  if (words.empty()) words = Text(storage::JsonMember(json, "RemoteException"), "message");
  return Printable(words.substr(0, words.find('\n')), kRefusalBytesMax);
}

bool YarnApplication::ended() const {
  return state == "FINISHED" || state == "FAILED" || state == "KILLED";
}

Result<YarnApplication> ParseYarnApplication(std::string_view body) {
  const Json json = storage::ParseJsonObject(body);
  const Json& app = storage::JsonMember(json, "app");
  const std::string diagnostics = Text(app, "diagnostics");
  const size_t begin = std::min(diagnostics.find_first_not_of(" \r\n"), diagnostics.size());
  YarnApplication out{.state = Text(app, "state"),
                      .final_status = Text(app, "finalStatus"),
                      .diagnostics = Printable(diagnostics.substr(begin), kRefusalBytesMax)};
  if (out.state.empty()) return Unexpected("no application", body);
  return out;
}

Result<std::vector<YarnNode>> ParseYarnNodes(std::string_view body) {
  const Json json = storage::ParseJsonObject(body);
  if (!json.contains("nodes")) return Unexpected("no nodes", body);
  std::vector<YarnNode> out;
  for (const Json* node :
       Entries(storage::JsonMember(storage::JsonMember(json, "nodes"), "node"))) {
    const auto count = [node](const char* name) {
      return std::max<int64_t>(storage::JsonCount(storage::JsonMember(*node, name)), 0);
    };
    if (Text(*node, "state") != "RUNNING") continue;
    out.push_back({.host = Text(*node, "nodeHostName"),
                   .http = HostAndPort(Text(*node, "nodeHTTPAddress")),
                   .memory_mb = count("usedMemoryMB") + count("availMemoryMB"),
                   .cores = count("usedVirtualCores") + count("availableVirtualCores")});
  }
  return out;
}

Result<std::vector<std::string>> ParseYarnAttempts(std::string_view body) {
  const Json json = storage::ParseJsonObject(body);
  if (!json.contains("appAttempts")) return Unexpected("no attempts", body);
  std::vector<std::string> out;
  for (const Json* attempt :
       Entries(storage::JsonMember(storage::JsonMember(json, "appAttempts"), "appAttempt"))) {
    const std::string id = Text(*attempt, "appAttemptId");
    if (!id.empty()) out.push_back(id);
  }
  return out;
}

Result<std::vector<YarnPlace>> ParseYarnPlaces(std::string_view body) {
  const Json json = storage::ParseJsonObject(body);
  if (!json.contains("container")) {
    if (json.is_object() && (json.empty() || json.contains("containers"))) {
      return std::vector<YarnPlace>();
    }
    return Unexpected("no containers", body);
  }
  std::vector<YarnPlace> out;
  for (const Json* entry : Entries(storage::JsonMember(json, "container"))) {
    YarnPlace place{Text(*entry, "containerId"), HostAndPort(Text(*entry, "nodeHttpAddress"))};
    if (!place.container.empty() && !place.node_http.empty()) out.push_back(std::move(place));
  }
  return out;
}

std::string YarnLogContents(const std::string& answer) {
  constexpr std::string_view kBegin = "LogContents:\n", kEnd = "\nEnd of LogType:";
  const size_t head = answer.find(kBegin);
  if (head == std::string::npos) return answer;
  const size_t begin = head + kBegin.size() - 1;  // the end of an empty file has no line
  const size_t end = answer.rfind(kEnd);
  if (end == std::string::npos || end < begin) return answer.substr(begin + 1);
  return end == begin ? "" : answer.substr(begin + 1, end - begin);
}

}  // namespace espalier::yarn
