// The words of log levels. Thread rule: constants.
#pragma once

#include "src/base/log.h"
#include "src/spec/names.h"

namespace espalier {

template <>
struct Names<LogLevel> {
  static constexpr EnumName<LogLevel> kAll[] = {{LogLevel::kDebug, "debug"},
                                                {LogLevel::kInfo, "info"},
                                                {LogLevel::kWarning, "warning"},
                                                {LogLevel::kError, "error"},
                                                {LogLevel::kOff, "off"}};
};

}  // namespace espalier
