// The conformance suite of file systems: what every implementation promises. Each is added to
// `Subjects`.
#include "src/storage/file_system.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <thread>
#include <vector>

#include "src/storage/glob.h"
#include "tests/storage/temporary_directory.h"

namespace espalier {
namespace {

struct Subject {
  const char* name;
  std::unique_ptr<FileSystem> files;
};

std::vector<Subject> Subjects() {
  std::vector<Subject> subjects;
  subjects.push_back({"local", MakeLocalFileSystem()});
  subjects.push_back({"any", MakeFileSystem()});
  return subjects;
}

std::vector<std::string> Names(const Result<std::vector<FileInfo>>& listed, size_t prefix) {
  REQUIRE(listed.ok());
  std::vector<std::string> names;
  for (const FileInfo& info : *listed) names.push_back(info.path.substr(prefix + 1));
  return names;
}

using Strings = std::vector<std::string>;

TEST_CASE("listings are sorted bytewise and leave hidden names out") {
  for (const Subject& s : Subjects()) {
    INFO(s.name);
    TemporaryDirectory dir;
    REQUIRE(s.files->MakeDirectory(dir / "train/sub").ok());
    REQUIRE(s.files->MakeDirectory(dir / "test").ok());
    for (const char* name :
         {"train/b.csv", "train/a.csv", "train/B.csv", "train/_SUCCESS", "train/.a.crc",
          "train/c.csv._COPYING_", "train/sub/d.csv", "test/a.csv", "train/x.txt"}) {
      dir.Put(name, "1");
    }
    const size_t n = dir.path().size();
    const auto list = [&](const std::string& pattern) {
      return Names(s.files->List(dir / pattern), n);
    };
    CHECK(list("train") == Strings{"train/B.csv", "train/a.csv", "train/b.csv", "train/x.txt"});
    CHECK(list("train/") == list("train"));
    CHECK(list("train/*.csv") == Strings{"train/B.csv", "train/a.csv", "train/b.csv"});
    CHECK(list("t*/a.csv") == Strings{"test/a.csv", "train/a.csv"});
    CHECK(list("t*t") == Strings{"test/a.csv"});
    CHECK(list("{train,test}/[ab].csv") == Strings{"test/a.csv", "train/a.csv", "train/b.csv"});
    CHECK(list("train/?.csv").size() == 3);
    CHECK(list("train/_SUCCESS") == Strings{"train/_SUCCESS"});
    CHECK(list("train/*.parquet").empty());
    CHECK(list("nowhere/*.csv").empty());
    CHECK(s.files->List(dir / "nowhere").status().code() == StatusCode::kNotFound);
    CHECK(Names(s.files->List("file://" + dir.path() + "/test"), n) == Strings{"test/a.csv"});
  }
}

TEST_CASE("a file is looked up and read in ranges") {
  for (const Subject& s : Subjects()) {
    INFO(s.name);
    TemporaryDirectory dir;
    const std::string path = dir.Put("a", "0123456789");
    CHECK(s.files->Stat(path)->length == 10);
    CHECK_FALSE(s.files->Stat(path)->is_directory);
    CHECK(s.files->Stat(path)->modified_ms > 1'500'000'000'000);
    CHECK(s.files->Stat(dir.path())->is_directory);
    const auto file = s.files->Open(path);
    REQUIRE(file.ok());
    char buffer[4];
    CHECK((*file)->ReadAt(3, buffer).value() == 4);
    CHECK(std::string(buffer, 4) == "3456");
    CHECK((*file)->ReadAt(8, buffer).value() == 2);
    CHECK((*file)->ReadAt(20, buffer).value() == 0);
    CHECK(s.files->ReadAll(path, 10).value() == "0123456789");
    CHECK(s.files->ReadAll(path, 9).status().code() == StatusCode::kResourceExhausted);
  }
}

TEST_CASE("of several callers one creates a file exclusively") {
  for (const Subject& s : Subjects()) {
    INFO(s.name);
    TemporaryDirectory dir;
    std::atomic<int> made{0}, refused{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        const Status done = s.files->CreateExclusively(dir / "lock", "x");
        ++(done.ok() ? made : refused);
        if (!done.ok() && done.code() != StatusCode::kAlreadyExists) made = 99;
      });
    }
    for (std::thread& t : threads) t.join();
    CHECK(made == 1);
    CHECK(refused == 7);
    CHECK(Content(dir / "lock") == "x");
  }
}

TEST_CASE(
    "an atomic write replaces a file, leaves nothing else and never takes a directory's place") {
  for (const Subject& s : Subjects()) {
    INFO(s.name);
    TemporaryDirectory dir;
    REQUIRE(s.files->WriteAtomically(dir / "a", "old").ok());
    REQUIRE(s.files->WriteAtomically(dir / "a", "new").ok());
    CHECK(Content(dir / "a") == "new");
    REQUIRE(s.files->MakeDirectory(dir / "d").ok());
    CHECK(s.files->WriteAtomically(dir / "d", "x").code() == StatusCode::kFailedPrecondition);
    CHECK(s.files->WriteAtomically(dir / "no/where", "x").code() == StatusCode::kNotFound);
    CHECK(s.files->List(dir.path())->size() == 1);
    CHECK(rmdir((dir / "d").c_str()) == 0);
    CHECK(unlink((dir / "a").c_str()) == 0);
    CHECK(rmdir(dir.path().c_str()) == 0);  // nothing hidden was left
  }
}

TEST_CASE("a rename never overwrites") {
  for (const Subject& s : Subjects()) {
    INFO(s.name);
    TemporaryDirectory dir;
    dir.Put("a", "1");
    dir.Put("b", "2");
    CHECK(s.files->Rename(dir / "a", dir / "b").code() == StatusCode::kAlreadyExists);
    CHECK(Content(dir / "b") == "2");
    CHECK(s.files->Rename(dir / "a", dir / "c").ok());
    CHECK(Content(dir / "c") == "1");
    CHECK(s.files->Rename(dir / "a", dir / "e").code() == StatusCode::kNotFound);
    REQUIRE(s.files->MakeDirectory(dir / "d/inner").ok());
    CHECK(s.files->Rename(dir / "d", dir / "f").ok());
    CHECK(s.files->Stat(dir / "f/inner")->is_directory);
  }
}

TEST_CASE("trees are removed whole, links are not followed") {
  for (const Subject& s : Subjects()) {
    INFO(s.name);
    TemporaryDirectory dir;
    REQUIRE(s.files->MakeDirectory(dir / "t/u/v").ok());
    CHECK(s.files->MakeDirectory(dir / "t/u").ok());
    dir.Put("kept", "1");
    dir.Put("t/u/x", "1");
    REQUIRE(symlink((dir / "kept").c_str(), (dir / "t/link").c_str()) == 0);
    CHECK(s.files->RemoveTree(dir / "t").ok());
    CHECK(s.files->Stat(dir / "t").status().code() == StatusCode::kNotFound);
    CHECK(Content(dir / "kept") == "1");
    CHECK(s.files->RemoveTree(dir / "t").ok());
    CHECK(s.files->RemoveTree("/").code() == StatusCode::kInvalidArgument);
    CHECK(s.files->RemoveTree("//").code() == StatusCode::kInvalidArgument);
    CHECK(s.files->Delete(dir / "kept").ok());
    CHECK(s.files->Delete(dir / "kept").code() == StatusCode::kNotFound);
    CHECK(s.files->MakeDirectory(dir.Put("file", "1") + "/below").code() ==
          StatusCode::kFailedPrecondition);
  }
}

TEST_CASE("errors tell what happened and name the path") {
  for (const Subject& s : Subjects()) {
    INFO(s.name);
    TemporaryDirectory dir;
    const Status missing = s.files->Open(dir / "missing").status();
    CHECK(missing.code() == StatusCode::kNotFound);
    CHECK(missing.message() == "cannot open '" + (dir / "missing") + "': it does not exist");
    const Status directory = s.files->Open(dir.path()).status();
    CHECK(directory.code() == StatusCode::kFailedPrecondition);
    CHECK(directory.message() == "cannot open '" + dir.path() + "': it is a directory");
    CHECK(s.files->Open("").status().code() == StatusCode::kInvalidArgument);
    CHECK(s.files->Open(std::string("a\0b", 3)).status().code() == StatusCode::kInvalidArgument);
    CHECK(s.files->Open("/dev/null").status().code() == StatusCode::kFailedPrecondition);
    REQUIRE(mkfifo((dir / "pipe").c_str(), 0600) == 0);
    CHECK(s.files->Open(dir / "pipe").status().code() == StatusCode::kFailedPrecondition);
    CHECK(FileError(ENOSPC, "write", "/x").code() == StatusCode::kResourceExhausted);
    CHECK(FileError(EACCES, "open", "/x").message() ==
          "cannot open '/x': permission denied (Permission denied)");
  }
}

TEST_CASE("a full disk is told apart") {
  CHECK(FileError(ENOSPC, "write", "/x").message() ==
        "cannot write '/x': the disk is full (No space left on device)");
}

TEST_CASE("a path chooses its file system by scheme, from a list of allowed ones") {
  CHECK(FileSystemFor("/a/b").ok());
  CHECK(FileSystemFor("a/b").ok());
  CHECK(FileSystemFor("file:///a/b").ok());
  const Status hdfs = FileSystemFor("hdfs://name/a").status();
  CHECK(hdfs.code() == StatusCode::kUnimplemented);
  CHECK(hdfs.message().starts_with("HDFS is not in this build yet: 'hdfs://name/a'"));
  CHECK(FileSystemFor("s3://bucket/a").status().code() == StatusCode::kInvalidArgument);
  CHECK(MakeFileSystem()->List("hdfs://name/a").status().code() == StatusCode::kUnimplemented);
  CHECK(MakeFileSystem()->Open("s3://b/a").status().code() == StatusCode::kInvalidArgument);
  CHECK(MakeLocalFileSystem()->Open("file://host/a").status().code() ==
        StatusCode::kInvalidArgument);
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
  // A pattern made to be slow is not.
  CHECK_FALSE(GlobMatches("*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

}  // namespace
}  // namespace espalier
