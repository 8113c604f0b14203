#include "src/yarn/answers.h"

#include <catch2/catch.hpp>

namespace espalier::yarn {
namespace {

constexpr const char* kService = R"({"name":"mnist","id":"application_1_0001","state":"STABLE",
  "queue":"default","components":[
   {"name":"coordinator","number_of_containers":1,"state":"STABLE","containers":[
     {"id":"container_1_0001_01_000002","bare_host":"n1","state":"READY",
      "component_instance_name":"coordinator-0","launch_time":1}]},
   {"name":"worker","number_of_containers":3,"state":"FLEXING","containers":[
     {"id":"container_1_0001_01_000003","bare_host":"n2","state":"READY",
      "component_instance_name":"worker-0"}]}]})";

TEST_CASE("a service is read with its components and containers") {
  const auto service = ParseYarnService(kService);
  REQUIRE(service.ok());
  CHECK(service->name == "mnist");
  CHECK(service->application == "application_1_0001");
  CHECK_FALSE(service->ended());
  REQUIRE(service->components.size() == 2);
  const YarnComponent* worker = service->Find("worker");
  REQUIRE(worker != nullptr);
  CHECK(worker->wanted == 3);
  REQUIRE(worker->containers.size() == 1);
  CHECK(worker->containers[0].instance == "worker-0");
  CHECK(worker->containers[0].host == "n2");
  CHECK(service->Find("nobody") == nullptr);
  for (const char* state : {"STOPPED", "SUCCEEDED", "FAILED"}) {
    CHECK(ParseYarnService("{\"name\":\"a\",\"state\":\"" + std::string(state) + "\"}")->ended());
  }
}

TEST_CASE("what is no service is told so, and what is odd in one reads as nothing") {
  for (const char* body : {"", "<html>", "[]", "null", "{}", "{\"name\":5}", "{\"name\":\"\"}"}) {
    INFO(body);
    CHECK(ParseYarnService(body).status().code() == StatusCode::kUnavailable);
  }
  const auto odd = ParseYarnService(
      R"({"name":"a","state":7,"components":[1,{"number_of_containers":-5,"containers":{}},
          {"number_of_containers":1e99,"containers":[null,{"id":[]}]}]})");
  REQUIRE(odd.ok());
  CHECK(odd->state.empty());
  REQUIRE(odd->components.size() == 2);
  CHECK(odd->components[0].wanted == 0);
  CHECK(odd->components[1].wanted == 0);
  CHECK(odd->components[1].containers.size() == 1);
  CHECK(
      ParseYarnService("{\"name\":\"a\",\"components\":[{\"name\":\"x\"},{\"name\":\"x\"}]}").ok());
  CHECK_FALSE(ParseYarnService(std::string(100'000, '{')).ok());
}

TEST_CASE("a refusal is its first line, printable and bounded") {
  CHECK(YarnRefusal("{\"diagnostics\":\"no\\nat java\"}") == "no");
  CHECK(YarnRefusal(R"({"RemoteException":{"exception":"X","message":"why"}})") == "why");
  CHECK(YarnRefusal("{\"diagnostics\":\"a\\u001bb\"}") == "a\\x1bb");
  CHECK(YarnRefusal("{\"diagnostics\":\"" + std::string(5000, 'x') + "\"}").size() <= 403);
  for (const char* body : {"", "<html>", "{}", "{\"diagnostics\":{}}"}) {
    CHECK(YarnRefusal(body).empty());
  }
}

TEST_CASE("an application says whether it has ended, and why") {
  const auto app = ParseYarnApplication(
      R"({"app":{"state":"FAILED","finalStatus":"FAILED","diagnostics":"\n  queue is full\n"}})");
  REQUIRE(app.ok());
  CHECK(app->ended());
  CHECK_THAT(app->diagnostics, Catch::StartsWith("queue is full"));
  CHECK_FALSE(ParseYarnApplication(R"({"app":{"state":"RUNNING"}})")->ended());
  CHECK_FALSE(ParseYarnApplication(R"({"app":3})").ok());
}

TEST_CASE("only nodes that run count, with their memory as a whole") {
  const auto nodes = ParseYarnNodes(
      R"({"nodes":{"node":[
        {"state":"RUNNING","nodeHostName":"n1","nodeHTTPAddress":"n1:8042","usedMemoryMB":1024,
         "availMemoryMB":2048,"usedVirtualCores":1,"availableVirtualCores":7},
        {"state":"LOST","nodeHostName":"n2"}, 7,
        {"state":"RUNNING","nodeHTTPAddress":"not an address","usedMemoryMB":"x"}]}})");
  REQUIRE(nodes.ok());
  REQUIRE(nodes->size() == 2);
  CHECK((*nodes)[0].memory_mb == 3072);
  CHECK((*nodes)[0].cores == 8);
  CHECK((*nodes)[0].http == "n1:8042");
  CHECK((*nodes)[1].http.empty());
  CHECK((*nodes)[1].memory_mb == 0);
  CHECK(ParseYarnNodes(R"({"nodes":null})")->empty());
  CHECK_FALSE(ParseYarnNodes("{}").ok());
}

TEST_CASE("containers are found at the addresses of their nodes, with or without a scheme") {
  CHECK(ParseYarnAttempts(R"({"appAttempts":{"appAttempt":[{"appAttemptId":"a_1"},{"id":2}]}})")
            .value() == std::vector<std::string>{"a_1"});
  CHECK_FALSE(ParseYarnAttempts("{}").ok());
  const auto places = ParseYarnPlaces(
      R"({"container":[{"containerId":"c1","nodeHttpAddress":"http://n1:8042"},
        {"containerId":"c2","nodeHttpAddress":"[::1]:8042"},
        {"containerId":"c3","nodeHttpAddress":"http://evil/?x"},{"containerId":4}]})");
  REQUIRE(places.ok());
  REQUIRE(places->size() == 2);
  CHECK((*places)[0].node_http == "n1:8042");
  CHECK((*places)[1].node_http == "[::1]:8042");
  CHECK(ParseYarnPlaces("{}")->empty());
  CHECK_FALSE(ParseYarnPlaces(R"({"error":1})").ok());
}

TEST_CASE("a log is shown without what its node wraps it in") {
  const std::string head = "Container: c on n\nLogLength:9\nLogContents:\n";
  const std::string tail = "End of LogType:stderr.txt.This log file belongs to a running c\n***\n";
  CHECK(YarnLogContents(head + "one\ntwo\n" + tail) == "one\ntwo\n");
  CHECK(YarnLogContents(head + tail).empty());
  CHECK(YarnLogContents(head + "cut") == "cut");
  CHECK(YarnLogContents("plain") == "plain");
  CHECK(YarnLogContents(head + "End of LogType: is what I said\n" + tail) ==
        "End of LogType: is what I said\n");
}

}  // namespace
}  // namespace espalier::yarn
