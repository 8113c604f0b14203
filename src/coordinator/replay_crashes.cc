#include "src/coordinator/replay_crashes.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <iterator>
#include <sstream>
#include <string_view>

#include "src/base/log.h"
#include "src/base/version.h"
#include "src/storage/uri.h"

namespace espalier::coordinator {
namespace {

constexpr int kSignals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
constexpr int64_t kFileBytesMax = int64_t{1} << 20;
constexpr unsigned kRemoteLimitSeconds = 60;  // for the child

// Data of the handler, written before it is installed.
const ReplayCrashes* watcher = nullptr;
std::array<struct sigaction, std::size(kSignals)> previous;
stack_t previous_stack;
alignas(16) char handler_stack[64 << 10];  // for a crash by stack overflow
pid_t thread = 0, child = 0;               // child: 0, the file is local
int out = -1;                              // the file, or the pipe to the child
std::string_view line_start;
std::atomic<uint64_t> replayed_job{0};
std::atomic<bool> replayed_end{false};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// Appends the line of this crash. It makes only calls that are safe in a signal handler.
void WriteLine(uint64_t job) {
  char line[128];
  memcpy(line, line_start.data(), line_start.size());
  char* end = std::to_chars(line + line_start.size(), line + sizeof line, job).ptr;
  if (replayed_end) {
    memcpy(end, " end", 4);
    end += 4;
  }
  *end++ = '\n';
  if (write(out, line, static_cast<size_t>(end - line)) < 0) return;
  fsync(out);
  if (child == 0) return;
  close(out);
  waitpid(child, nullptr, 0);
}

void OnCrash(int signal, siginfo_t* info, void*) {
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    if (kSignals[i] == signal) sigaction(signal, &previous[i], nullptr);
  }
  const bool sent = info->si_code <= 0;  // not caused by an instruction, so it would not recur
  const bool own = !sent || info->si_pid == getpid();
  const uint64_t job = replayed_job;
  if (job != 0 && own && gettid() == thread) WriteLine(job);
  replayed_job = 0;  // in a container, process 1 may survive the first signal of abort()
  if (sent) raise(signal);
}

// Starts the child that appends a line to a remote file. Returns a pipe to it, or -1.
int StartWriter(const std::string& path, const storage::FileSystem& files) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  child = fork();
  if (child != 0) {
    close(ends[0]);
    if (child > 0) return ends[1];
    close(ends[1]);
    child = 0;
    return -1;
  }
  close(ends[1]);
  char line[128];
  const ssize_t size = read(ends[0], line, sizeof line);
  if (size <= 0) _exit(0);  // the replay is over
  alarm(kRemoteLimitSeconds);
  Result<std::string> lines = files.ReadAll(path, kFileBytesMax);
  if (lines.status().code() == StatusCode::kNotFound) lines = std::string();
  const bool written =
      lines.ok() &&
      files.WriteAtomically(path, lines->append(line, static_cast<size_t>(size))).ok();
  _exit(written ? 0 : 1);
}

}  // namespace

ReplayCrashes::ReplayCrashes(const std::string& directory,
                             std::shared_ptr<const storage::FileSystem> files)
    : path_(directory + "/replay-crashes"), files_(std::move(files)) {
  const bool first = watcher == nullptr;
  const Result<storage::Uri> uri = storage::ParseUri(path_);
  const bool local = uri.ok() && uri->kind == storage::Uri::Kind::kLocal;
  if (first && !local) out = StartWriter(path_, *files_);
  if (Status s = files_->MakeDirectory(directory); !s.ok()) LogWarning(s.ToString());
  Read();
  if (!first) return;
  if (local) out = open(uri->path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (out < 0) {
    LogWarning("a crash during this start does not count: " + path_ +
               " cannot be written: " + std::strerror(errno));
    return;
  }
  Watch();
}

ReplayCrashes::~ReplayCrashes() { Unwatch(); }

void ReplayCrashes::Read() {
  const Result<std::string> lines = files_->ReadAll(path_, kFileBytesMax);
  if (!lines.ok()) {
    const bool none = lines.status().code() == StatusCode::kNotFound;
    if (!none) LogWarning("earlier crashes do not count: " + lines.status().ToString());
    return;
  }
  std::istringstream in(*lines);
  // A line without an end is torn, so its number may be that of another job.
  for (std::string line; std::getline(in, line) && !in.eof();) {
    std::istringstream words(line);
    std::string version, job, end;
    words >> version >> job >> end;
    uint64_t number = 0;
    if (version != kVersion || !job.starts_with("job-")) continue;
    const char* last = job.data() + job.size();
    const auto parsed = std::from_chars(job.data() + 4, last, number);
    if (parsed.ec != std::errc() || parsed.ptr != last || number == 0) continue;
    Past& past = past_[{number}];
    ++past.times;
    past.at_end = past.at_end || end == "end";
  }
}

void ReplayCrashes::Watch() {
  static const std::string start = std::string(kVersion) + " job-";
  line_start = start;
  watcher = this;
  thread = gettid();
  At({}, false);
  const stack_t stack = {.ss_sp = handler_stack, .ss_flags = 0, .ss_size = sizeof handler_stack};
  sigaltstack(&stack, &previous_stack);
  struct sigaction handler = {};
  handler.sa_sigaction = OnCrash;
  handler.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&handler.sa_mask);
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &handler, &previous[i]);
}

void ReplayCrashes::Unwatch() {
  if (watcher != this) return;
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &previous[i], nullptr);
  sigaltstack(&previous_stack, nullptr);
  close(std::exchange(out, -1));
  if (child != 0) waitpid(std::exchange(child, 0), nullptr, 0);
  watcher = nullptr;
}

ReplayCrashes::Past ReplayCrashes::Of(JobId job) const {
  const auto found = past_.find(job);
  return found == past_.end() ? Past() : found->second;
}

void ReplayCrashes::At(JobId job, bool ends) {
  if (watcher != this) return;
  replayed_end = ends;
  replayed_job = job.value;
}

void ReplayCrashes::Clear() {
  Unwatch();
  const Status gone = files_->Delete(path_);
  if (gone.ok() || gone.code() == StatusCode::kNotFound) return;
  LogWarning("the next start counts earlier crashes again: " + gone.ToString());
}

}  // namespace espalier::coordinator
