#include "src/coordinator/sqlite_database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace espalier::coordinator {

Result<bool> SqliteStatement::Step() {
  errno = 0;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_->Error("use");
}

std::string_view SqliteStatement::Bytes(int column) {
  const void* data = sqlite3_column_blob(statement_, column);
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return {static_cast<const char*>(data), data == nullptr ? 0 : size};
}

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(const std::string& path) {
  // Only this user may read the file, because it may contain delegation tokens. SQLite gives its
  // other files the same mode.
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0) {
    (void)fchmod(file, 0600);
    close(file);
  }
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  if (handle == nullptr) return ResourceExhausted("no memory to open " + path);
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(path, handle));
  if (code != SQLITE_OK) return database->Error("open");
  sqlite3_extended_result_codes(handle, 1);
  // Sets exclusive mode first, so that WAL needs no shared memory next to the file.
  ESPALIER_RETURN_IF_ERROR(database->Run("PRAGMA locking_mode = EXCLUSIVE"));
  ESPALIER_ASSIGN_OR_RETURN(const std::string mode, database->Text("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return Unavailable("state_directory: SQLite opened '" + path +
                       "' in another journal mode (found '" + mode +
                       "', expected 'wal'). Set state_directory to a directory on a disk of this "
                       "host.");
  }
  ESPALIER_RETURN_IF_ERROR(database->Run("PRAGMA synchronous = FULL"));
  return database;
}

Status SqliteDatabase::Run(const std::string& sql) {
  errno = 0;
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) {
    return Status::Ok();
  }
  return Error("use");
}

Result<SqliteStatement> SqliteDatabase::Prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    return Error("use");
  }
  return SqliteStatement(this, statement);
}

Result<int64_t> SqliteDatabase::Integer(const std::string& sql) {
  ESPALIER_ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  ESPALIER_ASSIGN_OR_RETURN(const bool row, statement.Step());
  if (!row) return DataLoss("'" + path_ + "' returned no row for: " + sql);
  return statement.Integer(0);
}

Result<std::string> SqliteDatabase::Text(const std::string& sql) {
  ESPALIER_ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  ESPALIER_ASSIGN_OR_RETURN(const bool row, statement.Step());
  if (!row) return DataLoss("'" + path_ + "' returned no row for: " + sql);
  return std::string(statement.Bytes(0));
}

Status SqliteDatabase::Transaction(const std::function<Status()>& body) {
  ESPALIER_RETURN_IF_ERROR(Run("BEGIN IMMEDIATE"));
  Status done = body();
  if (done.ok()) done = Run("COMMIT");
  if (!done.ok() && sqlite3_get_autocommit(handle_) == 0) {
    if (Status undone = Run("ROLLBACK"); !undone.ok()) return undone.Wrap(done.ToString());
  }
  return done;
}

// SQLite passes on the system's error only in some cases. In other cases, errno has it, which is
// cleared before the call.
Status SqliteDatabase::Error(const std::string& doing) const {
  const int reason = errno;
  const int code = sqlite3_errcode(handle_) & 0xff;
  const int passed_on = sqlite3_system_errno(handle_);
  const int error = passed_on != 0 ? passed_on : reason;
  std::string text = "cannot " + doing + " '" + path_ + "': " + sqlite3_errmsg(handle_);
  if (code == SQLITE_FULL) return ResourceExhausted(text);
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) return DataLoss(text);
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) return FailedPrecondition(text);
  if (error != 0 && code == SQLITE_IOERR) text += std::string(" (") + std::strerror(error) + ")";
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return full && code == SQLITE_IOERR ? ResourceExhausted(text) : Unavailable(text);
}

}  // namespace espalier::coordinator
