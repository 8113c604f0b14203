// Tests of the local file system, and of parts that all file systems share. conformance_suite.cc
// contains the rest.
#include "src/storage/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

#include "src/base/file_descriptor.h"
#include "src/storage/file_systems.h"
#include "src/storage/glob.h"
#include "tests/storage/temporary_directory.h"
#include "tests/testing/says.h"

namespace espalier::storage {
namespace {

using Strings = std::vector<std::string>;

TEST_CASE("RemoveTree follows no links and never removes /") {
  const auto files = MakeLocalFileSystem();
  TemporaryDirectory dir;
  REQUIRE(files->MakeDirectory(dir / "t/u").ok());
  dir.Put("kept", "1");
  REQUIRE(symlink((dir / "kept").c_str(), (dir / "t/link").c_str()) == 0);
  REQUIRE(symlink((dir / "gone").c_str(), (dir / "t/dangling").c_str()) == 0);
  CHECK(files->List(dir / "t/l*")->size() == 1);
  CHECK(files->RemoveTree(dir / "t").ok());
  CHECK(Content(dir / "kept") == "1");
  CHECK(files->RemoveTree("/").code() == StatusCode::kInvalidArgument);
  CHECK(files->RemoveTree("//").code() == StatusCode::kInvalidArgument);
}

TEST_CASE("RemoveTree removes a link that ends with a slash") {
  const auto files = MakeLocalFileSystem();
  TemporaryDirectory dir;
  REQUIRE(files->MakeDirectory(dir / "kept").ok());
  dir.Put("kept/x", "1");
  REQUIRE(symlink("kept", (dir / "link").c_str()) == 0);
  CHECK(files->RemoveTree(dir / "link//").ok());
  CHECK(files->Names(dir.path()).value() == Strings{"kept"});
  for (const char* name : {"kept/.", "kept/..", "kept/../", "kept/./"}) {
    INFO(name);
    CHECK(files->RemoveTree(dir / name).code() == StatusCode::kInvalidArgument);
  }
  CHECK(files->RemoveTree(dir / "kept/x/below").code() == StatusCode::kFailedPrecondition);
  CHECK(Content(dir / "kept/x") == "1");
}

// Exchanges two names as fast as possible until its end.
class Exchanger {
 public:
  Exchanger(std::string one, std::string other)
      : thread_([this, one = std::move(one), other = std::move(other)] {
          while (!ended_) {
            if (renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0) {
              ++count_;
            }
          }
        }) {}
  ~Exchanger() {
    ended_ = true;
    thread_.join();
  }
  int count() const { return count_; }

 private:
  std::atomic<bool> ended_{false};
  std::atomic<int> count_{0};
  std::thread thread_;
};

TEST_CASE("RemoveTree stays in a tree whose directories turn into links") {
  const auto files = MakeLocalFileSystem();
  TemporaryDirectory dir;
  // The victim has the same names as the tree, so each deletion by a path may reach one of them.
  Strings names;
  for (int i = 100; i < 200; ++i) names.push_back(std::to_string(i));
  const auto fill = [&dir, &names](const std::string& directory) {
    for (const std::string& name : names) dir.Put(directory + name, "");
  };
  REQUIRE(files->MakeDirectory(dir / "victim").ok());
  fill("victim/");
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1200);
  for (int round = 1; round <= 1000 && std::chrono::steady_clock::now() < end; ++round) {
    REQUIRE(files->MakeDirectory(dir / "tree/sub").ok());
    fill("tree/sub/");
    REQUIRE(symlink((dir / "victim").c_str(), (dir / "link").c_str()) == 0);
    {
      const Exchanger exchanger(dir / "tree/sub", dir / "link");
      while (exchanger.count() == 0) std::this_thread::yield();
      (void)files->RemoveTree(dir / "tree");  // may report the exchange
    }
    INFO("round " << round);
    REQUIRE(files->Names(dir / "victim").value() == names);
    REQUIRE(files->RemoveTree(dir / "tree").ok());
    REQUIRE(files->RemoveTree(dir / "link").ok());
    REQUIRE(files->Names(dir / "victim").value() == names);
  }
}

TEST_CASE("secrets are not read or changed under any path") {
  TemporaryDirectory dir;
  dir.Put("key", "secret");
  dir.Put("data", "1");
  const auto plain = MakeLocalFileSystem();
  REQUIRE(plain->MakeDirectory(dir / "state/below").ok());
  dir.Put("state/below/journal", "secret");
  REQUIRE(symlink((dir / "key").c_str(), (dir / "by-link").c_str()) == 0);
  REQUIRE(link((dir / "key").c_str(), (dir / "by-hard-link").c_str()) == 0);
  REQUIRE(symlink((dir / "state").c_str(), (dir / "linked").c_str()) == 0);
  StorageOptions options;
  options.secrets = {dir / "key", dir / "state", dir / "not-there"};
  const auto files = MakeFileSystem(options);
  const auto refuses = [](const Status& s) {
    INFO(s.ToString());
    CHECK(s.code() == StatusCode::kPermissionDenied);
    CHECK(s.message().find("a secret of this daemon") != std::string::npos);
  };
  for (const char* name : {"key", "by-link", "by-hard-link", "state/../key", "state/below/journal",
                           "linked/below/journal"}) {
    INFO(name);
    refuses(files->Open(dir / name).status());
  }
  refuses(files->Open("file://" + (dir / "key")).status());
  for (const char* name : {"key", "state/new", "linked/new", "not-there"}) {
    INFO(name);
    refuses(files->WriteAtomically(dir / name, "x"));
    refuses(files->CreateExclusively(dir / name, "x"));
    refuses(files->Delete(dir / name));
    refuses(files->Rename(dir / "data", dir / name));
    refuses(files->MakeDirectory(dir / name));
    refuses(files->RemoveTree(dir / name));
  }
  refuses(files->Names(dir / "linked").status());
  refuses(files->Rename(dir / "state", dir / "elsewhere"));
  refuses(files->RemoveTree(dir / ""));  // it contains them
  // A secret on another file system counts by its path, with any address. No request is sent.
  options.secrets = {"hdfs://nn/espalier/state/"};
  const auto any = MakeFileSystem(options);
  refuses(any->Open("webhdfs://127.0.0.1:1/espalier//state/log-1").status());
  refuses(any->RemoveTree("hdfs://other/espalier"));
  // A file that this process has open but that no longer has a name.
  const FileDescriptor nameless(open(dir.Put("spill", "rows").c_str(), O_RDONLY));
  REQUIRE(std::remove((dir / "spill").c_str()) == 0);
  refuses(files->Open("/proc/self/fd/" + std::to_string(nameless.get())).status());
  CHECK(Content(dir / "key") == "secret");
  CHECK(Content(dir / "state/below/journal") == "secret");
  CHECK(*files->ReadAll(dir / "data", 10) == "1");
  CHECK(files->WriteAtomically(dir / "keys", "2").ok());  // only a prefix of the name matches
  CHECK(files->RemoveTree(dir / "keys").ok());
}

TEST_CASE("no write reaches a secret by a directory that turns into a link") {
  TemporaryDirectory dir;
  const auto plain = MakeLocalFileSystem();
  REQUIRE(plain->MakeDirectory(dir / "state").ok());
  REQUIRE(plain->MakeDirectory(dir / "place").ok());
  const Strings kept = {"key", "only"};
  dir.Put("state/key", "secret");
  dir.Put("state/only", "secret");
  dir.Put("other", "1");
  REQUIRE(symlink((dir / "state").c_str(), (dir / "link").c_str()) == 0);
  const auto files = MakeLocalFileSystem({dir / "state"});
  const Exchanger exchanger(dir / "place", dir / "link");
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1200);
  for (int round = 1; round <= 2000 && std::chrono::steady_clock::now() < end; ++round) {
    // Each call may fail: the link leads to a secret.
    (void)files->WriteAtomically(dir / "place/key", "x");
    (void)files->CreateExclusively(dir / "place/new", "x");
    (void)files->MakeDirectory(dir / "place/below/it");
    (void)files->Rename(dir / "other", dir / "place/other");
    (void)files->Rename(dir / "place/key", dir / "key");
    (void)files->Exchange(dir / "place/key", dir / "other");
    (void)files->RemoveTree(dir / "place/key");
    (void)files->Delete(dir / "place/key");
    const Result<Strings> names = files->Names(dir / "place");
    INFO("round " << round << ", " << exchanger.count() << " exchanges");
    REQUIRE((!names.ok() || !std::count(names->begin(), names->end(), "only")));
    REQUIRE(plain->Names(dir / "state").value() == kept);
    REQUIRE(Content(dir / "state/key") == "secret");
  }
  CHECK(exchanger.count() > 0);
}

TEST_CASE("HDFS paths that may alias a secret are refused") {
  StorageOptions options;
  const auto open = MakeFileSystem(options);
  options.secrets = {"hdfs://nn/espalier/state"};
  const auto files = MakeFileSystem(options);
  const auto refuses = [](const Status& s) {
    INFO(s.ToString());
    CHECK(s.code() == StatusCode::kPermissionDenied);
    CHECK(s.message().find("Name the file by its usual path") != std::string::npos);
  };
  // This error comes from the next check, so the path passed.
  const auto lets_through = [](const Status& s) {
    INFO(s.ToString());
    CHECK(s.message().find("fs.defaultFS is not set") != std::string::npos);
  };
  for (const char* path : {"/.reserved/.inodes/16390/state", "//.reserved/raw/x", "/.reserved",
                           "/user/a/.snapshot/s1/x", "/user/a/.snapshot", "/.snapshot/s1"}) {
    const std::string uri = std::string("hdfs://") + path;
    refuses(files->Open(uri).status());
    refuses(files->RemoveTree(uri));
    refuses(files->Rename(uri, "hdfs:///a"));
    lets_through(open->Open(uri).status());
  }
  for (const char* path : {"/user/.reserved/x", "/.reserved-x", "/user/x.snapshot/y"}) {
    lets_through(files->Open(std::string("hdfs://") + path).status());
  }
  // On local disks, these names have no special meaning.
  CHECK(files->Stat("/.reserved/raw").status().code() == StatusCode::kNotFound);
}

TEST_CASE("temporary files of a killed process do not block a write") {
  const auto files = MakeLocalFileSystem();
  TemporaryDirectory dir;
  const std::string left = ".f.tmp-" + std::to_string(getpid()) + "-";
  for (int i = 1; i < 40; ++i) dir.Put(left + std::to_string(i), "half");
  for (const char* text : {"1", "2"}) {
    const Status written = files->WriteAtomically(dir / "f", text);
    INFO(written.ToString());
    CHECK(written.ok());
    CHECK(Content(dir / "f") == text);
  }
}

TEST_CASE("pipes and devices are refused without blocking") {
  const auto files = MakeLocalFileSystem();
  TemporaryDirectory dir;
  CHECK(files->Open("/dev/null").status().code() == StatusCode::kFailedPrecondition);
  REQUIRE(mkfifo((dir / "pipe").c_str(), 0600) == 0);
  CHECK(files->Open(dir / "pipe").status().code() == StatusCode::kFailedPrecondition);
  CHECK(files->Stat(dir / "pipe").status().code() == StatusCode::kFailedPrecondition);
  const Status listed = files->List(dir / "*").status();
  CHECK(listed.code() == StatusCode::kInvalidArgument);
  CHECK(listed.message().find("/pipe': it is a device, a pipe or a socket") != std::string::npos);
}

TEST_CASE("a listing follows links and reports broken ones") {
  const auto files = MakeLocalFileSystem();
  TemporaryDirectory dir;
  REQUIRE(files->MakeDirectory(dir / "d/e").ok());
  REQUIRE(files->MakeDirectory(dir / "kept").ok());
  dir.Put("kept/a.csv", "1");
  const auto link = [&](const std::string& to, const std::string& from) {
    REQUIRE(symlink(to.c_str(), (dir / from).c_str()) == 0);
  };
  const auto problem = [&](const std::string& pattern) {
    const Status status = files->List(dir / pattern).status();
    CHECK(status.code() == StatusCode::kInvalidArgument);
    return status.message();
  };
  link(dir / "kept", "d/y=0");
  link(dir / "kept/a.csv", "d/b.csv");
  CHECK(files->List(dir / "d/y*")->size() == 1);
  CHECK(files->List(dir / "d/b*")->at(0).length == 1);
  link(dir / "gone", "d/c.csv");
  CHECK_THAT(problem("d/*.csv"), Says("cannot look up '" + dir / "d/c.csv" + "' ... broken link"));
  CHECK(problem("*/c.csv") == problem("d/*.csv"));
  CHECK(problem("d/c.csv") == problem("d/*.csv"));
  CHECK(files->List(dir / "d/b*")->size() == 1);  // the pattern does not match it
  link("x.svm", "d/x.svm");
  CHECK_THAT(problem("d/*.svm"),
             Says("cannot look up '" + dir / "d/x.svm" + "' ... links ... in a circle"));
  link(dir / "gone", "d/.#lock");  // as editors leave them
  CHECK(files->List(dir / "d/[.b]*")->size() == 1);
}

TEST_CASE("system errors have distinct codes") {
  CHECK(FileError(ENOSPC, "write", "/x").code() == StatusCode::kResourceExhausted);
  CHECK_THAT(FileError(EACCES, "open", "/x").message(),
             Says("cannot open '/x': permission denied. Grant ... access to it"));
  if (!ProcessUser().empty()) {
    CHECK_THAT(FileError(EACCES, "open", "/x").message(),
               Catch::EndsWith("Grant user " + ProcessUser() + " access to it"));
  }
  const Status nowhere = CreationError(ENOENT, "write", "/none/x");
  CHECK(nowhere.code() == StatusCode::kNotFound);
  CHECK(nowhere.message() == "cannot write '/none/x': the directory '/none' does not exist");
  CHECK_THAT(CreationError(EACCES, "write", "/x").message(), Says("cannot write '/x': permission"));
  CHECK_THAT(MakeLocalFileSystem()->WriteAtomically("/none/such/x", "").message(),
             Catch::EndsWith("the directory '/none/such' does not exist"));
  CHECK(FileError(ENOSPC, "write", "/x").message() ==
        "cannot write '/x': the disk is full (No space left on device)");
}

TEST_CASE("a path's scheme selects one of the allowed file systems") {
  const auto files = MakeFileSystem(StorageOptions{});
  TemporaryDirectory dir;
  dir.Put("a", "1");
  CHECK(files->Stat(dir / "a").ok());
  CHECK(files->Stat("file://" + dir / "a").ok());
  CHECK(files->Stat("file:" + dir / "a").ok());
  CHECK(files->List("file://" + dir.path())->at(0).path == dir / "a");
  const Status other = files->Open("s3a://bucket/a").status();
  CHECK(other.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(
      other.message(),
      Says("the scheme 's3a' of 's3a://bucket/a' ... file:///PATH ... swebhdfs://HOST:PORT/PATH"));
  const Status no_default = files->Stat("hdfs:///a").status();
  CHECK(no_default.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(no_default.message(), Says("'hdfs:///a' is on ... fs.defaultFS is not set ... "
                                        "HADOOP_CONF_DIR ... hdfs://HOST:PORT/PATH"));
  CHECK(files->Rename(dir / "a", "webhdfs://127.0.0.1:1/a").code() == StatusCode::kInvalidArgument);
  CHECK(MakeLocalFileSystem()->Open("file://host/a").status().code() ==
        StatusCode::kInvalidArgument);
  CHECK(MakeLocalFileSystem()->Open("hdfs://host/a").status().code() ==
        StatusCode::kInvalidArgument);
  StorageOptions options;
  options.hadoop_conf_dir = dir / "no";
  const Status no_conf = MakeFileSystem(options)->Stat("hdfs://h/a").status();
  CHECK_THAT(
      no_conf.message(),
      Says("'" + dir / "no" + "' (HADOOP_CONF_DIR) ... neither core-site.xml ... hdfs-site.xml"));
}

TEST_CASE("two stars for any number of levels are refused") {
  TemporaryDirectory dir;
  const auto files = MakeLocalFileSystem();
  REQUIRE(files->MakeDirectory(dir / "a/b").ok());
  dir.Put("a/b/0.csv", "");
  for (const char* pattern : {"**/*.csv", "a/**/*.csv", "a/**", "{a,x}/**"}) {
    INFO(pattern);
    const Status refused = files->List(dir / pattern).status();
    CHECK(refused.code() == StatusCode::kInvalidArgument);
    CHECK_THAT(refused.message(), Says(std::string("... ") + pattern +
                                       "' ... found '**' ... "
                                       "'T/*/*.csv'"));
  }
  CHECK(files->List(dir / "a/*/**.csv")->size() == 1);
}

TEST_CASE("globs match as shells do") {
  CHECK(GlobMatches("*.csv", "a.csv"));
  CHECK_FALSE(GlobMatches("*.csv", "a.csv.gz"));
  CHECK(GlobMatches("part-[0-9][0-9]", "part-07"));
  CHECK_FALSE(GlobMatches("part-[!0-9]", "part-0"));
  CHECK(GlobMatches("a\\*b", "a*b"));
  CHECK_FALSE(GlobMatches("a\\*b", "axb"));
  CHECK(GlobMatches("[a", "[a"));
  CHECK(GlobMatches("**a*", "xxa"));
  CHECK_FALSE(GlobMatches("a?", "a"));
  CHECK(ExpandBraces("a{b,c{d,e}}f").value() == Strings{"abf", "acdf", "abf", "acef"});
  CHECK(ExpandBraces("a{b").value() == Strings{"a{b"});
  const std::string ten = "{0,1,2,3,4,5,6,7,8,9}";
  CHECK(ExpandBraces(ten + ten + ten + ten).status().code() == StatusCode::kInvalidArgument);
  // This pattern takes exponential time in a naive matcher.
  CHECK_FALSE(GlobMatches("*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

}  // namespace
}  // namespace espalier::storage
