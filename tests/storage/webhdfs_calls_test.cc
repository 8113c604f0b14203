// Tests of WebHDFS calls to servers that fail or send false answers. They check the error, the
// choice of the NameNode, and whether a change took effect.
#include <atomic>
#include <catch2/catch.hpp>

#include "src/storage/webhdfs_file_system.h"
#include "tests/storage/fake_hdfs.h"
#include "tests/testing/says.h"

namespace espalier::storage {
namespace {

using Then = ServedReply::Then;

std::unique_ptr<FileSystem> Files(const std::string& prefix, std::vector<NameNode> name_nodes) {
  return MakeWebHdfsFileSystem(
      std::make_shared<const WebHdfsClient>(prefix, std::move(name_nodes), Quick().webhdfs), "w");
}

TEST_CASE("a standby is skipped and the active NameNode remembered") {
  FakeHdfs active;
  active.content["/f"] = "1";
  ScriptedServer standby([](const ServedRequest&) {
    return Exception(403, "StandbyException",
                     "Operation category READ is not supported in state standby.");
  });
  const auto files = Files("hdfs://ns", {{{"127.0.0.1", ClosedPort()}, "a"},
                                         {{"127.0.0.1", standby.port()}, "b"},
                                         {{"127.0.0.1", active.server.port()}, "c"}});
  CHECK(files->Stat("hdfs://ns/f")->length == 1);
  CHECK(files->Stat("hdfs://ns/f").ok());
  CHECK(standby.Count("GETFILESTATUS") == 1);
  CHECK(files->ReadAll("hdfs://ns/f", 10).value() == "1");
  CHECK(files->CreateExclusively("hdfs://ns/g", "2").ok());
}

TEST_CASE("a job's token is sent only to its own file system") {
  std::vector<std::string> shown;
  const auto record = [&shown](const ServedRequest& r, ServedReply*) {
    shown.push_back(r.query.count("delegation") > 0 ? r.query.at("delegation") : "none");
    return false;
  };
  FakeHdfs own(record), other(record);
  StorageOptions options = Quick();
  const auto tokens = std::make_shared<TokenStore>();
  tokens->Put(own.base, "OWN");
  options.webhdfs.tokens = tokens;
  const auto files = MakeFileSystem(options);
  own.content["/f"] = other.content["/f"] = "1";
  const std::string port = std::to_string(own.server.port());
  CHECK(files->Stat(own.base + "/f").ok());
  CHECK(files->Stat(other.base + "/f").ok());
  // Another name of the same server is another file system: its address may change.
  (void)files->Stat("webhdfs://localhost:" + port + "/f");
  CHECK(shown == std::vector<std::string>{"OWN", "none", "none"});
}

TEST_CASE("a redirect to another server carries no token of ours") {
  std::vector<std::string> targets;
  FakeHdfs other([&targets](const ServedRequest& r, ServedReply*) {
    targets.push_back(r.target);
    return false;
  });
  other.content["/f"] = "1";
  FakeHdfs own([&other](const ServedRequest& r, ServedReply* reply) {
    if (r.op() != "OPEN") return false;
    *reply = Reply(307, "",
                   "Location: http://" + other.server.address() +
                       "/webhdfs/v1/f?op=OPEN&offset=0&length=1&data=1\r\n");
    return true;
  });
  own.content["/f"] = "1";
  StorageOptions options = Quick();
  const auto tokens = std::make_shared<TokenStore>();
  tokens->Put(own.base, "OWNTOKEN");
  options.webhdfs.tokens = tokens;
  CHECK(MakeFileSystem(options)->ReadAll(own.base + "/f", 10).value() == "1");
  REQUIRE(targets.size() == 1);
  CHECK(targets[0].find("OWNTOKEN") == std::string::npos);
}

TEST_CASE("transient errors are retried and then reported by name") {
  int left = 3;
  ServedReply trouble;
  FakeHdfs hdfs([&](const ServedRequest&, ServedReply* reply) {
    *reply = trouble;
    return left-- > 0;
  });
  hdfs.content["/f"] = "1";
  const std::vector<std::pair<ServedReply, std::string>> troubles = {
      {Exception(403, "RetriableException", "NameNode still not started"),
       "the NameNode is not ready (NameNode still not started)"},
      {Exception(403, "SafeModeException", "Zero blocklocations for /f. Name node is in safe mode"),
       "in safe mode (Zero blocklocations"},
      {Exception(403, "StandbyException", "x"), "is in standby, and no other one"},
      {Exception(403, "IOException", "Failed to find datanode, suggest to check cluster health."),
       "no live DataNode"},
      {Reply(503, "busy"), "answers HTTP 503"},
      {{"", Then::kClose}, "broke off"},
  };
  for (const auto& [reply, words] : troubles) {
    INFO(words);
    trouble = reply;
    left = 3;
    CHECK(hdfs.files->Stat(hdfs.base + "/f").ok());
    left = 1 << 20;
    const Status status = hdfs.files->Stat(hdfs.base + "/f").status();
    INFO(status.ToString());
    CHECK(status.code() == StatusCode::kUnavailable);
    CHECK(status.message().find(words) != std::string::npos);
    CHECK(status.message().find("; given up after ") != std::string::npos);
  }
}

TEST_CASE("a glob without an answer is not listed another way") {
  int lists = 0;
  FakeHdfs hdfs([&](const ServedRequest& r, ServedReply* reply) {
    lists += r.op().starts_with("LIST");
    *reply = Reply(503, "busy");
    return true;
  });
  const Status status = hdfs.files->List(hdfs.base + "/data/*.csv").status();
  INFO(status.ToString());
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK(status.message().find("; given up after ") != std::string::npos);
  CHECK(lists == 0);
}

TEST_CASE("permanent errors are reported at once") {
  ServedReply trouble;
  int asked = 0;
  FakeHdfs hdfs([&](const ServedRequest&, ServedReply* reply) {
    *reply = trouble;
    return ++asked > 0;
  });
  struct Case {
    ServedReply reply;
    StatusCode code;
    std::string words;
  };
  const std::vector<Case> cases = {
      {Exception(403, "AccessControlException", "Permission denied: user=ada, access=READ"),
       StatusCode::kPermissionDenied,
       "permission denied as the user 'ada' (Permission denied: user=ada, access=READ); "
       "HADOOP_USER_NAME sets the user"},
      {Exception(404, "FileNotFoundException", "File does not exist: /f"), StatusCode::kNotFound,
       "it does not exist"},
      {Exception(403, "ParentNotDirectoryException", "/f (is not a directory)"),
       StatusCode::kFailedPrecondition, "a file, not a directory"},
      {Exception(403, "DSQuotaExceededException", "The DiskSpace quota of /f is exceeded"),
       StatusCode::kResourceExhausted,
       "quota of space is used up (The DiskSpace quota of /f is exceeded)"},
      {Exception(400, "IllegalArgumentException", "Invalid value"), StatusCode::kInvalidArgument,
       "IllegalArgumentException: Invalid value"},
      {Exception(403, "IOException", "odd\\n\\tat java.lang"), StatusCode::kUnavailable,
       "says IOException: odd"},
      {Reply(401, "", "WWW-Authenticate: Basic\r\n"), StatusCode::kPermissionDenied,
       "answers HTTP 401: it asks for authentication"},
      {Reply(404, "<html>nothing</html>"), StatusCode::kInvalidArgument,
       "HTTP 404 and nothing of WebHDFS ... from the URI ... 9870"},
      {{"HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\n\r\nIt looks like you are making an "
        "HTTP request to a Hadoop IPC port. This is not the correct port",
        Then::kClose},
       StatusCode::kInvalidArgument,
       "an RPC port ... 8020 or 9000 ... from the URI ... 9870 ... webhdfs://HOST:PORT/PATH ... "
       "HADOOP_CONF_DIR"},
      {Exception(400, "IllegalArgumentException", "Invalid operation GETFILESTATUS"),
       StatusCode::kInvalidArgument,
       "a DataNode ... 9864 ... from the URI ... 9870 ... webhdfs://HOST:PORT/PATH ... "
       "HADOOP_CONF_DIR"},
      {{"SSH-2.0-server\r\n", Then::kClose}, StatusCode::kInvalidArgument, "does not speak HTTP"},
      {Reply(200, "garbage"), StatusCode::kUnavailable, "not what WebHDFS says"},
      {Reply(200, R"({"FileStatus":{"type":"FILE","length":-1,"modificationTime":1}})"),
       StatusCode::kUnavailable, "not what WebHDFS says"},
      {Reply(200, std::string(100'000, '[')), StatusCode::kUnavailable, "not what WebHDFS says"},
  };
  for (const Case& c : cases) {
    INFO(c.words);
    trouble = c.reply;
    asked = 0;
    const Status status = hdfs.files->Stat(hdfs.base + "/f").status();
    INFO(status.ToString());
    CHECK(status.code() == c.code);
    CHECK_THAT(status.message(), Says("... " + c.words));
    CHECK(asked == 1);
  }
}

TEST_CASE("a wrong port is reported with its configuration key") {
  const ScriptedServer data_node([](const ServedRequest&) {
    return Exception(400, "IllegalArgumentException", "Invalid operation GETFILESTATUS");
  });
  const auto files =
      Files("hdfs://nn", {{{"127.0.0.1", data_node.port()}, "dfs.namenode.http-address"}});
  CHECK_THAT(files->Stat("hdfs://nn/f").status().message(),
             Says("cannot look up 'hdfs://nn/f': the NameNode " + data_node.address() +
                  " answers as a DataNode ... 9864 ... dfs.namenode.http-address ... 9870"));
}

TEST_CASE("creation is confirmed by a 201 or by reading the file") {
  enum { kStored, kForeign, kNothing, kOnlyOk, kPartial } what = kStored;
  int puts = 0;
  FakeHdfs* self = nullptr;
  FakeHdfs hdfs([&](const ServedRequest& r, ServedReply* reply) {
    if (!IsData(r, "CREATE") || ++puts > 1) return false;
    if (what != kNothing) self->content[r.path] = what == kForeign ? "other" : r.content;
    if (what == kPartial) self->content[r.path] = "mi";
    *reply = {"", Then::kClose};
    if (what == kOnlyOk) *reply = Reply(200, "");
    return true;
  });
  self = &hdfs;
  const auto create = [&](auto kind) {
    what = kind;
    puts = 0;
    hdfs.content.clear();
    return hdfs.files->CreateExclusively(hdfs.base + "/f", "mine");
  };
  CHECK(create(kStored).ok());
  CHECK(create(kForeign).code() == StatusCode::kAlreadyExists);
  CHECK(hdfs.content["/f"] == "other");
  CHECK(create(kNothing).ok());
  CHECK(puts == 2);
  CHECK(hdfs.content["/f"] == "mine");
  CHECK(create(kOnlyOk).ok());
  CHECK(hdfs.server.Count("OPEN") > 0);
  const Status partial = create(kPartial);
  CHECK(partial.code() == StatusCode::kUnavailable);
  CHECK(partial.message().find("a file of 2 of 4 bytes is there") != std::string::npos);
}

TEST_CASE("a lost answer to a change is not a failure") {
  bool lose = true;
  FakeHdfs* self = nullptr;
  FakeHdfs hdfs([&](const ServedRequest& r, ServedReply* reply) {
    const std::string op = r.op();
    const bool acts = op == "RENAME" || op == "DELETE" || IsData(r, "CREATE");
    if (!lose || !acts) return false;
    lose = false;
    (void)self->Serve(r);
    *reply = {"", Then::kClose};
    return true;
  });
  self = &hdfs;
  hdfs.content["/a"] = "1";
  CHECK(hdfs.files->Rename(hdfs.base + "/a", hdfs.base + "/b").ok());
  CHECK(hdfs.content == std::map<std::string, std::string>{{"/b", "1"}});
  lose = true;
  CHECK(hdfs.files->Delete(hdfs.base + "/b").ok());
  CHECK(hdfs.files->Delete(hdfs.base + "/b").code() == StatusCode::kNotFound);
  for (const char* op : {"CREATE", "RENAME"}) {
    lose = op == std::string("CREATE");
    CHECK(hdfs.files->WriteAtomically(hdfs.base + "/c", op, "g2-m0").ok());
    CHECK(hdfs.content == std::map<std::string, std::string>{{"/c", op}});
  }
}

TEST_CASE("block locations fall back to the older call only once") {
  FakeHdfs hdfs([&](const ServedRequest& r, ServedReply* reply) {
    if (r.op() != "GET_BLOCK_LOCATIONS") return false;
    *reply = Reply(200, R"({"LocatedBlocks":{"locatedBlocks":[{"startOffset":5,"block":)"
                        R"({"numBytes":7},"locations":[{"ipAddr":"10.0.0.1","hostName":"node1",)"
                        R"("xferPort":9866,"infoPort":9864}]}]}})");
    return true;
  });
  hdfs.content["/f"] = "0123456789";
  for (int i = 0; i < 2; ++i) {
    const auto blocks = hdfs.files->BlockLocations(hdfs.base + "/f", 0, 10);
    REQUIRE(blocks.ok());
    REQUIRE(blocks->size() == 1);
    CHECK(blocks->at(0).offset == 5);
    CHECK(blocks->at(0).length == 7);
    CHECK(blocks->at(0).hosts == std::vector<std::string>{"node1"});
  }
  CHECK(hdfs.server.Count("GETFILEBLOCKLOCATIONS") == 1);
}

TEST_CASE("malformed, unsorted or endless listings are refused") {
  std::string entries;
  FakeHdfs hdfs([&](const ServedRequest& r, ServedReply* reply) {
    if (r.op() != "LISTSTATUS_BATCH") return false;
    *reply = Reply(200, R"({"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[)" +
                            entries + R"(]}},"remainingEntries":5}})");
    return true;
  });
  const auto entry = [](const std::string& name) {
    return R"({"pathSuffix":")" + name + R"(","type":"FILE","length":1,"modificationTime":1})";
  };
  for (const std::string& bad : {entry("../x"), entry(".."), entry("b") + "," + entry("a"),
                                 entry("a"), std::string(), std::string("7")}) {
    INFO(bad);
    entries = bad;
    CHECK_FALSE(hdfs.files->Names(hdfs.base + "/d").ok());
  }
}

TEST_CASE("a cancelled wait ends at once") {
  constexpr int kAsksBefore = 5;  // after the reply, within the long wait
  std::atomic<int> served{0}, asked{0};
  StorageOptions options = Quick();
  options.webhdfs.retry.give_up_ms = 1'000'000;
  options.webhdfs.retry.wait_ms = options.webhdfs.retry.wait_max_ms = 100'000;
  options.webhdfs.http.cancelled = [&] { return served > 0 && ++asked > kAsksBefore; };
  FakeHdfs hdfs(
      [&](const ServedRequest&, ServedReply* reply) {
        *reply = Exception(403, "SafeModeException", "x");
        ++served;
        return true;
      },
      options);
  CHECK(hdfs.files->Stat(hdfs.base + "/f").status().code() == StatusCode::kCancelled);
  CHECK(served == 1);
}

}  // namespace
}  // namespace espalier::storage
