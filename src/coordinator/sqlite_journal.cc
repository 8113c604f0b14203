#include "src/coordinator/sqlite_journal.h"

#include <algorithm>
#include <utility>

#include "src/base/log.h"
#include "src/coordinator/sqlite_database.h"
#include "src/coordinator/state_directory.h"
#include "src/rpc/journal_codec.h"

namespace espalier::coordinator {
namespace {

constexpr int64_t kApplicationId = 0x4573706c;  // "Espl", for file(1)
constexpr int64_t kFormat = 1;

class SqliteJournal : public Journal {
 public:
  SqliteJournal(std::unique_ptr<DirectoryLock> lock, std::unique_ptr<SqliteDatabase> database,
                DiskReserve reserve)
      : lock_(std::move(lock)), database_(std::move(database)), reserve_(std::move(reserve)) {}

  Status Prepare();
  Result<Incarnation> TakeIncarnation(int64_t now_us);
  Result<std::vector<cluster::JournalEntry>> Load(Replay& replay);

  Status Append(const std::vector<cluster::JournalEntry>& entries) override;
  Status Rewrite(const std::vector<cluster::JournalEntry>& entries) override;
  bool wants_rewrite() const override { return growth_.large(); }
  bool durable() const override { return true; }
  bool GiveBackReserve() override { return reserve_.Release(); }
  Status SetReserveAside() override { return reserve_.Fill(); }

 private:
  Status CheckFile();
  Result<std::vector<cluster::JournalEntry>> LoadRecords(Replay& replay);
  // Inserts entries inside a transaction. Sets `bytes` to their size.
  Status Insert(const std::vector<cluster::JournalEntry>& entries, int64_t* bytes);
  // Runs a transaction, and runs it again if the reserve, given back, may have made room for it.
  Status WithReserve(const std::function<Status()>& body);

  const std::unique_ptr<DirectoryLock> lock_;  // outlives the database
  const std::unique_ptr<SqliteDatabase> database_;
  DiskReserve reserve_;
  int64_t next_ = 1;  // sequence number
  Growth growth_;
};

Status SqliteJournal::WithReserve(const std::function<Status()>& body) {
  Status done = database_->Transaction(body);
  const bool full = done.code() == StatusCode::kResourceExhausted;
  return full && reserve_.Release() ? database_->Transaction(body) : done;
}

Status SqliteJournal::CheckFile() {
  const std::string& path = database_->path();
  ESPALIER_ASSIGN_OR_RETURN(const int64_t application, database_->Integer("PRAGMA application_id"));
  ESPALIER_ASSIGN_OR_RETURN(const int64_t format, database_->Integer("PRAGMA user_version"));
  if (application != kApplicationId) {
    return FailedPrecondition(
        "state_directory: '" + path + "' is another program's database (found application_id " +
        std::to_string(application) + ", expected " + std::to_string(kApplicationId) +
        "). Set state_directory to a separate directory.");
  }
  if (format != kFormat) {
    return FailedPrecondition("state_directory: '" + path + "' has another format (found " +
                              std::to_string(format) + ", expected " + std::to_string(kFormat) +
                              "). Start the version that wrote it, or set state_directory to a "
                              "separate directory.");
  }
  ESPALIER_ASSIGN_OR_RETURN(const std::string check, database_->Text("PRAGMA quick_check(1)"));
  return check == "ok" ? Status::Ok() : Damaged(path, 0, check);
}

Status SqliteJournal::Prepare() {
  ESPALIER_ASSIGN_OR_RETURN(const int64_t tables,
                            database_->Integer("SELECT count(*) FROM sqlite_schema"));
  if (tables != 0) return CheckFile();
  return WithReserve([this] {
    return database_->Run(
        "PRAGMA application_id = " + std::to_string(kApplicationId) +
        "; PRAGMA user_version = " + std::to_string(kFormat) +
        "; CREATE TABLE life(incarnation INTEGER NOT NULL, first_sequence INTEGER NOT NULL)"
        "; INSERT INTO life VALUES (0, 1)"
        "; CREATE TABLE record(sequence INTEGER PRIMARY KEY, checksum INTEGER NOT NULL,"
        " bytes BLOB NOT NULL)");
  });
}

Result<Incarnation> SqliteJournal::TakeIncarnation(int64_t now_us) {
  ESPALIER_ASSIGN_OR_RETURN(const int64_t last,
                            database_->Integer("SELECT max(incarnation) FROM life"));
  const int64_t number = std::max(now_us, last + 1);
  ESPALIER_RETURN_IF_ERROR(WithReserve(
      [&] { return database_->Run("UPDATE life SET incarnation = " + std::to_string(number)); }));
  return Incarnation{static_cast<uint64_t>(number)};
}

Result<std::vector<cluster::JournalEntry>> SqliteJournal::Load(Replay& replay) {
  ESPALIER_ASSIGN_OR_RETURN(auto entries, LoadRecords(replay));
  if (!replay.sets_aside()) return entries;
  GiveBackReserve();
  replay.SetAside(&entries);
  // The table `life` has a newer number than these.
  std::erase_if(entries, [](const cluster::JournalEntry& entry) {
    return std::holds_alternative<cluster::IncarnationTaken>(entry);
  });
  ESPALIER_RETURN_IF_ERROR(Rewrite(entries));
  return entries;
}

Result<std::vector<cluster::JournalEntry>> SqliteJournal::LoadRecords(Replay& replay) {
  const std::string& path = database_->path();
  ESPALIER_ASSIGN_OR_RETURN(next_, database_->Integer("SELECT max(first_sequence) FROM life"));
  ESPALIER_ASSIGN_OR_RETURN(
      SqliteStatement rows,
      database_->Prepare("SELECT sequence, checksum, bytes FROM record ORDER BY sequence"));
  std::vector<cluster::JournalEntry> entries;
  while (true) {
    ESPALIER_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return entries;
    const auto sequence = static_cast<uint64_t>(rows.Integer(0));
    if (rows.Integer(0) != next_) {
      return Damaged(path, static_cast<uint64_t>(next_),
                     "it is missing; the next one is " + std::to_string(sequence));
    }
    const std::string_view bytes = rows.Bytes(2);
    ESPALIER_ASSIGN_OR_RETURN(
        auto entry, replay.Read(path, sequence, static_cast<uint32_t>(rows.Integer(1)), bytes));
    if (entry) entries.push_back(*std::move(entry));
    growth_.OnAppend(static_cast<int64_t>(bytes.size()));
    ++next_;
  }
}

Status SqliteJournal::Insert(const std::vector<cluster::JournalEntry>& entries, int64_t* bytes) {
  ESPALIER_ASSIGN_OR_RETURN(SqliteStatement insert,
                            database_->Prepare("INSERT INTO record VALUES (?1, ?2, ?3)"));
  int64_t sequence = next_;
  *bytes = 0;
  for (const cluster::JournalEntry& entry : entries) {
    ESPALIER_ASSIGN_OR_RETURN(const std::string encoded, rpc::EncodeJournalEntry(entry));
    insert.Bind(1, sequence);
    insert.Bind(2, RecordChecksum(static_cast<uint64_t>(sequence), encoded));
    insert.Bind(3, std::string_view(encoded));
    ESPALIER_ASSIGN_OR_RETURN(const bool row, insert.Step());
    insert.Reset();
    if (row) return Internal("an INSERT returned a row");
    if (const auto* taken = std::get_if<cluster::IncarnationTaken>(&entry)) {
      ESPALIER_RETURN_IF_ERROR(database_->Run("UPDATE life SET incarnation = " +
                                              std::to_string(taken->incarnation.value)));
    }
    *bytes += static_cast<int64_t>(encoded.size());
    ++sequence;
  }
  return Status::Ok();
}

Status SqliteJournal::Append(const std::vector<cluster::JournalEntry>& entries) {
  if (entries.empty()) return Status::Ok();
  int64_t bytes = 0;
  ESPALIER_RETURN_IF_ERROR(database_->Transaction([&] { return Insert(entries, &bytes); }));
  next_ += static_cast<int64_t>(entries.size());
  growth_.OnAppend(bytes);
  return Status::Ok();
}

Status SqliteJournal::Rewrite(const std::vector<cluster::JournalEntry>& entries) {
  int64_t bytes = 0;
  ESPALIER_RETURN_IF_ERROR(database_->Transaction([&]() -> Status {
    ESPALIER_RETURN_IF_ERROR(database_->Run("DELETE FROM record"));
    ESPALIER_RETURN_IF_ERROR(
        database_->Run("UPDATE life SET first_sequence = " + std::to_string(next_)));
    return Insert(entries, &bytes);
  }));
  next_ += static_cast<int64_t>(entries.size());
  growth_.OnRewrite(bytes);
  return Status::Ok();
}

}  // namespace

Result<OpenedJournal> OpenSqliteJournal(const std::string& state_directory, int64_t now_us,
                                        Replay& replay) {
  ESPALIER_ASSIGN_OR_RETURN(auto lock, DirectoryLock::Take(state_directory));
  replay.Begin();
  DiskReserve reserve(state_directory + "/reserve", kDiskReserveBytes);
  const std::string path = state_directory + "/journal.db";
  auto database = SqliteDatabase::Open(path);
  if (database.status().code() == StatusCode::kResourceExhausted && reserve.Release()) {
    database = SqliteDatabase::Open(path);
  }
  if (database.status().code() == StatusCode::kDataLoss) {
    return Damaged(path, 0, database.status().message());
  }
  ESPALIER_RETURN_IF_ERROR(database.status());
  auto journal =
      std::make_unique<SqliteJournal>(std::move(lock), *std::move(database), std::move(reserve));
  const auto explain = [&](Status s) {
    const bool told = s.message().find("the journal is damaged") != std::string::npos;
    return s.code() == StatusCode::kDataLoss && !told ? Damaged(path, 0, s.message()) : s;
  };
  if (Status s = journal->Prepare(); !s.ok()) return explain(s);
  auto past = journal->Load(replay);
  if (!past.ok()) return explain(past.status());
  auto incarnation = journal->TakeIncarnation(now_us);
  if (!incarnation.ok()) return explain(incarnation.status());
  if (Status s = journal->SetReserveAside(); !s.ok()) {
    LogWarning("no new job is accepted until this is fixed: " + s.ToString());
  }
  return OpenedJournal{std::move(journal), *incarnation, *std::move(past)};
}

}  // namespace espalier::coordinator
