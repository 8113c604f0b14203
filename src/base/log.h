// Logging: one line an event, to standard error, `time level daemon message key=value`. The shells
// open it; every room may write. To systemd's journal, which has its own times, each line is
// `<priority>daemon message`. A line break within a message is written as \n.
// Thread rule: safe from any thread.
#pragma once

#include <string>
#include <string_view>

namespace espalier {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// Sets the name shown on each line and the least level written. Call once, in main.
// `journal_stream`: the environment's JOURNAL_STREAM; the lines are the journal's when it names the
// file (DEVICE:INODE) that standard error is.
void OpenLog(std::string_view program, LogLevel least, const std::string& journal_stream = "");

// From now on.
void SetLogLevel(LogLevel least);

void LogDebug(const std::string& message);
void LogInfo(const std::string& message);
void LogWarning(const std::string& message);
void LogError(const std::string& message);

}  // namespace espalier
