// The earlier content of an output that a job replaces, and other jobs that use it meanwhile.
#include <algorithm>
#include <map>
#include <utility>

#include "tests/scoring/job_fixture.h"
#include "tests/testing/says.h"

namespace espalier::scoring {
namespace {

// A job that may replace an earlier prediction.
struct Replacing : JobFixture {
  Replacing() {
    spec.output.overwrite = true;
    REQUIRE(files->MakeDirectory(dir / "out").ok());
    for (const auto& [name, bytes] : before) dir.Put("out/" + name, bytes);
  }
  const std::map<std::string, std::string> before = {{"_SUCCESS", ""},
                                                     {"part-00000.csv", "an earlier prediction\n"}};
};

// Interrupts a merge after 0, 1, 2 ... changes until it succeeds, each time in a new directory.
template <typename F>
void WhereverItBreaks(const F& check) {
  bool died = true;
  for (int changes = 0; died; ++changes) {
    INFO(changes);
    Replacing f;
    died = !f.Merge(DyingFiles(*f.files, changes), f.Score(), f.spec).ok();
    check(f, changes);
  }
}

// Storage fails after a job has emptied the output. Until it is cleared, a job without overwrite
// may not use the output.
TEST_CASE("an output that an interrupted job emptied is not free") {
  int emptied = 0;
  WhereverItBreaks([&](Replacing& f, int) {
    const std::string late = std::exchange(f.staging, StagingDirectory(f.dir / "out", "other"));
    const Status taken = CheckPredictions(*f.files, f.dir / "out", false);
    CHECK(taken.code() == StatusCode::kAlreadyExists);
    emptied += taken.ToString().find("previous content returns when") != std::string::npos;
    f.spec.output.overwrite = false;
    const auto other = f.Merge(*f.files, f.Score(), f.spec);
    CHECK(other.status().code() == StatusCode::kAlreadyExists);
    REQUIRE(RemoveStaging(*f.files, f.dir / "out", f.staging, false).ok());
    REQUIRE(RemoveStaging(*f.files, f.dir / "out", late, false).ok());
    CHECK(Tree(*f.files, f.dir / "out") == f.before);
  });
  CHECK(emptied > 0);
}

TEST_CASE("an emptied output returns after its directory was moved") {
  int emptied = 0;
  WhereverItBreaks([&](Replacing& f, int) {
    const bool empty = f.files->Stat(f.staging + "/emptied").ok();
    emptied += empty;
    REQUIRE(f.files->Rename(f.dir / "out", f.dir / "bad").ok());
    for (int tries = 0; tries < 4; ++tries) {
      (void)RemoveStaging(DyingFiles(*f.files, tries), f.dir / "out", f.staging, false);
    }
    REQUIRE(RemoveStaging(*f.files, f.dir / "out", f.staging, false).ok());
    CHECK_FALSE(f.files->Stat(f.staging).ok());
    CHECK(f.files->Stat(f.dir / "out").ok() == empty);  // otherwise its content moved along
    if (empty) CHECK(Tree(*f.files, f.dir / "out") == f.before);
  });
  CHECK(emptied > 0);
}

// Lists the probe of another submission, which is deleted before the files move.
class ProbedFiles final : public DyingFiles {
 public:
  ProbedFiles(const storage::FileSystem& files, std::string output)
      : DyingFiles(files, 1'000'000), output_(std::move(output)) {}
  Result<std::vector<std::string>> Names(const std::string& directory) const override {
    auto names = DyingFiles::Names(directory);
    if (names.ok() && directory == output_) names->push_back(kProbeName + std::string("other"));
    return names;
  }

 private:
  const std::string output_;
};

TEST_CASE("a probe of another submission does not harm a merge") {
  const Replacing f;
  const auto merged = f.Merge(ProbedFiles(*f.files, f.dir / "out"), f.Score(), f.spec);
  INFO(merged.status().ToString());
  REQUIRE(merged.ok());
  CHECK(Tree(*f.files, f.dir / "out") == f.Local());
}

// Refuses new files, like a file system without free inodes.
class FullFiles final : public DyingFiles {
 public:
  explicit FullFiles(const storage::FileSystem& files) : DyingFiles(files, 1'000'000) {}
  using storage::FileSystem::WriteAtomically;
  Status WriteAtomically(const std::string&, std::string_view, const std::string&) const override {
    return ResourceExhausted("no space left");
  }
};

TEST_CASE("filling that ran out of space is undone without space") {
  int marked = 0;
  WhereverItBreaks([&](Replacing& f, int) {
    const auto names = f.files->Names(f.dir / "out");
    REQUIRE(names.ok());
    const bool filling = std::ranges::any_of(
        *names, [](const std::string& name) { return name.starts_with(kFillingMark); });
    if (!filling) return;
    ++marked;
    REQUIRE(RemoveStaging(FullFiles(*f.files), f.dir / "out", f.staging, false).ok());
    CHECK(Tree(*f.files, f.dir / "out") == f.before);
  });
  CHECK(marked > 3);
}

// A restarted coordinator runs the job again, after the output was moved.
TEST_CASE("a repeated job restores an output that was moved, too") {
  int emptied = 0;
  WhereverItBreaks([&](Replacing& f, int changes) {
    if (!f.files->Stat(f.staging + "/emptied").ok()) return;
    ++emptied;
    REQUIRE(f.files->Rename(f.dir / "out", f.dir / "bad").ok());
    const DyingFiles again(*f.files, changes);
    (void)f.Merge(again, f.Score(2), f.spec);
    REQUIRE(RemoveStaging(*f.files, f.dir / "out", f.staging, false).ok());
    CHECK(Tree(*f.files, f.dir / "out") == f.before);
  });
  CHECK(emptied > 3);
}

// A file system in which `each` files named _SUCCESS have the same time, whenever they are
// written.
class CoarseFiles final : public storage::PassingFiles {
 public:
  explicit CoarseFiles(const storage::FileSystem& files, int64_t each = 2)
      : storage::PassingFiles(files), each_(each) {}
  using storage::FileSystem::WriteAtomically;
  Result<storage::FileInfo> Stat(const std::string& p) const override {
    auto found = files_.Stat(p);
    if (const auto time = times_.find(p); found.ok() && time != times_.end()) {
      found->modified_ms = time->second;
    }
    return found;
  }
  Status WriteAtomically(const std::string& p, std::string_view content,
                         const std::string& writer) const override {
    if (p.ends_with(std::string("/") + kSuccessFile)) times_[p] = written_++ / each_;
    return files_.WriteAtomically(p, content, writer);
  }
  Status Rename(const std::string& from, const std::string& to) const override {
    std::map<std::string, int64_t> moved;
    for (const auto& [path, time] : times_) {
      const bool below = path == from || path.starts_with(from + "/");
      moved[below ? to + path.substr(from.size()) : path] = time;
    }
    times_ = std::move(moved);
    return files_.Rename(from, to);
  }

 private:
  const int64_t each_;
  mutable std::map<std::string, int64_t> times_;
  mutable int64_t written_ = 0;
};

TEST_CASE("clearing spares the output of a job at the same time") {
  Replacing f;
  const CoarseFiles coarse(*f.files);
  REQUIRE(f.Merge(coarse, f.Score(), f.spec).ok());
  const std::string first = std::exchange(f.staging, StagingDirectory(f.dir / "out", "other"));
  REQUIRE(f.Merge(coarse, f.Score(), f.spec).ok());
  REQUIRE(RemoveStaging(coarse, f.dir / "out", first, false).ok());
  CHECK(Tree(*f.files, f.dir / "out") == f.Local());
}

TEST_CASE("an output is not replaced while the clock stands still") {
  Replacing f;
  const CoarseFiles stopped(*f.files, 1'000'000);
  REQUIRE(f.Merge(stopped, f.Score(), f.spec).ok());
  const auto first = Tree(*f.files, f.dir / "out");
  f.staging = StagingDirectory(f.dir / "out", "other");
  const auto second = f.Merge(stopped, f.Score(), f.spec);
  CHECK_THAT(second.status().message(), Says("two files ... have the same time"));
  REQUIRE(RemoveStaging(stopped, f.dir / "out", f.staging, false).ok());
  CHECK(Tree(*f.files, f.dir / "out") == first);
}

TEST_CASE("an earlier job restores its output after the current job") {
  int waited = 0, moved = 0;
  bool died = true;
  for (int changes = 0; died; ++changes) {
    Replacing probe;
    died = !probe.Merge(DyingFiles(*probe.files, changes), probe.Score(), probe.spec).ok();
    if (!died || !probe.files->Stat(probe.staging + "/replaced").ok()) continue;
    if (moved++ % 5 != 0) continue;  // samples the cases, because they are slow under sanitizers
    bool other_died = true;
    for (int others = changes; other_died; ++others) {
      INFO(changes << " " << others);
      Replacing f;
      const CoarseFiles coarse(*f.files);
      REQUIRE_FALSE(f.Merge(DyingFiles(coarse, changes), f.Score(), f.spec).ok());
      const std::string first = std::exchange(f.staging, StagingDirectory(f.dir / "out", "other"));
      other_died = !f.Merge(DyingFiles(coarse, others), f.Score(), f.spec).ok();
      const Status cleared = RemoveStaging(coarse, f.dir / "out", first, false);
      waited += cleared.code() == StatusCode::kResourceExhausted;
      if (other_died) {
        REQUIRE(RemoveStaging(coarse, f.dir / "out", f.staging, false).ok());
      }
      REQUIRE(RemoveStaging(coarse, f.dir / "out", first, false).ok());
      CHECK(Tree(*f.files, f.dir / "out") == (other_died ? f.before : f.Local()));
    }
  }
  CHECK(waited > 3);
}

}  // namespace
}  // namespace espalier::scoring
