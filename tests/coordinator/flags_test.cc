#include "src/coordinator/flags.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "src/base/build_info.h"

namespace espalier::coordinator {
namespace {

Result<CoordinatorFlags> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "espalier-coordinator");
  return ParseCoordinatorFlags(static_cast<int>(arguments.size()), arguments.data());
}

TEST_CASE("flags override the file, and the file the defaults") {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/c.yaml";
  std::ofstream(path) << "listen: 127.0.0.1:1234\nliveness_limit_ms: 7000\n";
  const auto flags = Parse({"--config", path.c_str(), "--listen", "127.0.0.1:0", "--ready-fd", "5",
                            "--exit-with-parent", "--log-level", "warning", "--step-timeout-ms",
                            "2 min", "--workers-max", "7", "--profile-bytes-max", "5MiB"});
  REQUIRE(flags.ok());
  CHECK(flags->options.listen == "127.0.0.1:0");
  CHECK(flags->options.liveness_limit_ms == 7000);
  CHECK(flags->options.heartbeat_interval_ms == config::CoordinatorOptions().heartbeat_interval_ms);
  CHECK(flags->options.log_level == LogLevel::kWarning);
  CHECK(flags->options.step_timeout_ms == 120'000);
  CHECK(flags->options.workers_max == 7);
  CHECK(flags->options.profile_bytes_max == 5 << 20);
  CHECK(flags->ready_fd == 5);
  CHECK(flags->exit_with_parent);
}

TEST_CASE("flags are read under their old names, with a note") {
  const auto flags = Parse({"--survey-bytes-max", "1MiB"});
  REQUIRE(flags.ok());
  CHECK(flags->options.profile_bytes_max == 1 << 20);
  CHECK(flags->notes ==
        std::vector<std::string>{"--survey-bytes-max is now called --profile-bytes-max"});
  CHECK_FALSE(Parse({"--spool-bytes-max", "1MiB"}).ok());  // an option of the worker
  CHECK(Parse({"--help"})->answer->find("survey") == std::string::npos);
}

TEST_CASE("wrong flags are refused with words") {
  CHECK(Parse({"--lisen", "x"}).status().code() == StatusCode::kInvalidArgument);
  CHECK(Parse({"--queue-max", "many"}).status().code() == StatusCode::kInvalidArgument);
  CHECK(Parse({"--log-level", "loud"}).status().code() == StatusCode::kInvalidArgument);
  CHECK(Parse({"--liveness-limit-ms", "-1"}).status().code() == StatusCode::kInvalidArgument);
  CHECK(Parse({"--workers-max", "0"}).status().code() == StatusCode::kInvalidArgument);
  CHECK(Parse({"--config", "/no/such/file"}).status().code() == StatusCode::kNotFound);
}

TEST_CASE("beyond loopback the word insecure is needed") {
  CHECK_FALSE(Parse({"--listen", "0.0.0.0:7700"}).ok());
  CHECK(Parse({"--listen", "0.0.0.0:7700", "--insecure"}).ok());
}

TEST_CASE("help and version are answers") {
  CHECK(*Parse({"--version"})->answer == VersionText("espalier-coordinator", ""));
  CHECK(Parse({"--help"})->answer->find("--address-file") != std::string::npos);
}

}  // namespace
}  // namespace espalier::coordinator
