// Logging: one line an event, to standard error, `time level daemon message key=value`. The shells
// open it; every room may write. Thread rule: safe from any thread.
#pragma once

#include <string>
#include <string_view>

namespace espalier {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// Sets the name shown on each line and the least level written. Call once, in main.
void OpenLog(std::string_view program, LogLevel least);

void LogDebug(const std::string& message);
void LogInfo(const std::string& message);
void LogWarning(const std::string& message);
void LogError(const std::string& message);

}  // namespace espalier
