// Promises of all journals, and each journal on a full, torn or damaged disk.
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "src/coordinator/open_journal.h"
#include "src/coordinator/segment.h"
#include "src/coordinator/state_directory.h"
#include "src/rpc/journal_codec.h"
#include "tests/coordinator/files.h"
#include "tests/rpc/messages.h"

namespace espalier::coordinator {
namespace {

namespace fs = std::filesystem;

void Store(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

OpenedJournal Open(const std::string& directory, int64_t now_us = 1) {
  auto opened = OpenJournal(directory, {}, now_us);
  INFO(opened.status().ToString());
  REQUIRE(opened.ok());
  return *std::move(opened);
}

std::vector<std::string> Bytes(const std::vector<cluster::JournalEntry>& entries) {
  std::vector<std::string> out;
  for (const cluster::JournalEntry& entry : entries) out.push_back(*rpc::EncodeJournalEntry(entry));
  return out;
}

cluster::HistoryRecorded Row(int64_t step) { return {{7}, rpc::SampleRow(step)}; }
cluster::WorkerIdGiven Id(uint64_t worker) { return {{worker}}; }  // a small entry

// Returns the directory of one of the two durable kinds in its form.
std::string DirectoryOf(const std::string& kind, const std::string& name) {
  return (kind == "files" ? "file://" : "") + Directory(kind + "-" + name);
}

TEST_CASE("a journal returns its entries in order after a restart") {
  const std::string kind = GENERATE("sqlite", "files");
  const std::string directory = DirectoryOf(kind, "appended");
  std::vector<cluster::JournalEntry> all;
  {
    OpenedJournal opened = Open(directory);
    CHECK(opened.past.empty());
    CHECK(opened.journal->durable());
    CHECK(opened.journal->Append({}).ok());
    for (const cluster::JournalEntry& entry : rpc::SampleEntries()) {
      REQUIRE(opened.journal->Append({entry, Row(1)}).ok());
      all.insert(all.end(), {entry, Row(1)});
    }
  }
  for (int life = 0; life < 3; ++life) {
    OpenedJournal opened = Open(directory);
    CHECK(Bytes(opened.past) == Bytes(all));
    REQUIRE(opened.journal->Append({Row(life)}).ok());
    all.push_back(Row(life));
  }
}

TEST_CASE("a rewrite replaces all earlier entries") {
  const std::string kind = GENERATE("sqlite", "files");
  const std::string directory = DirectoryOf(kind, "rewritten");
  {
    OpenedJournal opened = Open(directory);
    REQUIRE(opened.journal->Append(rpc::SampleEntries()).ok());
    REQUIRE(opened.journal->Rewrite({Row(1), Row(2)}).ok());
    REQUIRE(opened.journal->Append({Row(3)}).ok());
  }
  {
    OpenedJournal opened = Open(directory);
    CHECK(Bytes(opened.past) == Bytes({Row(1), Row(2), Row(3)}));
    REQUIRE(opened.journal->Rewrite({}).ok());
    REQUIRE(opened.journal->Rewrite({}).ok());
    REQUIRE(opened.journal->Append({Row(4)}).ok());
  }
  CHECK(Bytes(Open(directory).past) == Bytes({Row(4)}));
}

TEST_CASE("a journal that is rewritten on request stays bounded") {
  const std::string kind = GENERATE("sqlite", "files");
  const std::string directory = DirectoryOf(kind, "bounded");
  OpenedJournal opened = Open(directory);
  cluster::JobAccepted large{{1}, 5, rpc::SampleSubmission()};
  large.submission.job_yaml.assign(1 << 20, 'y');
  int rewrites = 0;
  for (int i = 0; i < 60; ++i) {
    REQUIRE(opened.journal->Append({large}).ok());
    if (!opened.journal->wants_rewrite()) continue;
    REQUIRE(opened.journal->Rewrite({large}).ok());
    CHECK_FALSE(opened.journal->wants_rewrite());
    ++rewrites;
  }
  CHECK(rewrites >= 4);
  uintmax_t bytes = 0;
  for (const auto& file : fs::directory_iterator(directory.substr(kind == "files" ? 7 : 0))) {
    if (file.path().filename() != "reserve") bytes += file.file_size();
  }
  CHECK(bytes < (uintmax_t{40} << 20));
}

TEST_CASE("every start of a coordinator has a higher number") {
  const std::string kind = GENERATE("sqlite", "files");
  const std::string directory = DirectoryOf(kind, "lives");
  CHECK(Open(directory, 500).incarnation.value == 500);
  CHECK(Open(directory, 400).incarnation.value == 501);
  CHECK(Open(directory, 900).incarnation.value == 900);
  REQUIRE(Open(directory, 1).journal->Append({cluster::IncarnationTaken{{2000}}}).ok());
  CHECK(Open(directory, 950).incarnation.value == 2001);
}

TEST_CASE("without a state directory nothing is kept") {
  OpenedJournal opened = Open("", 7);
  CHECK(opened.incarnation.value == 7);
  CHECK_FALSE(opened.journal->durable());
  CHECK(opened.journal->Append(rpc::SampleEntries()).ok());
  CHECK_FALSE(opened.journal->wants_rewrite());
}

TEST_CASE("a local state directory belongs to one coordinator at a time") {
  const std::string directory = Directory("locked");
  {
    const OpenedJournal opened = Open(directory);
    const auto second = OpenJournal(directory, {}, 1);
    CHECK(second.status().code() == StatusCode::kFailedPrecondition);
    CHECK_THAT(second.status().ToString(), Catch::Contains("in use by another coordinator"));
  }
  CHECK(OpenJournal(directory, {}, 1).ok());
}

// ---- two coordinators on one set of files ----------------------------------------------------

TEST_CASE("the older of two coordinators on one journal stops") {
  const std::string directory = DirectoryOf("files", "two");
  OpenedJournal older = Open(directory, 100);
  REQUIRE(older.journal->Append({Row(1)}).ok());
  OpenedJournal newer = Open(directory, 50);
  CHECK(newer.incarnation > older.incarnation);
  CHECK(Bytes(newer.past) == Bytes({Row(1)}));
  const Status refused = older.journal->Append({Row(2)});
  CHECK(refused.code() == StatusCode::kAborted);
  CHECK_THAT(refused.ToString(), Catch::Contains("a newer coordinator (incarnation 101"));
  CHECK(older.journal->Rewrite({Row(2)}).code() == StatusCode::kAborted);
  CHECK(older.journal->Append({cluster::IncarnationTaken{{500}}}).code() == StatusCode::kAborted);
  REQUIRE(newer.journal->Append({Row(3)}).ok());
  CHECK(Bytes(Open(directory).past) == Bytes({Row(1), Row(3)}));
}

TEST_CASE("a coordinator that takes a higher number keeps its journal") {
  const std::string directory = DirectoryOf("files", "raised");
  OpenedJournal opened = Open(directory, 100);
  REQUIRE(opened.journal->Append({cluster::IncarnationTaken{{300}}, Row(1)}).ok());
  REQUIRE(opened.journal->Append({Row(2)}).ok());
  REQUIRE(opened.journal->Rewrite({Row(2)}).ok());
  REQUIRE(opened.journal->Append({Row(3)}).ok());
  CHECK(Bytes(Open(directory).past) == Bytes({Row(2), Row(3)}));
}

// ---- damage ----------------------------------------------------------------------------------

fs::path NewestSegment(const std::string& directory) {
  fs::path newest;
  for (const auto& file : fs::directory_iterator(directory.substr(7))) {
    if (file.path().extension() == ".entries") newest = std::max(newest, file.path());
  }
  REQUIRE(!newest.empty());
  return newest;
}

// Copies the files with `bytes` as the newest segment, as after a power failure.
std::string Torn(const std::string& name, const std::string& from, const std::string& bytes) {
  const std::string directory = DirectoryOf("files", name);
  fs::copy(from.substr(7), directory.substr(7));
  Store(NewestSegment(directory), bytes);
  return directory;
}

TEST_CASE("a truncated last segment loses only its last records") {
  const std::string directory = DirectoryOf("files", "whole");
  {
    OpenedJournal opened = Open(directory);
    REQUIRE(opened.journal->Append({Id(1)}).ok());
    REQUIRE(opened.journal->Append({Id(2), Id(3)}).ok());
  }
  const std::string whole = Read(NewestSegment(directory));
  const size_t record = (whole.size() - kSegmentHeaderBytes) / 2;
  for (size_t size = 0; size < whole.size(); ++size) {
    INFO("cut to " << size << " of " << whole.size() << " bytes");
    const std::string torn = Torn("torn", directory, whole.substr(0, size));
    std::vector<cluster::JournalEntry> kept = {Id(1)};
    if (size >= kSegmentHeaderBytes + record) kept.push_back(Id(2));
    OpenedJournal opened = Open(torn);
    CHECK(Bytes(opened.past) == Bytes(kept));
    REQUIRE(opened.journal->Append({Id(9)}).ok());
    kept.push_back(Id(9));
    CHECK(Bytes(Open(torn).past) == Bytes(kept));
  }
}

TEST_CASE("a flipped bit in a segment is an error with its record") {
  const std::string directory = DirectoryOf("files", "intact");
  {
    OpenedJournal opened = Open(directory);
    REQUIRE(
        opened.journal->Append({cluster::WorkerIdGiven{{5}}, cluster::WorkerIdGiven{{6}}}).ok());
  }
  const std::string whole = Read(NewestSegment(directory));
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    const std::string damaged = Torn("flipped", directory, flipped);
    const auto opened = OpenJournal(damaged, {}, 1);
    INFO("byte " << at << ": " << opened.status().ToString());
    CHECK(opened.status().code() == StatusCode::kDataLoss);
    CHECK_THAT(opened.status().ToString(), Catch::Contains(".entries"));
    CHECK_THAT(opened.status().ToString(), Catch::Contains("Put back an older copy"));
    if (at >= kSegmentHeaderBytes) {
      CHECK_THAT(opened.status().ToString(), Catch::Contains(", record "));
    }
  }
}

TEST_CASE("a missing or truncated inner segment is an error") {
  const std::string directory = DirectoryOf("files", "midst");
  {
    OpenedJournal opened = Open(directory);
    for (int i = 1; i <= 3; ++i) REQUIRE(opened.journal->Append({Row(i)}).ok());
  }
  std::vector<fs::path> segments;
  for (const auto& file : fs::directory_iterator(directory.substr(7))) {
    if (file.path().extension() == ".entries") segments.push_back(file.path());
  }
  std::sort(segments.begin(), segments.end());
  const std::string middle = Read(segments[1]);
  Store(segments[1], middle.substr(0, middle.size() - 1));
  CHECK_THAT(OpenJournal(directory, {}, 1).status().ToString(), Catch::Contains("cut short"));
  fs::remove(segments[1]);
  CHECK_THAT(OpenJournal(directory, {}, 1).status().ToString(),
             Catch::Contains("missing before this file"));
}

// Changes the database without the journal.
void Sql(const std::string& directory, const std::string& sql) {
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open((directory + "/journal.db").c_str(), &handle) == SQLITE_OK);
  char* error = nullptr;
  const int code = sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &error);
  INFO(sql << ": " << (error == nullptr ? "" : error));
  CHECK(code == SQLITE_OK);
  sqlite3_close(handle);
}

TEST_CASE("changed, missing or meaningless records are named") {
  const std::string directory = Directory("changed");
  const auto problem = [&](const std::string& sql) {
    fs::remove_all(directory);
    {
      OpenedJournal opened = Open(directory);
      REQUIRE(opened.journal->Append({Row(1), Row(2), Row(3)}).ok());
    }
    Sql(directory, sql);
    const Status status = OpenJournal(directory, {}, 1).status();
    CHECK(status.code() != StatusCode::kOk);
    return status.ToString();
  };
  CHECK_THAT(problem("UPDATE record SET bytes = x'00' WHERE sequence = 2"),
             Catch::Contains("journal.db, record 2: its bytes have the checksum"));
  CHECK_THAT(problem("DELETE FROM record WHERE sequence = 2"),
             Catch::Contains("record 2: it is missing"));
  const uint32_t checksum = RecordChecksum(3, std::string_view("x", 1));
  CHECK_THAT(problem("UPDATE record SET bytes = x'78', checksum = " + std::to_string(checksum) +
                     " WHERE sequence = 3"),
             Catch::Contains("record 3: ") && Catch::Contains("not a valid protocol buffer"));
  CHECK_THAT(problem("PRAGMA user_version = 2"),
             Catch::Contains("another format (found 2, expected 1). Start"));
  CHECK_THAT(problem("PRAGMA application_id = 2"),
             Catch::Contains("another program's database (found application_id 2, expected"));
}

TEST_CASE("a damaged or foreign database file is named") {
  const std::string directory = Directory("pages");
  {
    OpenedJournal opened = Open(directory);
    for (int i = 0; i < 200; ++i) REQUIRE(opened.journal->Append({Row(i)}).ok());
  }
  const fs::path path = directory + "/journal.db";
  const std::string whole = Read(path);
  REQUIRE(whole.size() > 40'000);
  for (const size_t at : {size_t{0}, size_t{100}, size_t{8192}, whole.size() - 4096}) {
    std::string damaged = whole;
    for (size_t i = 0; i < 64; ++i) damaged[at + i] = static_cast<char>(0x5a);
    Store(path, damaged);
    const Status status = OpenJournal(directory, {}, 1).status();
    INFO("at " << at << ": " << status.ToString());
    CHECK(status.code() == StatusCode::kDataLoss);
    CHECK_THAT(status.ToString(), Catch::Contains("journal.db"));
  }
  Store(path, whole.substr(0, whole.size() / 2));
  CHECK(OpenJournal(directory, {}, 1).status().code() == StatusCode::kDataLoss);
}

// Truncates the write-ahead log within its last transaction, as a power failure may.
TEST_CASE("a transaction that is not whole on disk has no effect") {
  const std::string directory = Directory("wal"), copy = Directory("wal-copy");
  OpenedJournal opened = Open(directory);
  REQUIRE(opened.journal->Append({cluster::WorkerIdGiven{{5}}}).ok());
  const uintmax_t before = fs::file_size(directory + "/journal.db-wal");
  REQUIRE(opened.journal->Append({cluster::WorkerIdGiven{{6}}}).ok());
  const std::string wal = Read(directory + "/journal.db-wal");
  REQUIRE(wal.size() > before);
  const std::string main = Read(directory + "/journal.db");
  for (size_t size = before; size <= wal.size(); size += size + 97 < wal.size() ? 97 : 1) {
    INFO("cut to " << size << " of " << before << " to " << wal.size());
    fs::remove_all(copy);
    fs::create_directories(copy);
    Store(copy + "/journal.db", main);
    Store(copy + "/journal.db-wal", wal.substr(0, size));
    std::vector<cluster::JournalEntry> kept = {cluster::WorkerIdGiven{{5}}};
    if (size == wal.size()) kept.push_back(cluster::WorkerIdGiven{{6}});
    CHECK(Bytes(Open(copy).past) == Bytes(kept));
  }
}

// ---- a full disk -----------------------------------------------------------------------------

// Runs `body` in a process whose files may not grow beyond `bytes`. Returns its exit code.
int WithFileLimit(int64_t bytes, const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(body());
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST_CASE("a full disk refuses an entry and keeps earlier ones") {
  const std::string directory = Directory("full");
  { Open(directory); }
  const int kept = WithFileLimit(400'000, [&] {
    auto opened = OpenJournal(directory, {}, 1);
    if (!opened.ok()) return 100;
    cluster::JobAccepted large{{1}, 5, rpc::SampleSubmission()};
    large.submission.job_yaml.assign(100'000, 'y');
    int count = 0;
    Status status;
    while (count < 50 && (status = opened->journal->Append({large})).ok()) ++count;
    if (status.code() != StatusCode::kResourceExhausted) return 101;
    if (!opened->journal->Append({cluster::WorkerIdGiven{{7}}}).ok())
      return 102;  // a small entry fits
    if (opened->journal->Append({large, cluster::WorkerIdGiven{{8}}}).ok()) return 103;
    return count;
  });
  REQUIRE(kept > 0);
  REQUIRE(kept < 50);
  const OpenedJournal opened = Open(directory);
  REQUIRE(static_cast<int>(opened.past.size()) == kept + 1);
  CHECK(std::get<cluster::WorkerIdGiven>(opened.past.back()).worker.value == 7);
}

TEST_CASE("the reserve is made and given back as space allows") {
  const std::string directory = Directory("reserve");
  fs::create_directories(directory);
  DiskReserve reserve(directory + "/reserve", 1 << 20);
  CHECK(reserve.Fill().ok());
  CHECK(fs::file_size(directory + "/reserve") == 1 << 20);
  CHECK(reserve.Fill().ok());
  CHECK(reserve.Release());
  CHECK_FALSE(reserve.Release());
  CHECK(WithFileLimit(1000, [&] {
          return reserve.Fill().code() == StatusCode::kResourceExhausted ? 0 : 1;
        }) == 0);
  CHECK_FALSE(fs::exists(directory + "/reserve"));
}

}  // namespace
}  // namespace espalier::coordinator
