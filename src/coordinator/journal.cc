#include "src/coordinator/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "src/base/text.h"
#include "src/storage/file_system.h"

namespace espalier {
namespace {

class ForgetfulJournal : public Journal {
 public:
  Status Append(const std::vector<JournalEntry>&) override { return Status::Ok(); }
};

Result<uint64_t> ParseIncarnation(const std::string& text, const std::string& path) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && text.substr(end - text.data()) == "\n") return number;
  return DataLoss(path + " holds '" + Printable(text) +
                  "', expected a number and a line break; if no worker is running, delete it");
}

}  // namespace

std::unique_ptr<Journal> MakeForgetfulJournal() { return std::make_unique<ForgetfulJournal>(); }

Result<Incarnation> NextIncarnation(const std::string& state_directory, int64_t now_us) {
  uint64_t number = static_cast<uint64_t>(std::max<int64_t>(1, now_us));
  if (state_directory.empty()) return Incarnation{number};
  const std::string path = state_directory + "/incarnation";
  ESPALIER_ASSIGN_OR_RETURN(const auto files, FileSystemFor(path));
  const Result<std::string> text = files->ReadAll(path, 64);
  if (text.ok()) {
    ESPALIER_ASSIGN_OR_RETURN(const uint64_t last, ParseIncarnation(*text, path));
    number = std::max(number, last + 1);
  } else if (text.status().code() != StatusCode::kNotFound) {
    return text.status();
  }
  ESPALIER_RETURN_IF_ERROR(files->WriteAtomically(path, std::to_string(number) + "\n"));
  return Incarnation{number};
}

Result<std::unique_ptr<DirectoryLock>> DirectoryLock::Take(const std::string& directory) {
  ESPALIER_ASSIGN_OR_RETURN(const auto files, FileSystemFor(directory));
  ESPALIER_RETURN_IF_ERROR(files->MakeDirectory(directory));
  const std::string path = directory + "/lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return PermissionDenied(path + " cannot be opened: " + std::strerror(errno));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    return FailedPrecondition("state_directory: " + directory +
                              " is in use by another coordinator");
  }
  return std::unique_ptr<DirectoryLock>(new DirectoryLock(fd));
}

DirectoryLock::~DirectoryLock() { close(fd_); }

}  // namespace espalier
