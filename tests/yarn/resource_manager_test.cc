#include "src/yarn/resource_manager.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/storage/scripted_server.h"

namespace espalier::yarn {
namespace {

constexpr const char* kJson = "Content-Type: application/json;charset=utf-8\r\n";
constexpr const char* kHtml = "Content-Type: text/html\r\n";

storage::HttpOptions Quick() { return {.connect_ms = 2000, .reply_ms = 5000, .stall_ms = 5000}; }

ResourceManager Client(const std::vector<std::string>& hosts) {
  std::vector<RmAddress> addresses;
  for (const std::string& host : hosts) addresses.push_back({"http://" + host, "from a test"});
  return ResourceManager(addresses, {.user = "ann"}, Quick());
}

storage::HadoopConfig Config(const std::vector<std::pair<std::string, std::string>>& properties) {
  storage::HadoopConfig config;
  for (const auto& [name, value] : properties) config.Set(name, value, false);
  return config;
}

TEST_CASE("the ResourceManager is where yarn-site.xml says, by address, by host, or several") {
  const auto urls = [](const storage::HadoopConfig& config) {
    std::vector<std::string> out;
    const auto found = FindResourceManagers(config);
    INFO(found.status().ToString());
    REQUIRE(found.ok());
    for (const RmAddress& address : *found) out.push_back(address.url);
    return out;
  };
  using Urls = std::vector<std::string>;
  CHECK(urls(Config({{"yarn.resourcemanager.webapp.address", "rm:9000"}})) ==
        Urls{"http://rm:9000"});
  CHECK(
      urls(Config({{"yarn.resourcemanager.webapp.address", "${yarn.resourcemanager.hostname}:8088"},
                   {"yarn.resourcemanager.hostname", "rm"}})) == Urls{"http://rm:8088"});
  CHECK(urls(Config({{"yarn.resourcemanager.hostname", "rm"}})) == Urls{"http://rm:8088"});
  CHECK(urls(Config({{"yarn.resourcemanager.hostname", "rm"},
                     {"yarn.http.policy", "HTTPS_ONLY"}})) == Urls{"https://rm:8090"});
  CHECK(urls(Config({{"yarn.resourcemanager.ha.enabled", "true"},
                     {"yarn.resourcemanager.ha.rm-ids", "a, b"},
                     {"yarn.resourcemanager.hostname.a", "n1"},
                     {"yarn.resourcemanager.webapp.address.b", "n2:1"}})) ==
        Urls{"http://n1:8088", "http://n2:1"});
  CHECK_THAT(FindResourceManagers(storage::HadoopConfig()).status().message(),
             Catch::Contains("no ResourceManager is known") && Catch::Contains("yarn-site.xml"));
  CHECK_FALSE(FindResourceManagers(Config({{"yarn.resourcemanager.webapp.address", "rm:x"}})).ok());
}

TEST_CASE("calls carry the user and JSON, and a service is read") {
  std::string method, target, content;
  const storage::ScriptedServer server([&](const storage::ServedRequest& request) {
    method = request.method;
    target = request.target;
    content = request.content;
    return request.method == "GET"
               ? storage::Reply(200, R"({"name":"mnist","state":"STABLE"})", kJson)
               : storage::Reply(202, R"({"state":"ACCEPTED"})", kJson);
  });
  const ResourceManager rm = Client({server.address()});
  CHECK(rm.Service("mnist")->state == "STABLE");
  CHECK(target == "/app/v1/services/mnist?user.name=ann");
  CHECK(rm.Create("{\"name\":\"mnist\"}").ok());
  CHECK(method == "POST");
  CHECK(content == "{\"name\":\"mnist\"}");
  CHECK(rm.SetContainers("mnist", "worker", 3).ok());
  CHECK(method == "PUT");
  CHECK(target == "/app/v1/services/mnist/components/worker?user.name=ann");
  CHECK(content == "{\"number_of_containers\":3}");
  CHECK(rm.Destroy("mnist").ok());
  CHECK(method == "DELETE");
}

TEST_CASE("of several ResourceManagers the active one is asked, whoever is dead or waits") {
  const storage::ScriptedServer standby([](const storage::ServedRequest&) {
    return storage::Reply(307, "This is standby RM. The redirect url is: http://x\n",
                          "Location: http://127.0.0.1:1/\r\n");
  });
  const storage::ScriptedServer active([](const storage::ServedRequest&) {
    return storage::Reply(200, R"({"name":"a","state":"STABLE"})", kJson);
  });
  const std::string dead = "127.0.0.1:" + std::to_string(storage::ClosedPort());
  CHECK(Client({dead, standby.address(), active.address()}).Service("a").ok());
  const Status none = Client({dead, standby.address()}).Service("a").status();
  CHECK(none.code() == StatusCode::kUnavailable);
  CHECK_THAT(none.message(), Catch::Contains(dead) && Catch::Contains("is not the active one") &&
                                 Catch::Contains("from a test"));
}

TEST_CASE("each refusal is told apart, with YARN's words") {
  storage::ServedReply reply;
  bool well = true;
  const storage::ScriptedServer server([&](const storage::ServedRequest& request) {
    const bool info = well && request.target.starts_with("/ws/v1/cluster/info");
    return info ? storage::Reply(200, "{}", kJson) : reply;
  });
  const ResourceManager rm = Client({server.address()});
  const auto says = [&](int status, const std::string& body, const char* headers) {
    reply = storage::Reply(status, body, headers);
    return rm.Create("{}");
  };
  for (const int status : {404, 500}) {
    const Status off = says(status, "<html>no such page</html>", kHtml);
    CHECK(off.code() == StatusCode::kFailedPrecondition);
    CHECK_THAT(off.message(), Catch::Contains("yarn.webapp.api-service.enable"));
  }
  well = false;  // something else, which may be over soon
  CHECK(says(500, "<html>", kHtml).code() == StatusCode::kUnavailable);
  CHECK(says(500, R"({"diagnostics":"java.net.ConnectException: refused"})", kJson).code() ==
        StatusCode::kUnavailable);
  const Status queue = says(500, R"({"diagnostics":"submitted to unknown queue: x"})", kJson);
  CHECK(queue.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(queue.message(), Catch::EndsWith("YARN says: submitted to unknown queue: x"));
  CHECK(says(500, R"({"diagnostics":"Service name a is already taken."})", kJson).code() ==
        StatusCode::kAlreadyExists);
  CHECK(says(404, R"({"diagnostics":"Service a not found"})", kJson).code() ==
        StatusCode::kNotFound);
  CHECK(says(403, R"({"diagnostics":"no"})", kJson).code() == StatusCode::kPermissionDenied);
  CHECK(says(401, "", kHtml).code() == StatusCode::kPermissionDenied);
  CHECK(says(503, "", kHtml).code() == StatusCode::kUnavailable);
  CHECK(says(200, "<html>a proxy's page</html>", kHtml).code() == StatusCode::kInvalidArgument);
  reply = storage::Reply(404, R"({"diagnostics":"Service a not found"})", kJson);
  CHECK(rm.Destroy("a").ok());
}

TEST_CASE("why who asks is not believed is told, by whom it may be") {
  storage::ServedReply reply;
  const storage::ScriptedServer server([&](const storage::ServedRequest&) { return reply; });
  const ResourceManager rm = Client({server.address()});
  const auto said = [&] {
    const Status refused = rm.Service("a").status();
    CHECK(refused.code() == StatusCode::kPermissionDenied);
    CHECK_THAT(refused.message(),
               Catch::Contains("the ResourceManager http://" + server.address()));
    return refused.message();
  };
  const std::string page = "text/html\r\nWWW-Authenticate: Negotiate\r\n";
  reply = storage::Reply(401, "<html>Authentication required", "Content-Type: " + page);
  CHECK_THAT(said(), Catch::Contains("asks for Kerberos, but the Hadoop") &&
                         Catch::Contains("HADOOP_CONF_DIR must name"));
  const std::string gss =
      "<title>Error 403 GSSException: Failure unspecified at GSS-API level "
      "(Mechanism level: ";
  reply = storage::Reply(403, gss + "Checksum failed)</title>", kHtml);
  CHECK_THAT(said(), Catch::Contains("cannot read our Kerberos ticket") &&
                         Catch::Contains("export its keytab again"));
  reply = storage::Reply(403, gss + "Clock skew too great (37))</title>", kHtml);
  CHECK_THAT(said(),
             Catch::Contains("the clocks of this host") && Catch::Contains("set them by NTP"));
}

TEST_CASE("with Kerberos nothing is sent before there is a proof") {
  int requests = 0;
  const storage::ScriptedServer server([&](const storage::ServedRequest&) {
    ++requests;
    return storage::Reply(200, "{}", kJson);
  });
  setenv("KRB5_CONFIG", "/dev/null", 1);  // no realm
  setenv("KRB5CCNAME", "MEMORY:", 1);
  const ResourceManager rm({{"http://" + server.address(), "from a test"}}, {.kerberos = true},
                           Quick());
  const Status refused = rm.Create("{}");
  CHECK(refused.code() == StatusCode::kPermissionDenied);
  CHECK_THAT(refused.message(),
             Catch::Contains("(its address is from a test) asks for Kerberos: "));
  CHECK_THAT(rm.Log({"container_1", server.address()}, "stderr.txt", 1).status().ToString(),
             Catch::Contains("the NodeManager " + server.address() + " asks for Kerberos: "));
  CHECK(requests == 0);
}

TEST_CASE("a port where nobody listens is closed, one that answers whatever is not") {
  const storage::ScriptedServer server(
      [](const storage::ServedRequest&) { return storage::Reply(500, ""); });
  const ResourceManager rm = Client({server.address()});
  CHECK(rm.IsClosed("127.0.0.1:" + std::to_string(storage::ClosedPort())));
  CHECK_FALSE(rm.IsClosed(server.address()));
}

TEST_CASE("members of ZooKeeper's quorum have its port where none is given, and no path") {
  const auto found = [](const std::string& quorum) {
    return FindZooKeepers(Config({{"hadoop.registry.zk.quorum", quorum}}));
  };
  using Members = std::vector<std::string>;
  CHECK(FindZooKeepers(storage::HadoopConfig()).value().empty());
  CHECK(found("zk1,zk2,zk3").value() == Members{"zk1:2181", "zk2:2181", "zk3:2181"});
  CHECK(found("zk1:2182 , zk2").value() == Members{"zk1:2182", "zk2:2181"});
  CHECK(found("zk1:2182,zk2/yarn/a,b").value() == Members{"zk1:2182", "zk2:2181"});
  CHECK(found("zk1/").value() == Members{"zk1:2181"});
  CHECK(found("[::1],[::2]:7/registry").value() == Members{"[::1]:2181", "[::2]:7"});
  CHECK(found("/registry").value().empty());
  for (const char* wrong : {"zk1:x", "zk1:0", "zk1,z k2", "http://zk1"}) {
    INFO(wrong);
    const Status status = found(wrong).status();
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK_THAT(status.message(), Catch::StartsWith("hadoop.registry.zk.quorum in "));
  }
}

TEST_CASE("the end of a log comes from the container's node") {
  std::string target;
  const storage::ScriptedServer node([&](const storage::ServedRequest& request) {
    target = request.target;
    return request.target.find("gone") == std::string::npos ? storage::Reply(200, "last words\n")
                                                            : storage::Reply(404, "", kHtml);
  });
  const ResourceManager rm = Client({node.address()});
  CHECK(rm.Log({"container_1", node.address()}, "stderr.txt", 100).value() == "last words\n");
  CHECK(target == "/ws/v1/node/containerlogs/container_1/stderr.txt?size=-100&user.name=ann");
  CHECK(rm.Log({"gone", node.address()}, "stderr.txt", 1).status().code() == StatusCode::kNotFound);
}

TEST_CASE("a NodeManager that cannot show logs with Kerberos is told by what it lacks") {
  const storage::ScriptedServer node([](const storage::ServedRequest&) {
    return storage::Reply(
        500, "Caused by: Secure IO is not possible without native code extensions.", kHtml);
  });
  const Status refused =
      Client({node.address()}).Log({"c", node.address()}, "stderr.txt", 1).status();
  CHECK(refused.code() == StatusCode::kFailedPrecondition);
  CHECK_THAT(refused.message(), Catch::Contains("Hadoop's native library (libhadoop.so)"));
}

}  // namespace
}  // namespace espalier::yarn
