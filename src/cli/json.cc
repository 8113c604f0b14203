#include "src/cli/json.h"

#include <utility>

namespace espalier::cli {

std::string JsonLine(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json ErrorJson(std::optional<JobId> job, const Status& error) {
  const InputPosition at =
      error.ok() ? InputPosition{} : error.position().value_or(InputPosition{});
  Json details = {{"code", TextOrNull(error.ok() ? "" : StatusCodeName(error.code()))},
                  {"message", error.ok() ? "unknown" : error.ToString()},
                  {"file", TextOrNull(at.file)},
                  {"row", OrNull(at.row)},
                  {"column", TextOrNull(at.column)},
                  {"offset", OrNull(at.offset)}};
  return {
      {"status", !error.ok() && error.code() == StatusCode::kCancelled ? "CANCELLED" : "FAILED"},
      {"job", job ? Json(ToString(*job)) : Json()},
      {"error", std::move(details)}};
}

}  // namespace espalier::cli
