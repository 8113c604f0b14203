#include "src/base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "src/base/audit.h"

namespace espalier {
namespace {

// Above all levels that SetLogLevel accepts.
constexpr auto kAudit = spdlog::level::critical;

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

// Writes the level as syslog's digit, by which the journal sorts; see sd-daemon(3).
class PriorityFlag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const auto digit = [&] {
      if (message.level == kAudit) return '5';
      if (message.level >= spdlog::level::err) return '3';
      if (message.level == spdlog::level::warn) return '4';
      return message.level == spdlog::level::info ? '6' : '7';
    };
    out.push_back(digit());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PriorityFlag>();
  }
};

class LevelName : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const auto name = spdlog::level::to_string_view(message.level);
    const std::string_view text =
        message.level == kAudit ? "notice" : std::string_view(name.data(), name.size());
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<LevelName>();
  }
};

// Returns whether standard error is the journal's stream, and not redirected.
bool LeadsToJournal(const std::string& journal_stream) {
  struct stat info;
  return !journal_stream.empty() && fstat(STDERR_FILENO, &info) == 0 &&
         journal_stream == std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino);
}

bool IsControl(char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f; }

// Writes one line without control characters, which could change what a terminal shows.
void Write(spdlog::level::level_enum level, const std::string& message) {
  if (std::none_of(message.begin(), message.end(), IsControl)) {
    return spdlog::log(level, "{}", message);
  }
  std::string line;
  for (const char c : message) {
    if (c == '\n') {
      line += "\\n";
    } else if (IsControl(c)) {
      char escape[5];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(c));
      line += escape;
    } else {
      line += c;
    }
  }
  spdlog::log(level, "{}", line);
}

}  // namespace

void OpenLog(std::string_view program, LogLevel least, const std::string& journal_stream) {
  auto logger = std::make_shared<spdlog::logger>(std::string(program),
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<PriorityFlag>('*').add_flag<LevelName>('&').set_pattern(
      LeadsToJournal(journal_stream) ? "<%*>%n %v" : "%Y-%m-%dT%H:%M:%S.%e %& %n %v");
  logger->set_formatter(std::move(formatter));
  logger->set_level(LevelOf(least));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void SetLogLevel(LogLevel least) { spdlog::set_level(LevelOf(least)); }

void LogDebug(const std::string& message) { Write(spdlog::level::debug, message); }
void LogInfo(const std::string& message) { Write(spdlog::level::info, message); }
void LogWarning(const std::string& message) { Write(spdlog::level::warn, message); }
void LogError(const std::string& message) { Write(spdlog::level::err, message); }
void LogAudit(const std::string& message) { Write(kAudit, message); }

}  // namespace espalier
