// The options of the two daemons: what their YAML files may say. config/coordinator.yaml and
// config/worker.yaml explain each key. Defaults stand here and nowhere else; flags of the same
// names (with - for _) override the file, then the daemon calls Validate again.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/log.h"
#include "src/base/status.h"
#include "src/security/keychain.h"
#include "src/security/roles.h"

namespace espalier {

struct CoordinatorOptions {
  std::string listen = "127.0.0.1:7700";  // port 0: any free one, told through address_file
  std::string advertise;                  // host or host:port told to others; "": as listened
  std::string address_file;               // written with the address told; a path or URI; "": none
  // For what outlives a restart: a local path, or a URI of a directory that several hosts reach.
  std::string state_directory;  // "": nothing is kept
  TlsFiles tls;                 // none: plain text, nobody says who they are
  std::string tokens;           // file of security/tokens.h, needs tls; "": none
  std::vector<RoleRule> roles;  // for certificates that do not say their role
  bool insecure = false;        // allows to listen beyond loopback without tls
  int64_t heartbeat_interval_ms = 1000;
  int64_t liveness_limit_ms = 5000;  // a worker silent for so long is dead
  int64_t start_timeout_ms =
      300'000;  // a job from its start to its workers' readiness, survey apart
  int64_t survey_timeout_ms = 3'600'000;   // a survey without progress is given up after this
  int64_t step_timeout_ms = 1'800'000;     // a training without a step or an evaluation's progress
  int64_t below_min_timeout_ms = 300'000;  // a job with fewer than workers.min left waits so long
  int64_t keep_timeout_ms = 120'000;       // writing the state of a job that is to be given up
  int64_t join_timeout_ms = 60'000;        // a worker that joins fetches the state for so long
  int64_t rebalance_interval_ms = 60'000;  // a job's surplus workers change at most so often
  int64_t idle_limit_ms = 0;               // ends after so long without a job to run; 0: never
  int64_t workers_max = 1000;              // attached at a time; further ones are refused
  std::string arithmetic;                  // arithmetic id of the workers; "": the first one's
  // Of the statistics that surveys under way have sent; bounds shards times columns of a job.
  int64_t survey_bytes_max = int64_t{2} << 30;
  int64_t jobs_kept_max = 1000;  // finished jobs remembered
  int64_t queue_max = 10'000;    // jobs waiting; further ones are refused
  // Quotas of each owner of jobs; 0: no limit. Without tls jobs have no owners.
  int64_t owner_waiting_jobs_max = 1000;
  int64_t owner_running_jobs_max = 0;
  int64_t owner_workers_max = 0;      // that its jobs use at a time
  int64_t calls_a_caller_max = 1000;  // calls of one person, service or address open at a time
  int64_t watchers_max = 10'000;      // clients that follow jobs at a time
  int64_t receive_bytes_max = int64_t{2} << 30;         // for what all connections read
  int64_t worker_queue_bytes_max = int64_t{256} << 20;  // that wait for a worker that reads slowly
  std::string hadoop_conf_dir;  // with core-site.xml and hdfs-site.xml; "": as the environment says
  std::string hadoop_user;      // to HDFS without Kerberos; "": as the environment says
  std::string hadoop_ca;        // PEM file that HDFS over HTTPS is believed by; "": the same
  std::string hadoop_token_file;     // only as the environment says: HADOOP_TOKEN_FILE_LOCATION
  std::vector<std::string> secrets;  // the same: files of what proves who the daemon is
  LogLevel log_level = LogLevel::kInfo;
  bool operator==(const CoordinatorOptions&) const = default;

  // Names the first field that is out of its range ("liveness_limit_ms: found ..."); reads only.
  Status Validate() const;
};

struct WorkerOptions {
  // host:port, or file:PATH or hdfs://... of a file that holds it
  std::string coordinator = "127.0.0.1:7700";
  std::string listen = "127.0.0.1:0";  // for other workers; port 0: any free one
  std::string advertise;               // host or host:port told to others; "": as listened
  // For people; "": host:pid, with tls the certificate's name:pid.
  std::string name;
  int threads = 0;               // that compute; 0: one a core
  int64_t memory_bytes_max = 0;  // for model and rows; 0: half of the machine's memory
  std::string spool_directory;   // rows beyond that; "": TMPDIR, or /tmp
  int64_t spool_bytes_max = int64_t{64} << 30;
  int64_t cache_bytes_max = int64_t{16} << 30;  // of what jobs with workers.cache_input read
  int64_t coordinator_timeout_ms = 600'000;     // gives up when no coordinator answered for so long
  int64_t keep_timeout_ms = 120'000;  // then: writing the state of a job that stands still
  int64_t leave_timeout_ms = 30'000;  // SIGTERM: how long the job may take to do without it
  int64_t sum_timeout_ms = 600'000;   // a step waits so long for the sums of the others
  int64_t peer_timeout_ms = 5000;     // another worker of the job silent for so long: an error
  TlsFiles tls;                       // none: plain text, nobody says who they are
  bool insecure = false;              // allows to listen beyond loopback without tls
  std::string kernel = "Haswell";     // of OpenBLAS; must be the same on all workers of a job
  std::string hadoop_conf_dir;  // with core-site.xml and hdfs-site.xml; "": as the environment says
  std::string hadoop_user;      // to HDFS without Kerberos; "": as the environment says
  std::string hadoop_ca;        // PEM file that HDFS over HTTPS is believed by; "": the same
  std::string hadoop_token_file;     // only as the environment says: HADOOP_TOKEN_FILE_LOCATION
  std::vector<std::string> secrets;  // the same: files of what proves who the daemon is
  LogLevel log_level = LogLevel::kInfo;
  bool operator==(const WorkerOptions&) const = default;

  Status Validate() const;
};

// Parse and Validate. An empty text gives all defaults. Errors carry file, line and
// column like those of ParseJob.
Result<CoordinatorOptions> ParseCoordinatorOptions(std::string_view yaml_text,
                                                   std::string_view name_for_messages);
Result<WorkerOptions> ParseWorkerOptions(std::string_view yaml_text,
                                         std::string_view name_for_messages);

// For flags: sets `option` from the text given for the flag of its name, if any, which may be what
// the file may say: bytes or "8GiB"; milliseconds or "5 min".
Status OverrideBytes(const std::optional<std::string>& given, const std::string& flag,
                     int64_t& option);
Status OverrideMilliseconds(const std::optional<std::string>& given, const std::string& flag,
                            int64_t& option);

// "debug", "info", "warning", "error", "off": for the daemons' flags.
Result<LogLevel> ParseLogLevel(std::string_view text);

}  // namespace espalier
