// The audit log: one line per order. It is written at every log level except `off`. systemd's
// journal receives it as a notice.
//
// Thread rule: safe from any thread.
#pragma once

#include <string>

namespace espalier {

void LogAudit(const std::string& message);

}  // namespace espalier
