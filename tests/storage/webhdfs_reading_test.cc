// Reads over WebHDFS from servers that fail, stall or send false answers.
#include <catch2/catch.hpp>

#include "src/storage/webhdfs_file_system.h"
#include "tests/storage/fake_hdfs.h"
#include "tests/testing/says.h"

namespace espalier::storage {
namespace {

using Then = ServedReply::Then;

std::string Digits(size_t size) {
  std::string text;
  while (text.size() < size) text += std::to_string(text.size()) + ",";
  return text.substr(0, size);
}

TEST_CASE("a body that ends early is continued from the byte reached") {
  const std::string bytes = Digits(3'000'000);
  std::vector<std::string> offsets;
  FakeHdfs hdfs([&](const ServedRequest& r, ServedReply* reply) {
    if (!IsData(r, "OPEN")) return false;
    offsets.push_back(r.query.at("offset"));
    const size_t offset = std::stoull(offsets.back());
    *reply = Reply(200, bytes.substr(offset));
    if (offsets.size() < 4) {
      reply->bytes.resize(reply->bytes.size() - bytes.size() + offset + 700'000);
      reply->then = Then::kClose;
    }
    return true;
  });
  hdfs.content["/f"] = bytes;
  CHECK(hdfs.files->ReadAll(hdfs.base + "/f", 1 << 30).value() == bytes);
  CHECK(offsets == std::vector<std::string>{"0", "700000", "1400000", "2100000"});
}

TEST_CASE("a stalled body times out and is read from another node") {
  int opened = 0;
  std::string excluded;
  int port = 0;
  StorageOptions options = Quick();
  options.webhdfs.retry.give_up_ms = 5000;
  const auto change = [&](const ServedRequest& r, ServedReply* reply) {
    if (r.op() == "GET_BLOCK_LOCATIONS") {
      *reply = Reply(200, R"({"LocatedBlocks":{"locatedBlocks":[{"startOffset":0,"block":)"
                          R"({"numBytes":10},"locations":[{"ipAddr":"127.0.0.1","hostName":"h",)"
                          R"("xferPort":4711,"infoPort":)" +
                              std::to_string(port) + "}]}]}}");
      return true;
    }
    if (r.op() == "OPEN" && r.query.count("excludedatanodes")) {
      excluded = r.query.at("excludedatanodes");
    }
    if (!IsData(r, "OPEN") || ++opened > 1) return false;
    *reply = {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n012", Then::kStall};
    return true;
  };
  FakeHdfs hdfs(change, options);
  port = hdfs.server.port();
  hdfs.content["/f"] = "0123456789";
  CHECK(hdfs.files->ReadAll(hdfs.base + "/f", 100).value() == "0123456789");
  CHECK(excluded == "127.0.0.1:4711");
}

TEST_CASE("a reply of the wrong length is an error") {
  std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n0123456789ab";
  FakeHdfs hdfs([&](const ServedRequest& r, ServedReply* reply) {
    if (!IsData(r, "OPEN")) return false;
    *reply = {head, Then::kClose};
    return true;
  });
  hdfs.content["/f"] = "0123456789";
  const auto read = [&] { return hdfs.files->ReadAll(hdfs.base + "/f", 100).status(); };
  CHECK(read().code() == StatusCode::kDataLoss);
  CHECK_THAT(read().message(),
             Says("cannot read '" + hdfs.base + "/f': of 10 bytes from 0 ... 12 ... changed"));
  head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n0123";
  CHECK(read().code() == StatusCode::kDataLoss);
  head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n0123456789ab\r\n0\r\n\r\n";
  CHECK_THAT(read().message(),
             Says("cannot read '" + hdfs.base + "/f': ... more bytes ... up to byte 10"));
}

TEST_CASE("a body without a length that ends early is continued") {
  FakeHdfs hdfs([](const ServedRequest& r, ServedReply* reply) {
    if (!IsData(r, "OPEN")) return false;
    const std::string part = std::string("0123456789").substr(std::stoull(r.query.at("offset")), 4);
    *reply = {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
                  std::to_string(part.size()) + "\r\n" + part + "\r\n0\r\n\r\n",
              Then::kClose};
    return true;
  });
  hdfs.content["/f"] = "0123456789";
  CHECK(hdfs.files->ReadAll(hdfs.base + "/f", 100).value() == "0123456789");
}

TEST_CASE("endless headers and replies are cut off") {
  FakeHdfs hdfs([&](const ServedRequest& r, ServedReply* reply) {
    if (r.path == "/headers") {
      *reply = {"HTTP/1.1 200 OK\r\n", Then::kRepeat, "X-More: " + std::string(500, 'x') + "\r\n"};
    } else if (r.path == "/interim") {
      *reply = {"HTTP/1.1 100 Continue\r\n\r\n", Then::kRepeat, "HTTP/1.1 100 Continue\r\n\r\n"};
    } else if (r.path == "/reply") {
      *reply = {"HTTP/1.1 200 OK\r\n\r\n", Then::kRepeat, std::string(50'000, ' ')};
    } else {
      *reply = {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", Then::kStall};
    }
    return true;
  });
  for (const char* path : {"/headers", "/interim", "/reply"}) {
    const Status status = hdfs.files->Stat(hdfs.base + path).status();
    INFO(status.ToString());
    CHECK(status.code() == StatusCode::kUnavailable);
    CHECK(status.message().find("longer than what is allowed") != std::string::npos);
  }
  const Status stalled = hdfs.files->Stat(hdfs.base + "/stalled").status();
  CHECK(stalled.message().find("does not answer") != std::string::npos);
}

TEST_CASE("redirects are restricted and their tokens stay secret") {
  std::string location;
  FakeHdfs hdfs([&](const ServedRequest& r, ServedReply* reply) {
    if (r.op() != "OPEN") return false;
    *reply = Reply(307, "", "Location: " + location + "\r\n");
    return true;
  });
  hdfs.content["/f"] = "1";
  for (const std::string& to :
       {"http://" + hdfs.server.address() + "/webhdfs/v1/f?op=OPEN&delegation=SECRETTOKEN",
        std::string("file:///etc/passwd?SECRETTOKEN"), std::string("ftp://h/SECRETTOKEN"),
        std::string("http:///SECRETTOKEN"), std::string("http://user:SECRETTOKEN@h/"),
        std::string("SECRETTOKEN"), std::string("http://h:99999/SECRETTOKEN")}) {
    location = to;
    const Status status = hdfs.files->ReadAll(hdfs.base + "/f", 100).status();
    INFO(status.ToString());
    CHECK(status.code() == StatusCode::kUnavailable);
    CHECK(status.ToString().find("redirects") != std::string::npos);
    CHECK(status.ToString().find("SECRETTOKEN") == std::string::npos);
  }
}

TEST_CASE("a closed port is reported soon and with its address") {
  const auto files = MakeFileSystem(Quick());
  const std::string port = std::to_string(ClosedPort());
  const Status status = files->Stat("webhdfs://127.0.0.1:" + port + "/f").status();
  INFO(status.ToString());
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK(status.message().find("the NameNode 127.0.0.1:" + port + " cannot be reached: ") !=
        std::string::npos);
  CHECK(status.message().find("; is HDFS running there? (its address is from the URI); name the") !=
        std::string::npos);
  CHECK(status.message().find("; given up after ") != std::string::npos);
}

TEST_CASE("connections are reused and small reads are combined") {
  FakeHdfs hdfs;
  hdfs.content["/f"] = Digits(600'000);
  for (int i = 0; i < 20; ++i) CHECK(hdfs.files->Stat(hdfs.base + "/f").ok());
  CHECK(hdfs.server.connections() == 1);
  const auto file = hdfs.files->Open(hdfs.base + "/f");
  std::string read;
  char buffer[1000];
  for (int i = 0; i < 600; ++i) {
    REQUIRE((*file)->ReadAt(i * 1000, buffer).value() == 1000);
    read.append(buffer, 1000);
  }
  CHECK(read == hdfs.content["/f"]);
  // One request for the block and one for the stream, each at NameNode and DataNode.
  CHECK(hdfs.server.Count("OPEN") <= 4);
}

TEST_CASE("reading the start of an announced range adds no request") {
  FakeHdfs hdfs;
  hdfs.content["/f"] = Digits(2'000'000);
  const auto file = hdfs.files->Open(hdfs.base + "/f");
  (*file)->WillRead(0, 2'000'000);
  std::string magic(16, ' '), read(2'000'000, ' ');
  REQUIRE((*file)->ReadAt(0, magic).value() == magic.size());
  CHECK(hdfs.content["/f"].starts_with(magic));
  for (size_t at = 0; at < read.size(); at += 500'000) {
    REQUIRE((*file)->ReadAt(at, {read.data() + at, 500'000}).value() == 500'000);
  }
  CHECK(read == hdfs.content["/f"]);
  CHECK(hdfs.server.Count("OPEN") == 2);  // one at the NameNode, one at the DataNode
}

TEST_CASE("a gateway that sends the bytes itself is supported") {
  FakeHdfs hdfs([&](const ServedRequest& r, ServedReply* reply) {
    if (r.op() != "OPEN") return false;
    *reply = Reply(
        200, std::string("0123456789")
                 .substr(std::stoull(r.query.at("offset")), std::stoull(r.query.at("length"))));
    return true;
  });
  hdfs.content["/f"] = "0123456789";
  CHECK(hdfs.files->ReadAll(hdfs.base + "/f", 100).value() == "0123456789");
}

}  // namespace
}  // namespace espalier::storage
