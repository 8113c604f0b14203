#include "src/config/daemon_options.h"

#include <algorithm>
#include <vector>

#include "src/base/text.h"
#include "src/config/address.h"
#include "src/config/reader.h"
#include "src/config/units.h"
#include "src/config/yaml_tree.h"
#include "src/storage/uri.h"

namespace espalier {

template <>
struct Names<LogLevel> {
  static constexpr EnumName<LogLevel> kAll[] = {{LogLevel::kDebug, "debug"},
                                                {LogLevel::kInfo, "info"},
                                                {LogLevel::kWarning, "warning"},
                                                {LogLevel::kError, "error"},
                                                {LogLevel::kOff, "off"}};
};

namespace {

constexpr int64_t kDayMs = 86'400'000;

Status InRange(const std::string& field, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return {};
  return InvalidArgument(field + ": found " + std::to_string(value) +
                         ", expected a whole number from " + std::to_string(min) + " to " +
                         std::to_string(max));
}

// A printable text of bounded length.
Status Plain(const std::string& field, const std::string& value, size_t bytes_max) {
  const bool clean = std::none_of(value.begin(), value.end(),
                                  [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  if (clean && value.size() <= bytes_max) return {};
  return InvalidArgument(field + ": found '" + Printable(value) + "', expected at most " +
                         std::to_string(bytes_max) + " bytes without control characters");
}

Status CheckCoordinator(const std::string& where) {
  if (where.starts_with("file:")) {
    if (where.size() > 5) return {};
    return InvalidArgument("coordinator: found 'file:', expected file:PATH");
  }
  if (IsAddressFile(where)) {
    const Status uri = ParseUri(where).status();
    return uri.ok() ? uri : InvalidArgument("coordinator: " + uri.message());
  }
  const auto address = ParseAddress(where);
  if (!address.ok()) {
    return InvalidArgument("coordinator: " + address.status().message() +
                           ", or file:PATH or hdfs://... of a file that holds it");
  }
  if (IsDialable(*address)) return {};
  return InvalidArgument("coordinator: found port 0, expected the port the coordinator listens on");
}

// A host alone, or host:port.
Status CheckAdvertise(const std::string& advertise) {
  if (advertise.empty()) return {};
  Result<Address> address = ParseAddress(advertise);
  if (!address.ok()) address = ParseAddress(advertise + ":1");
  if (address.ok() && IsDialable(*address) && address->path.empty()) return {};
  return InvalidArgument("advertise: found '" + Printable(advertise) +
                         "', expected a host or host:port by which others can reach this one");
}

Status Override(const std::optional<std::string>& given, const std::string& flag,
                const std::string& expected, std::optional<int64_t> (*parse)(std::string_view),
                int64_t& option) {
  if (!given) return {};
  const auto value = parse(*given);
  if (!value) {
    return InvalidArgument(flag + ": found '" + Printable(*given) + "', expected " + expected);
  }
  option = *value;
  return {};
}

Status CheckTls(const TlsFiles& tls) {
  ESPALIER_RETURN_IF_ERROR(Plain("tls.ca", tls.ca, 4096));
  ESPALIER_RETURN_IF_ERROR(Plain("tls.certificate", tls.certificate, 4096));
  ESPALIER_RETURN_IF_ERROR(Plain("tls.key", tls.key, 4096));
  ESPALIER_RETURN_IF_ERROR(Plain("tls.server_name", tls.server_name, 253));
  return tls.Validate(false);
}

Status CheckRoles(const std::vector<RoleRule>& roles, const TlsFiles& tls) {
  if (!roles.empty() && !tls.any()) {
    return InvalidArgument(
        "roles: found without tls, expected tls.ca, tls.certificate and tls.key");
  }
  for (const RoleRule& rule : roles) {
    ESPALIER_RETURN_IF_ERROR(Plain("roles", rule.name, 512));
    if (!rule.name.empty() && rule.name != "*.") continue;
    return InvalidArgument("roles: found the name '" + rule.name +
                           "', expected a name in certificates, or *.DOMAIN");
  }
  return {};
}

// A daemon that dials the coordinator may say which host its certificate names.
Field TlsField(Reader& r, TlsFiles& tls, bool dials = false) {
  return {"tls", [&r, &tls, dials](const YamlNode& node, const std::string& path) {
            std::vector<Field> fields = {r.Value("ca", tls.ca),
                                         r.Value("certificate", tls.certificate),
                                         r.Value("key", tls.key)};
            if (dials) fields.push_back(r.Value("server_name", tls.server_name));
            return r.ReadMap(node, path, fields);
          }};
}

Status ReadRole(Reader& r, const YamlNode& node, const std::string& path,
                std::vector<RoleRule>& roles) {
  RoleRule rule;
  const ReadValue read_role = [&](const YamlNode& value, const std::string& at) -> Status {
    const Result<Role> role = ParseRole(value.is_scalar() ? value.text : "");
    if (!role.ok()) return r.UnknownWord(value, at, {"worker", "admin", "operator", "reader"});
    rule.role = *role;
    return {};
  };
  ESPALIER_RETURN_IF_ERROR(
      r.ReadMap(node, path, {r.Value("name", rule.name), {"role", read_role}}));
  roles.push_back(std::move(rule));
  return {};
}

Field RolesField(Reader& r, std::vector<RoleRule>& roles) {
  return {"roles", [&r, &roles](const YamlNode& node, const std::string& path) {
            return r.ReadOneOrMany(node, path, [&](const YamlNode& item, const std::string& at) {
              return ReadRole(r, item, at, roles);
            });
          }};
}

// Reads a file of options: `fields_of(reader)` are its keys.
template <typename Options, typename F>
Result<Options> Parse(std::string_view text, std::string_view name, Options& options, F fields_of) {
  Reader reader(name);
  ESPALIER_ASSIGN_OR_RETURN(const YamlNode root, ParseYaml(text, name));
  ESPALIER_RETURN_IF_ERROR(reader.ReadMap(root, "", fields_of(reader)));
  if (const Status invalid = options.Validate(); !invalid.ok()) return reader.Locate(invalid);
  return options;
}

}  // namespace

Status CoordinatorOptions::Validate() const {
  ESPALIER_RETURN_IF_ERROR(CheckTls(tls));
  ESPALIER_RETURN_IF_ERROR(CheckListen(listen, tls.any(), insecure));
  ESPALIER_RETURN_IF_ERROR(CheckAdvertise(advertise));
  ESPALIER_RETURN_IF_ERROR(Plain("tokens", tokens, 4096));
  if (!tokens.empty() && !tls.any()) {
    return InvalidArgument(
        "tokens: found without tls, which would send them in plain text; "
        "expected tls.ca, tls.certificate and tls.key");
  }
  ESPALIER_RETURN_IF_ERROR(CheckRoles(roles, tls));
  ESPALIER_RETURN_IF_ERROR(Plain("address_file", address_file, 4096));
  ESPALIER_RETURN_IF_ERROR(Plain("state_directory", state_directory, 4096));
  ESPALIER_RETURN_IF_ERROR(InRange("heartbeat_interval_ms", heartbeat_interval_ms, 10, 60'000));
  ESPALIER_RETURN_IF_ERROR(InRange("liveness_limit_ms", liveness_limit_ms, 100, 3'600'000));
  if (liveness_limit_ms < 2 * heartbeat_interval_ms) {
    return InvalidArgument("liveness_limit_ms: found " + std::to_string(liveness_limit_ms) +
                           ", expected at least twice heartbeat_interval_ms, which is " +
                           std::to_string(heartbeat_interval_ms));
  }
  ESPALIER_RETURN_IF_ERROR(InRange("start_timeout_ms", start_timeout_ms, 1000, kDayMs));
  ESPALIER_RETURN_IF_ERROR(InRange("survey_timeout_ms", survey_timeout_ms, 1000, 30 * kDayMs));
  ESPALIER_RETURN_IF_ERROR(InRange("step_timeout_ms", step_timeout_ms, 1000, 30 * kDayMs));
  ESPALIER_RETURN_IF_ERROR(InRange("below_min_timeout_ms", below_min_timeout_ms, 0, 30 * kDayMs));
  ESPALIER_RETURN_IF_ERROR(InRange("keep_timeout_ms", keep_timeout_ms, 1000, kDayMs));
  ESPALIER_RETURN_IF_ERROR(InRange("join_timeout_ms", join_timeout_ms, 1000, kDayMs));
  ESPALIER_RETURN_IF_ERROR(InRange("rebalance_interval_ms", rebalance_interval_ms, 0, 30 * kDayMs));
  ESPALIER_RETURN_IF_ERROR(InRange("idle_limit_ms", idle_limit_ms, 0, 30 * kDayMs));
  ESPALIER_RETURN_IF_ERROR(InRange("workers_max", workers_max, 1, 10'000));
  ESPALIER_RETURN_IF_ERROR(
      InRange("survey_bytes_max", survey_bytes_max, int64_t{1} << 20, int64_t{1} << 40));
  ESPALIER_RETURN_IF_ERROR(InRange("jobs_kept_max", jobs_kept_max, 1, 1'000'000));
  ESPALIER_RETURN_IF_ERROR(Plain("hadoop_conf_dir", hadoop_conf_dir, 4096));
  ESPALIER_RETURN_IF_ERROR(Plain("hadoop_user", hadoop_user, 256));
  ESPALIER_RETURN_IF_ERROR(Plain("hadoop_ca", hadoop_ca, 4096));
  ESPALIER_RETURN_IF_ERROR(InRange("queue_max", queue_max, 1, 1'000'000));
  ESPALIER_RETURN_IF_ERROR(InRange("owner_waiting_jobs_max", owner_waiting_jobs_max, 0, 1'000'000));
  ESPALIER_RETURN_IF_ERROR(InRange("owner_running_jobs_max", owner_running_jobs_max, 0, 1'000'000));
  ESPALIER_RETURN_IF_ERROR(InRange("owner_workers_max", owner_workers_max, 0, 1'000'000));
  ESPALIER_RETURN_IF_ERROR(InRange("calls_a_caller_max", calls_a_caller_max, 1, 1'000'000));
  ESPALIER_RETURN_IF_ERROR(InRange("watchers_max", watchers_max, 1, 1'000'000));
  // Less than the largest message would refuse what is in order.
  ESPALIER_RETURN_IF_ERROR(
      InRange("receive_bytes_max", receive_bytes_max, int64_t{128} << 20, int64_t{1} << 40));
  return InRange("worker_queue_bytes_max", worker_queue_bytes_max, int64_t{128} << 20,
                 int64_t{1} << 40);
}

Status WorkerOptions::Validate() const {
  ESPALIER_RETURN_IF_ERROR(CheckCoordinator(coordinator));
  ESPALIER_RETURN_IF_ERROR(CheckTls(tls));
  ESPALIER_RETURN_IF_ERROR(CheckListen(listen, tls.any(), insecure));
  ESPALIER_RETURN_IF_ERROR(CheckAdvertise(advertise));
  ESPALIER_RETURN_IF_ERROR(Plain("name", name, 128));
  ESPALIER_RETURN_IF_ERROR(InRange("threads", threads, 0, 1024));
  ESPALIER_RETURN_IF_ERROR(InRange("memory_bytes_max", memory_bytes_max, 0, int64_t{1} << 50));
  ESPALIER_RETURN_IF_ERROR(Plain("spool_directory", spool_directory, 4096));
  ESPALIER_RETURN_IF_ERROR(InRange("spool_bytes_max", spool_bytes_max, 0, int64_t{1} << 50));
  ESPALIER_RETURN_IF_ERROR(InRange("cache_bytes_max", cache_bytes_max, 0, int64_t{1} << 50));
  ESPALIER_RETURN_IF_ERROR(InRange("coordinator_timeout_ms", coordinator_timeout_ms, 100, kDayMs));
  ESPALIER_RETURN_IF_ERROR(InRange("keep_timeout_ms", keep_timeout_ms, 1000, kDayMs));
  ESPALIER_RETURN_IF_ERROR(InRange("leave_timeout_ms", leave_timeout_ms, 0, kDayMs));
  ESPALIER_RETURN_IF_ERROR(InRange("sum_timeout_ms", sum_timeout_ms, 1000, 30 * kDayMs));
  ESPALIER_RETURN_IF_ERROR(InRange("peer_timeout_ms", peer_timeout_ms, 100, 3'600'000));
  ESPALIER_RETURN_IF_ERROR(Plain("hadoop_conf_dir", hadoop_conf_dir, 4096));
  ESPALIER_RETURN_IF_ERROR(Plain("hadoop_user", hadoop_user, 256));
  ESPALIER_RETURN_IF_ERROR(Plain("hadoop_ca", hadoop_ca, 4096));
  if (kernel.empty()) return InvalidArgument("kernel: found nothing, expected one such as Haswell");
  return Plain("kernel", kernel, 64);
}

Result<CoordinatorOptions> ParseCoordinatorOptions(std::string_view yaml_text,
                                                   std::string_view name_for_messages) {
  CoordinatorOptions o;
  return Parse(yaml_text, name_for_messages, o, [&o](Reader& r) -> std::vector<Field> {
    return {r.Value("listen", o.listen),
            r.Value("advertise", o.advertise),
            r.Value("address_file", o.address_file),
            r.Value("state_directory", o.state_directory),
            TlsField(r, o.tls),
            r.Value("tokens", o.tokens),
            RolesField(r, o.roles),
            r.Value("insecure", o.insecure),
            r.Milliseconds("heartbeat_interval_ms", o.heartbeat_interval_ms),
            r.Milliseconds("liveness_limit_ms", o.liveness_limit_ms),
            r.Milliseconds("start_timeout_ms", o.start_timeout_ms),
            r.Milliseconds("survey_timeout_ms", o.survey_timeout_ms),
            r.Milliseconds("step_timeout_ms", o.step_timeout_ms),
            r.Milliseconds("below_min_timeout_ms", o.below_min_timeout_ms),
            r.Milliseconds("keep_timeout_ms", o.keep_timeout_ms),
            r.Milliseconds("join_timeout_ms", o.join_timeout_ms),
            r.Milliseconds("rebalance_interval_ms", o.rebalance_interval_ms),
            r.Milliseconds("idle_limit_ms", o.idle_limit_ms),
            r.Value("workers_max", o.workers_max),
            r.Value("arithmetic", o.arithmetic),
            r.Bytes("survey_bytes_max", o.survey_bytes_max),
            r.Value("jobs_kept_max", o.jobs_kept_max),
            r.Value("queue_max", o.queue_max),
            r.Value("owner_waiting_jobs_max", o.owner_waiting_jobs_max),
            r.Value("owner_running_jobs_max", o.owner_running_jobs_max),
            r.Value("owner_workers_max", o.owner_workers_max),
            r.Value("calls_a_caller_max", o.calls_a_caller_max),
            r.Value("watchers_max", o.watchers_max),
            r.Bytes("receive_bytes_max", o.receive_bytes_max),
            r.Bytes("worker_queue_bytes_max", o.worker_queue_bytes_max),
            r.Value("hadoop_conf_dir", o.hadoop_conf_dir),
            r.Value("hadoop_user", o.hadoop_user),
            r.Value("hadoop_ca", o.hadoop_ca),
            r.Value("log_level", o.log_level)};
  });
}

Result<WorkerOptions> ParseWorkerOptions(std::string_view yaml_text,
                                         std::string_view name_for_messages) {
  WorkerOptions o;
  return Parse(yaml_text, name_for_messages, o, [&o](Reader& r) -> std::vector<Field> {
    return {r.Value("coordinator", o.coordinator),
            r.Value("listen", o.listen),
            r.Value("advertise", o.advertise),
            r.Value("name", o.name),
            r.Value("threads", o.threads),
            r.Bytes("memory_bytes_max", o.memory_bytes_max),
            r.Value("spool_directory", o.spool_directory),
            r.Bytes("spool_bytes_max", o.spool_bytes_max),
            r.Bytes("cache_bytes_max", o.cache_bytes_max),
            r.Milliseconds("coordinator_timeout_ms", o.coordinator_timeout_ms),
            r.Milliseconds("keep_timeout_ms", o.keep_timeout_ms),
            r.Milliseconds("leave_timeout_ms", o.leave_timeout_ms),
            r.Milliseconds("sum_timeout_ms", o.sum_timeout_ms),
            r.Milliseconds("peer_timeout_ms", o.peer_timeout_ms),
            TlsField(r, o.tls, true),
            r.Value("insecure", o.insecure),
            r.Value("kernel", o.kernel),
            r.Value("hadoop_conf_dir", o.hadoop_conf_dir),
            r.Value("hadoop_user", o.hadoop_user),
            r.Value("hadoop_ca", o.hadoop_ca),
            r.Value("log_level", o.log_level)};
  });
}

Status OverrideBytes(const std::optional<std::string>& given, const std::string& flag,
                     int64_t& option) {
  return Override(given, flag, "a size such as 64MiB, or bytes", ParseBytes, option);
}

Status OverrideMilliseconds(const std::optional<std::string>& given, const std::string& flag,
                            int64_t& option) {
  return Override(given, flag, "milliseconds or a time such as 30s or '5 min'", ParseMilliseconds,
                  option);
}

Result<LogLevel> ParseLogLevel(std::string_view text) {
  if (const auto level = FromName<LogLevel>(text)) return *level;
  return InvalidArgument("log_level: found '" + Printable(text) +
                         "', expected debug, info, warning, error or off");
}

}  // namespace espalier
