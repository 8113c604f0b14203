// File systems for the tests of outputs and checkpoints: a local directory and a WebHDFS in memory
// that also has directories. Others simulate a process that pauses or dies during a call.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/storage/passing_files.h"
#include "tests/storage/fake_hdfs.h"
#include "tests/storage/temporary_directory.h"

namespace espalier::bundle {

// A WebHDFS in memory. A directory exists if a path below it does; its mark is an entry that ends
// in "/".
class FakeHdfsTree {
 public:
  FakeHdfsTree()
      : hdfs([this](const storage::ServedRequest& r,
                    storage::ServedReply* reply) { return Serve(r, reply); },
             Patient()) {}

 private:
  static storage::StorageOptions Patient() {
    storage::StorageOptions options = storage::Quick();
    options.webhdfs.http.reply_ms = 20'000;
    options.webhdfs.retry.give_up_ms = 20'000;
    return options;
  }
  bool IsDirectory(const std::string& path) const {
    const auto it = hdfs.content.lower_bound(path + "/");
    return it != hdfs.content.end() && it->first.starts_with(path + "/");
  }
  // Returns all names at or below a path.
  std::vector<std::string> Tree(const std::string& path) const {
    std::vector<std::string> all;
    for (const auto& [name, bytes] : hdfs.content) {
      if (name == path || name.starts_with(path + "/")) all.push_back(name);
    }
    return all;
  }
  std::string Children(const std::string& path) const {
    std::map<std::string, std::string> children;
    for (const std::string& name : Tree(path)) {
      const std::string rest = name.substr(std::min(name.size(), path.size() + 1));
      const std::string child = rest.substr(0, rest.find('/'));
      if (child.empty()) continue;
      const bool file = rest == child;
      children[child] = R"({"pathSuffix":")" + child + R"(","type":")" +
                        (file ? "FILE" : "DIRECTORY") + R"(","modificationTime":1,"length":)" +
                        std::to_string(file ? hdfs.content.at(name).size() : 0) + "}";
    }
    std::string list;
    for (const auto& [child, entry] : children) list += (list.empty() ? "" : ",") + entry;
    return list;
  }
  bool Serve(const storage::ServedRequest& r, storage::ServedReply* reply) {
    const std::string op = r.op();
    const bool directory = IsDirectory(r.path);
    if (op == "MKDIRS") {
      hdfs.content[r.path + "/"];
      *reply = storage::Reply(200, storage::FakeHdfs::kTrue);
    } else if (op == "LISTSTATUS_BATCH" && directory) {
      *reply = storage::Reply(
          200, R"({"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[)" +
                   Children(r.path) + R"(]}},"remainingEntries":0}})");
    } else if (op == "GETFILESTATUS" && directory) {
      *reply = storage::Reply(
          200, R"({"FileStatus":{"pathSuffix":"","type":"DIRECTORY","modificationTime":1,)"
               R"("length":0}})");
    } else if (op == "DELETE" && directory && r.query.at("recursive") == "false" &&
               !Children(r.path).empty()) {
      *reply = storage::Exception(403, "PathIsNotEmptyDirectoryException", "it is not empty");
    } else if (op == "DELETE" && directory) {
      for (const std::string& name : Tree(r.path)) hdfs.content.erase(name);
      *reply = storage::Reply(200, storage::FakeHdfs::kTrue);
    } else if (op == "RENAME") {
      *reply = Rename(r.path, r.query.at("destination"), r.query.at("renameoptions"));
    } else {
      return false;
    }
    return true;
  }
  storage::ServedReply Rename(const std::string& from, const std::string& to,
                              const std::string& option) {
    const auto names = Tree(from);
    if (names.empty())
      return storage::Exception(404, "FileNotFoundException", "rename source not found");
    if (!IsDirectory(to.substr(0, to.rfind('/')))) {
      return storage::Exception(404, "FileNotFoundException",
                                "rename destination parent not found");
    }
    if (option != "OVERWRITE" && !Tree(to).empty()) {
      return storage::Exception(403, "FileAlreadyExistsException", "rename destination exists");
    }
    for (const std::string& name : names) {
      hdfs.content[to + name.substr(from.size())] = hdfs.content.at(name);
      hdfs.content.erase(name);
    }
    return storage::Reply(200, "");
  }

 public:
  storage::FakeHdfs hdfs;
};

struct Place {
  std::string name;
  std::shared_ptr<const void> keeper;
  const storage::FileSystem* files = nullptr;
  std::string root;

  std::vector<std::string> Names(const std::string& directory = "") const {
    const auto names = files->Names(root + (directory.empty() ? "" : "/" + directory));
    INFO(names.status().ToString());
    REQUIRE(names.ok());
    return *names;
  }
  void Put(const std::string& path, std::string_view content) const {
    const size_t slash = path.rfind('/');
    if (slash != std::string::npos) {
      REQUIRE(files->MakeDirectory(root + "/" + path.substr(0, slash)).ok());
    }
    const Status written = files->WriteAtomically(root + "/" + path, content);
    INFO(written.ToString());
    REQUIRE(written.ok());
  }
  std::string Get(const std::string& path) const {
    auto content = files->ReadAll(root + "/" + path, 1 << 30);
    INFO(content.status().ToString());
    REQUIRE(content.ok());
    return *std::move(content);
  }
};

inline std::vector<Place> MakePlaces() {
  struct Local {
    storage::TemporaryDirectory directory;
    std::unique_ptr<storage::FileSystem> files = storage::MakeLocalFileSystem();
  };
  const auto local = std::make_shared<Local>();
  const auto hdfs = std::make_shared<FakeHdfsTree>();
  std::vector<Place> places;
  places.push_back({"local", local, local->files.get(), local->directory.path()});
  places.push_back({"hdfs", hdfs, hdfs->hdfs.files.get(), hdfs->hdfs.base + "/home"});
  REQUIRE(places.back().files->MakeDirectory(places.back().root).ok());
  return places;
}

// Passes all calls on. Before call number `calls` (from 0) the process pauses and `meanwhile` runs.
class PausedFiles : public storage::PassingFiles {
 public:
  PausedFiles(const storage::FileSystem& files, int calls, std::function<void()> meanwhile)
      : storage::PassingFiles(files), left_(calls), meanwhile_(std::move(meanwhile)) {}
  bool paused() const { return left_ < 0; }

  Result<std::vector<std::string>> Names(const std::string& p) const override {
    return Call(), storage::PassingFiles::Names(p);
  }
  Result<storage::FileInfo> Stat(const std::string& p) const override {
    return Call(), storage::PassingFiles::Stat(p);
  }
  Result<std::unique_ptr<storage::ReadableFile>> Open(const std::string& p) const override {
    return Call(), storage::PassingFiles::Open(p);
  }
  Status WriteAtomically(const std::string& p, std::string_view content,
                         const std::string& writer) const override {
    return Call(), storage::PassingFiles::WriteAtomically(p, content, writer);
  }
  Status Rename(const std::string& from, const std::string& to) const override {
    return Call(), storage::PassingFiles::Rename(from, to);
  }
  Status Exchange(const std::string& one, const std::string& other) const override {
    return Call(), storage::PassingFiles::Exchange(one, other);
  }
  Status MakeDirectory(const std::string& p) const override {
    return Call(), storage::PassingFiles::MakeDirectory(p);
  }
  Status RemoveTree(const std::string& p) const override {
    return Call(), storage::PassingFiles::RemoveTree(p);
  }
  Status RemoveEmptyDirectory(const std::string& p) const override {
    return Call(), storage::PassingFiles::RemoveEmptyDirectory(p);
  }

 private:
  void Call() const {
    if (left_ >= 0 && left_-- == 0) meanwhile_();
  }
  mutable int left_;
  const std::function<void()> meanwhile_;
};

// Passes `changes` changing calls on and interrupts the next one. From then on all calls fail, as
// in a dead process.
class MortalFiles : public storage::FileSystem {
 public:
  MortalFiles(const storage::FileSystem& files, int changes) : files_(files), left_(changes) {}
  bool died() const { return left_ < 0; }

  Result<std::vector<storage::FileInfo>> List(const std::string& p) const override {
    return died() ? Result<std::vector<storage::FileInfo>>(Dead()) : files_.List(p);
  }
  Result<std::vector<std::string>> Names(const std::string& p) const override {
    return died() ? Result<std::vector<std::string>>(Dead()) : files_.Names(p);
  }
  Result<storage::FileInfo> Stat(const std::string& p) const override {
    return died() ? Result<storage::FileInfo>(Dead()) : files_.Stat(p);
  }
  Result<std::unique_ptr<storage::ReadableFile>> Open(const std::string& p) const override {
    return died() ? Result<std::unique_ptr<storage::ReadableFile>>(Dead()) : files_.Open(p);
  }
  Result<std::vector<storage::BlockLocation>> BlockLocations(const std::string& p, int64_t offset,
                                                             int64_t length) const override {
    return files_.BlockLocations(p, offset, length);
  }
  Status CreateExclusively(const std::string& p, std::string_view content) const override {
    return Lives() ? files_.CreateExclusively(p, content) : Dead();
  }
  Status WriteAtomically(const std::string& path, std::string_view content,
                         const std::string& writer) const override {
    const bool was_alive = !died();
    if (Lives()) return files_.WriteAtomically(path, content, writer);
    if (was_alive) {
      const size_t slash = path.rfind('/') + 1;
      const std::string temporary =
          path.substr(0, slash) + "." + path.substr(slash) + ".tmp-" + writer + "-1";
      (void)files_.CreateExclusively(temporary, content.substr(0, content.size() / 2));
    }
    return Dead();
  }
  Status Rename(const std::string& from, const std::string& to) const override {
    return Lives() ? files_.Rename(from, to) : Dead();
  }
  Status Exchange(const std::string& one, const std::string& other) const override {
    return Lives() ? files_.Exchange(one, other) : Dead();
  }
  Status Delete(const std::string& p) const override { return Lives() ? files_.Delete(p) : Dead(); }
  Status MakeDirectory(const std::string& p) const override {
    return Lives() ? files_.MakeDirectory(p) : Dead();
  }
  Status Restrict(const std::string& p) const override {
    return Lives() ? files_.Restrict(p) : Dead();
  }
  Status RemoveTree(const std::string& p) const override {
    return Lives() ? files_.RemoveTree(p) : Dead();
  }
  Status RemoveEmptyDirectory(const std::string& p) const override {
    return Lives() ? files_.RemoveEmptyDirectory(p) : Dead();
  }

 private:
  bool Lives() const { return left_ >= 0 && --left_ >= 0; }
  static Status Dead() { return Unavailable("the process is dead"); }
  const storage::FileSystem& files_;
  mutable int left_;
};

}  // namespace espalier::bundle
