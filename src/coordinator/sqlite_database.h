// SQLite behind a small interface: its handles as objects, its errors as Status. Private to
// coordinator/.
//
// Thread rule: one thread at a time.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace espalier::coordinator {

// A prepared statement. Call Bind, then Step until it returns false, then Reset.
class SqliteStatement {
 public:
  ~SqliteStatement() { sqlite3_finalize(statement_); }
  SqliteStatement(SqliteStatement&& other) noexcept
      : database_(other.database_), statement_(std::exchange(other.statement_, nullptr)) {}

  // Parameters are numbered from 1. Bytes must live until Reset.
  void Bind(int parameter, int64_t value) { sqlite3_bind_int64(statement_, parameter, value); }
  void Bind(int parameter, std::string_view bytes) {
    sqlite3_bind_blob64(statement_, parameter, bytes.data(), bytes.size(), SQLITE_STATIC);
  }
  // Advances to the next row and returns true if there is one. Columns are numbered from 0.
  Result<bool> Step();
  void Reset() { sqlite3_reset(statement_), sqlite3_clear_bindings(statement_); }
  int64_t Integer(int column) { return sqlite3_column_int64(statement_, column); }
  // Valid until the next Step or Reset.
  std::string_view Bytes(int column);

 private:
  friend class SqliteDatabase;
  SqliteStatement(class SqliteDatabase* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}
  SqliteDatabase* database_;
  sqlite3_stmt* statement_;
};

class SqliteDatabase {
 public:
  // Opens or creates the file, for this process only, in WAL mode and synchronous=FULL.
  static Result<std::unique_ptr<SqliteDatabase>> Open(const std::string& path);
  ~SqliteDatabase() { sqlite3_close(handle_); }
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  const std::string& path() const { return path_; }
  // Runs statements without parameters, and ignores their rows.
  Status Run(const std::string& sql);
  Result<SqliteStatement> Prepare(const std::string& sql);
  // Returns the first column of the first row.
  Result<int64_t> Integer(const std::string& sql);
  Result<std::string> Text(const std::string& sql);
  // Runs `body` in a transaction. If it fails, none of its changes stay.
  Status Transaction(const std::function<Status()>& body);
  // Returns the error of the last call: kResourceExhausted for a full disk, kDataLoss for a damaged
  // file, kFailedPrecondition if another process has it open, otherwise kUnavailable.
  Status Error(const std::string& doing) const;

 private:
  SqliteDatabase(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}
  const std::string path_;
  sqlite3* handle_;
};

}  // namespace espalier::coordinator
