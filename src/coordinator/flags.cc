#include "src/coordinator/flags.h"

#include <CLI/CLI.hpp>
#include <cstdint>

#include "src/base/build_info.h"
#include "src/config/yaml_tree.h"
#include "src/storage/file_system.h"

namespace espalier {
namespace {

// Flags that were given; the rest is the file's or the default.
struct Given {
  std::string config;
  std::optional<std::string> listen, advertise, address_file, state_directory, log_level;
  std::optional<std::string> hadoop_conf_dir, hadoop_user, hadoop_ca;
  std::optional<std::string> tls_ca, tls_certificate, tls_key, tokens;
  std::optional<std::string> heartbeat_interval_ms, liveness_limit_ms, start_timeout_ms,
      below_min_timeout_ms, keep_timeout_ms, join_timeout_ms, rebalance_interval_ms,
      survey_timeout_ms, step_timeout_ms, idle_limit_ms, survey_bytes_max, receive_bytes_max,
      worker_queue_bytes_max;  // with units, as in the file
  std::optional<int64_t> workers_max, jobs_kept_max, queue_max, calls_a_caller_max, watchers_max,
      owner_waiting_jobs_max, owner_running_jobs_max, owner_workers_max;
  bool insecure = false;
};

template <typename T>
void Override(const std::optional<T>& given, T& option) {
  if (given) option = *given;
}

void Declare(CLI::App& app, Given& given, CoordinatorFlags& flags) {
  app.add_option("--config", given.config, "YAML file with the options below")->type_name("FILE");
  app.add_option("--listen", given.listen,
                 "host:port for workers and clients; port 0: any; or unix:/PATH");
  app.add_option("--address-file", given.address_file,
                 "file to write the address to, also on hdfs://");
  app.add_option("--advertise", given.advertise, "host or host:port told to others");
  app.add_option("--state-directory", given.state_directory, "what must outlive a restart");
  app.add_option("--heartbeat-interval-ms", given.heartbeat_interval_ms,
                 "of workers; this and the like: milliseconds, or a time such as 30s");
  app.add_option("--liveness-limit-ms", given.liveness_limit_ms,
                 "a worker silent for so long is dead");
  app.add_option("--rebalance-interval-ms", given.rebalance_interval_ms,
                 "surplus workers of a job change at most so often");
  app.add_option("--below-min-timeout-ms", given.below_min_timeout_ms,
                 "wait of a job that lost workers for its minimum");
  app.add_option("--keep-timeout-ms", given.keep_timeout_ms,
                 "writing the state of a job that is to be given up");
  app.add_option("--join-timeout-ms", given.join_timeout_ms,
                 "of a worker that joins, to fetch the job's state");
  app.add_option("--start-timeout-ms", given.start_timeout_ms, "until all members are ready");
  app.add_option("--survey-timeout-ms", given.survey_timeout_ms, "of a survey without progress");
  app.add_option("--step-timeout-ms", given.step_timeout_ms, "of a training without progress");
  app.add_option("--idle-limit-ms", given.idle_limit_ms,
                 "end after so long without a job to run; 0: never");
  app.add_option("--workers-max", given.workers_max, "workers that may be attached");
  app.add_option("--survey-bytes-max", given.survey_bytes_max,
                 "memory for the statistics of surveys under way: bytes, or a size such as 2GiB");
  app.add_option("--jobs-kept-max", given.jobs_kept_max, "finished jobs remembered");
  app.add_option("--queue-max", given.queue_max, "jobs that may wait");
  app.add_option("--owner-waiting-jobs-max", given.owner_waiting_jobs_max,
                 "jobs that one owner may have waiting; 0: no limit");
  app.add_option("--owner-running-jobs-max", given.owner_running_jobs_max,
                 "jobs that one owner may have running; 0: no limit");
  app.add_option("--owner-workers-max", given.owner_workers_max,
                 "workers that one owner's jobs use at a time; 0: no limit");
  app.add_option("--calls-a-caller-max", given.calls_a_caller_max,
                 "calls that one caller may have open");
  app.add_option("--watchers-max", given.watchers_max, "clients that may follow jobs");
  app.add_option("--receive-bytes-max", given.receive_bytes_max,
                 "memory for what all connections read");
  app.add_option("--worker-queue-bytes-max", given.worker_queue_bytes_max,
                 "that may wait for one worker");
  app.add_option("--hadoop-conf-dir", given.hadoop_conf_dir,
                 "with core-site.xml and hdfs-site.xml; else HADOOP_CONF_DIR");
  app.add_option("--hadoop-user", given.hadoop_user, "to HDFS; else HADOOP_USER_NAME, then USER");
  app.add_option("--hadoop-ca", given.hadoop_ca,
                 "PEM file: who signs certificates of HDFS over HTTPS; else ESPALIER_HADOOP_CA");
  app.add_option("--log-level", given.log_level, "debug, info, warning, error or off");
  app.add_option("--tls-ca", given.tls_ca, "PEM file: the authorities that are believed");
  app.add_option("--tls-certificate", given.tls_certificate, "PEM file: this coordinator's");
  app.add_option("--tls-key", given.tls_key, "PEM file: its key");
  app.add_option("--tokens", given.tokens, "file of bearer tokens: lines of role, name, token");
  app.add_flag("--insecure", given.insecure,
               "allow to listen beyond loopback, without encryption and authentication");
  app.add_option("--ready-fd", flags.ready_fd,
                 "descriptor to write the address in use to, once listening");
  app.add_flag("--exit-with-parent", flags.exit_with_parent, "end when the parent process does");
}

Status Apply(const Given& given, CoordinatorOptions& options) {
  if (!given.config.empty()) {
    ESPALIER_ASSIGN_OR_RETURN(auto files, FileSystemFor(given.config));
    ESPALIER_ASSIGN_OR_RETURN(const std::string text, files->ReadAll(given.config, kYamlBytesMax));
    ESPALIER_ASSIGN_OR_RETURN(options, ParseCoordinatorOptions(text, given.config));
  }
  Override(given.listen, options.listen);
  Override(given.advertise, options.advertise);
  Override(given.address_file, options.address_file);
  Override(given.state_directory, options.state_directory);
  Override(given.tls_ca, options.tls.ca);
  Override(given.tls_certificate, options.tls.certificate);
  Override(given.tls_key, options.tls.key);
  Override(given.tokens, options.tokens);
  ESPALIER_RETURN_IF_ERROR(OverrideMilliseconds(
      given.heartbeat_interval_ms, "--heartbeat-interval-ms", options.heartbeat_interval_ms));
  ESPALIER_RETURN_IF_ERROR(OverrideMilliseconds(given.liveness_limit_ms, "--liveness-limit-ms",
                                                options.liveness_limit_ms));
  ESPALIER_RETURN_IF_ERROR(
      OverrideMilliseconds(given.start_timeout_ms, "--start-timeout-ms", options.start_timeout_ms));
  ESPALIER_RETURN_IF_ERROR(OverrideMilliseconds(
      given.below_min_timeout_ms, "--below-min-timeout-ms", options.below_min_timeout_ms));
  ESPALIER_RETURN_IF_ERROR(
      OverrideMilliseconds(given.keep_timeout_ms, "--keep-timeout-ms", options.keep_timeout_ms));
  ESPALIER_RETURN_IF_ERROR(
      OverrideMilliseconds(given.join_timeout_ms, "--join-timeout-ms", options.join_timeout_ms));
  ESPALIER_RETURN_IF_ERROR(OverrideMilliseconds(
      given.rebalance_interval_ms, "--rebalance-interval-ms", options.rebalance_interval_ms));
  ESPALIER_RETURN_IF_ERROR(OverrideMilliseconds(given.survey_timeout_ms, "--survey-timeout-ms",
                                                options.survey_timeout_ms));
  ESPALIER_RETURN_IF_ERROR(
      OverrideMilliseconds(given.step_timeout_ms, "--step-timeout-ms", options.step_timeout_ms));
  ESPALIER_RETURN_IF_ERROR(
      OverrideMilliseconds(given.idle_limit_ms, "--idle-limit-ms", options.idle_limit_ms));
  Override(given.workers_max, options.workers_max);
  ESPALIER_RETURN_IF_ERROR(
      OverrideBytes(given.survey_bytes_max, "--survey-bytes-max", options.survey_bytes_max));
  Override(given.jobs_kept_max, options.jobs_kept_max);
  Override(given.queue_max, options.queue_max);
  Override(given.owner_waiting_jobs_max, options.owner_waiting_jobs_max);
  Override(given.owner_running_jobs_max, options.owner_running_jobs_max);
  Override(given.owner_workers_max, options.owner_workers_max);
  Override(given.calls_a_caller_max, options.calls_a_caller_max);
  Override(given.watchers_max, options.watchers_max);
  ESPALIER_RETURN_IF_ERROR(
      OverrideBytes(given.receive_bytes_max, "--receive-bytes-max", options.receive_bytes_max));
  ESPALIER_RETURN_IF_ERROR(OverrideBytes(given.worker_queue_bytes_max, "--worker-queue-bytes-max",
                                         options.worker_queue_bytes_max));
  Override(given.hadoop_conf_dir, options.hadoop_conf_dir);
  Override(given.hadoop_user, options.hadoop_user);
  Override(given.hadoop_ca, options.hadoop_ca);
  if (given.log_level) {
    ESPALIER_ASSIGN_OR_RETURN(options.log_level, ParseLogLevel(*given.log_level));
  }
  options.insecure = options.insecure || given.insecure;
  return options.Validate();
}

}  // namespace

Result<CoordinatorFlags> ParseCoordinatorFlags(int argc, const char* const* argv) {
  CoordinatorFlags flags;
  Given given;
  CLI::App app("espalier-coordinator: brings workers together and runs jobs on them");
  app.set_version_flag("--version", VersionText("espalier-coordinator", ""));
  Declare(app, given, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    flags.answer = app.help();
    return flags;
  } catch (const CLI::CallForVersion&) {
    flags.answer = app.version();
    return flags;
  } catch (const CLI::Error& error) {
    return InvalidArgument(std::string(error.what()) + "; --help lists the flags");
  }
  ESPALIER_RETURN_IF_ERROR(Apply(given, flags.options));
  return flags;
}

}  // namespace espalier
