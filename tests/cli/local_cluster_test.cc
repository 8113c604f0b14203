#include "src/cli/local_cluster.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "src/cli/local_start.h"
#include "tests/testing/eventually.h"
#include "tests/testing/says.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;

// A temporary directory that is removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string path = (fs::temp_directory_path() / "cluster-test-XXXXXX").string();
    path_ = mkdtemp(path.data());
  }
  ~TemporaryDirectory() { fs::remove_all(path_); }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Writes a shell script that replaces a daemon.
void WriteProgram(const TemporaryDirectory& directory, const std::string& name,
                  const std::string& script) {
  std::ofstream(directory.Path("bin/" + name)) << "#!/bin/sh\n" << script << "\n";
  chmod(directory.Path("bin/" + name).c_str(), 0755);
}

// The coordinator's arguments are: --listen A --ready-fd N --exit-with-parent.
constexpr const char* kGoodCoordinator = "echo 127.0.0.1:4242 >&$4; exec sleep 60";
constexpr const char* kGoodWorker = "echo \"$@\"; pwd; exec sleep 60";

struct Fixture {
  explicit Fixture(const char* coordinator = kGoodCoordinator, const char* worker = kGoodWorker) {
    fs::create_directory(directory.Path("bin"));
    fs::create_directory(directory.Path("tmp"));
    WriteProgram(directory, "espalier-coordinator", coordinator);
    WriteProgram(directory, "espalier-worker", worker);
  }
  LocalClusterOptions Options(int workers) const {
    return {.workers = workers,
            .threads = 1,
            .program_directory = directory.Path("bin"),
            .temporary_directory = directory.Path("tmp")};
  }
  bool Clean() const { return fs::is_empty(directory.Path("tmp")); }
  TemporaryDirectory directory;
};

bool Never() { return false; }

// Returns the process id that a script wrote to bin/ready after its setup; empty after 5 s.
std::string AwaitReady(const Fixture& fixture) {
  std::string pid;
  for (int i = 0; i < 500 && pid.empty(); ++i) {
    usleep(10'000);
    std::getline(std::ifstream(fixture.directory.Path("bin/ready")), pid);
  }
  return pid;
}

// Returns the state letter of a process in /proc, or 0.
char StateOf(const std::string& pid) {
  std::string line;
  std::getline(std::ifstream("/proc/" + pid + "/stat"), line);
  const size_t name_end = line.rfind(") ");
  return name_end == std::string::npos ? 0 : line[name_end + 2];
}

std::vector<DaemonDeath> AwaitDeath(LocalCluster& cluster) {
  for (int i = 0; i < 500; ++i) {
    if (auto deaths = cluster.TakeDeaths(); !deaths.empty()) return deaths;
    usleep(10'000);
  }
  return {};
}

TEST_CASE("the number of workers on one machine is limited") {
  CliOptions options;
  CHECK(*LocalWorkers(options, {.min = 64}) == 64);
  CHECK(*LocalWorkers(options, {.min = 1, .max = 64}) == 64);
  CHECK_THAT(LocalWorkers(options, {.min = 65}).status().message(),
             Says("workers.min: found 65, expected at most 64 on one machine"));
  CHECK_THAT(LocalWorkers(options, {.min = 1, .max = 65}).status().message(),
             Says("workers.max: found 65, expected at most 64 on one machine"));
  options.workers = 2;
  CHECK(*LocalWorkers(options, {.min = 65, .max = 70}) == 2);
}

TEST_CASE("a local cluster starts its daemons and leaves no files") {
  Fixture fixture;
  LocalCluster cluster(fixture.Options(2));
  const Status status = cluster.Start(Never);
  INFO(status.ToString());
  REQUIRE(status.ok());
  CHECK(cluster.address() == "127.0.0.1:4242");
  CHECK(cluster.TakeDeaths().empty());
  CHECK_FALSE(fixture.Clean());
  cluster.Stop();
  CHECK(fixture.Clean());
}

TEST_CASE("missing programs are named with the expected path") {
  Fixture fixture;
  fs::remove(fixture.directory.Path("bin/espalier-worker"));
  LocalCluster cluster(fixture.Options(1));
  const Status status = cluster.Start(Never);
  CHECK(status.code() == StatusCode::kNotFound);
  CHECK_THAT(status.message(), Catch::Contains(fixture.directory.Path("bin/espalier-worker")));
  CHECK(fixture.Clean());
}

TEST_CASE("a coordinator that dies at its start is shown with its log") {
  Fixture fixture("echo no port is free >&2; exit 3");
  LocalCluster cluster(fixture.Options(1));
  const Status status = cluster.Start(Never);
  CHECK(status.code() == StatusCode::kInternal);
  CHECK_THAT(status.message(),
             Catch::Contains("exit code 3") && Catch::Contains("no port is free"));
  cluster.Stop();
  CHECK(fixture.Clean());
}

TEST_CASE("a dead worker is reported once, by name, and not restarted") {
  Fixture fixture(kGoodCoordinator, "echo out of memory >&2; kill -9 $$");
  LocalCluster cluster(fixture.Options(1));
  REQUIRE(cluster.Start(Never).ok());
  const auto deaths = AwaitDeath(cluster);
  REQUIRE(deaths.size() == 1);
  CHECK(deaths[0].name == "worker local-1");
  CHECK_FALSE(deaths[0].coordinator);
  CHECK_THAT(deaths[0].text,
             Catch::Contains("killed by signal 9") && Catch::Contains("out of memory\n"));
  CHECK(cluster.TakeDeaths().empty());
}

TEST_CASE("an interrupt ends the wait for a silent coordinator") {
  Fixture fixture("exec sleep 60");
  LocalCluster cluster(fixture.Options(1));
  int asked = 0;
  CHECK(cluster.Start([&asked] { return ++asked > 2; }).code() == StatusCode::kCancelled);
  cluster.Stop();
  CHECK(fixture.Clean());
}

// Returns whether the process has ended. It may still be a zombie.
bool HasEnded(const std::string& pid) {
  const char state = StateOf(pid);
  return state == 0 || state == 'Z';
}

TEST_CASE("a removed directory keeps its path") {
  Fixture fixture;
  CommandDirectory directory;
  REQUIRE(directory.Make(fixture.directory.Path("tmp")).ok());
  const std::string path = directory.path();
  directory.Remove();
  CHECK(directory.path() == path);
  CHECK(fixture.Clean());
}

TEST_CASE("a moved directory is emptied, its successor is not") {
  Fixture fixture;
  const std::string parent = fixture.directory.Path("tmp");
  const std::string moved = fixture.directory.Path("moved");
  const std::string victim = fixture.directory.Path("victim");
  {
    CommandDirectory directory;
    REQUIRE(directory.Make(parent).ok());
    std::ofstream(directory.path() + "/token") << "1";
    fs::create_directory(victim);
    std::ofstream(victim + "/kept") << "1";
    fs::rename(directory.path(), moved);
    fs::create_symlink(victim, directory.path());
    directory.Remove();
    CHECK(fs::is_empty(moved));
    CHECK(fs::exists(victim + "/kept"));
    fs::remove(directory.path());
  }
  CHECK(fixture.Clean());
}

TEST_CASE("only old unlocked directories of commands are orphans") {
  Fixture fixture;
  const std::string parent = fixture.directory.Path("tmp");
  const std::string outside = fixture.directory.Path("outside");
  const auto make_old = [](const std::string& path) {
    fs::create_directories(path + "/below");
    std::ofstream(path + "/below/file") << "1";
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  };
  make_old(parent + "/espalier-train-orphan");
  make_old(parent + "/other");
  make_old(outside);
  fs::create_symlink(outside, parent + "/espalier-train-link");
  CommandDirectory used;
  REQUIRE(used.Make(parent).ok());
  make_old(used.path());
  CommandDirectory::RemoveOrphans(parent);
  CHECK_FALSE(fs::exists(parent + "/espalier-train-orphan"));
  CHECK(fs::exists(parent + "/other/below/file"));
  CHECK(fs::exists(outside + "/below/file"));
  CHECK(fs::exists(used.path() + "/below/file"));
}

TEST_CASE("killing at once ends every daemon and removes the directory") {
  Fixture fixture(kGoodCoordinator, "echo $$ > ${0%/*}/ready; exec sleep 60");
  LocalCluster cluster(fixture.Options(1));
  REQUIRE(cluster.Start(Never).ok());
  const std::string worker = AwaitReady(fixture);
  REQUIRE(!worker.empty());
  cluster.KillAtOnce();
  CHECK(Eventually([&] { return HasEnded(worker); }));
  CHECK(cluster.TakeDeaths().empty());  // nothing to report: this process killed them
  CHECK(fixture.Clean());
}

// Creates bin/removed when it is asked to end, if the worker in bin/ready has ended.
constexpr const char* kRemovingCoordinator =
    "trap 'grep -q \"^State:.Z\" /proc/$(cat ${0%/*}/ready)/status && touch ${0%/*}/removed; "
    "exit 0' TERM; echo 127.0.0.1:4242 >&$4; while :; do sleep 0.05; done";
constexpr const char* kStubbornWorker =
    "trap '' TERM; echo $$ > ${0%/*}/ready; while :; do sleep 0.1; done";

TEST_CASE("the coordinator removes leftovers after the workers' end") {
  const bool at_once = GENERATE(false, true);
  Fixture fixture(kRemovingCoordinator, kStubbornWorker);
  LocalCluster cluster(fixture.Options(1));
  REQUIRE(cluster.Start(Never).ok());
  REQUIRE(!AwaitReady(fixture).empty());
  at_once ? cluster.KillAtOnce() : cluster.Stop(100);
  CHECK(fs::exists(fixture.directory.Path("bin/removed")));
  CHECK(fixture.Clean());
}

TEST_CASE("killing at once waits only briefly for the coordinator") {
  Fixture fixture("trap '' TERM; echo 127.0.0.1:4242 >&$4; while :; do sleep 0.1; done");
  LocalCluster cluster(fixture.Options(1));
  REQUIRE(cluster.Start(Never).ok());
  cluster.KillAtOnce();
  CHECK(fixture.Clean());
}

TEST_CASE("daemons that ignore the polite signal are killed") {
  Fixture fixture(kGoodCoordinator, kStubbornWorker);
  LocalCluster cluster(fixture.Options(1));
  REQUIRE(cluster.Start(Never).ok());
  REQUIRE(!AwaitReady(fixture).empty());
  cluster.Stop();
  CHECK(fixture.Clean());
}

TEST_CASE("a stopped worker is woken to end by itself") {
  Fixture fixture(kGoodCoordinator,
                  "trap 'touch ${0%/*}/ended; exit 0' TERM; echo $$ > ${0%/*}/ready; "
                  "kill -STOP $$; "
                  "while :; do sleep 0.1; done");
  LocalCluster cluster(fixture.Options(1));
  REQUIRE(cluster.Start(Never).ok());
  const std::string pid = AwaitReady(fixture);
  for (int i = 0; i < 500 && StateOf(pid) != 'T'; ++i) usleep(10'000);
  REQUIRE(StateOf(pid) == 'T');
  cluster.Stop(600'000);  // much more than needed, so that no process is killed
  CHECK(fs::exists(fixture.directory.Path("bin/ended")));
  CHECK(fixture.Clean());
}

TEST_CASE("a child has a separate process group and blocks no signal") {
  TemporaryDirectory directory;
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigprocmask(SIG_BLOCK, &set, &before);
  auto child = ChildProcess::Start({.name = "sh",
                                    .program = "/bin/sh",
                                    .arguments = {"-c", "grep SigBlk /proc/self/status; sleep 60"},
                                    .log_path = directory.Path("log")});
  sigprocmask(SIG_SETMASK, &before, nullptr);
  REQUIRE(child.ok());
  for (int i = 0; i < 500 && (*child)->LogTail(1).empty(); ++i) usleep(10'000);
  CHECK_THAT((*child)->LogTail(1), Catch::Contains("0000000000000000"));
  CHECK(getpgid((*child)->pid()) == (*child)->pid());
  CHECK((*child)->Alive());
  (*child)->Signal(SIGTERM);
  CHECK((*child)->WaitFor(5'000));
  CHECK_THAT((*child)->Ending(), Catch::Contains("signal 15"));
}

TEST_CASE("a program that cannot be executed is an error at once") {
  TemporaryDirectory directory;
  const auto child = ChildProcess::Start(
      {.name = "nothing", .program = "/no/such/program", .log_path = directory.Path("log")});
  CHECK_THAT(child.status().message(), Catch::Contains("/no/such/program"));
}

}  // namespace
}  // namespace espalier::cli
