#include "src/config/daemon_options.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "src/config/address.h"
#include "src/config/daemon_flags.h"
#include "src/config/units.h"
#include "tests/testing/says.h"

namespace espalier::config {
namespace {

std::string CoordinatorError(const std::string& text) {
  return ParseOptions<CoordinatorOptions>(text, "c.yaml").status().message();
}
std::string WorkerError(const std::string& text) {
  return ParseOptions<WorkerOptions>(text, "w.yaml").status().message();
}

TEST_CASE("an empty file of options gives the defaults") {
  CHECK(*ParseOptions<CoordinatorOptions>("", "c.yaml") == CoordinatorOptions{});
  CHECK(*ParseOptions<WorkerOptions>(" \n", "w.yaml") == WorkerOptions{});
  CHECK(*ParseOptions<WorkerOptions>("# nothing but words\n", "w.yaml") == WorkerOptions{});
}

TEST_CASE("options are read with their units") {
  const auto c = ParseOptions<CoordinatorOptions>(
      "{listen: '[::1]:0', address_file: a, heartbeat_interval_ms: 200, liveness_limit_ms: 2s, "
      "jobs_kept_max: 5, log_level: warning, step_timeout_ms: 2 h, workers_max: 3, "
      "profile_bytes_max: 1GiB, calls_a_caller_max: 7, watchers_max: 8, receive_bytes_max: 200MiB, "
      "worker_queue_bytes_max: 1GiB, arithmetic: x}",
      "c.yaml");
  REQUIRE(c.ok());
  CHECK(c->listen == "[::1]:0");
  CHECK(c->heartbeat_interval_ms == 200);
  CHECK(c->liveness_limit_ms == 2000);
  CHECK(c->log_level == LogLevel::kWarning);
  CHECK(c->step_timeout_ms == 7'200'000);
  CHECK(c->workers_max == 3);
  CHECK(c->arithmetic == "x");
  CHECK(c->profile_bytes_max == 1 << 30);
  CHECK(c->calls_a_caller_max == 7);
  CHECK(c->watchers_max == 8);
  CHECK(c->receive_bytes_max == 200 << 20);
  CHECK(c->worker_queue_bytes_max == 1 << 30);
  const auto w = ParseOptions<WorkerOptions>(
      "{coordinator: 'file:/run/c', threads: 3, memory_bytes_max: 2GiB, spill_bytes_max: 1000, "
      "sum_timeout_ms: 2 h, advertise: node7, insecure: true, listen: '0.0.0.0:7701'}",
      "w.yaml");
  REQUIRE(w.ok());
  CHECK(w->threads == 3);
  CHECK(w->sum_timeout_ms == 7'200'000);
  CHECK(w->memory_bytes_max == int64_t{2} << 30);
  CHECK(w->spill_bytes_max == 1000);
}

TEST_CASE("wrong options name line, column, value and fix") {
  CHECK_THAT(CoordinatorError("listn: x\n"),
             Says("c.yaml:1:1: unknown key 'listn'; did you mean 'listen'?"));
  CHECK_THAT(CoordinatorError("listen: 7700\n"),
             Says("c.yaml:1:9: listen: found '7700', expected host:port ... 127.0.0.1:7700 ... "
                  "unix:/PATH"));
  CHECK_THAT(
      CoordinatorError("liveness_limit_ms: 1500\n"),
      Says("c.yaml:1:20: liveness_limit_ms: found 1500 ... twice heartbeat_interval_ms ... 1000"));
  CHECK_THAT(CoordinatorError("log_level: loud\n"),
             Says("c.yaml:1:12: log_level: unknown value 'loud'; expected one of debug, info, "
                  "warning, error, "
                  "off"));
  CHECK_THAT(CoordinatorError("jobs_kept_max: 0\n"),
             Says("c.yaml:1:16: jobs_kept_max: found 0 ... 1 to 1000000"));
  CHECK_THAT(CoordinatorError("step_timeout_ms: 900 ms\n"),
             Says("c.yaml:1:18: step_timeout_ms: found 900 ... 1000 to 2592000000"));
  CHECK_THAT(CoordinatorError("workers_max: 10001\n"),
             Says("c.yaml:1:14: workers_max: found 10001 ... 1 to 10000"));
  CHECK_THAT(CoordinatorError("profile_bytes_max: 4KiB\n"),
             Says("c.yaml:1:20: profile_bytes_max: found 4096 ... 1048576 to 1099511627776"));
  CHECK_THAT(CoordinatorError("watchers_max: 0\n"),
             Says("c.yaml:1:15: watchers_max: found 0 ... 1 to 1000000"));
  CHECK_THAT(CoordinatorError("receive_bytes_max: 1MiB\n"),
             Says("c.yaml:1:20: receive_bytes_max: found 1048576 ... 134217728 to 1099511627776"));
  CHECK_THAT(WorkerError("threads: -1\n"), Says("w.yaml:1:10: threads: found -1 ... 0 to 1024"));
  CHECK_THAT(WorkerError("coordinator: 'host:0'\n"),
             Says("w.yaml:1:14: coordinator: found port 0"));
  CHECK_THAT(WorkerError("coordinator: 'hdfs://n:x/c'\n"),
             Catch::StartsWith("w.yaml:1:14: coordinator: "));
  CHECK_THAT(WorkerError("tls: {server_name: mnist}\n"),
             Says("w.yaml:1:20: tls.server_name: found without tls.ca"));
  CHECK_THAT(CoordinatorError("tls: {server_name: mnist}\n"), Catch::Contains("server_name"));
  for (const char* wrong : {"a b", "node:0", "unix:/a.socket"}) {
    CHECK_THAT(CoordinatorError("advertise: '" + std::string(wrong) + "'\n"),
               Catch::Contains("found '" + std::string(wrong) + "'"));
  }
  CHECK_THAT(WorkerError("advertise: 'a b'\n"),
             Says("w.yaml:1:12: advertise: found 'a b' ... host:port"));
  for (const char* where : {"hdfs://n/c", "hdfs:///c", "webhdfs://n:9870/c", "file:c"}) {
    CHECK(ParseOptions<WorkerOptions>("coordinator: '" + std::string(where) + "'\n", "w")
              ->coordinator == where);
  }
}

TEST_CASE("security sections are read and must be consistent") {
  const auto c = ParseOptions<CoordinatorOptions>(
      "listen: 0.0.0.0:7700\n"
      "tls: {ca: ca.crt, certificate: tls.crt, key: tls.key}\n"
      "tokens: /etc/espalier/tokens\n"
      "roles:\n"
      "- {name: '*.workers.example.org', role: worker}\n"
      "- {name: ann, role: operator}\n"
      "- {name: root, role: admin}\n"
      "owner_running_jobs_max: 4\n",
      "c.yaml");
  REQUIRE(c.status().ToString() == "OK");
  CHECK(c->tls == security::TlsFiles{"ca.crt", "tls.crt", "tls.key"});
  CHECK(c->tokens == "/etc/espalier/tokens");
  CHECK(c->roles ==
        std::vector<security::RoleRule>{{"*.workers.example.org", security::Role::kWorker},
                                        {"ann", security::Role::kOperator},
                                        {"root", security::Role::kAdmin}});
  CHECK(c->owner_running_jobs_max == 4);
  CHECK_THAT(CoordinatorError("owner_workers_max: -1\n"), Catch::Contains("owner_workers_max"));
  CHECK_THAT(CoordinatorError("tls: {ca: a, key: b}\n"), Catch::Contains("tls.certificate"));
  CHECK_THAT(CoordinatorError("tls: {certificate: a, key: b}\n"), Catch::Contains("tls.ca"));
  CHECK_THAT(CoordinatorError("tls: {certifcate: a}\n"),
             Catch::Contains("did you mean 'certificate'"));
  CHECK_THAT(CoordinatorError("tokens: a\n"), Catch::Contains("without tls"));
  CHECK_THAT(CoordinatorError("roles: [{name: a, role: reader}]\n"),
             Catch::Contains("without tls"));
  const std::string tls = "tls: {ca: a, certificate: b, key: c}\n";
  CHECK_THAT(CoordinatorError(tls + "roles: [{name: a, role: raeder}]\n"),
             Catch::Contains("did you mean 'reader'"));
  CHECK_THAT(CoordinatorError(tls + "roles: [{role: reader}]\n"),
             Catch::Contains("found the name"));
  const auto w = ParseOptions<WorkerOptions>("listen: 0.0.0.0:1\n" + tls, "w.yaml");
  REQUIRE(w.status().ToString() == "OK");
  CHECK(w->tls.key == "c");
  CHECK(CheckListen("0.0.0.0:1", true, false).ok());
}

TEST_CASE("a listener beyond loopback needs the word insecure") {
  for (const char* listen : {"127.0.0.1:0", "127.8.9.1:80", "[::1]:1", "localhost:65535"}) {
    CHECK(CheckListen(listen, false, false).ToString() == "OK");
  }
  for (const char* listen : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "node:1", "127.example.com:1",
                             "[::ffff:10.0.0.1]:1"}) {
    CHECK(CheckListen(listen, false, false).message().find("insecure: true") != std::string::npos);
    CHECK(CheckListen(listen, false, true).ok());
  }
  for (const char* wrong : {"",
                            ":",
                            "a",
                            "a:",
                            ":1",
                            "a:70000",
                            "a:-1",
                            "::1:5",
                            "[::1]",
                            "[]:5",
                            "[x]:5",
                            "1.2.3:4",
                            "256.1.1.1:4",
                            "a b:4",
                            "-a:4",
                            "a:4x",
                            "unix:",
                            "unix:/",
                            "unix:a/b",
                            "unix:a:7",
                            "unix:/a%20b",
                            "unix:/a?b",
                            "unix:/a,/b",
                            "unix://a/b",
                            "unix:/a\nb",
                            "1234:5",
                            "12.34.5678901:1"}) {
    CHECK_FALSE(CheckListen(wrong, true, true).ok());
  }
}

TEST_CASE("a Unix socket needs a short path and no certificates") {
  CHECK(CheckListen("unix:/a.socket", false, false).ok());
  CHECK_THAT(CheckListen("unix:/a.socket", true, false).message(),
             Catch::Contains("'unix:/a.socket' with certificates"));
  CHECK(CheckListen("unix:/" + std::string(kSocketPathBytesMax - 1, 'a'), false, false).ok());
  CHECK_THAT(CheckListen("unix:/" + std::string(kSocketPathBytesMax, 'a'), false, false).message(),
             Catch::Contains("at most 107 of"));
  CHECK_FALSE(CheckListen(std::string_view("unix:/a\0b", 9), false, false).ok());
  CHECK(AdvertisedAddress("", "unix:/a.socket", "node-1") == "unix:/a.socket");
  CHECK(AdvertisedAddress("node-1", "unix:/a.socket", "node-1") == "unix:/a.socket");
  CHECK(
      ParseOptions<WorkerOptions>("coordinator: unix:/a.socket\nlisten: unix:/b.socket", "w").ok());
}

TEST_CASE("addresses read back as written") {
  for (const char* text : {"node-7.example:7700", "10.1.2.3:1", "[fe80::1]:9", "012345678901:7",
                           "unix:/run/user/7/a.socket"}) {
    const auto address = ParseAddress(text);
    REQUIRE(address.ok());
    CHECK(ToString(*address) == text);
  }
}

TEST_CASE("flags take the same amounts as files") {
  DaemonFlags flags;
  flags.values = {{"spill_bytes_max", "20KiB"}, {"peer_timeout_ms", "5 min"},
                  {"leave_timeout_ms", "250"},  {"threads", "3"},
                  {"tls.server_name", "head"},  {"insecure", "true"}};
  const auto o = OptionsFrom<WorkerOptions>(flags);
  REQUIRE(o.status().ToString() == "OK");
  CHECK(o->spill_bytes_max == 20'480);
  CHECK(o->peer_timeout_ms == 300'000);
  CHECK(o->leave_timeout_ms == 250);
  CHECK(o->threads == 3);
  CHECK(o->tls.server_name == "head");
  CHECK(o->insecure);
  const auto refused = [](const char* key, const char* text) {
    DaemonFlags wrong;
    wrong.values = {{key, text}};
    return OptionsFrom<WorkerOptions>(wrong).status().message();
  };
  CHECK_THAT(refused("spill_bytes_max", "much"),
             Says("--spill-bytes-max: found 'much' ... `64MiB`"));
  CHECK_THAT(refused("sum_timeout_ms", "5 KiB"),
             Says("--sum-timeout-ms: found '5 KiB' ... milliseconds ... `5 min`"));
  CHECK_THAT(refused("threads", "3000000000"),
             Says("--threads: found '3000000000', expected a whole number"));
  CHECK_THAT(
      refused("log_level", "loud"),
      Says("--log-level: unknown value 'loud'; expected one of debug, info, warning, error, off"));
}

std::string ShippedFile(const std::string& name) {
  std::ifstream file("config/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("the shipped configuration files hold all defaults") {
  CHECK(ShippedFile("coordinator.yaml") == ConfigurationText(CoordinatorOptions()));
  CHECK(ShippedFile("worker.yaml") == ConfigurationText(WorkerOptions()));
}

TEST_CASE("options read back as written") {
  CoordinatorOptions c;
  c.tls = {"ca \"1\"", "cert", "key", ""};
  c.roles = {{"*.example.org", security::Role::kWorker}, {"ann: x", security::Role::kAdmin}};
  c.step_timeout_ms = 61'001;
  c.receive_bytes_max = (int64_t{1} << 30) + 1;
  c.listen = "0.0.0.0:7";
  c.log_level = LogLevel::kOff;
  CHECK(*ParseOptions<CoordinatorOptions>(ConfigurationText(c), "c") == c);
  WorkerOptions w;
  w.tls = {"a", "b", "c", "d"};
  w.insecure = true;
  w.threads = 9;
  w.hadoop_user = "null";
  CHECK(*ParseOptions<WorkerOptions>(ConfigurationText(w), "w") == w);
}

TEST_CASE("keys are read under their old names, with a note") {
  std::vector<std::string> notes;
  const auto w = ParseOptions<WorkerOptions>("spool_bytes_max: 5KiB\nthreads: 2\n", "w", &notes);
  REQUIRE(w.ok());
  CHECK(w->spill_bytes_max == 5120);
  CHECK(notes == std::vector<std::string>{"spool_bytes_max is now called spill_bytes_max"});
  const auto c = ParseOptions<CoordinatorOptions>(
      "survey_timeout_ms: 2 s\nsurvey_bytes_max: 1MiB\n", "c", &notes);
  REQUIRE(c.ok());
  CHECK(c->profiling_timeout_ms == 2000);
  CHECK(c->profile_bytes_max == 1 << 20);
  CHECK(notes.size() == 3);
  CHECK_THAT(
      WorkerError("spool_bytes_max: 5KiB\nspill_bytes_max: 5KiB\n"),
      Says("w.yaml:1:1: found spool_bytes_max and spill_bytes_max, which are one option. Keep "
           "spill_bytes_max"));
  CHECK(WorkerError("spool_bytes_max: 5 apples\n").starts_with("w.yaml:1:18: spill_bytes_max: "));
  // An option of another daemon is unknown under any name.
  CHECK(WorkerError("survey_bytes_max: 1MiB\n").starts_with("w.yaml:1:1: unknown key"));
}

TEST_CASE("amounts carry their units") {
  CHECK(ParseDuration("30s") == 30'000);
  CHECK(ParseDuration("5 min") == 300'000);
  CHECK(ParseDuration("1.5h") == 5'400'000);
  CHECK(ParseDuration("250ms") == 250);
  CHECK(ParseDuration("1 d") == 86'400'000);
  CHECK(ParseBytes("64MiB") == 64 << 20);
  CHECK(ParseBytes("1 kB") == 1000);
  CHECK(ParseBytes("20480") == 20'480);
  CHECK_FALSE(ParseBytes("1.5").has_value());
  CHECK(ParseMilliseconds("5000") == 5000);
  CHECK(ParseMilliseconds("5s") == 5000);
  CHECK(ParseSpan("2.5 epochs") == spec::Span{2.5, true});
  CHECK(ParseSpan("1 step") == spec::Span{1, false});
  for (const char* wrong :
       {"", "s", "5", "5 minutes", "1e999s", "nan s", "1e300 d", "5 s s", ". s"}) {
    CHECK_FALSE(ParseDuration(wrong).has_value());
  }
  CHECK(ParseReal("1e-3") == 1e-3);
  CHECK(ParseReal("+2") == 2.0);
  for (const char* wrong : {"", "inf", "nan", "1e999", "1,5", "0x10", "+-1", "1 "}) {
    CHECK_FALSE(ParseReal(wrong).has_value());
  }
}

TEST_CASE("an advertised address is not a wildcard") {
  CHECK(AdvertisedAddress("", "0.0.0.0:41", "node-1") == "node-1:41");
  CHECK(AdvertisedAddress("", "[::]:41", "node-1") == "node-1:41");
  CHECK(AdvertisedAddress("", "0.0.0.0:41", "") == "0.0.0.0:41");
  CHECK(AdvertisedAddress("", "10.0.0.5:41", "node-1") == "10.0.0.5:41");
  CHECK(AdvertisedAddress("head", "0.0.0.0:41", "node-1") == "head:41");
  CHECK(AdvertisedAddress("head:42", "0.0.0.0:41", "node-1") == "head:42");
}

}  // namespace
}  // namespace espalier::config
