// The conformance suite of file systems. Every implementation passes it.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "tests/storage/subject.h"

namespace espalier::storage {
namespace {

using Strings = std::vector<std::string>;

Strings NamesOf(const Result<std::vector<FileInfo>>& listed, size_t prefix) {
  INFO(listed.status().ToString());
  REQUIRE(listed.ok());
  Strings names;
  for (const FileInfo& info : *listed) names.push_back(info.path.substr(prefix + 1));
  return names;
}

// Returns pseudorandom bytes, so that a shifted range differs.
std::string Pattern(size_t size) {
  std::string bytes(size, '\0');
  uint32_t x = 1;
  for (char& c : bytes) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  return bytes;
}

TEST_CASE("listings are sorted bytewise and leave hidden names out") {
  for (const Subject& s : MakeSubjects()) {
    INFO(s.name);
    REQUIRE(s.files->MakeDirectory(s / "train/sub").ok());
    REQUIRE(s.files->MakeDirectory(s / "test").ok());
    for (const char* name :
         {"train/b.csv", "train/a.csv", "train/B.csv", "train/_SUCCESS", "train/.a.crc",
          "train/c.csv._COPYING_", "train/sub/d.csv", "test/a.csv", "train/x.txt"}) {
      s.Put(name, "1");
    }
    const size_t n = s.root->size();
    const auto list = [&](const std::string& pattern) {
      return NamesOf(s.files->List(s / pattern), n);
    };
    const Status beside = s.files->List(s / "train").status();
    CHECK(beside.code() == StatusCode::kInvalidArgument);
    CHECK(beside.message().find("/train' holds the directory 'sub', which is not read") !=
          std::string::npos);
    CHECK(beside.message().find("/train/*/*.csv'") != std::string::npos);
    CHECK(list("train/*") ==
          Strings{"train/B.csv", "train/a.csv", "train/b.csv", "train/sub/d.csv", "train/x.txt"});
    CHECK(list("train/*.csv") == Strings{"train/B.csv", "train/a.csv", "train/b.csv"});
    CHECK(list("t*/a.csv") == Strings{"test/a.csv", "train/a.csv"});
    CHECK(list("t*t") == Strings{"test/a.csv"});
    CHECK(list("{train,test}/[ab].csv") == Strings{"test/a.csv", "train/a.csv", "train/b.csv"});
    CHECK(list("train/?.csv").size() == 3);
    CHECK(list("train/_SUCCESS") == Strings{"train/_SUCCESS"});
    CHECK(list("train/*.parquet").empty());
    CHECK(list("nowhere/*.csv").empty());
    CHECK(list("train/a.csv/*").empty());
    CHECK(s.files->List(s / "nowhere").status().code() == StatusCode::kNotFound);
    CHECK(s.files->List(s / "test/")->size() == 1);
    CHECK(s.files->List(s / "train/a.csv")->at(0).length == 1);
    CHECK(s.files->Names(s / "train").value() == Strings{".a.crc", "B.csv", "_SUCCESS", "a.csv",
                                                         "b.csv", "c.csv._COPYING_", "sub",
                                                         "x.txt"});
    CHECK(s.files->Names(s / "nowhere").status().code() == StatusCode::kNotFound);
    CHECK(s.files->Names(s / "train/a.csv").status().code() == StatusCode::kFailedPrecondition);
  }
}

TEST_CASE("directories name=value are entered and counted") {
  for (const Subject& s : MakeSubjects()) {
    INFO(s.name);
    for (const char* name :
         {"p/y=1/z=%2F/a", "p/y=0/z=b/a", "p/_y=2/b", "p/y=0/_SUCCESS", "p/_temporary/y=3/c"}) {
      const std::string path = name;
      REQUIRE(s.files->MakeDirectory(s / ("deep/" + path.substr(0, path.rfind('/')))).ok());
      s.Put("deep/" + path, "1");
    }
    const size_t n = s.root->size();
    const auto list = [&](const std::string& pattern) {
      Strings found;
      const auto files = s.files->List(s / pattern);
      REQUIRE(files.ok());
      for (const FileInfo& file : *files) {
        found.push_back(file.path.substr(n + 6) + " " + std::to_string(file.found_below));
      }
      return found;
    };
    const Strings all = {"p/_y=2/b 1", "p/y=0/z=b/a 2", "p/y=1/z=%2F/a 2"};
    CHECK(list("deep/p") == all);
    CHECK(list("deep/p/*") == all);
    CHECK(list("deep/p/y=0") == Strings{"p/y=0/z=b/a 1"});
    CHECK(list("deep/p/y=*/z=b/a") == Strings{"p/y=0/z=b/a 2"});
    CHECK(list("deep/p/y={0,1}/*/a") == Strings{"p/y=0/z=b/a 2", "p/y=1/z=%2F/a 2"});
    CHECK(list("deep/p/y=0/z=b/a") == Strings{"p/y=0/z=b/a 0"});
    CHECK(list("deep/p/y=0/z=b/[a]") == Strings{"p/y=0/z=b/a 0"});
  }
}

TEST_CASE("a file is looked up and read in ranges") {
  for (const Subject& s : MakeSubjects()) {
    INFO(s.name);
    const std::string path = s.Put("a", "0123456789");
    CHECK(s.files->Stat(path)->length == 10);
    CHECK_FALSE(s.files->Stat(path)->is_directory);
    CHECK(s.files->Stat(path)->modified_ms > 1'500'000'000'000);
    CHECK(s.files->Stat(*s.root)->is_directory);
    const auto file = s.files->Open(path);
    REQUIRE(file.ok());
    char buffer[4];
    CHECK((*file)->ReadAt(3, buffer).value() == 4);
    CHECK(std::string(buffer, 4) == "3456");
    CHECK((*file)->ReadAt(8, buffer).value() == 2);
    CHECK(std::string(buffer, 2) == "89");
    CHECK((*file)->ReadAt(10, buffer).value() == 0);
    CHECK((*file)->ReadAt(20, buffer).value() == 0);
    CHECK(s.files->ReadAll(path, 10).value() == "0123456789");
    CHECK(s.files->ReadAll(path, 9).status().code() == StatusCode::kResourceExhausted);
    CHECK(s.Content(s.Put("empty", "")).empty());
    const auto blocks = s.files->BlockLocations(path, 2, 100);
    REQUIRE(blocks.ok());
    CHECK(blocks->size() == 1);
    CHECK(s.files->BlockLocations(s / "no", 0, 1).status().code() == StatusCode::kNotFound);
  }
}

TEST_CASE("a long file reads the same in pieces of any size") {
  const std::string bytes = Pattern(5'000'003);
  for (const Subject& s : MakeSubjects()) {
    INFO(s.name);
    const auto file = s.files->Open(s.Put("long", bytes));
    REQUIRE(file.ok());
    CHECK(s.Content(s / "long") == bytes);
    const auto read = [&](int64_t begin, int64_t end, size_t piece) {
      std::string all;
      std::string buffer(piece, '\0');
      for (int64_t at = begin; at < end; at += piece) {
        const size_t wanted = std::min<int64_t>(piece, end - at);
        const auto n = (*file)->ReadAt(at, std::span<char>(buffer.data(), wanted));
        if (!n.ok() || *n != wanted) return false;
        all.append(buffer, 0, *n);
      }
      return all == bytes.substr(begin, end - begin);
    };
    CHECK(read(0, 5'000'003, 1 << 20));
    CHECK(read(0, 5'000'003, 7'777));
    CHECK(read(4'999'000, 5'000'003, 11));
    (*file)->WillRead(1'000'000, 3'000'000);
    CHECK(read(1'000'000, 4'000'100, 65'536));
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] { good += read(i * 1'000'000, (i + 1) * 1'000'000, 300'000); });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(good == 4);
  }
}

TEST_CASE("names may hold any byte that the file system allows") {
  for (const Subject& s : MakeSubjects()) {
    INFO(s.name);
    Strings names = {"a b", "a+b",  "a%20b",  "a;b",         "a?b",      "a#b",  "a&b=c",
                     "a*b", "a[b]", "a{b,c}", "caf\xC3\xA9", "a'b\"c",   "a\\b", "a,b",
                     "a~b", "a@b",  "a$b",    "a\xC3\xA9",   "\xC3\xA9", "z"};
    std::sort(names.begin(), names.end());
    REQUIRE(s.files->MakeDirectory(s / "d ir+%").ok());
    for (const std::string& name : names) {
      INFO(name);
      const std::string path = s.Put("d ir+%/" + name, "content of " + name);
      CHECK(s.Content(path) == "content of " + name);
      const auto listed = s.files->List(path);
      REQUIRE(listed.ok());
      CHECK(listed->at(0).path == path);
      CHECK(s.files->WriteAtomically(path, "x" + name).ok());
      CHECK(s.Content(path) == "x" + name);
    }
    CHECK(s.files->Names(s / "d ir+%").value() == names);
    for (const std::string& name : names) CHECK(s.files->Delete(s / ("d ir+%/" + name)).ok());
  }
}

TEST_CASE("only one of several callers creates a file") {
  for (const Subject& s : MakeSubjects()) {
    INFO(s.name);
    std::atomic<int> made{0}, refused{0}, winner{-1};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        const Status done = s.files->CreateExclusively(s / "lock", "x" + std::to_string(i));
        ++(done.ok() ? made : refused);
        if (done.ok()) winner = i;
        if (!done.ok() && done.code() != StatusCode::kAlreadyExists) made = 99;
      });
    }
    for (std::thread& t : threads) t.join();
    CHECK(made == 1);
    CHECK(refused == 7);
    CHECK(s.Content(s / "lock") == "x" + std::to_string(winner));
    CHECK(s.files->CreateExclusively(*s.root, "x").code() == StatusCode::kAlreadyExists);
    CHECK(s.files->CreateExclusively(s / "no/where", "x").code() == StatusCode::kNotFound);
    CHECK(s.files->Stat(s / "no").status().code() == StatusCode::kNotFound);
  }
}

TEST_CASE("an atomic write replaces a file but not a directory") {
  for (const Subject& s : MakeSubjects()) {
    INFO(s.name);
    REQUIRE(s.files->WriteAtomically(s / "a", "old").ok());
    REQUIRE(s.files->WriteAtomically(s / "a", "new", "g3-m1").ok());
    CHECK(s.Content(s / "a") == "new");
    REQUIRE(s.files->MakeDirectory(s / "d").ok());
    const Status onto = s.files->WriteAtomically(s / "d", "x");
    CHECK(onto.code() == StatusCode::kFailedPrecondition);
    CHECK(onto.message() == "cannot write '" + s / "d" + "': it is a directory");
    CHECK(s.files->WriteAtomically(s / "no/where", "x").code() == StatusCode::kNotFound);
    CHECK(s.files->WriteAtomically(s / "a/b", "x").code() == StatusCode::kFailedPrecondition);
    CHECK(s.files->Names(*s.root).value() == Strings{"a", "d"});
  }
}

TEST_CASE("a rename never overwrites") {
  for (const Subject& s : MakeSubjects()) {
    INFO(s.name);
    s.Put("a", "1");
    s.Put("b", "2");
    const Status taken = s.files->Rename(s / "a", s / "b");
    CHECK(taken.code() == StatusCode::kAlreadyExists);
    CHECK(taken.message() == "cannot rename '" + s / "a" + "' to '" + s / "b" + "': it exists");
    CHECK(s.Content(s / "b") == "2");
    CHECK(s.files->Rename(s / "a", s / "c").ok());
    CHECK(s.Content(s / "c") == "1");
    CHECK(s.files->Rename(s / "a", s / "e").code() == StatusCode::kNotFound);
    REQUIRE(s.files->MakeDirectory(s / "d/inner").ok());
    CHECK(s.files->Rename(s / "c", s / "d").code() == StatusCode::kAlreadyExists);
    CHECK(s.files->Names(s / "d").value() == Strings{"inner"});
    CHECK(s.files->Rename(s / "d", s / "f").ok());
    CHECK(s.files->Stat(s / "f/inner")->is_directory);
    CHECK(s.files->Rename(s / "f", s / "no/where").code() == StatusCode::kNotFound);
  }
}

TEST_CASE("an exchange swaps two directories or is unimplemented") {
  for (const Subject& s : MakeSubjects()) {
    INFO(s.name);
    REQUIRE(s.files->MakeDirectory(s / "a").ok());
    REQUIRE(s.files->MakeDirectory(s / "b").ok());
    s.Put("a/x", "1");
    s.Put("b/y", "2");
    const Status swapped = s.files->Exchange(s / "a", s / "b");
    if (!s.exchanges) {
      CHECK(swapped.code() == StatusCode::kUnimplemented);
      CHECK(s.files->Names(s / "a").value() == Strings{"x"});
      continue;
    }
    INFO(swapped.ToString());
    CHECK(swapped.ok());
    CHECK(s.files->Names(s / "a").value() == Strings{"y"});
    CHECK(s.Content(s / "b/x") == "1");
    CHECK(s.files->Exchange(s / "a", s / "c").code() == StatusCode::kNotFound);
    CHECK(s.files->Exchange(s / "c", s / "a").code() == StatusCode::kNotFound);
  }
}

TEST_CASE("RemoveTree removes a tree, Delete only an existing file") {
  for (const Subject& s : MakeSubjects()) {
    INFO(s.name);
    REQUIRE(s.files->MakeDirectory(s / "t/u/v").ok());
    CHECK(s.files->MakeDirectory(s / "t/u").ok());
    s.Put("kept", "1");
    s.Put("t/u/x", "1");
    CHECK(s.files->RemoveTree(s / "t").ok());
    CHECK(s.files->Stat(s / "t").status().code() == StatusCode::kNotFound);
    CHECK(s.Content(s / "kept") == "1");
    CHECK(s.files->RemoveTree(s / "t").ok());
    CHECK(s.files->Delete(s / "kept").ok());
    CHECK(s.files->Delete(s / "kept").code() == StatusCode::kNotFound);
    REQUIRE(s.files->MakeDirectory(s / "empty").ok());
    CHECK_FALSE(s.files->Delete(s / "empty").ok());
    CHECK(s.files->Stat(s / "empty").ok());
    const std::string file = s.Put("file", "1");
    CHECK(s.files->MakeDirectory(file + "/below").code() == StatusCode::kFailedPrecondition);
    CHECK(s.files->MakeDirectory(file).code() == StatusCode::kFailedPrecondition);
  }
}

TEST_CASE("only an empty directory is removed as one") {
  for (const Subject& s : MakeSubjects()) {
    INFO(s.name);
    REQUIRE(s.files->MakeDirectory(s / "full").ok());
    const std::string file = s.Put("full/x", "1");
    CHECK(s.files->RemoveEmptyDirectory(s / "full").code() == StatusCode::kFailedPrecondition);
    CHECK(s.files->RemoveEmptyDirectory(file).code() == StatusCode::kFailedPrecondition);
    CHECK(s.Content(file) == "1");
    REQUIRE(s.files->Delete(file).ok());
    CHECK(s.files->RemoveEmptyDirectory(s / "full").ok());
    CHECK(s.files->Stat(s / "full").status().code() == StatusCode::kNotFound);
    CHECK(s.files->RemoveEmptyDirectory(s / "full").code() == StatusCode::kNotFound);
  }
}

TEST_CASE("the owner can still read a restricted file") {
  for (const Subject& s : MakeSubjects()) {
    INFO(s.name);
    REQUIRE(s.files->MakeDirectory(s / "own").ok());
    s.Put("own/key", "secret");
    CHECK(s.files->Restrict(s / "own").ok());
    CHECK(s.files->Restrict(s / "own/key").ok());
    CHECK(s.Content(s / "own/key") == "secret");
    CHECK(s.files->Restrict(s / "missing").code() == StatusCode::kNotFound);
  }
}

TEST_CASE("errors name the failure and the path") {
  for (const Subject& s : MakeSubjects()) {
    INFO(s.name);
    const Status missing = s.files->Open(s / "missing").status();
    CHECK(missing.code() == StatusCode::kNotFound);
    CHECK(missing.message() == "cannot open '" + s / "missing" + "': it does not exist");
    const Status directory = s.files->Open(*s.root).status();
    CHECK(directory.code() == StatusCode::kFailedPrecondition);
    CHECK(directory.message() == "cannot open '" + *s.root + "': it is a directory");
    CHECK(s.files->Open("").status().code() == StatusCode::kInvalidArgument);
    CHECK(s.files->Open(*s.root + std::string("\0b", 2)).status().code() ==
          StatusCode::kInvalidArgument);
    CHECK(s.files->Stat(s.Put("f", "1") + "/g").status().code() == StatusCode::kFailedPrecondition);
  }
}

}  // namespace
}  // namespace espalier::storage
