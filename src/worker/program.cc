// Reads the options, makes the process use the right BLAS kernel, and runs the daemon.
#include "src/worker/program.h"

#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <thread>

#include "src/base/build_info.h"
#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/base/program_path.h"
#include "src/config/command_line.h"
#include "src/config/daemon_flags.h"
#include "src/model/arithmetic.h"
#include "src/storage/file_systems.h"
#include "src/worker/daemon.h"

namespace espalier::worker {
namespace {

// EX_NOPERM of sysexits.h: a restart does not help (RestartPreventExitStatus of the service).
constexpr int kNotBelieved = 77;

struct Flags {
  config::DaemonFlags options;
  bool exit_with_parent = false;
  bool version = false;
};

// Restarts the program unless the environment requests this kernel and no OpenBLAS threads.
// OpenBLAS chooses its kernel and starts its threads when it is loaded. (The worker's own threads
// are over leaves and chunks.) The command line stays the same.
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
  return model::VerifyKernel(kernel);
}

Status EndWithParent() {
  const pid_t parent = getppid();
  if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) return Internal("cannot watch the parent process");
  return getppid() == parent ? Status() : Cancelled("the parent process is gone");
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void FillDefaults(config::WorkerOptions& o) {
  const int cores = std::max(1u, std::thread::hardware_concurrency());
  if (o.threads == 0) o.threads = cores;
  if (o.memory_bytes_max == 0) {
    o.memory_bytes_max = PhysicalMemoryBytes() / 2;
  }
  if (o.spill_directory.empty()) {
    const std::string tmp = Variable("TMPDIR");
    o.spill_directory = tmp.empty() ? "/tmp" : tmp;
  }
  const storage::HadoopEnvironment hadoop = storage::ReadHadoopEnvironment(Variable);
  if (o.hadoop_conf_dir.empty()) o.hadoop_conf_dir = hadoop.conf_dir;
  if (o.hadoop_user.empty()) o.hadoop_user = hadoop.user;
  if (o.hadoop_ca.empty()) o.hadoop_ca = hadoop.ca;
  o.hadoop_token_file = hadoop.token_file;
  o.secrets = hadoop.secrets;
}

// Keeps freed memory in the process, because every step allocates and frees gradient buffers.
void TuneMalloc() {
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
}

int Fail(const Status& error, int code) {
  std::cerr << "espalier-worker: " << error.ToString() << "\n";
  return code;
}

// Returns the options, or nothing if `answer` has the output of --help or --print-config.
Result<std::optional<config::WorkerOptions>> ReadCommandLine(int argc, char** argv, Flags& flags,
                                                             std::string& answer) {
  CLI::App app("espalier-worker: computes gradients of training jobs for a coordinator",
               "espalier-worker");
  config::AddDaemonFlags<config::WorkerOptions>(app, flags.options);
  app.add_flag("--exit-with-parent", flags.exit_with_parent, "Exit when the parent process exits");
  app.add_flag("--version", flags.version,
               "Print version, arithmetic id and how it was built, then exit");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    answer = app.help();
    return std::optional<config::WorkerOptions>();
  } catch (const CLI::Error& error) {
    return config::CommandLineError(app, error);
  }
  ESPALIER_ASSIGN_OR_RETURN(config::WorkerOptions o,
                            config::OptionsFrom<config::WorkerOptions>(flags.options));
  if (flags.options.print_config) {
    ESPALIER_RETURN_IF_ERROR(o.Validate());
    answer = config::ConfigurationText(o);
    return std::optional<config::WorkerOptions>();
  }
  FillDefaults(o);
  ESPALIER_RETURN_IF_ERROR(o.Validate());
  return std::optional(std::move(o));
}

Result<config::WorkerOptions> ReadAgain(int argc, char** argv) {
  Flags flags;
  std::string answer;
  ESPALIER_ASSIGN_OR_RETURN(const auto read, ReadCommandLine(argc, argv, flags, answer));
  return *read;  // the running program's command line does not contain --help
}

}  // namespace

bool TakeOutOfMemoryMark(const std::string& runtime_directory) {
  if (runtime_directory.empty()) return false;
  return unlink((runtime_directory + "/oom-kill").c_str()) == 0;
}

int WorkerMain(int argc, char** argv, StepProbe* probe) {
  ShowProgramName(argv[0]);
  Flags flags;
  std::string answer;
  const auto read = ReadCommandLine(argc, argv, flags, answer);
  if (!read.ok()) return Fail(read.status(), 2);
  if (!read->has_value()) {
    std::cout << answer;
    return 0;
  }
  const config::WorkerOptions& o = **read;
  if (flags.exit_with_parent) {
    if (Status s = EndWithParent(); !s.ok()) return Fail(s, 1);
  }
  if (Status s = EnsureKernel(o.kernel, argv); !s.ok()) return Fail(s, 1);
  model::InitArithmetic();
  const auto arithmetic = model::ArithmeticId();
  if (!arithmetic.ok()) return Fail(arithmetic.status(), 1);
  if (flags.version) {
    std::cout << VersionText("espalier-worker", *arithmetic);
    return 0;
  }
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding a file size limit is then an error of the call
  OpenLog(o.name.empty() ? "worker" : o.name, o.log_level, Variable("JOURNAL_STREAM"));
  for (const std::string& note : flags.options.notes) LogWarning(note);
  TuneMalloc();
  const bool out_of_memory = TakeOutOfMemoryMark(Variable("RUNTIME_DIRECTORY"));
  if (out_of_memory) LogWarning("the kernel ended the previous process because memory ran out");
  const auto [end, not_believed] =
      RunWorkerDaemon(o, {.arithmetic_id = *arithmetic,
                          .service = ReadServiceEnvironment(Variable),
                          .out_of_memory = out_of_memory,
                          .reread = [=] { return ReadAgain(argc, argv); },
                          .probe = probe});
  if (end.ok()) return 0;
  if (not_believed) return Fail(end, kNotBelieved);
  const bool usage =
      end.code() == StatusCode::kInvalidArgument || end.code() == StatusCode::kPermissionDenied ||
      end.code() == StatusCode::kFailedPrecondition || end.code() == StatusCode::kNotFound;
  return Fail(end, usage ? 2 : 1);
}

}  // namespace espalier::worker
