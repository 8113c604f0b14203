#include "src/spec/shard_hosts.h"

#include <algorithm>

namespace espalier::spec {

std::vector<std::string> HostNames(const std::string& worker_name, const std::string& address) {
  std::vector<std::string> names;
  for (const std::string& text : {worker_name, address}) {
    if (text.starts_with("unix:")) continue;  // a path on this machine
    const std::string host = text.substr(0, text.rfind(':'));
    names.push_back(host);
    if (host.find_first_not_of("0123456789.") == std::string::npos) continue;
    names.push_back(host.substr(0, host.find('.')));
  }
  return names;
}

HeldShards HeldBy(const InputPlan& input, const std::vector<std::string>& names) {
  HeldShards held;
  for (size_t i = 0; i < input.hosts.size(); ++i) {
    const auto is_ours = [&](const std::string& host) {
      return std::find(names.begin(), names.end(), host) != names.end();
    };
    if (std::none_of(input.hosts[i].begin(), input.hosts[i].end(), is_ours)) continue;
    ++held.shards;
    held.bytes += input.shards[i].end - input.shards[i].begin;
  }
  return held;
}

}  // namespace espalier::spec
