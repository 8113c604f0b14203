// Starts of a coordinator that crash while they replay one job. Real processes crash.
#include "src/coordinator/replay.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>

#include "src/base/version.h"
#include "src/cluster/coordinator_core.h"
#include "src/coordinator/journal.h"
#include "src/coordinator/open_journal.h"
#include "src/coordinator/segment.h"
#include "src/rpc/journal_codec.h"
#include "src/storage/file_systems.h"
#include "tests/coordinator/files.h"
#include "tests/rpc/messages.h"
#include "tests/storage/fake_hdfs.h"

namespace espalier::coordinator {
namespace {

namespace fs = std::filesystem;
using Hook = std::function<void(JobId, const cluster::JournalEntry*)>;

constexpr JobId kBad{2};
const std::string kLine = std::string(kVersion) + " job-2";

void Crashed(const std::string& plain, const std::string& lines) {
  std::ofstream(plain + "/replay-crashes") << lines;
}

OpenedJournal Open(const std::string& directory) {
  auto opened = OpenJournal(directory, {}, 1);
  INFO(opened.status().ToString());
  REQUIRE(opened.ok());
  return *std::move(opened);
}

cluster::JobAccepted Accepted(uint64_t job) {
  cluster::JobAccepted accepted{{job}, 1000, rpc::SampleSubmission()};
  accepted.submission.client_request_id = "request-" + std::to_string(job);
  accepted.submission.output = accepted.submission.output_place = "/out" + std::to_string(job);
  return accepted;
}

// Returns the files of set-aside jobs, in the order of their names.
std::vector<std::string> Kept(const std::string& plain) {
  std::vector<std::string> paths;
  for (const auto& file : fs::directory_iterator(plain)) {
    if (file.path().filename().string().starts_with("set-aside-")) paths.push_back(file.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Returns the kinds of the entries in a file of a set-aside job.
std::vector<size_t> KindsIn(const std::string& path) {
  const auto segment =
      DecodeSegment(Read(path), path, 1, [](const auto&, uint64_t, uint32_t, std::string_view b) {
        return Result<std::optional<cluster::JournalEntry>>(*rpc::DecodeJournalEntry(b));
      });
  INFO(segment.status().ToString());
  REQUIRE(segment.ok());
  std::vector<size_t> kinds;
  for (const cluster::JournalEntry& entry : segment->entries) kinds.push_back(entry.index());
  return kinds;
}

const std::vector<size_t> kKindsOfBad = {1, 11, 2};  // JobAccepted, MergeTried, GenerationStarted

// Adds three jobs to a new journal. The second one has workers.
std::string ThreeJobs(const std::string& directory) {
  const OpenedJournal journal = Open(directory);
  for (uint64_t job = 1; job <= 3; ++job) {
    REQUIRE(journal.journal->Append({Accepted(job), cluster::MergeTried{{job}, 1}}).ok());
  }
  const cluster::GenerationStarted started{kBad, {1}, {{{5}, "a", "host:1"}}, {}, 12, "haswell"};
  REQUIRE(journal.journal->Append({cluster::WorkerIdGiven{{5}}, started}).ok());
  return directory;
}

// A core after a start like the program's, and its first actions.
struct Started {
  cluster::CoordinatorCore core;
  cluster::CoordinatorActions actions;
  std::unique_ptr<Journal> journal;
};
Started Start(const std::string& directory, const Hook& hook = {}) {
  OpenedJournal opened = Open(directory);
  cluster::CoordinatorCoreOptions options;
  options.incarnation = opened.incarnation;
  cluster::CoordinatorCore core(options, opened.past, [&](JobId job, const auto* entry) {
    opened.replaying(job, entry);
    if (hook) hook(job, entry);
  });
  opened.replayed();
  cluster::CoordinatorActions actions = core.Step(cluster::Tick{}, 5000);
  return {std::move(core), std::move(actions), std::move(opened.journal)};
}

// Stores what the core has to store, as the program does after a start.
void Store(const Started& started) {
  REQUIRE(started.journal->Append(started.actions.persist).ok());
}

// Returns the signal that ends a process which runs `body`; 0: none. This process sends it
// `signal_when_stopped` if it stops.
int SignalOf(const std::function<void()>& body, int signal_when_stopped = 0) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    // Without the handlers of Catch2 and of the address sanitizer.
    for (int s : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTERM}) signal(s, SIG_DFL);
    std::set_terminate(std::abort);
    body();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, WUNTRACED) == child);
  if (WIFSTOPPED(status)) {
    REQUIRE(kill(child, signal_when_stopped) == 0);
    REQUIRE(kill(child, SIGCONT) == 0);
    REQUIRE(waitpid(child, &status, 0) == child);
  }
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

// Runs `crash` at the first entry of job 2 that is not an outline.
Hook AtBad(const std::function<void()>& crash) {
  return [crash](JobId job, const cluster::JournalEntry* entry) {
    const auto* accepted = entry == nullptr ? nullptr : std::get_if<cluster::JobAccepted>(entry);
    if (job == kBad && accepted != nullptr && accepted->submission.packed_input != nullptr) crash();
  };
}

// Writes to a page without access, because the sanitizer reports a null pointer itself.
void Fault() {
  void* page = mmap(nullptr, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile char*>(page) = 1;
}

int Overflow(int depth) {
  volatile char room[4096];
  room[depth % 4096] = 1;
  return depth < 0 ? 0 : Overflow(depth + 1) + room[(depth + 1) % 4096];
}

void Throw() { throw std::logic_error("planted"); }

const std::vector<std::pair<int, std::function<void()>>> kCrashes = {
    {SIGSEGV, Fault},
    {SIGSEGV, [] { Overflow(0); }},
    {SIGABRT, [] { std::abort(); }},
    {SIGABRT, []() noexcept { Throw(); }},
    {SIGFPE, [] { std::raise(SIGFPE); }},
    {SIGILL, [] { std::raise(SIGILL); }},
    {SIGBUS, [] { std::raise(SIGBUS); }}};

TEST_CASE("a job that crashes two starts is set aside") {
  const std::string prefix = GENERATE("", "file://");  // the two kinds of journal
  for (const auto& [signal, crash] : kCrashes) {
    INFO(prefix << ", signal " << signal);
    const std::string plain = Directory("aside");
    const std::string directory = ThreeJobs(prefix + plain);
    for (int start = 1; start <= 2; ++start) {
      CHECK(SignalOf([&, crash = crash] { Start(directory, AtBad(crash)); }) == signal);
    }
    CHECK(Read(plain + "/replay-crashes") == kLine + "\n" + kLine + "\n");
    const Started third = Start(directory, AtBad(crash));
    const auto jobs = third.core.Jobs();
    REQUIRE(jobs.size() == 3);
    CHECK(jobs[0].state == spec::JobState::kQueued);
    CHECK(jobs[1].state == spec::JobState::kFailed);
    CHECK(jobs[2].state == spec::JobState::kQueued);
    CHECK_THAT(jobs[1].error.message(),
               Catch::Contains("crashed two starts") && Catch::Contains("set-aside-job-2"));
    CHECK(!fs::exists(plain + "/replay-crashes"));
  }
}

TEST_CASE("a set-aside job ends like any other job that fails") {
  const std::string directory = ThreeJobs(Directory("ends"));
  Crashed(directory, kLine + "\n" + kLine + "\n");
  const Started started = Start(directory);
  const spec::JobSnapshot job = *started.core.Job(kBad);
  CHECK(job.name == "x");
  CHECK(job.output == "/out2");
  CHECK(job.submitted_ms == 1000);
  CHECK(started.core.FindSubmission("request-2") == kBad);
  REQUIRE(started.actions.clear.size() == 1);
  CHECK(started.actions.clear[0].output == "/out2");
  CHECK(started.actions.clear[0].request_id == "request-2");
  CHECK(started.actions.clear[0].tokens == rpc::SampleTokens());
  const auto& persist = started.actions.persist;
  CHECK(std::any_of(persist.begin(), persist.end(), [](const auto& entry) {
    const auto* ended = std::get_if<cluster::JobEnded>(&entry);
    return ended != nullptr && ended->snapshot.job == kBad;
  }));
}

TEST_CASE("the entries of a set-aside job are kept in a private file") {
  const std::string prefix = GENERATE("", "file://");
  const std::string plain = Directory("kept");
  const std::string directory = ThreeJobs(prefix + plain);
  Crashed(plain, kLine + "\n" + kLine + "\n");
  std::string kept;
  for (int start = 1; start <= 3; ++start) {
    const Started started = Start(directory);
    CHECK(started.core.Job(kBad)->state == spec::JobState::kFailed);
    REQUIRE(started.journal->Rewrite(started.core.Remember()).ok());
    const std::vector<std::string> files = Kept(plain);
    REQUIRE(files.size() == 1);
    CHECK_THAT(started.core.Job(kBad)->error.message(), Catch::Contains(files[0]));
    if (start == 1) kept = Read(files[0]);
    CHECK(Read(files[0]) == kept);
    CHECK(KindsIn(files[0]) == kKindsOfBad);
    struct stat s = {};
    REQUIRE(stat(files[0].c_str(), &s) == 0);
    CHECK((s.st_mode & 0777) == 0600);
  }
}

TEST_CASE("two journals with one job number keep two files") {
  const std::string prefix = GENERATE("", "file://");
  const std::string plain = Directory("numbers");
  ThreeJobs(prefix + plain);
  Crashed(plain, kLine + "\n" + kLine + "\n");
  Start(prefix + plain);
  const std::string first = Kept(plain).at(0), content = Read(first);
  for (const auto& file : fs::directory_iterator(plain)) {  // a new journal numbers jobs again
    if (file.path() != first) fs::remove(file.path());
  }
  {
    cluster::JobAccepted other = Accepted(2);
    other.submission.name = "other";
    REQUIRE(Open(prefix + plain).journal->Append({Accepted(1), other}).ok());
  }
  Crashed(plain, kLine + "\n" + kLine + "\n");
  const Started started = Start(prefix + plain);
  std::vector<std::string> files = Kept(plain);
  REQUIRE(files.size() == 2);
  CHECK(Read(first) == content);
  const std::string second = files[files[0] == first ? 1 : 0];
  CHECK(KindsIn(second) == std::vector<size_t>{1});
  CHECK_THAT(started.core.Job(kBad)->error.message(), Catch::Contains(second));
}

TEST_CASE("a killed start leaves one file, and its error names it") {
  const std::string prefix = GENERATE("", "file://");
  const std::string plain = Directory("killed"), before = Directory("killed-before");
  const std::string directory = ThreeJobs(prefix + plain);
  Crashed(plain, kLine + "\n" + kLine + "\n");
  fs::copy(plain, before);
  const Hook kill_at_bad = [](JobId job, const cluster::JournalEntry*) {
    if (job == kBad) std::raise(SIGKILL);
  };
  const auto check = [&](const Started& started, const std::string& in) {
    CHECK(started.core.Job(kBad)->state == spec::JobState::kFailed);
    REQUIRE(Kept(in).size() == 1);
    CHECK(KindsIn(Kept(in)[0]) == kKindsOfBad);
    CHECK_THAT(started.core.Job(kBad)->error.message(),
               Catch::Contains(fs::path(Kept(in)[0]).filename().string()));
  };
  // Killed after the journal was rewritten, and then crashed in the replay of the outline.
  for (int start = 1; start <= 3; ++start) {
    CHECK(SignalOf([&] { Start(directory, kill_at_bad); }) == SIGKILL);
  }
  fs::copy(Kept(plain).at(0), before);
  std::ofstream(plain + "/replay-crashes", std::ios::app) << kLine << "\n";
  for (int start = 1; start <= 3; ++start) {
    CHECK(SignalOf([&] { Start(directory, kill_at_bad); }) == SIGKILL);
  }
  check(Start(directory), plain);
  check(Start(directory), plain);
  // Killed before the journal was rewritten.
  check(Start(prefix + before), before);
}

TEST_CASE("records of a journal that was rewritten meanwhile are not kept") {
  const std::string directory = ThreeJobs(Directory("again"));
  Crashed(directory, kLine + "\n" + kLine + "\n");
  Replay replay(directory, storage::MakeFileSystem({}));
  replay.Begin();
  const auto read = [&](uint64_t sequence, const cluster::JournalEntry& entry) {
    const std::string bytes = *rpc::EncodeJournalEntry(entry);
    REQUIRE(replay.Read("log", sequence, RecordChecksum(sequence, bytes), bytes).ok());
  };
  read(1, Accepted(2));
  replay.ReadAgain();
  CHECK(!replay.sets_aside());
  read(7, Accepted(2));
  std::vector<cluster::JournalEntry> past;
  replay.SetAside(&past);
  CHECK(KindsIn(Kept(directory).at(0)) == std::vector<size_t>{1});
}

TEST_CASE("a job does not wait for workers that a set-aside job took") {
  const std::string prefix = GENERATE("", "file://");
  const std::string plain = Directory("took"), directory = prefix + plain;
  const bool ended = GENERATE(false, true);
  {
    cluster::JobAccepted trains = Accepted(1);
    trains.submission.work = cluster::TrainingSubmission{};
    trains.submission.workers_min = 1;
    const cluster::Member first{{5}, "a", "host:1"}, second{{6}, "b", "host:2"};
    const OpenedJournal journal = Open(directory);
    REQUIRE(
        journal.journal
            ->Append({cluster::WorkerIdGiven{{6}}, trains, Accepted(2),
                      cluster::ProfileRecorded{
                          {1}, std::make_shared<const spec::TableProfile>(rpc::SampleProfile())},
                      cluster::GenerationStarted{
                          {1}, {1}, {first, second}, {{0, 9}, {9, 16}}, 12, "haswell"},
                      cluster::TrainingStarted{{1}, 14},
                      cluster::GenerationStarted{kBad, {1}, {first}, {}, 15, "haswell"}})
            .ok());
    spec::JobSnapshot snapshot = rpc::SampleSnapshot();
    snapshot.job = kBad;
    if (ended) REQUIRE(journal.journal->Append({cluster::JobEnded{snapshot}}).ok());
  }
  const std::string line = kLine + (ended ? " end\n" : "\n");
  Crashed(plain, line + line);
  const int starts = GENERATE(1, 3);  // the later ones read the rewritten journal
  for (int start = 1; start < starts; ++start) Start(directory);
  Started started = Start(directory);
  REQUIRE(started.core.Job({1})->state == spec::JobState::kRecovering);
  cluster::Hello hello;
  hello.version = kVersion;
  hello.arithmetic_id = "haswell";
  hello.session = "session of b";
  hello.worker = {6};
  hello.name = "b";
  hello.address = "host:2";
  hello.job = {1};
  hello.generation = {1};
  started.core.Step(cluster::SessionOpened{{1}, "peer"}, 5010);
  started.core.Step(cluster::WorkerMessage{{1}, hello}, 5010);
  const auto persist = started.core.Step(cluster::Tick{}, 5020).persist;
  CHECK(std::any_of(persist.begin(), persist.end(), [](const auto& entry) {
    const auto* began = std::get_if<cluster::GenerationStarted>(&entry);
    return began != nullptr && began->job == JobId{1} && began->members.size() == 1;
  }));
}

TEST_CASE("the file of a set-aside job is bounded") {
  const std::string directory = Directory("bounded-file");
  {
    const OpenedJournal opened = Open(directory);
    cluster::JobAccepted large = Accepted(2);
    large.submission.job_yaml.assign(1 << 20, 'y');
    large.submission.asked_yaml.assign(1 << 20, 'y');
    for (int i = 0; i < 40; ++i) REQUIRE(opened.journal->Append({large}).ok());
  }
  Crashed(directory, kLine + "\n" + kLine + "\n");
  CHECK_THAT(Start(directory).core.Job(kBad)->error.message(),
             Catch::Contains("The first 31 of 40 entries are in"));
  CHECK(fs::file_size(Kept(directory).at(0)) > kSetAsideBytesMax / 2);
  CHECK(fs::file_size(Kept(directory).at(0)) <= kSetAsideBytesMax);
}

// Returns an encoded entry of job 2 with this size. REQUIRES: 4 MiB <= size <= 128 MiB
std::string EntryOf(size_t size) {
  cluster::JobAccepted accepted = Accepted(2);
  const auto encoded = [&](size_t packed) {
    accepted.submission.packed_input = std::make_shared<const std::string>(packed, 'p');
    return *rpc::EncodeJournalEntry(accepted);
  };
  std::string bytes = encoded(2 * size - encoded(size).size());
  REQUIRE(bytes.size() == size);
  return bytes;
}

TEST_CASE("the limit of a set-aside file includes its headers") {
  constexpr size_t kHeaders = kSegmentHeaderBytes + kRecordHeaderBytes;
  const std::string directory = Directory("limit");
  const auto keep = [&](const std::vector<size_t>& sizes) {
    fs::remove_all(directory);
    fs::create_directory(directory);
    Crashed(directory, kLine + "\n" + kLine + "\n");
    Replay replay(directory, storage::MakeFileSystem({}));
    replay.Begin();
    uint64_t sequence = 0;
    for (const size_t size : sizes) {
      const std::string bytes = EntryOf(size);
      ++sequence;
      REQUIRE(replay.Read("log", sequence, RecordChecksum(sequence, bytes), bytes).ok());
    }
    std::vector<cluster::JournalEntry> past;
    replay.SetAside(&past);
    return std::get<cluster::JobSetAside>(past.at(0)).why;
  };
  CHECK_THAT(keep({kSetAsideBytesMax - kHeaders}), Catch::Contains("The entries are in"));
  CHECK(fs::file_size(Kept(directory).at(0)) == kSetAsideBytesMax);
  CHECK_THAT(keep({kSetAsideBytesMax / 2, kSetAsideBytesMax / 2}),
             Catch::Contains("The first 1 of 2 entries are in"));
  CHECK_THAT(keep({kSetAsideBytesMax - kHeaders + 1, 4 << 20}),
             Catch::Contains("No file holds the entries") && Catch::Contains("64 MiB"));
  CHECK(Kept(directory).empty());
}

TEST_CASE("entries of a set-aside job are not decoded") {
  const std::string prefix = GENERATE("", "file://");
  const std::string plain = Directory("undecoded");
  const std::string directory = ThreeJobs(prefix + plain);
  {
    cluster::JobAccepted damaged = Accepted(2);
    damaged.submission.packed_input = std::make_shared<const std::string>("not a plan");
    REQUIRE(Open(directory).journal->Append({damaged}).ok());
  }
  CHECK(OpenJournal(directory, {}, 1).status().code() == StatusCode::kDataLoss);
  Crashed(plain, kLine + "\n" + kLine + "\n");
  CHECK(Start(directory).core.Job(kBad)->state == spec::JobState::kFailed);
  // The journal holds the outline now.
  CHECK(Start(directory).core.Job(kBad)->state == spec::JobState::kFailed);
}

// Makes a journal in which job 2 has ended, after two crashes at it.
void EndedAndCrashed(const std::string& prefix, const std::string& plain, const std::string& line) {
  fs::remove_all(plain);
  ThreeJobs(prefix + plain);
  spec::JobSnapshot snapshot = rpc::SampleSnapshot();
  snapshot.job = kBad;
  snapshot.state = spec::JobState::kCancelled;
  REQUIRE(Open(prefix + plain).journal->Append({cluster::JobEnded{snapshot}}).ok());
  Crashed(plain, line + line);
}

void CheckNothingCleared(const Started& started) {
  CHECK(started.core.Jobs().size() == 3);
  CHECK(started.core.Job(kBad)->state == spec::JobState::kFailed);
  CHECK(started.core.FindSubmission("request-2") == kBad);
  CHECK(started.actions.clear.empty());
}

TEST_CASE("the end of a set-aside job is read, or nothing is cleared") {
  const std::string prefix = GENERATE("", "file://");
  const std::string plain = Directory("ended"), directory = prefix + plain;
  EndedAndCrashed(prefix, plain, kLine + "\n");
  CHECK(Start(directory).core.Job(kBad)->state == spec::JobState::kCancelled);
  EndedAndCrashed(prefix, plain, kLine + " end\n");
  {
    const Started unread = Start(directory);
    CheckNothingCleared(unread);
    const auto revoked = std::count_if(
        unread.actions.tokens.begin(), unread.actions.tokens.end(),
        [](const cluster::TokenWork& work) { return work.job == kBad && work.cancel; });
    CHECK(revoked == std::ssize(rpc::SampleTokens()));
  }
  // This start has not stored the end. The next one stores it, and the last one reads it.
  {
    const Started again = Start(directory);
    CheckNothingCleared(again);
    Store(again);
  }
  {
    const Started stored = Start(directory);
    CheckNothingCleared(stored);
    REQUIRE(stored.journal->Rewrite(stored.core.Remember()).ok());
  }
  CheckNothingCleared(Start(directory));
}

TEST_CASE("a killed start after an unread end clears nothing") {
  const std::string prefix = GENERATE("", "file://");
  const std::string plain = Directory("ended-killed"), directory = prefix + plain;
  EndedAndCrashed(prefix, plain, kLine + " end\n");
  // The journal is rewritten, and the crashes still count.
  CHECK(SignalOf([&] { Start(directory, [](JobId, const auto*) { std::raise(SIGKILL); }); }) ==
        SIGKILL);
  REQUIRE(fs::exists(plain + "/replay-crashes"));
  for (int start = 1; start <= 3; ++start) {
    const Started started = Start(directory);
    CheckNothingCleared(started);
    if (start == 2) Store(started);
  }
}

TEST_CASE("a crash at the end of a job is marked") {
  const std::string directory = ThreeJobs(Directory("at-end"));
  spec::JobSnapshot snapshot = rpc::SampleSnapshot();
  snapshot.job = kBad;
  REQUIRE(Open(directory).journal->Append({cluster::JobEnded{snapshot}}).ok());
  const auto at_end = [](JobId, const cluster::JournalEntry* entry) {
    if (entry != nullptr && std::holds_alternative<cluster::JobEnded>(*entry)) Fault();
  };
  CHECK(SignalOf([&] { Start(directory, at_end); }) == SIGSEGV);
  CHECK(Read(directory + "/replay-crashes") == kLine + " end\n");
}

TEST_CASE("of a job that crashes a third start only the number is left") {
  const std::string directory = ThreeJobs(Directory("third"));
  Crashed(directory, kLine + "\n" + kLine + "\n");
  const Hook at_any = [](JobId job, const cluster::JournalEntry* entry) {
    const auto* accepted = entry == nullptr ? nullptr : std::get_if<cluster::JobAccepted>(entry);
    if (job == kBad && accepted != nullptr && accepted->submission.output == "/out2") Fault();
  };
  CHECK(SignalOf([&] { Start(directory, at_any); }) == SIGSEGV);
  for (int start = 4; start <= 5; ++start) {
    const Started started = Start(directory, at_any);
    REQUIRE(started.core.Jobs().size() == 3);
    CHECK(started.core.Job(kBad)->state == spec::JobState::kFailed);
    CHECK(started.core.Job(kBad)->output.empty());
  }
}

TEST_CASE("the end of a process from outside does not count") {
  const std::string prefix = GENERATE("", "file://");
  const std::string plain = Directory("outside");
  const std::string directory = ThreeJobs(prefix + plain);
  for (int start = 1; start <= 10; ++start) {
    CHECK(SignalOf([&] { Start(directory, AtBad([] { std::raise(SIGKILL); })); }) == SIGKILL);
  }
  for (const int signal : {SIGTERM, SIGABRT, SIGSEGV}) {
    for (int start = 1; start <= 2; ++start) {
      const auto wait = [] { std::raise(SIGSTOP); };
      CHECK(SignalOf([&] { Start(directory, AtBad(wait)); }, signal) == signal);
    }
  }
  CHECK(Read(plain + "/replay-crashes").empty());
  for (const auto& job : Start(directory).core.Jobs()) {
    CHECK(job.state == spec::JobState::kQueued);
  }
}

TEST_CASE("a crash outside the replay of a job does not count") {
  const std::string directory = ThreeJobs(Directory("no-job"));
  CHECK(SignalOf([&] {
          Start(directory, [](JobId job, const auto*) {
            if (!job) Fault();
          });
        }) == SIGSEGV);
  CHECK(Read(directory + "/replay-crashes").empty());
  CHECK(SignalOf([&] {
          Start(directory);
          Fault();
        }) == SIGSEGV);
  CHECK(!fs::exists(directory + "/replay-crashes"));
#ifndef __SANITIZE_THREAD__
  CHECK(SignalOf([&] { Start(directory, AtBad([] { std::thread(Fault).join(); })); }) == SIGSEGV);
  CHECK(Read(directory + "/replay-crashes").empty());
#endif
}

TEST_CASE("a successful replay forgets earlier crashes") {
  const std::string directory = ThreeJobs(Directory("forgets"));
  for (int round = 1; round <= 2; ++round) {
    CHECK(SignalOf([&] { Start(directory, AtBad(Fault)); }) == SIGSEGV);
    CHECK(Start(directory).core.Job(kBad)->state == spec::JobState::kQueued);
    CHECK(!fs::exists(directory + "/replay-crashes"));
  }
}

TEST_CASE("lines of other versions and torn lines do not count") {
  const std::string directory = ThreeJobs(Directory("lines"));
  Crashed(directory, "0.0.1 job-2\n0.0.1 job-2\njob-2\n" + kLine + "x\n" + kLine + "\n" +
                         std::string(kVersion) + " job-\n");
  CHECK(Start(directory).core.Job(kBad)->state == spec::JobState::kQueued);
  Crashed(directory, kLine + "\n" + kLine);  // maybe of job 27
  CHECK(Start(directory).core.Job(kBad)->state == spec::JobState::kQueued);
}

#ifndef __SANITIZE_THREAD__  // the fake HDFS has threads, which a fork does not copy
TEST_CASE("crashes of a replay count on an HDFS") {
  const storage::FakeHdfs hdfs([](const storage::ServedRequest& r, storage::ServedReply* reply) {
    if (r.op() == "MKDIRS") *reply = storage::Reply(200, storage::FakeHdfs::kTrue);
    return r.op() == "MKDIRS";
  });
  const auto watch = [&] {
    return std::make_unique<ReplayCrashes>(hdfs.base + "/state",
                                           storage::MakeFileSystem(storage::Quick()));
  };
  const auto replay = [&](const std::function<void()>& end) {
    return SignalOf([&] {
      const auto crashes = watch();
      crashes->At(kBad, false);
      end();
    });
  };
  CHECK(replay([] { std::raise(SIGKILL); }) == SIGKILL);
  CHECK(hdfs.content.empty());
  CHECK(replay(Fault) == SIGSEGV);
  CHECK(replay([] { std::abort(); }) == SIGABRT);
  CHECK(hdfs.content.at("/state/replay-crashes") == kLine + "\n" + kLine + "\n");
  const auto crashes = watch();
  CHECK(crashes->Of(kBad).times == 2);
  CHECK(crashes->Of({1}).times == 0);
  crashes->Clear();
  CHECK(hdfs.content.empty());
}
#endif

}  // namespace
}  // namespace espalier::coordinator
