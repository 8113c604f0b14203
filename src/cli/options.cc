#include "src/cli/options.h"

#include <charconv>
#include <system_error>

#include "src/base/text.h"

namespace espalier::cli {

Result<JobId> ParseJobId(const std::string& text) {
  const std::string digits = text.starts_with("job-") ? text.substr(4) : text;
  JobId id;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id.value);
  if (error != std::errc() || end != digits.data() + digits.size() || id.value == 0) {
    return InvalidArgument(
        "'" + Printable(text, 40) +
        "' is not a job ID (expected one such as job-17 or 17). `espalier list` shows the IDs");
  }
  return id;
}

}  // namespace espalier::cli
