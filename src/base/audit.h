// The audit: a line of the log for each order, written at every log level but `off`, to systemd's
// journal as a notice.
// Thread rule: safe from any thread.
#pragma once

#include <string>

namespace espalier {

void LogAudit(const std::string& message);

}  // namespace espalier
