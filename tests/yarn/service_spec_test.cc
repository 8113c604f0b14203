#include "src/yarn/service_spec.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "src/config/daemon_options.h"
#include "src/storage/bounded_json.h"

namespace espalier::yarn {
namespace {

using Json = nlohmann::json;

std::string Shipped() {
  std::ifstream file("deploy/yarn/service.json");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

YarnRequest Request() {
  YarnRequest request;
  request.name = "mnist";
  request.user = "ann";
  request.workers = 3;
  request.worker = {2048, 2};
  request.places = {.package = "hdfs://ns/user/ann/.espalier/packages/p.tar.gz",
                    .folder = "hdfs://ns/user/ann/.espalier/yarn/mnist"};
  return request;
}

Json Built(const YarnRequest& request) {
  const auto text = BuildService(Shipped(), request);
  INFO(text.status().ToString());
  REQUIRE(text.ok());
  return Json::parse(*text);
}

const Json& Component(const Json& service, const std::string& name) {
  for (const Json& c : service.at("components")) {
    if (c.at("name") == name) return c;
  }
  FAIL("no component " + name);
  return service;
}

TEST_CASE("the shipped template becomes a coordinator and workers of the size asked for") {
  const Json service = Built(Request());
  CHECK(service.at("name") == "mnist");
  CHECK_FALSE(service.contains("queue"));
  const Json& worker = Component(service, "worker");
  CHECK(worker.at("number_of_containers") == 3);
  CHECK(worker.at("resource") == Json({{"cpus", 2}, {"memory", "2048"}}));
  CHECK(worker.at("restart_policy") == "ALWAYS");
  const Json& env = worker.at("configuration").at("env");
  CHECK(env.at("ESPALIER_YARN_THREADS") == "2");
  CHECK(env.at("ESPALIER_YARN_ROW_BYTES") == std::to_string(int64_t{1536} << 20));
  CHECK(env.at("ESPALIER_YARN_ADDRESS") == "hdfs://ns/user/ann/.espalier/yarn/mnist/address");
  const Json& coordinator = Component(service, "coordinator");
  CHECK(coordinator.at("number_of_containers") == 1);
  const Json& daemon = coordinator.at("configuration").at("env");
  CHECK(daemon.at("ESPALIER_YARN_IDLE_LIMIT_MS") == "0");
  CHECK(daemon.at("ESPALIER_YARN_SHARE_BYTES") == std::to_string(int64_t{256} << 20));
}

TEST_CASE("each role is given its own key and no other, and nothing secret is in the text") {
  const Json service = Built(Request());
  for (const std::string role : {"coordinator", "worker"}) {
    std::vector<std::string> sources;
    for (const Json& file : Component(service, role).at("configuration").at("files")) {
      sources.push_back(file.at("src_file"));
      CHECK(file.at("dest_file").get<std::string>().find('/') == std::string::npos);
    }
    const std::string folder = "hdfs://ns/user/ann/.espalier/yarn/mnist/";
    CHECK(sources == std::vector<std::string>{"hdfs://ns/user/ann/.espalier/packages/p.tar.gz",
                                              folder + "ca.crt", folder + role + ".crt",
                                              folder + role + ".key", folder + "core-site.xml"});
  }
  CHECK(service.dump().find("PRIVATE KEY") == std::string::npos);
}

TEST_CASE("both roles are given the authorities of HDFS over HTTPS where the user has named them") {
  YarnRequest request = Request();
  for (const std::string role : {"coordinator", "worker"}) {
    const Json without = Component(Built(request), role).at("configuration");
    CHECK_FALSE(without.at("env").contains("ESPALIER_HADOOP_CA"));
    CHECK(without.dump().find("hadoop-ca.pem") == std::string::npos);
  }
  request.places.hadoop_ca = true;
  for (const std::string role : {"coordinator", "worker"}) {
    const Json with = Component(Built(request), role).at("configuration");
    CHECK(with.at("env").at("ESPALIER_HADOOP_CA") == "hadoop-ca.pem");
    const Json expected = {{"type", "STATIC"},
                           {"src_file", "hdfs://ns/user/ann/.espalier/yarn/mnist/hadoop-ca.pem"},
                           {"dest_file", "hadoop-ca.pem"}};
    CHECK(with.at("files").back() == expected);
  }
}

TEST_CASE("one worker a node, and a policy on every component: without one YARN replaces none") {
  for (const std::string role : {"coordinator", "worker"}) {
    const Json service = Built(Request());
    const Json& constraint = Component(service, role).at("placement_policy").at("constraints")[0];
    CHECK(constraint.at("type") == "ANTI_AFFINITY");
    CHECK(constraint.at("scope") == "NODE");
    CHECK(constraint.at("target_tags") == Json::array({role}));
  }
  const Json service = Built(Request());
  CHECK(
      service.at("configuration").at("properties").at("yarn.service.container-failure.retry.max") ==
      "0");
}

TEST_CASE("a service for one job ends when its coordinator does") {
  YarnRequest request = Request();
  request.ends_by_itself = true;
  request.queue = "science";
  const Json service = Built(request);
  CHECK(service.at("queue") == "science");
  const Json& coordinator = Component(service, "coordinator");
  CHECK(coordinator.at("restart_policy") == "ON_FAILURE");
  CHECK(Component(service, "worker").at("restart_policy") == "ON_FAILURE");
  CHECK(coordinator.at("configuration").at("env").at("ESPALIER_YARN_IDLE_LIMIT_MS") == "60000");
  CHECK(coordinator.at("configuration")
            .at("properties")
            .at("yarn.service.container-state-report-as-service-state") == "true");
}

TEST_CASE("what a person has added to the template stays") {
  Json form = Json::parse(Shipped());
  form["components"][1]["configuration"]["env"]["MINE"] = "1";
  form["components"][1]["configuration"]["files"] =
      Json::array({{{"type", "STATIC"}, {"src_file", "hdfs:///x"}, {"dest_file", "x"}}});
  form["configuration"]["properties"]["yarn.service.am-resource.memory"] = "2048";
  const auto text = BuildService(form.dump(), Request());
  REQUIRE(text.ok());
  const Json service = Json::parse(*text);
  CHECK(Component(service, "worker").at("configuration").at("env").at("MINE") == "1");
  CHECK(Component(service, "worker").at("configuration").at("files").size() == 6);
  CHECK(service.at("configuration").at("properties").at("yarn.service.am-resource.memory") ==
        "2048");
}

TEST_CASE("a template that lacks something is told so, whatever it is") {
  const auto words = [](const std::string& form) {
    const auto text = BuildService(form, Request());
    CHECK(text.status().code() == StatusCode::kInvalidArgument);
    return text.status().message();
  };
  CHECK_THAT(words(""), Catch::Contains("no JSON object"));
  CHECK_THAT(words("[1]"), Catch::Contains("no JSON object"));
  CHECK_THAT(words(std::string(10'000, '[')), Catch::Contains("no JSON object"));
  CHECK_THAT(words("{\"a\":1}"), Catch::Contains("no list of components"));
  CHECK_THAT(words("{\"components\":{}}"), Catch::Contains("no list of components"));
  CHECK_THAT(words("{\"components\":[1,null,{\"name\":2}]}"),
             Catch::Contains("no component 'coordinator'"));
  CHECK_THAT(words("{\"components\":[{\"name\":\"coordinator\"}]}"),
             Catch::Contains("no launch_command for the component 'coordinator'"));
}

TEST_CASE("members of another type than expected are replaced, not believed") {
  const auto text = BuildService(
      R"({"components":[{"name":"coordinator","launch_command":"x","resource":[1],
          "configuration":"y"},{"name":"worker","launch_command":"x",
          "configuration":{"env":[],"files":{},"properties":3}}]})",
      Request());
  REQUIRE(text.ok());
  const Json service = Json::parse(*text);
  CHECK(Component(service, "worker").at("configuration").at("files").size() == 5);
}

TEST_CASE("names are YARN's, and any job has one") {
  CHECK(CheckYarnName("mnist-2").ok());
  for (const char* bad : {"", "2mnist", "Mnist", "a_b", "a b", "-a", "\xc3\xa9t\xc3\xa9",
                          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    INFO(bad);
    CHECK_FALSE(CheckYarnName(bad).ok());
  }
  CHECK(ToYarnName("MNIST 20 epochs") == "mnist-20-epochs");
  for (const char* text : {"", "2nd", "\xc3\xa9t\xc3\xa9", "..", "a/b"}) {
    INFO(text);
    CHECK(CheckYarnName(ToYarnName(text)).ok());
  }
  CHECK(CheckYarnName(ToYarnName(std::string(500, 'X'))).ok());
}

TEST_CASE("a worker keeps a part of its container for itself") {
  const auto mib = [](int64_t container) { return WorkerRowBytes(container) >> 20; };
  CHECK(mib(512) == 256);
  CHECK(mib(1024) == 768);
  CHECK(mib(8192) == 6144);
  CHECK(mib(65536) == 61440);
  CHECK(mib(1) == 1);
}

TEST_CASE("what the coordinator may fill its container with leaves a quarter to the program") {
  const auto mib = [](int64_t container) { return CoordinatorShareBytes(container) >> 20; };
  CHECK(mib(512) == 128);
  CHECK(mib(1024) == 256);
  CHECK(mib(1023) == 255);
  CHECK(mib(8192) == 2048);
  CHECK(mib(1 << 24) == 1 << 20);
  // The daemon takes what follows from every container that may be asked for.
  for (const int64_t container : {kCoordinatorMemoryMbMin, int64_t{1} << 24}) {
    YarnRequest request = Request();
    request.coordinator.memory_mb = container;
    REQUIRE(request.Validate().ok());
    config::CoordinatorOptions options;
    options.receive_bytes_max = options.worker_queue_bytes_max = options.profile_bytes_max =
        CoordinatorShareBytes(container);
    INFO(options.Validate().ToString());
    CHECK(options.Validate().ok());
    CHECK(3 * (CoordinatorShareBytes(container) >> 20) <= container - container / 4);
  }
}

TEST_CASE("with Kerberos YARN's master and every container get the keytab, by its place alone") {
  YarnRequest request = Request();
  CHECK_FALSE(Built(request).contains("kerberos_principal"));
  request.principal = "ann/yarn@EXAMPLE.COM";
  request.places.keytab = true;
  const Json service = Built(request);
  const std::string keytab = "hdfs://ns/user/ann/.espalier/yarn/mnist/service.keytab";
  CHECK(service.at("kerberos_principal") ==
        Json({{"principal_name", "ann/yarn@EXAMPLE.COM"}, {"keytab", keytab}}));
  for (const std::string role : {"coordinator", "worker"}) {
    const Json& configuration = Component(service, role).at("configuration");
    CHECK(configuration.at("env").at("ESPALIER_YARN_KEYTAB") == "service.keytab");
    CHECK(configuration.at("files").back() ==
          Json({{"type", "STATIC"}, {"src_file", keytab}, {"dest_file", "service.keytab"}}));
  }
}

TEST_CASE("sizes out of range are told by the flag that gave them") {
  YarnRequest request = Request();
  CHECK(request.Validate().ok());
  request.worker.memory_mb = 511;
  CHECK_THAT(request.Validate().message(), Catch::Contains("--memory: found 511, expected 512"));
  request = Request();
  request.coordinator.memory_mb = 511;
  CHECK_THAT(request.Validate().message(),
             Catch::Contains("--coordinator-memory: found 511, expected 512 to"));
  request = Request();
  request.workers = -1;
  CHECK_THAT(request.Validate().message(), Catch::Contains("--workers: found -1"));
  request = Request();
  request.worker.cores = 0;
  CHECK_THAT(request.Validate().message(), Catch::Contains("--vcores"));
}

}  // namespace
}  // namespace espalier::yarn
