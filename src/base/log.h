// Logging to standard error: one line per event, `time level daemon message key=value`. The shells
// open the log, and every room may write to it. Lines for systemd's journal, which has its own
// times, are `<priority>daemon message`. A line break within a message is written as \n.
//
// Thread rule: safe from any thread.
#pragma once

#include <string>
#include <string_view>

namespace espalier {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// Sets the name on each line and the lowest level to write. Call once, in main. `journal_stream` is
// the value of JOURNAL_STREAM in the environment. If it names the file (DEVICE:INODE) of standard
// error, the lines have the format of the journal.
void OpenLog(std::string_view program, LogLevel least, const std::string& journal_stream = "");

// Sets the lowest level to write from now on.
void SetLogLevel(LogLevel least);

void LogDebug(const std::string& message);
void LogInfo(const std::string& message);
void LogWarning(const std::string& message);
void LogError(const std::string& message);

}  // namespace espalier
