// Options of the two daemons. Each option is a member of a struct, with its default, and a line of
// Describe, with its key, range and meaning. The YAML reader, Validate, the flags, --help and
// config/{coordinator,worker}.yaml follow from these.
//
// Thread rule: values and pure functions.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "src/base/log.h"
#include "src/base/status.h"
#include "src/config/option.h"
#include "src/security/keychain.h"
#include "src/security/roles.h"
#include "src/spec/coordinator_limits.h"

namespace espalier::config {

struct CoordinatorOptions : spec::CoordinatorLimits {
  std::string listen = "127.0.0.1:7700";
  std::string advertise;
  std::string address_file;
  std::string state_directory;
  security::TlsFiles tls;
  std::string tokens;
  std::vector<security::RoleRule> roles;
  bool insecure = false;
  int64_t idle_limit_ms = 0;
  std::string arithmetic;
  int64_t calls_a_caller_max = 1000;
  int64_t watchers_max = 10'000;
  int64_t receive_bytes_max = int64_t{2} << 30;
  int64_t worker_queue_bytes_max = int64_t{256} << 20;
  LogLevel log_level = LogLevel::kInfo;
  std::string hadoop_conf_dir;
  std::string hadoop_user;
  std::string hadoop_ca;
  // From the environment only:
  std::string hadoop_token_file;     // HADOOP_TOKEN_FILE_LOCATION
  std::vector<std::string> secrets;  // files that prove the identity of the daemon
  bool operator==(const CoordinatorOptions&) const = default;

  // Returns an error for the first option that is out of range ("liveness_limit_ms: found ...").
  Status Validate() const;
};

struct WorkerOptions {
  std::string coordinator = "127.0.0.1:7700";
  std::string listen = "127.0.0.1:0";
  std::string advertise;
  std::string name;
  int threads = 0;
  int64_t memory_bytes_max = 0;
  std::string spill_directory;
  int64_t spill_bytes_max = int64_t{64} << 30;
  int64_t cache_bytes_max = int64_t{16} << 30;
  int64_t coordinator_timeout_ms = 600'000;
  int64_t keep_timeout_ms = 120'000;
  int64_t leave_timeout_ms = 30'000;
  int64_t peer_timeout_ms = 5000;
  int64_t sum_timeout_ms = 600'000;
  security::TlsFiles tls;
  bool insecure = false;
  std::string kernel = "Haswell";
  LogLevel log_level = LogLevel::kInfo;
  std::string hadoop_conf_dir;
  std::string hadoop_user;
  std::string hadoop_ca;
  // From the environment only:
  std::string hadoop_token_file;     // HADOOP_TOKEN_FILE_LOCATION
  std::vector<std::string> secrets;  // files that prove the identity of the daemon
  bool operator==(const WorkerOptions&) const = default;

  Status Validate() const;
};

inline constexpr int64_t kDayMs = 86'400'000;
inline constexpr int64_t kTiB = int64_t{1} << 40;

// ---- declarations ----------------------------------------------------------------------------

template <typename Options, typename T>
concept DescribedAs = std::same_as<std::remove_const_t<Options>, T>;

inline constexpr const char* kAdvertiseDoc =
    "Host or host:port that other processes use to reach this daemon. Default: the address in "
    "`listen`; for 0.0.0.0 and [::], the host name. It has no effect on a Unix socket.";
inline constexpr const char* kInsecureDoc =
    "Allows a listener without TLS on an address that other machines can reach. Connections are "
    "then neither encrypted nor authenticated.";

template <typename F>
void DescribeTls(F&& f, auto& tls) {
  f(Option::Text(
        "tls.ca",
        "PEM file of trusted certificate authorities. If the three files are set, every "
        "connection is encrypted and both ends authenticate. Clients may authenticate with a "
        "token instead of a certificate. Create the files with `espalier certs` or with your "
        "own certificate authority. This file may also hold revocation lists (`espalier certs "
        "revoke`)."),
    tls.ca);
  f(Option::Text(
        "tls.certificate",
        "PEM file with the certificate of this daemon. The certificate of a coordinator "
        "contains its host names. The certificate of a worker contains the worker's name. A "
        "certificate for node-7 is valid for the workers node-7 and node-7:2. After you "
        "replace the files, new connections use them. To replace all three at once, let them "
        "be symbolic links into a directory that is itself a symbolic link, and change that "
        "link."),
    tls.certificate);
  f(Option::Text(
        "tls.key",
        "PEM file with the private key. The file must not be readable by other users (mode "
        "600)."),
    tls.key);
}

template <typename F>
void DescribeHadoop(F&& f, auto& o) {
  f(Option::Text("hadoop_conf_dir",
                 "Directory with core-site.xml and hdfs-site.xml. Default: HADOOP_CONF_DIR, then "
                 "$HADOOP_HOME/etc/hadoop."),
    o.hadoop_conf_dir);
  f(Option::Text("hadoop_user",
                 "User name for HDFS without Kerberos. Default: HADOOP_USER_NAME, then USER.", 256),
    o.hadoop_user);
  f(Option::Text(
        "hadoop_ca",
        "PEM file of certificate authorities for HDFS over HTTPS. Default: "
        "ESPALIER_HADOOP_CA, then the authorities of the system. HDFS with Kerberos needs no "
        "option. Set KRB5_CLIENT_KTNAME to a keytab, KRB5CCNAME to a ticket cache, or "
        "HADOOP_TOKEN_FILE_LOCATION to a file of delegation tokens."),
    o.hadoop_ca);
}

template <typename F>
void DescribeAccess(F&& f, DescribedAs<CoordinatorOptions> auto& o) {
  f(Option::Text(
        "listen",
        "Address for workers and clients: host:port, [v6]:port, or unix:/PATH for programs of the "
        "same user on this machine. Port 0 selects a free port; address_file reports it."),
    o.listen);
  f(Option::Text("advertise", kAdvertiseDoc), o.advertise);
  f(Option::Text(
        "address_file",
        "File or hdfs:// URI to which the coordinator writes its address. Workers and clients "
        "specify it as `file:PATH` or as the URI. They read it again after each lost "
        "connection. It must be outside state_directory. Default: none."),
    o.address_file);
  f(Option::Text(
        "state_directory",
        "Directory for durable state: jobs, the queue, and histories. In a local directory, "
        "the coordinator keeps an SQLite database and reserves 16 MiB. With a URI, such as "
        "hdfs://namenode/espalier/state or file:///shared/espalier/state, the coordinator can "
        "restart on another host. If two coordinators use it, the older one exits. Jobs "
        "cannot read or write files in it. Default: none; jobs are lost on restart."),
    o.state_directory);
  DescribeTls(f, o.tls);
  f(Option::Text("tokens",
                 "File of bearer tokens for people and services. Each line holds a role (admin, "
                 "operator or reader), a name, and the token or sha256:HASH of it. The coordinator "
                 "reloads the file when it changes. Requires `tls`. Default: none."),
    o.tokens);
  f(Option::Text(
        "roles",
        "Roles for certificates that contain no role. (The URI espalier://operator/ann in a "
        "certificate is a role.) `name` is a common name, DNS name or URI of the certificate, "
        "or *.DOMAIN. Example: {name: \"*.workers.example.org\", role: worker}. This option "
        "has no flag.",
        512),
    o.roles);
  f(Option::Switch("insecure", kInsecureDoc), o.insecure);
}

template <typename F>
void DescribeTimes(F&& f, DescribedAs<CoordinatorOptions> auto& o) {
  f(Option::Milliseconds("heartbeat_interval_ms", 10, 60'000,
                         "Interval between heartbeats of a worker."),
    o.heartbeat_interval_ms);
  f(Option::Milliseconds(
        "liveness_limit_ms", 100, 3'600'000,
        "Time without a heartbeat after which the coordinator considers a worker lost. Must "
        "be at least twice heartbeat_interval_ms."),
    o.liveness_limit_ms);
  f(Option::Milliseconds(
        "start_timeout_ms", 1000, kDayMs,
        "Time limit for progress while workers load rows. After that time without progress, "
        "the job fails. A worker that joins a running job is released."),
    o.start_timeout_ms);
  f(Option::Milliseconds(
        "profiling_timeout_ms", 1000, 30 * kDayMs,
        "Time limit for progress in the first pass over the data. After that time without "
        "progress, the job fails."),
    o.profiling_timeout_ms);
  f(Option::Milliseconds(
        "step_timeout_ms", 1000, 30 * kDayMs,
        "Time limit for a training step, and for progress of an evaluation. When it expires, "
        "the job fails. Raise it if a single step takes longer."),
    o.step_timeout_ms);
  f(Option::Milliseconds(
        "below_min_timeout_ms", 0, 30 * kDayMs,
        "Time that a job with fewer than workers.min workers waits for more. After that, the "
        "job writes a checkpoint and fails."),
    o.below_min_timeout_ms);
  f(Option::Milliseconds(
        "keep_timeout_ms", 1000, kDayMs,
        "Time limit for writing a checkpoint of a job that is about to be stopped."),
    o.keep_timeout_ms);
  f(Option::Milliseconds(
        "join_timeout_ms", 1000, kDayMs,
        "Time limit for a joining worker to fetch the state of the job from another worker."),
    o.join_timeout_ms);
  f(Option::Milliseconds(
        "rebalance_interval_ms", 0, 30 * kDayMs,
        "Minimum time between two changes of a job's number of workers. Workers beyond the "
        "minimum of each job are shared evenly. A job that has waited this long for its "
        "minimum takes the workers of younger jobs. Those jobs keep their state and return to "
        "the queue."),
    o.rebalance_interval_ms);
  f(Option::Milliseconds(
        "idle_limit_ms", 0, 30 * kDayMs,
        "Time without a running or waiting job after which the coordinator exits; 0: never."),
    o.idle_limit_ms);
}

template <typename F>
void DescribeLimits(F&& f, DescribedAs<CoordinatorOptions> auto& o) {
  f(Option::Count(
        "workers_max", 1, 10'000,
        "Maximum number of attached workers. Further workers retry until a slot is free. With "
        "`tls`, the workers of one certificate get at most half of the slots, or 8 if that is "
        "more."),
    o.workers_max);
  f(Option::Text(
        "arithmetic",
        "Arithmetic id that workers must have, as `espalier version` shows it. A worker with "
        "another id is not accepted and retries. Default: the id of the first worker.",
        256),
    o.arithmetic);
  f(Option::Bytes(
        "profile_bytes_max", int64_t{1} << 20, kTiB,
        "Memory for the results of the first pass over the data, for all jobs. The results "
        "take about 48 bytes for each column of each shard, and 100 bytes for each value of a "
        "categorical column. A job whose columns need more is refused. A larger "
        "data.shard_bytes results in fewer shards."),
    o.profile_bytes_max);
  f(Option::Count("jobs_kept_max", 1, 1'000'000,
                  "Maximum number of finished jobs that the coordinator keeps."),
    o.jobs_kept_max);
  f(Option::Count("queue_max", 1, 1'000'000,
                  "Maximum number of waiting jobs. Further jobs are refused."),
    o.queue_max);
  f(Option::Count(
        "owner_waiting_jobs_max", 0, 1'000'000,
        "Maximum number of waiting jobs of one owner; 0: no limit. Further jobs are refused. "
        "The owner of a job is the name in the certificate or token of its submitter. Quotas "
        "also apply to admins. Without `tls`, jobs have no owner and quotas do not apply."),
    o.owner_waiting_jobs_max);
  f(Option::Count(
        "owner_running_jobs_max", 0, 1'000'000,
        "Maximum number of running jobs of one owner; 0: no limit. Further jobs wait, and "
        "jobs of other owners can start before them. Lowering a quota does not stop running "
        "jobs."),
    o.owner_running_jobs_max);
  f(Option::Count(
        "owner_workers_max", 0, 1'000'000,
        "Maximum number of workers that the jobs of one owner use at a time; 0: no limit."),
    o.owner_workers_max);
  f(Option::Count(
        "calls_a_caller_max", 1, 1'000'000,
        "Maximum number of open calls of one caller: a person or service, or without `tls` an "
        "address. Further calls are refused."),
    o.calls_a_caller_max);
  f(Option::Count("watchers_max", 1, 1'000'000,
                  "Maximum number of clients that follow jobs at a time."),
    o.watchers_max);
  // Below the size of the largest message, valid messages would be refused.
  f(Option::Bytes(
        "receive_bytes_max", int64_t{128} << 20, kTiB,
        "Memory for data received on all connections. When it is full, the coordinator reads "
        "more slowly. Up to one eighth of it holds responses that callers have not read, and "
        "one caller gets a quarter of that. Further calls are refused. Lower it on hosts with "
        "little memory."),
    o.receive_bytes_max);
  f(Option::Bytes("worker_queue_bytes_max", int64_t{128} << 20, kTiB,
                  "Maximum number of bytes queued for one worker. A worker that exceeds it is "
                  "disconnected. Raise it for jobs with a very large number of columns."),
    o.worker_queue_bytes_max);
}

// Calls f(Option, member) for each option, in the order of the configuration file.
template <typename F>
void Describe(F&& f, DescribedAs<CoordinatorOptions> auto& o) {
  DescribeAccess(f, o);
  DescribeTimes(f, o);
  DescribeLimits(f, o);
  f(Option::Text("log_level", "Log level: debug, info, warning, error or off."), o.log_level);
  DescribeHadoop(f, o);
}

template <typename F>
void DescribeNames(F&& f, DescribedAs<WorkerOptions> auto& o) {
  f(Option::Text(
        "coordinator",
        "Address of the coordinator: host:port or unix:/PATH, or a file that contains the address: "
        "file:PATH or hdfs://... The worker reads the file before each connection attempt."),
    o.coordinator);
  f(Option::Text("listen",
                 "Address for other workers: host:port, [v6]:port, or unix:/PATH for programs of "
                 "the same user on "
                 "this machine. Port 0 selects a free port."),
    o.listen);
  f(Option::Text("advertise", kAdvertiseDoc), o.advertise);
  f(Option::Text(
        "name",
        "Name of the worker in lists and messages. Default: host:pid; with `tls`, NAME:pid "
        "with the name in the certificate.",
        128),
    o.name);
}

template <typename F>
void DescribeResources(F&& f, DescribedAs<WorkerOptions> auto& o) {
  f(Option::Count("threads", 0, 1024, "Number of compute threads; 0: one for each core."),
    o.threads);
  f(Option::Bytes(
        "memory_bytes_max", 0, int64_t{1} << 50,
        "Memory for the model and the rows of a job; 0: half of the machine's memory. The "
        "first 64 MiB of a model are not counted. A job whose model exceeds the limit fails."),
    o.memory_bytes_max);
  f(Option::Text(
        "spill_directory",
        "Directory for memory-mapped files with the rows that exceed memory_bytes_max. The "
        "files are unnamed and disappear when the worker exits. Default: TMPDIR, then /tmp."),
    o.spill_directory);
  f(Option::Bytes("spill_bytes_max", 0, int64_t{1} << 50,
                  "Maximum size of the files with rows in spill_directory."),
    o.spill_bytes_max);
  f(Option::Bytes(
        "cache_bytes_max", 0, int64_t{1} << 50,
        "Maximum size of the cache in spill_directory; 0: no cache. It holds files that jobs "
        "with `workers: {cache_input: true}` have read from HDFS. Parsed rows are cached in "
        "memory, up to this limit and half of memory_bytes_max. Entries that are not read for "
        "ten minutes are removed."),
    o.cache_bytes_max);
}

template <typename F>
void DescribeTimes(F&& f, DescribedAs<WorkerOptions> auto& o) {
  f(Option::Milliseconds(
        "coordinator_timeout_ms", 100, kDayMs,
        "Time without a coordinator after which the worker exits. The worker finishes a "
        "running training first. If the training cannot continue, the worker writes a "
        "checkpoint first."),
    o.coordinator_timeout_ms);
  f(Option::Milliseconds(
        "keep_timeout_ms", 1000, kDayMs,
        "Time limit for writing a checkpoint of a job that is about to be stopped."),
    o.keep_timeout_ms);
  f(Option::Milliseconds(
        "leave_timeout_ms", 0, kDayMs,
        "Maximum time that a worker keeps working after SIGTERM, until its job can continue "
        "without it."),
    o.leave_timeout_ms);
  f(Option::Milliseconds(
        "peer_timeout_ms", 100, 3'600'000,
        "Time without data from another worker of the job after which the link to it is "
        "considered broken."),
    o.peer_timeout_ms);
  f(Option::Milliseconds(
        "sum_timeout_ms", 1000, 30 * kDayMs,
        "Time limit of a step for the sums of the other workers. When it expires, the job "
        "fails and the error names those workers. If you raise it, also raise step_timeout_ms "
        "of the coordinator."),
    o.sum_timeout_ms);
}

template <typename F>
void Describe(F&& f, DescribedAs<WorkerOptions> auto& o) {
  DescribeNames(f, o);
  DescribeResources(f, o);
  DescribeTimes(f, o);
  DescribeTls(f, o.tls);
  f(Option::Text("tls.server_name",
                 "Host name that the certificate of the coordinator must contain. Set it if the "
                 "coordinator can run on any host. Default: the host in `coordinator`.",
                 253),
    o.tls.server_name);
  f(Option::Switch("insecure", kInsecureDoc), o.insecure);
  f(Option::Text("kernel",
                 "OpenBLAS kernel, the same on all workers of a job, because results of different "
                 "kernels differ in the last bits.",
                 64),
    o.kernel);
  f(Option::Text("log_level", "Log level: debug, info, warning, error or off."), o.log_level);
  DescribeHadoop(f, o);
}

// ---- files -----------------------------------------------------------------------------------

// Parses and validates the options. An empty text gives all defaults. Errors contain file, line and
// column, as in ParseJob. Appends notes about old names to `notes`.
template <typename Options>
Result<Options> ParseOptions(std::string_view yaml_text, std::string_view name_for_messages,
                             std::vector<std::string>* notes = nullptr);
// Returns "spool_directory is now called spill_directory".
std::string RenamedNote(std::string_view before, std::string_view now);

// Sets each option from its text, in the form of a configuration file. `name_of(key)` is its name
// in messages. The result is not validated.
template <typename Options>
Status SetOptions(const std::map<std::string, std::string>& texts,
                  std::string (*name_of)(const std::string& key), Options& options);

// Returns a configuration file with these values. The description of each option is a comment.
std::string ConfigurationText(const CoordinatorOptions& options);
std::string ConfigurationText(const WorkerOptions& options);

}  // namespace espalier::config
