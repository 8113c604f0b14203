#include <atomic>
#include <catch2/catch.hpp>

#include "src/data/input/listing.h"

namespace espalier::data {
namespace {

// Implements only the block locations.
class OnlyBlocks : public storage::FileSystem {
 public:
  Result<std::vector<storage::BlockLocation>> BlockLocations(const std::string& path, int64_t,
                                                             int64_t) const override {
    ++asked;
    if (path == "a")
      return std::vector<storage::BlockLocation>{{0, 100, {"n1", "n2"}}, {100, 50, {"n3"}}};
    return No();
  }
  Result<std::vector<storage::FileInfo>> List(const std::string&) const override { return No(); }
  Result<std::vector<std::string>> Names(const std::string&) const override { return No(); }
  Result<storage::FileInfo> Stat(const std::string&) const override { return No(); }
  Result<std::unique_ptr<storage::ReadableFile>> Open(const std::string&) const override {
    return No();
  }
  Status CreateExclusively(const std::string&, std::string_view) const override { return No(); }
  Status WriteAtomically(const std::string&, std::string_view, const std::string&) const override {
    return No();
  }
  Status Rename(const std::string&, const std::string&) const override { return No(); }
  Status Exchange(const std::string&, const std::string&) const override { return No(); }
  Status Delete(const std::string&) const override { return No(); }
  Status MakeDirectory(const std::string&) const override { return No(); }
  Status Restrict(const std::string&) const override { return No(); }
  Status RemoveTree(const std::string&) const override { return No(); }
  Status RemoveEmptyDirectory(const std::string&) const override { return No(); }
  mutable std::atomic<int> asked{0};

 private:
  static Status No() { return Unavailable("not here"); }
};

TEST_CASE("a shard is near the hosts that hold most of its bytes") {
  spec::InputPlan plan;
  plan.files = {{.path = "a", .length = 150}, {.path = "b", .length = 10}, {.path = "c"}};
  plan.shards = {{0, 0, 60}, {0, 60, 120}, {0, 120, 150}, {1, 0, 10}};
  const OnlyBlocks files;
  FindHosts(files, &plan);
  using Hosts = std::vector<std::string>;
  CHECK(plan.hosts == std::vector<Hosts>{{"n1", "n2"}, {"n1", "n2"}, {"n3"}, {}});
  CHECK(files.asked == 2);  // once per file with a shard
}

}  // namespace
}  // namespace espalier::data
