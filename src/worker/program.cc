// Reads options, makes sure of the BLAS kernel, runs the daemon.
#include "src/worker/program.h"

#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>

#include "src/base/build_info.h"
#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/base/program_path.h"
#include "src/config/daemon_options.h"
#include "src/model/arithmetic.h"
#include "src/storage/file_systems.h"
#include "src/worker/daemon.h"

namespace espalier {
namespace {

// EX_NOPERM of sysexits.h: starting again would not help (RestartPreventExitStatus of the service).
constexpr int kNotBelieved = 77;

struct Flags {
  std::string config, log_level;
  std::optional<std::string> memory_bytes_max, spool_bytes_max, cache_bytes_max,
      coordinator_timeout_ms, keep_timeout_ms, leave_timeout_ms, sum_timeout_ms,
      peer_timeout_ms;  // with units, as in the file
  bool exit_with_parent = false;
  bool version = false;
};

// OpenBLAS chooses its kernel and starts its threads when it is loaded: unless the environment asks
// for this kernel and for no threads (ours are over leaves and chunks), start again with one that
// does. The command line stays the same.
Status EnsureKernel(const std::string& kernel, char** argv) {
  const auto is = [](const char* variable, const std::string& value) {
    const char* present = std::getenv(variable);
    return present != nullptr && value == present;
  };
  if (!is("OPENBLAS_CORETYPE", kernel) || !is("OPENBLAS_NUM_THREADS", "1")) {
    setenv("OPENBLAS_CORETYPE", kernel.c_str(), 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    ESPALIER_ASSIGN_OR_RETURN(const std::string path, ProgramPath(argv[0]));
    execv(path.c_str(), argv);
    return Internal("cannot start again with OPENBLAS_CORETYPE=" + kernel + " in the environment");
  }
  return VerifyKernel(kernel);
}

Status EndWithParent() {
  const pid_t parent = getppid();
  if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) return Internal("cannot watch the parent process");
  return getppid() == parent ? Status() : Cancelled("the parent process is gone");
}

Result<WorkerOptions> ReadOptions(const std::string& path) {
  if (path.empty()) return WorkerOptions{};
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) return NotFound("cannot read the configuration " + path);
  return ParseWorkerOptions(text.str(), path);
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void FillDefaults(WorkerOptions& o) {
  const int cores = std::max(1u, std::thread::hardware_concurrency());
  if (o.threads == 0) o.threads = cores;
  if (o.memory_bytes_max == 0) {
    o.memory_bytes_max = PhysicalMemoryBytes() / 2;
  }
  if (o.spool_directory.empty()) {
    const std::string tmp = Variable("TMPDIR");
    o.spool_directory = tmp.empty() ? "/tmp" : tmp;
  }
  const HadoopEnvironment hadoop = ReadHadoopEnvironment(Variable);
  if (o.hadoop_conf_dir.empty()) o.hadoop_conf_dir = hadoop.conf_dir;
  if (o.hadoop_user.empty()) o.hadoop_user = hadoop.user;
  if (o.hadoop_ca.empty()) o.hadoop_ca = hadoop.ca;
  o.hadoop_token_file = hadoop.token_file;
  o.secrets = hadoop.secrets;
}

// Gradient buffers come and go with each step: keep their memory instead of giving it back.
void TuneMalloc() {
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
}

int Fail(const Status& error, int code) {
  std::cerr << "espalier-worker: " << error.ToString() << "\n";
  return code;
}

void AddFlags(CLI::App& app, Flags& flags, WorkerOptions& o) {
  app.add_option("--config", flags.config, "YAML file of options; flags override it");
  app.add_option("--coordinator", o.coordinator,
                 "host:port or unix:/PATH of the coordinator, or file:PATH or hdfs://... of a file "
                 "that holds it");
  app.add_option("--listen", o.listen,
                 "host:port for other workers; port 0: any free one; or unix:/PATH");
  app.add_option("--advertise", o.advertise, "host or host:port told to other workers");
  app.add_option("--name", o.name, "name for people; host:pid when left out");
  app.add_option("--threads", o.threads, "compute threads; 0: one a core");
  app.add_option("--memory-bytes-max", flags.memory_bytes_max,
                 "limit for model and rows, such as 8GiB (default: half of the memory)");
  app.add_option("--spool-directory", o.spool_directory, "where rows beyond that go");
  app.add_option("--spool-bytes-max", flags.spool_bytes_max,
                 "at most so much there: bytes, or a size such as 64GiB");
  app.add_option("--cache-bytes-max", flags.cache_bytes_max,
                 "there, of what jobs with workers.cache_input read: likewise");
  app.add_option("--coordinator-timeout-ms", flags.coordinator_timeout_ms,
                 "gives up without a coordinator after milliseconds, or a time such as 10min");
  app.add_option("--keep-timeout-ms", flags.keep_timeout_ms,
                 "for writing the state of a job that stands still without a coordinator");
  app.add_option("--leave-timeout-ms", flags.leave_timeout_ms,
                 "how long to take part after SIGTERM until the job can do without this worker");
  app.add_option("--sum-timeout-ms", flags.sum_timeout_ms,
                 "of a step that waits for the sums of the others");
  app.add_option("--peer-timeout-ms", flags.peer_timeout_ms,
                 "how long another worker may be silent: milliseconds, or a time such as 5s");
  app.add_option("--tls-ca", o.tls.ca, "PEM file: the authorities that are believed");
  app.add_option("--tls-certificate", o.tls.certificate, "PEM file: this worker's");
  app.add_option("--tls-key", o.tls.key, "PEM file: its key");
  app.add_option("--tls-server-name", o.tls.server_name,
                 "the host that the coordinator's certificate names; else the one dialled");
  app.add_option("--kernel", o.kernel, "OpenBLAS kernel; the same on all workers");
  app.add_option("--hadoop-conf-dir", o.hadoop_conf_dir,
                 "with core-site.xml and hdfs-site.xml; else HADOOP_CONF_DIR");
  app.add_option("--hadoop-user", o.hadoop_user, "to HDFS; else HADOOP_USER_NAME, then USER");
  app.add_option("--hadoop-ca", o.hadoop_ca,
                 "PEM file: who signs certificates of HDFS over HTTPS; else ESPALIER_HADOOP_CA");
  app.add_option("--log-level", flags.log_level, "debug, info, warning, error or off");
  app.add_flag("--insecure", o.insecure, "allow to listen beyond loopback without TLS");
  app.add_flag("--exit-with-parent", flags.exit_with_parent, "end when the parent process ends");
  app.add_flag("--version", flags.version,
               "print version, arithmetic id and how it was built, and end");
}

// What the flags say as text.
Status Apply(const Flags& flags, WorkerOptions& o) {
  ESPALIER_RETURN_IF_ERROR(
      OverrideBytes(flags.memory_bytes_max, "--memory-bytes-max", o.memory_bytes_max));
  ESPALIER_RETURN_IF_ERROR(
      OverrideBytes(flags.spool_bytes_max, "--spool-bytes-max", o.spool_bytes_max));
  ESPALIER_RETURN_IF_ERROR(
      OverrideBytes(flags.cache_bytes_max, "--cache-bytes-max", o.cache_bytes_max));
  ESPALIER_RETURN_IF_ERROR(OverrideMilliseconds(
      flags.coordinator_timeout_ms, "--coordinator-timeout-ms", o.coordinator_timeout_ms));
  ESPALIER_RETURN_IF_ERROR(
      OverrideMilliseconds(flags.keep_timeout_ms, "--keep-timeout-ms", o.keep_timeout_ms));
  ESPALIER_RETURN_IF_ERROR(
      OverrideMilliseconds(flags.leave_timeout_ms, "--leave-timeout-ms", o.leave_timeout_ms));
  ESPALIER_RETURN_IF_ERROR(
      OverrideMilliseconds(flags.sum_timeout_ms, "--sum-timeout-ms", o.sum_timeout_ms));
  ESPALIER_RETURN_IF_ERROR(
      OverrideMilliseconds(flags.peer_timeout_ms, "--peer-timeout-ms", o.peer_timeout_ms));
  if (!flags.log_level.empty()) {
    ESPALIER_ASSIGN_OR_RETURN(o.log_level, ParseLogLevel(flags.log_level));
  }
  return {};
}

// The command line and the file it names. Nothing: it only asked for help, and `help` is the
// answer.
Result<std::optional<WorkerOptions>> ReadCommandLine(int argc, char** argv, Flags& flags,
                                                     std::string& help) {
  WorkerOptions o;
  // The file comes first, so that flags override it.
  constexpr std::string_view kConfig = "--config";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == kConfig && i + 1 < argc) {
      ESPALIER_ASSIGN_OR_RETURN(o, ReadOptions(argv[i + 1]));
    } else if (word.starts_with(kConfig) && word.substr(kConfig.size()).starts_with('=')) {
      ESPALIER_ASSIGN_OR_RETURN(o, ReadOptions(std::string(word.substr(kConfig.size() + 1))));
    }
  }
  CLI::App app("espalier-worker: computes gradients of training jobs for a coordinator");
  AddFlags(app, flags, o);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    help = app.help();
    return std::optional<WorkerOptions>();
  } catch (const CLI::Error& error) {
    return InvalidArgument(std::string(error.what()) + "; --help lists the flags");
  }
  ESPALIER_RETURN_IF_ERROR(Apply(flags, o));
  FillDefaults(o);
  ESPALIER_RETURN_IF_ERROR(o.Validate());
  return std::optional(std::move(o));
}

Result<WorkerOptions> ReadAgain(int argc, char** argv) {
  Flags flags;
  std::string help;
  ESPALIER_ASSIGN_OR_RETURN(const auto read, ReadCommandLine(argc, argv, flags, help));
  return *read;  // what is running was not asked for help
}

}  // namespace

int WorkerMain(int argc, char** argv, StepProbe* probe) {
  ShowProgramName(argv[0]);
  Flags flags;
  std::string help;
  const auto read = ReadCommandLine(argc, argv, flags, help);
  if (!read.ok()) return Fail(read.status(), 2);
  if (!read->has_value()) {
    std::cout << help;
    return 0;
  }
  const WorkerOptions& o = **read;
  if (flags.exit_with_parent) {
    if (Status s = EndWithParent(); !s.ok()) return Fail(s, 1);
  }
  if (Status s = EnsureKernel(o.kernel, argv); !s.ok()) return Fail(s, 1);
  InitArithmetic();
  const auto arithmetic = ArithmeticId();
  if (!arithmetic.ok()) return Fail(arithmetic.status(), 1);
  if (flags.version) {
    std::cout << VersionText("espalier-worker", *arithmetic);
    return 0;
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is an error of the call
  OpenLog(o.name.empty() ? "worker" : o.name, o.log_level, Variable("JOURNAL_STREAM"));
  TuneMalloc();
  const auto [end, not_believed] =
      RunWorkerDaemon(o, {.arithmetic_id = *arithmetic,
                          .service = ReadServiceEnvironment(Variable),
                          .reread = [=] { return ReadAgain(argc, argv); },
                          .probe = probe});
  if (end.ok()) return 0;
  if (not_believed) return Fail(end, kNotBelieved);
  const bool usage =
      end.code() == StatusCode::kInvalidArgument || end.code() == StatusCode::kPermissionDenied ||
      end.code() == StatusCode::kFailedPrecondition || end.code() == StatusCode::kNotFound;
  return Fail(end, usage ? 2 : 1);
}

}  // namespace espalier
