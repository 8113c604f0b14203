#include "src/base/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>
#include <string>

#include "src/base/audit.h"

namespace espalier {
namespace {

// Returns what `write` prints to standard error. `write` receives DEVICE:INODE of the stream.
std::string Written(const std::function<void(const std::string& stream)>& write) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/log";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  const int before = dup(STDERR_FILENO);
  dup2(file, STDERR_FILENO);
  struct stat info;
  fstat(file, &info);
  write(std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino));
  dup2(before, STDERR_FILENO);
  close(before);
  close(file);
  OpenLog("test", LogLevel::kError);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void WriteAll() {
  LogDebug("d");
  LogInfo("i");
  LogWarning("w");
  LogError("e");
}

TEST_CASE("each event is one line with time, level, daemon and message") {
  const std::string text = Written([](const std::string&) {
    OpenLog("worker-7", LogLevel::kInfo);
    LogInfo("two\nlines");
  });
  CHECK(std::regex_match(
      text, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} info worker-7 two\\nlines\n)")));
}

TEST_CASE("a log line contains no control characters") {
  const std::string text = Written([](const std::string&) {
    OpenLog("w", LogLevel::kInfo);
    LogInfo("red \x1b[31m, back \r, bell \a, tab \t, del \x7f, \xc3\xa9");
  });
  CHECK(text.ends_with(
      " info w red \\x1b[31m, back \\x0d, bell \\x07, tab \t, del \\x7f, \xc3\xa9\n"));
}

TEST_CASE("journal lines have a priority and no time") {
  const std::string text = Written([](const std::string& stream) {
    OpenLog("w", LogLevel::kDebug, stream);
    WriteAll();
  });
  CHECK(text == "<7>w d\n<6>w i\n<4>w w\n<3>w e\n");
}

TEST_CASE("the audit is written at every level except off") {
  const std::string text = Written([](const std::string& stream) {
    OpenLog("w", LogLevel::kError, stream);
    LogAudit("who did what");
    LogInfo("i");
    SetLogLevel(LogLevel::kOff);
    LogAudit("nobody did anything");
  });
  CHECK(text == "<5>w who did what\n");
  const std::string plain = Written([](const std::string&) {
    OpenLog("w", LogLevel::kError);
    LogAudit("who did what");
  });
  CHECK(plain.ends_with(" notice w who did what\n"));
}

TEST_CASE("redirected standard error is not the journal") {
  const std::string text = Written([](const std::string& stream) {
    OpenLog("w", LogLevel::kInfo, stream + "1");
    LogInfo("i");
  });
  CHECK(text.find('<') == std::string::npos);
}

TEST_CASE("the level can change while the program runs") {
  const std::string text = Written([](const std::string& stream) {
    OpenLog("w", LogLevel::kError, stream);
    WriteAll();
    SetLogLevel(LogLevel::kWarning);
    WriteAll();
    SetLogLevel(LogLevel::kOff);
    WriteAll();
  });
  CHECK(text == "<3>w e\n<4>w w\n<3>w e\n");
}

}  // namespace
}  // namespace espalier
