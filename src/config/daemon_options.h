// Options of the two daemons. Each option is a member of a struct, with its default, and a line of
// Describe, with its key, range and meaning. The YAML reader, Validate, the flags, --help and
// config/{coordinator,worker}.yaml follow from these.
//
// Thread rule: values and pure functions.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
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

namespace espalier {

struct CoordinatorOptions : CoordinatorLimits {
  std::string listen = "127.0.0.1:7700";
  std::string advertise;
  std::string address_file;
  std::string state_directory;
  TlsFiles tls;
  std::string tokens;
  std::vector<RoleRule> roles;
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

  // Names the first option that is out of its range ("liveness_limit_ms: found ...").
  Status Validate() const;
};

struct WorkerOptions {
  std::string coordinator = "127.0.0.1:7700";
  std::string listen = "127.0.0.1:0";
  std::string advertise;
  std::string name;
  int threads = 0;
  int64_t memory_bytes_max = 0;
  std::string spool_directory;
  int64_t spool_bytes_max = int64_t{64} << 30;
  int64_t cache_bytes_max = int64_t{16} << 30;
  int64_t coordinator_timeout_ms = 600'000;
  int64_t keep_timeout_ms = 120'000;
  int64_t leave_timeout_ms = 30'000;
  int64_t peer_timeout_ms = 5000;
  int64_t sum_timeout_ms = 600'000;
  TlsFiles tls;
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
    "Host or host:port that is reported to others. Default: the address of `listen`, with the "
    "name of the machine in place of 0.0.0.0 and [::].";
inline constexpr const char* kInsecureDoc =
    "Permits a listener that other machines can reach without TLS, which means without "
    "encryption and authentication.";

template <typename F>
void DescribeTls(F&& f, auto& tls) {
  f(Option::Text(
        "tls.ca",
        "PEM file with the certificate authorities that are trusted. With the three files of "
        "`tls`, each connection is encrypted and both ends prove their identity. `espalier "
        "certs` creates the files, and so does any certificate authority. This file may also "
        "hold revocation lists (`espalier certs revoke`)."),
    tls.ca);
  f(Option::Text(
        "tls.certificate",
        "PEM file with the certificate of this daemon. A certificate of a coordinator names its "
        "hosts. A certificate of a worker names the worker: node-7 permits the names node-7 and "
        "node-7:2. Replaced files apply to new connections. To replace all three at once, make "
        "them links into a directory that is a link."),
    tls.certificate);
  f(Option::Text("tls.key",
                 "PEM file with the private key. Other users must not be able to read it."),
    tls.key);
}

template <typename F>
void DescribeHadoop(F&& f, auto& o) {
  f(Option::Text("hadoop_conf_dir",
                 "Directory with core-site.xml and hdfs-site.xml. Default: HADOOP_CONF_DIR, then "
                 "$HADOOP_HOME/etc/hadoop."),
    o.hadoop_conf_dir);
  f(Option::Text("hadoop_user",
                 "User name for an HDFS without Kerberos. Default: HADOOP_USER_NAME, then USER.",
                 256),
    o.hadoop_user);
  f(Option::Text(
        "hadoop_ca",
        "PEM file with the certificate authorities of HDFS over HTTPS. Default: "
        "ESPALIER_HADOOP_CA, then those of this system. An HDFS with Kerberos needs no option: "
        "KRB5_CLIENT_KTNAME names a keytab, KRB5CCNAME a ticket cache, and "
        "HADOOP_TOKEN_FILE_LOCATION a file of delegation tokens."),
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
        "File or hdfs:// URI to which the address is written. Workers and clients find the "
        "coordinator with `file:PATH` or the URI, and read it again after each disconnection. "
        "Default: none."),
    o.address_file);
  f(Option::Text(
        "state_directory",
        "Directory for durable state: jobs, the queue, and histories. A local path holds an "
        "SQLite database and 16 MiB of reserve. A URI such as hdfs://namenode/espalier/state "
        "lets the coordinator start again on another host; of two coordinators the older one "
        "ends. Jobs cannot read or write below it. Default: none; jobs are lost on restart."),
    o.state_directory);
  DescribeTls(f, o.tls);
  f(Option::Text(
        "tokens",
        "File of bearer tokens for people and services. Each line holds a role (admin, operator "
        "or reader), a name, and the token or sha256:HASH of it. It is read again when it "
        "changes. It requires `tls`. Default: none."),
    o.tokens);
  f(Option::Text(
        "roles",
        "Roles of certificates that do not name their role, as espalier://operator/ann does. "
        "`name` is a common name, DNS name or URI of the certificate, or *.DOMAIN. Example: "
        "{name: \"*.workers.example.org\", role: worker}.",
        512),
    o.roles);
  f(Option::Switch("insecure", kInsecureDoc), o.insecure);
}

template <typename F>
void DescribeTimes(F&& f, DescribedAs<CoordinatorOptions> auto& o) {
  f(Option::Milliseconds("heartbeat_interval_ms", 10, 60'000,
                         "Interval of the reports of a worker."),
    o.heartbeat_interval_ms);
  f(Option::Milliseconds("liveness_limit_ms", 100, 3'600'000,
                         "Silence after which a worker counts as lost. At least twice "
                         "heartbeat_interval_ms."),
    o.liveness_limit_ms);
  f(Option::Milliseconds(
        "start_timeout_ms", 1000, kDayMs,
        "Time without progress while workers load rows, after which the job fails. A "
        "worker that joins a running job is released after it."),
    o.start_timeout_ms);
  f(Option::Milliseconds(
        "survey_timeout_ms", 1000, 30 * kDayMs,
        "Time without progress in the first pass over the data, after which the job "
        "fails."),
    o.survey_timeout_ms);
  f(Option::Milliseconds(
        "step_timeout_ms", 1000, 30 * kDayMs,
        "Time without a step, or without progress of an evaluation, after which the job "
        "fails. Raise it if a single step takes longer."),
    o.step_timeout_ms);
  f(Option::Milliseconds(
        "below_min_timeout_ms", 0, 30 * kDayMs,
        "Time for which a job with fewer workers than workers.min waits for others. Then "
        "it writes its state as a checkpoint and fails."),
    o.below_min_timeout_ms);
  f(Option::Milliseconds(
        "keep_timeout_ms", 1000, kDayMs,
        "Time limit for writing the state of a job as a checkpoint, before the job is given up."),
    o.keep_timeout_ms);
  f(Option::Milliseconds(
        "join_timeout_ms", 1000, kDayMs,
        "Time limit for a worker that joins to fetch the state of the job from another "
        "worker."),
    o.join_timeout_ms);
  f(Option::Milliseconds(
        "rebalance_interval_ms", 0, 30 * kDayMs,
        "Shortest time between two changes of the number of workers of a job. Jobs share "
        "the workers beyond their minimum evenly. After this time a waiting job that is "
        "below its minimum gets the workers of younger jobs, which keep their state and "
        "are queued again."),
    o.rebalance_interval_ms);
  f(Option::Milliseconds(
        "idle_limit_ms", 0, 30 * kDayMs,
        "Time without a running or waiting job after which the coordinator ends; 0: "
        "never."),
    o.idle_limit_ms);
}

template <typename F>
void DescribeLimits(F&& f, DescribedAs<CoordinatorOptions> auto& o) {
  f(Option::Count(
        "workers_max", 1, 10'000,
        "Most workers that are attached at a time. Others try again until there is a place. "
        "With `tls`, the workers of one certificate get at most half of the places, or 8 if "
        "that is more."),
    o.workers_max);
  f(Option::Text(
        "arithmetic",
        "Arithmetic id that workers must have, as `espalier version` shows it. A worker with "
        "another one tries again until it has this one. Default: that of the first worker.",
        256),
    o.arithmetic);
  f(Option::Bytes(
        "survey_bytes_max", int64_t{1} << 20, kTiB,
        "Memory for the results of the first pass of all jobs. They take about 48 bytes for "
        "each column of each shard, and 100 for each value of a categorical column. A job whose "
        "columns need more is refused; a larger data.shard_bytes makes fewer shards."),
    o.survey_bytes_max);
  f(Option::Count("jobs_kept_max", 1, 1'000'000, "Number of finished jobs that are remembered."),
    o.jobs_kept_max);
  f(Option::Count("queue_max", 1, 1'000'000, "Most jobs that wait. Further jobs are refused."),
    o.queue_max);
  f(Option::Count(
        "owner_waiting_jobs_max", 0, 1'000'000,
        "Most jobs that one owner may have waiting; 0: no limit. A job belongs to the name in "
        "the certificate or token of its submitter. Without `tls`, jobs have no owners, and "
        "these quotas do not apply. They apply to admins. Further jobs are refused."),
    o.owner_waiting_jobs_max);
  f(Option::Count(
        "owner_running_jobs_max", 0, 1'000'000,
        "Most jobs that one owner may have running; 0: no limit. Further jobs wait, and jobs of "
        "other owners pass them. If a quota is lowered, running jobs continue."),
    o.owner_running_jobs_max);
  f(Option::Count("owner_workers_max", 0, 1'000'000,
                  "Most workers that the jobs of one owner use at a time; 0: no limit."),
    o.owner_workers_max);
  f(Option::Count(
        "calls_a_caller_max", 1, 1'000'000,
        "Most open calls of one caller: a person, a service, or without `tls` an address. "
        "Further calls are refused."),
    o.calls_a_caller_max);
  f(Option::Count("watchers_max", 1, 1'000'000, "Most clients that follow jobs at a time."),
    o.watchers_max);
  // Below the size of the largest message, valid messages would be refused.
  f(Option::Bytes(
        "receive_bytes_max", int64_t{128} << 20, kTiB,
        "Memory for received data of all connections. Beyond it, connections are read more "
        "slowly. An eighth of it may be answers that callers have not read, a quarter of that "
        "for one caller. Lower it if the coordinator has little memory."),
    o.receive_bytes_max);
  f(Option::Bytes(
        "worker_queue_bytes_max", int64_t{128} << 20, kTiB,
        "Most bytes that wait to be sent to one worker. Beyond it, the worker is disconnected. "
        "Raise it for jobs with very many columns."),
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
        "Address of the coordinator: host:port or unix:/PATH, or file:PATH or hdfs://... of a "
        "file that holds it. The file is read again at each connection."),
    o.coordinator);
  f(Option::Text(
        "listen",
        "Address for other workers: host:port, or unix:/PATH for programs of the same user on "
        "this machine. Port 0 selects a free port."),
    o.listen);
  f(Option::Text("advertise", kAdvertiseDoc), o.advertise);
  f(Option::Text(
        "name",
        "Name of the worker in lists and messages. Default: host:pid; with `tls`, the name in the "
        "certificate and pid.",
        128),
    o.name);
}

template <typename F>
void DescribeResources(F&& f, DescribedAs<WorkerOptions> auto& o) {
  f(Option::Count("threads", 0, 1024, "Number of compute threads; 0: one for each core."),
    o.threads);
  f(Option::Bytes(
        "memory_bytes_max", 0, int64_t{1} << 50,
        "Memory for the model and the rows of a job; 0: half of the memory of the machine. The "
        "first 64 MiB of a model do not count. A job whose model exceeds the limit fails."),
    o.memory_bytes_max);
  f(Option::Text(
        "spool_directory",
        "Directory for mapped files with the rows beyond memory_bytes_max. The files have no "
        "names and end with the worker. Default: TMPDIR, then /tmp."),
    o.spool_directory);
  f(Option::Bytes("spool_bytes_max", 0, int64_t{1} << 50, "Most bytes of those files."),
    o.spool_bytes_max);
  f(Option::Bytes(
        "cache_bytes_max", 0, int64_t{1} << 50,
        "Most bytes in spool_directory of files from HDFS that jobs with `workers: "
        "{cache_input: true}` have read; 0: no cache. Parsed rows are cached in memory, up to "
        "this limit and half of memory_bytes_max. Entries that are not read for ten minutes are "
        "removed."),
    o.cache_bytes_max);
}

template <typename F>
void DescribeTimes(F&& f, DescribedAs<WorkerOptions> auto& o) {
  f(Option::Milliseconds(
        "coordinator_timeout_ms", 100, kDayMs,
        "Time without a coordinator after which the worker ends. A running training is "
        "finished first. The state of a training that cannot continue is written as a "
        "checkpoint first."),
    o.coordinator_timeout_ms);
  f(Option::Milliseconds(
        "keep_timeout_ms", 1000, kDayMs,
        "Time limit for writing the state of a job as a checkpoint, before the job is given up."),
    o.keep_timeout_ms);
  f(Option::Milliseconds(
        "leave_timeout_ms", 0, kDayMs,
        "Time for which a worker continues after SIGTERM, until its job can continue "
        "without it."),
    o.leave_timeout_ms);
  f(Option::Milliseconds(
        "peer_timeout_ms", 100, 3'600'000,
        "Silence of another worker of the job after which the link to it counts as "
        "broken."),
    o.peer_timeout_ms);
  f(Option::Milliseconds(
        "sum_timeout_ms", 1000, 30 * kDayMs,
        "Time for which a step waits for the sums of the other workers. Then the job "
        "fails and names them. Raise step_timeout_ms of the coordinator as well."),
    o.sum_timeout_ms);
}

template <typename F>
void Describe(F&& f, DescribedAs<WorkerOptions> auto& o) {
  DescribeNames(f, o);
  DescribeResources(f, o);
  DescribeTimes(f, o);
  DescribeTls(f, o.tls);
  f(Option::Text(
        "tls.server_name",
        "Host that the certificate of the coordinator must name, for a coordinator that may run "
        "on any host. Default: the host in `coordinator`.",
        253),
    o.tls.server_name);
  f(Option::Switch("insecure", kInsecureDoc), o.insecure);
  f(Option::Text(
        "kernel",
        "Kernel of OpenBLAS. Kernels differ in the last bits, so all workers of a job need the "
        "same one.",
        64),
    o.kernel);
  f(Option::Text("log_level", "Log level: debug, info, warning, error or off."), o.log_level);
  DescribeHadoop(f, o);
}

// ---- files -----------------------------------------------------------------------------------

// Parse and Validate. An empty text gives all defaults. Errors carry file, line and column like
// those of ParseJob.
Result<CoordinatorOptions> ParseCoordinatorOptions(std::string_view yaml_text,
                                                   std::string_view name_for_messages);
Result<WorkerOptions> ParseWorkerOptions(std::string_view yaml_text,
                                         std::string_view name_for_messages);

// A configuration file with these values and the meaning of each option as a comment.
std::string ConfigurationText(const CoordinatorOptions& options);
std::string ConfigurationText(const WorkerOptions& options);

}  // namespace espalier
