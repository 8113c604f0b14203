#include "src/storage/http.h"

#include <catch2/catch.hpp>

#include "tests/storage/scripted_server.h"

namespace espalier::storage {
namespace {

// libcurl is built with all protocols that this test lists.
TEST_CASE("libcurl is used for no protocol except HTTP and HTTPS") {
  ScriptedServer server([](const ServedRequest&) { return Reply(200, "here"); });
  const HttpClient client({.reply_ms = 1000});
  const std::string there = server.address() + "/x";
  REQUIRE(client.Call({.url = "http://" + there}).body == "here");
  const int connections = server.connections();
  for (const std::string scheme :
       {"dict", "ftp", "ftps", "gopher", "gophers", "imap", "ldap", "ldaps", "mqtt", "pop3", "rtmp",
        "rtsp", "scp", "sftp", "smb", "smtp", "telnet", "tftp"}) {
    CAPTURE(scheme);
    const HttpReply reply = client.Call({.url = scheme + "://" + there});
    CHECK(reply.failure == HttpFailure::kNotHttp);
    CHECK(reply.body.empty());
  }
  CHECK(client.Call({.url = "file:///proc/self/status"}).failure == HttpFailure::kNotHttp);
  CHECK(server.connections() == connections);
}

TEST_CASE("a redirect to another protocol is reported and not followed") {
  ScriptedServer server(
      [](const ServedRequest&) { return Reply(302, "", "Location: ldap://127.0.0.1/x\r\n"); });
  const HttpClient client(HttpOptions{});
  const HttpReply reply = client.Call({.url = "http://" + server.address() + "/"});
  CHECK(reply.failure == HttpFailure::kNone);
  CHECK(reply.status == 302);
  CHECK(reply.location == "ldap://127.0.0.1/x");
}

}  // namespace
}  // namespace espalier::storage
