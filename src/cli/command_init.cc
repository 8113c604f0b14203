// `espalier init`: writes a job file for a table.

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/exit_code.h"
#include "src/cli/format.h"
#include "src/cli/init_draft.h"
#include "src/cli/json.h"
#include "src/cli/result_view.h"
#include "src/cli/shell_text.h"
#include "src/storage/local_file_system.h"
#include "src/storage/uri.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kLookEveryMs = 100;
constexpr size_t kAnswerBytesMax = 4096;

// Reads a line from standard input. kCancelled: the user interrupted.
Result<std::string> ReadAnswer(const CommandContext& context) {
  std::string answer;
  while (answer.size() < kAnswerBytesMax) {
    if (context.interrupts.any()) return Cancelled("interrupted");
    pollfd in = {STDIN_FILENO, POLLIN, 0};
    if (poll(&in, 1, kLookEveryMs) <= 0) continue;
    char c = 0;
    const ssize_t n = read(STDIN_FILENO, &c, 1);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return InvalidArgument("the input ended without a label. Add --label COLUMN");
    if (c == '\n') return answer;
    answer += c;
  }
  return InvalidArgument("the answer is longer than " + std::to_string(kAnswerBytesMax) +
                         " bytes. Add --label COLUMN");
}

std::string Trimmed(const std::string& text) {
  constexpr const char* kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Prompts until the answer is a column of the table.
Result<std::string> AskLabel(const CommandContext& context, const TableLook& look) {
  const std::string likely = LikelyLabel(look);
  context.console.Out(Printable(look.table, 400) + ": " +
                      HumanCount(static_cast<int64_t>(look.names().size())) + " columns\n" +
                      ColumnList(look));
  while (true) {
    context.console.Out("Column to predict [" + Printable(likely) + "]: ");
    ESPALIER_ASSIGN_OR_RETURN(const std::string line, ReadAnswer(context));
    const std::string answer = CheckLabel(look, line).ok() ? line : Trimmed(line);
    if (answer.empty()) return likely;
    const Status known = CheckLabel(look, answer);
    if (known.ok()) return answer;
    context.console.Err(ErrorText(known, context.console.err_color()));
  }
}

Result<std::string> ChooseLabel(const CommandContext& context, const TableLook& look) {
  const std::optional<std::string>& given = context.options.init.label;
  if (given) {
    ESPALIER_RETURN_IF_ERROR(CheckLabel(look, *given));
    return *given;
  }
  const bool person = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
  if (person && !context.options.json) return AskLabel(context, look);
  const std::string likely = LikelyLabel(look);
  std::string columns;
  constexpr size_t kShown = 10;
  for (size_t c = 0; c < std::min(look.names().size(), kShown); ++c) {
    columns += (c == 0 ? "" : ", ") + Printable(look.names()[c], 32);
  }
  if (look.names().size() > kShown) columns += ", ...";
  return InvalidArgument("--label: missing (the columns of " + QuotedPath(look.table) + " are " +
                         columns + "). Add the column to predict, for example --label " +
                         ShellWord(likely));
}

// Returns an unused directory next to the job file, or next to a table on HDFS.
Result<std::string> FreeOutput(const CommandContext& context, const std::string& table) {
  ESPALIER_ASSIGN_OR_RETURN(const storage::Uri uri, storage::ParseUri(table));
  const bool local = uri.kind == storage::Uri::Kind::kLocal;
  const std::string name =
      (local ? "" : uri.prefix + fs::path(uri.path).parent_path().string() + "/") +
      JobNameOf(table) + "-model";
  constexpr int kTriesMax = 100;
  std::string output = name;
  for (int i = 2; i < kTriesMax && context.files.Stat(output).ok(); ++i) {
    output = name + "-" + std::to_string(i);
  }
  return output;
}

Status CheckFree(const std::string& path, bool force) {
  std::error_code error;
  const fs::file_status found = fs::symlink_status(path, error);
  if (!fs::exists(found)) return {};
  if (force && fs::is_regular_file(found)) return {};
  return AlreadyExists("--output: " + QuotedPath(path) + " already exists" +
                       (fs::is_regular_file(found)
                            ? ". Choose another file with --output, or replace it with --force"
                            : " and is not a regular file. Choose another one with --output"));
}

// Returns whether the path is one of the table's own files.
bool IsOfTable(const TableLook& look, const std::string& path) {
  std::error_code error;
  const auto is_it = [&](const spec::InputFile& file) {
    return fs::equivalent(file.path, path, error);
  };
  return std::any_of(look.input.files.begin(), look.input.files.end(), is_it);
}

// Writes a new file. With `force` it replaces an existing one, but only once it is complete.
Status WriteFile(const std::string& path, const std::string& text, bool force) {
  const std::string written = force ? path + "." + std::to_string(getpid()) : path;
  const int fd = open(written.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  const auto failed = [&path] { return storage::CreationError(errno, "write", path); };
  if (fd < 0) return failed();
  Status status;
  for (std::string_view left = text; !left.empty() && status.ok();) {
    const ssize_t n = write(fd, left.data(), left.size());
    if (n < 0 && errno != EINTR) status = failed();
    left.remove_prefix(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  }
  if (close(fd) != 0 && status.ok()) status = failed();
  if (status.ok() && force && rename(written.c_str(), path.c_str()) != 0) status = failed();
  if (!status.ok()) unlink(written.c_str());
  return status;
}

struct Written {
  std::string path, label;  // no path: standard output
  JobDraft draft;
};

Result<Written> Init(const CommandContext& context) {
  const InitArguments& init = context.options.init;
  const bool to_output = init.output == "-";
  const std::string usual = JobNameOf(init.table) + ".yaml";
  const std::string path = to_output ? usual : init.output.value_or(usual);
  if (!to_output) ESPALIER_RETURN_IF_ERROR(CheckFree(path, init.force));
  ESPALIER_ASSIGN_OR_RETURN(const TableLook look, LookAtTable(context.files, init.table));
  if (!to_output && IsOfTable(look, path)) {
    return InvalidArgument("--output: " + QuotedPath(path) +
                           " is a file of the table. Choose another file");
  }
  ESPALIER_ASSIGN_OR_RETURN(const std::string label, ChooseLabel(context, look));
  ESPALIER_ASSIGN_OR_RETURN(const std::string output, FreeOutput(context, init.table));
  ESPALIER_ASSIGN_OR_RETURN(JobDraft draft, DraftJob(context.files, look, label, path, output));
  if (to_output) return Written{"", label, std::move(draft)};
  ESPALIER_RETURN_IF_ERROR(WriteFile(path, draft.yaml, init.force));
  return Written{path, label, std::move(draft)};
}

}  // namespace

int RunInit(const CommandContext& context) {
  const Result<Written> done = Init(context);
  if (!done.ok()) {
    const bool interrupted = context.interrupts.any();
    return ShowError(context, done.status(),
                     interrupted ? kExitInterrupted : PlanExitCode(done.status()));
  }
  if (context.options.json) {
    context.console.Out(JsonLine({{"status", "OK"}, {"job", done->path}, {"label", done->label}}));
    return kExitSuccess;
  }
  if (done->path.empty()) {
    context.console.Err(done->draft.description);
    context.console.Out(done->draft.yaml);
    return kExitSuccess;
  }
  const std::string word = ShellWord(done->path);
  context.console.Out(
      Printable(done->path, 400) + ": " + done->draft.description + "\nwhat to try next\n" +
      LeftTable({{"check", "espalier check " + word}, {"train", "espalier train " + word}}, "  "));
  return kExitSuccess;
}

}  // namespace espalier::cli
