#include "src/coordinator/program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/base/program_path.h"
#include "src/base/service_manager.h"
#include "src/coordinator/daemon.h"
#include "src/coordinator/flags.h"
#include "src/coordinator/open_journal.h"
#include "src/storage/file_systems.h"

namespace espalier::coordinator {
namespace {

constexpr int kFailed = 1, kBadUsage = 2;

int Complain(const Status& status) {
  std::fprintf(stderr, "espalier-coordinator: %s\n", status.ToString().c_str());
  const bool usage =
      status.code() == StatusCode::kInvalidArgument ||
      status.code() == StatusCode::kAlreadyExists || status.code() == StatusCode::kNotFound ||
      status.code() == StatusCode::kPermissionDenied || status.code() == StatusCode::kUnimplemented;
  return usage ? kBadUsage : kFailed;
}

// Makes this process end with its parent. Returns false if the parent has died already.
bool TieToParent(pid_t parent) {
  return prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent;
}

// Runs before any file is opened, because an unused number could become a socket later.
Status CheckReadyFd(int fd) {
  if (fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) return Status::Ok();
  return InvalidArgument("--ready-fd: " + std::to_string(fd) + " is not an open descriptor");
}

Status TellReady(int fd, const std::string& address) {
  if (fd < 0) return Status::Ok();
  const std::string line = address + "\n";
  const ssize_t written = write(fd, line.data(), line.size());
  const int error = errno;
  close(fd);
  if (written == static_cast<ssize_t>(line.size())) return Status::Ok();
  return Unavailable("--ready-fd " + std::to_string(fd) +
                     " cannot be written: " + std::strerror(error));
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int64_t NowUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Deletes the address file if it still has this coordinator's address.
void RemoveAddressFile(const storage::FileSystem& files, const std::string& path,
                       const std::string& address) {
  const Result<std::string> text = files.ReadAll(path, 1024);
  if (!text.ok() || *text != address + "\n") return;
  if (Status s = files.Delete(path); !s.ok()) LogWarning(s.ToString());
}

// Reads the command line, the file that it names, and the environment for unset options.
Result<CoordinatorFlags> ReadFlags(int argc, char** argv) {
  ESPALIER_ASSIGN_OR_RETURN(CoordinatorFlags flags, ParseCoordinatorFlags(argc, argv));
  const storage::HadoopEnvironment hadoop = storage::ReadHadoopEnvironment(Variable);
  config::CoordinatorOptions& options = flags.options;
  if (options.hadoop_conf_dir.empty()) options.hadoop_conf_dir = hadoop.conf_dir;
  if (options.hadoop_user.empty()) options.hadoop_user = hadoop.user;
  if (options.hadoop_ca.empty()) options.hadoop_ca = hadoop.ca;
  options.hadoop_token_file = hadoop.token_file;
  options.secrets = hadoop.secrets;
  return flags;
}

Status Serve(const CoordinatorFlags& flags, CoordinatorDaemon& daemon,
             const CoordinatorDaemon::Reread& reread) {
  const ServiceEnvironment service = ReadServiceEnvironment(Variable);
  const std::string address = daemon.address(), path = flags.options.address_file;
  if (path.empty()) {
    ESPALIER_RETURN_IF_ERROR(TellReady(flags.ready_fd, address));
    return daemon.Run(service, reread);
  }
  const auto files = storage::MakeFileSystem(StorageOf(flags.options));
  if (Status s = files->WriteAtomically(path, address + "\n"); !s.ok()) {
    return s.Wrap("address_file");
  }
  Status end = TellReady(flags.ready_fd, address);
  if (end.ok()) end = daemon.Run(service, reread);
  RemoveAddressFile(*files, path, address);
  return end;
}

}  // namespace

int CoordinatorMain(int argc, char** argv, const JournalWrap& wrap) {
  const pid_t parent = getppid();
  ShowProgramName(argv[0]);
  const auto flags = ReadFlags(argc, argv);
  if (!flags.ok()) return Complain(flags.status());
  const config::CoordinatorOptions& options = flags->options;
  if (flags->answer) {
    std::fputs(flags->answer->c_str(), stdout);
    return 0;
  }
  if (Status s = CheckReadyFd(flags->ready_fd); !s.ok()) return Complain(s);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding a file size limit is then an error of the call
  OpenLog("espalier-coordinator", options.log_level, Variable("JOURNAL_STREAM"));
  for (const std::string& note : flags->notes) LogWarning(note);
  if (Status s = CoordinatorDaemon::Check(options); !s.ok()) return Complain(s);
  auto journal = CatchOutOfMemory(
      [&] { return OpenJournal(options.state_directory, StorageOf(options), NowUs()); });
  if (!journal.ok()) return Complain(journal.status());
  if (wrap) wrap(*journal);
  // A failed allocation is not a crash at a job (replay_crashes.h).
  auto daemon =
      CatchOutOfMemory([&] { return CoordinatorDaemon::Make(options, *std::move(journal)); });
  if (!daemon.ok()) return Complain(daemon.status());
  if (flags->exit_with_parent && !TieToParent(parent)) {
    return Complain(Cancelled("the parent process has ended"));
  }
  const Status end = Serve(*flags, **daemon, [=]() -> Result<config::CoordinatorOptions> {
    ESPALIER_ASSIGN_OR_RETURN(const CoordinatorFlags again, ReadFlags(argc, argv));
    return again.options;
  });
  const int code = end.ok() ? 0 : Complain(end);
  LogInfo("ended");
  // Exits without destructors, because a file system call that hangs would block them.
  if ((*daemon)->busy()) std::_Exit(code);
  return code;
}

}  // namespace espalier::coordinator
