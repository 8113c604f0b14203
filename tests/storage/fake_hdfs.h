// An in-memory WebHDFS for tests that make it fail, stall or send false answers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "src/storage/file_systems.h"
#include "tests/storage/scripted_server.h"

namespace espalier::storage {

// Returns options with short limits, so that tests do not wait.
inline StorageOptions Quick() {
  StorageOptions options;
  options.writer = "tester";
  options.webhdfs.user = "ada";
  options.webhdfs.http.connect_ms = 1000;
  options.webhdfs.http.reply_ms = 500;
  options.webhdfs.http.stall_ms = 1000;
  options.webhdfs.http.header_bytes_max = 8 << 10;
  options.webhdfs.http.reply_bytes_max = 1 << 20;
  options.webhdfs.retry = {.wait_ms = 10,
                           .wait_max_ms = 50,
                           .give_up_ms = 600,
                           .first_contact_ms = 300,
                           .attempts_max = 50};
  return options;
}

inline bool IsData(const ServedRequest& r, const char* op) {
  return r.op() == op && r.query.count("data") > 0;
}

// An in-memory WebHDFS with the NameNode and the DataNode at one address. `change` can answer a
// request instead.
class FakeHdfs {
 public:
  using Override = std::function<bool(const ServedRequest&, ServedReply*)>;

  explicit FakeHdfs(Override change = {}, StorageOptions options = Quick())
      : change_(std::move(change)),
        server([this](const ServedRequest& r) { return Serve(r); }),
        files(MakeFileSystem(std::move(options))),
        base("webhdfs://" + server.address()) {}

  ServedReply Serve(const ServedRequest& r) {
    ServedReply reply;
    if (change_ && change_(r, &reply)) return reply;
    const bool data = r.query.count("data") > 0;
    const auto found = content.find(r.path);
    const std::string op = r.op();
    if (op == "CREATE" && !data) return Redirect(r);
    if (op == "CREATE") {
      if (found != content.end() && r.query.at("overwrite") == "false") {
        return Exception(403, "FileAlreadyExistsException", r.path);
      }
      content[r.path] = r.content;
      return Reply(201, "");
    }
    if (op == "DELETE") return Reply(200, content.erase(r.path) ? kTrue : kFalse);
    if (found == content.end()) return Exception(404, "FileNotFoundException", "File not there");
    if (op == "GETFILESTATUS") return Reply(200, StatusOf(found->second.size()));
    if (op == "RENAME") {
      content[r.query.at("destination")] = found->second;
      content.erase(r.path);
      return Reply(200, "");
    }
    if (op == "OPEN" && !data) return Redirect(r);
    if (op == "OPEN") {
      const size_t offset = std::stoull(r.query.at("offset"));
      return Reply(200, found->second.substr(offset, std::stoull(r.query.at("length"))));
    }
    return Exception(400, "IllegalArgumentException", op + " is not a valid operation.");
  }

  ServedReply Redirect(const ServedRequest& r) const {
    return Reply(
        307, "",
        "Location: http://" + server.address() + r.target + "&data=1&delegation=SECRETTOKEN\r\n");
  }

  static constexpr const char* kTrue = R"({"boolean":true})";
  static constexpr const char* kFalse = R"({"boolean":false})";

  static std::string StatusOf(size_t length) {
    return R"({"FileStatus":{"pathSuffix":"","type":"FILE","modificationTime":1,"length":)" +
           std::to_string(length) + "}}";
  }

 private:
  const Override change_;

 public:
  std::map<std::string, std::string> content;
  ScriptedServer server;
  const std::unique_ptr<FileSystem> files;
  const std::string base;
};

}  // namespace espalier::storage
