#include "src/base/directories.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "src/base/file_descriptor.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

// An opened directory for one test.
class Directory {
 public:
  Directory() : path_(Made()), opened_(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  ~Directory() { fs::remove_all(path_); }
  int fd() const { return opened_.get(); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  Strings Names() const {
    Strings names;
    REQUIRE(NamesIn(fd(), &names) == 0);
    return names;
  }

 private:
  static std::string Made() {
    const char* base = std::getenv("TEST_TMPDIR");
    std::string path = std::string(base ? base : "/tmp") + "/espalier-test-XXXXXX";
    REQUIRE(mkdtemp(path.data()) != nullptr);
    return path;
  }

  const std::string path_;
  const FileDescriptor opened_;
};

TEST_CASE("the names in a directory are sorted") {
  Directory dir;
  for (const char* name : {"b", "a", ".c"}) std::ofstream(dir / name) << "1";
  CHECK(dir.Names() == Strings{".c", "a", "b"});
  const FileDescriptor file(open((dir / "a").c_str(), O_RDONLY));
  Strings names;
  CHECK(NamesIn(file.get(), &names) == ENOTDIR);
}

TEST_CASE("a removal takes a file, a link or a tree") {
  Directory dir;
  fs::create_directories(dir / "tree/a/b");
  fs::create_directories(dir / "tree/c");
  fs::create_directories(dir / "kept");
  std::ofstream(dir / "tree/a/b/x") << "1";
  std::ofstream(dir / "kept/x") << "1";
  std::ofstream(dir / "file") << "1";
  fs::create_symlink(dir / "kept", dir / "tree/c/link");
  fs::create_symlink(dir / "kept", dir / "link");
  for (const char* name : {"tree", "file", "link", "missing"}) {
    const TreeRemoval removal = RemoveTreeIn(dir.fd(), name);
    INFO(name << " " << removal.path);
    CHECK(removal.error_number == 0);
  }
  CHECK(dir.Names() == Strings{"kept"});
  CHECK(fs::exists(dir / "kept/x"));
  CHECK(RemoveContents(dir.fd()).error_number == 0);
  CHECK(dir.Names().empty());
}

TEST_CASE("a removal opens few files in a deep tree") {
  Directory dir;
  constexpr int kDepth = 5000;  // its path is longer than the system accepts
  int fd = dup(dir.fd());
  for (int i = 0; i < kDepth; ++i) {
    REQUIRE(mkdirat(fd, "d", 0700) == 0);
    const int below = openat(fd, "d", O_RDONLY | O_DIRECTORY);
    REQUIRE(below >= 0);
    close(fd);
    fd = below;
  }
  close(fd);
  const FileDescriptor next(dup(dir.fd()));
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few = {static_cast<rlim_t>(next.get()) + 5, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  const TreeRemoval removal = RemoveTreeIn(dir.fd(), "d");
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK(removal.error_number == 0);
  CHECK(dir.Names().empty());
}

TEST_CASE("a removal names the entry that failed") {
  Directory dir;
  const TreeRemoval missing = RemoveTreeIn(-1, "x");
  CHECK(missing.error_number == EBADF);
  if (geteuid() == 0) return;  // root may delete everything
  fs::create_directories(dir / "tree/closed/below");
  fs::permissions(dir / "tree/closed", fs::perms::owner_read | fs::perms::owner_exec);
  const TreeRemoval removal = RemoveTreeIn(dir.fd(), "tree");
  CHECK(removal.error_number == EACCES);
  CHECK(removal.path == "tree/closed/below");
  fs::permissions(dir / "tree/closed", fs::perms::owner_all);
}

}  // namespace
}  // namespace espalier
