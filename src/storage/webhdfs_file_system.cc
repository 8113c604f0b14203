#include "src/storage/webhdfs_file_system.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "src/base/text.h"
#include "src/storage/pattern_listing.h"
#include "src/storage/uri.h"
#include "src/storage/webhdfs_file.h"

namespace espalier::storage {
namespace {

constexpr int kConfirmLooks = 10;  // checks of a file after an unacknowledged creation
constexpr int kCreateRounds = 4;
constexpr int64_t kConfirmWaitMs = 500;
constexpr size_t kEntriesMax = 2 * kListedFilesMax;

// HDFS sorts names by their bytes as signed values, as in Java.
bool ComesAfter(std::string_view name, std::string_view before) {
  return std::lexicographical_compare(
      before.begin(), before.end(), name.begin(), name.end(),
      [](char a, char b) { return static_cast<int8_t>(a) < static_cast<int8_t>(b); });
}

class WebHdfsFileSystem : public FileSystem, private DirectoryReader {
 public:
  WebHdfsFileSystem(std::shared_ptr<const WebHdfsClient> client, std::string writer)
      : client_(std::move(client)), writer_(std::move(writer)) {}

  Result<std::vector<FileInfo>> List(const std::string& pattern) const override;
  Result<std::vector<std::string>> Names(const std::string& directory) const override;
  Result<FileInfo> Stat(const std::string& path) const override;
  Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) const override;
  Result<std::vector<BlockLocation>> BlockLocations(const std::string& path, int64_t offset,
                                                    int64_t length) const override;
  Status CreateExclusively(const std::string& path, std::string_view content) const override;
  Status WriteAtomically(const std::string& path, std::string_view content,
                         const std::string& writer) const override;
  Status Rename(const std::string& from, const std::string& to) const override;
  Status Exchange(const std::string& one, const std::string&) const override {
    return FileProblem(StatusCode::kUnimplemented, "swap", one, "HDFS does not support it");
  }
  Status Delete(const std::string& path) const override;
  Status MakeDirectory(const std::string& path) const override;
  Status Restrict(const std::string& path) const override;
  Status RemoveTree(const std::string& path) const override;
  Status RemoveEmptyDirectory(const std::string& path) const override;

 private:
  // Implements DirectoryReader, for paths without the prefix.
  Result<FileInfo> Look(const std::string& path) const override { return LookUp(path, "look up"); }
  Result<std::vector<FileInfo>> Entries(const std::string& in, const Wanted&) const override;

  std::string Shown(const std::string& path) const override { return client_->prefix() + path; }
  Result<FileInfo> LookUp(const std::string& path, const std::string& doing) const;
  Status DeleteOne(const std::string& uri, bool directory) const;
  // Returns the part after the prefix.
  Result<std::string> PathOf(const std::string& uri) const;
  Result<Listing> EntriesAfter(const std::string& directory, const std::string& after) const;
  // Returns whether the file at `path` has `content`: OK, kAlreadyExists (another file), kNotFound
  // (no file) or kUnavailable (unknown).
  Status Confirm(const std::string& path, std::string_view content) const;
  std::string TemporaryFor(const std::string& path, const std::string& writer) const;
  WebHdfsClient::Answer RenameTo(const std::string& from, const std::string& to, const char* option,
                                 const std::string& doing) const;

  const std::shared_ptr<const WebHdfsClient> client_;
  const std::string writer_;
  mutable std::atomic<bool> batch_unknown_{false};      // the server has no LISTSTATUS_BATCH
  mutable std::atomic<bool> locations_unknown_{false};  // the server has no GETFILEBLOCKLOCATIONS
  mutable std::atomic<uint64_t> temporaries_{0};
};

Result<std::string> WebHdfsFileSystem::PathOf(const std::string& text) const {
  ESPALIER_ASSIGN_OR_RETURN(Uri uri, ParseUri(text));
  if (uri.prefix != client_->prefix()) {
    return InvalidArgument("'" + Printable(text) + "' is not a path of '" + client_->prefix() +
                           "'");
  }
  return std::move(uri.path);
}

Result<FileInfo> WebHdfsFileSystem::LookUp(const std::string& path,
                                           const std::string& doing) const {
  const auto answer =
      client_->Ask({.op = "GETFILESTATUS", .path = path, .doing = doing, .shown = Shown(path)});
  ESPALIER_RETURN_IF_ERROR(answer.status);
  Result<FileInfo> info = ParseFileStatus(answer.body);
  if (!info.ok()) {
    return FileProblem(info.status().code(), doing, Shown(path), info.status().message());
  }
  info->path = path;
  return info;
}

Result<FileInfo> WebHdfsFileSystem::Stat(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, PathOf(uri));
  ESPALIER_ASSIGN_OR_RETURN(FileInfo info, LookUp(path, "look up"));
  info.path = Shown(path);
  return info;
}

Result<Listing> WebHdfsFileSystem::EntriesAfter(const std::string& directory,
                                                const std::string& after) const {
  Operation operation{
      .op = "LISTSTATUS_BATCH", .path = directory, .doing = "list", .shown = Shown(directory)};
  if (!after.empty()) operation.parameters = {{"startAfter", after}};
  WebHdfsClient::Answer answer;
  if (!batch_unknown_) {
    answer = client_->Ask(operation);
    // Servers before Hadoop 2.8 report that the operation's name is not a valid value.
    if (answer.status.code() == StatusCode::kInvalidArgument && after.empty()) {
      batch_unknown_ = true;
    }
  }
  if (batch_unknown_) {
    operation.op = "LISTSTATUS";
    answer = client_->Ask(operation);
  }
  ESPALIER_RETURN_IF_ERROR(answer.status);
  Result<Listing> listing = ParseListing(answer.body);
  if (listing.ok()) return listing;
  return FileProblem(StatusCode::kUnavailable, "list", Shown(directory),
                     listing.status().message());
}

Result<std::vector<FileInfo>> WebHdfsFileSystem::Entries(const std::string& directory,
                                                         const Wanted& wanted) const {
  std::vector<FileInfo> all;
  size_t seen = 0;
  std::string after;
  for (;;) {
    ESPALIER_ASSIGN_OR_RETURN(Listing listing, EntriesAfter(directory, after));
    for (FileInfo& entry : listing.entries) {
      if (entry.path.empty()) {  // the listing of a file
        return FileProblem(StatusCode::kFailedPrecondition, "list", Shown(directory),
                           "it is a file, not a directory");
      }
      if (!after.empty() && !ComesAfter(entry.path, after)) {
        return FileProblem(StatusCode::kUnavailable, "list", Shown(directory),
                           "the NameNode lists names twice or out of order");
      }
      after = entry.path;
      ++seen;
      if (!wanted(entry.path)) continue;
      entry.path = JoinPath(directory, entry.path);
      all.push_back(std::move(entry));
    }
    if (listing.remaining == 0) return all;
    if (listing.entries.empty() || seen > kEntriesMax) {
      return FileProblem(StatusCode::kResourceExhausted, "list", Shown(directory),
                         "it holds more than " + std::to_string(kEntriesMax) +
                             " entries, or its listing does not end");
    }
  }
}

Result<std::vector<FileInfo>> WebHdfsFileSystem::List(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, PathOf(uri));
  ESPALIER_ASSIGN_OR_RETURN(auto files, ListPattern(*this, path));
  for (FileInfo& file : files) file.path = Shown(file.path);
  return files;
}

Result<std::vector<std::string>> WebHdfsFileSystem::Names(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, PathOf(uri));
  ESPALIER_ASSIGN_OR_RETURN(const auto entries, Entries(path, [](auto) { return true; }));
  std::vector<std::string> names;
  for (const FileInfo& entry : entries) {
    names.push_back(entry.path.substr(entry.path.find_last_of('/') + 1));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::unique_ptr<ReadableFile>> WebHdfsFileSystem::Open(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, PathOf(uri));
  ESPALIER_ASSIGN_OR_RETURN(FileInfo info, LookUp(path, "open"));
  if (info.is_directory) {
    return FileProblem(StatusCode::kFailedPrecondition, "open", Shown(path), "it is a directory");
  }
  info.path = Shown(path);
  return std::unique_ptr<ReadableFile>(new WebHdfsFile(client_, path, std::move(info)));
}

Result<std::vector<BlockLocation>> WebHdfsFileSystem::BlockLocations(const std::string& uri,
                                                                     int64_t offset,
                                                                     int64_t length) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, PathOf(uri));
  Operation operation{
      .op = "GETFILEBLOCKLOCATIONS",
      .path = path,
      .parameters = {{"offset", std::to_string(offset)}, {"length", std::to_string(length)}},
      .doing = "find the blocks of",
      .shown = Shown(path)};
  WebHdfsClient::Answer answer;
  if (!locations_unknown_) {
    answer = client_->Ask(operation);
    if (answer.status.code() == StatusCode::kInvalidArgument) locations_unknown_ = true;
  }
  if (locations_unknown_) {
    operation.op = "GET_BLOCK_LOCATIONS";
    answer = client_->Ask(operation);
  }
  ESPALIER_RETURN_IF_ERROR(answer.status);
  Result<std::vector<LocatedBlock>> blocks = ParseBlockLocations(answer.body);
  if (!blocks.ok()) {
    return FileProblem(StatusCode::kUnavailable, operation.doing, operation.shown,
                       blocks.status().message());
  }
  std::vector<BlockLocation> locations;
  for (LocatedBlock& block : *blocks) locations.push_back(std::move(block.where));
  const auto by_offset = [](const BlockLocation& a, const BlockLocation& b) {
    return a.offset < b.offset;
  };
  std::sort(locations.begin(), locations.end(), by_offset);
  return locations;
}

Status WebHdfsFileSystem::Confirm(const std::string& path, std::string_view content) const {
  const int64_t expected = content.size();
  int64_t found = 0;
  for (int i = 0; i < kConfirmLooks; ++i) {
    if (i > 0 && !client_->http().Wait(kConfirmWaitMs)) return Cancelled("it was cancelled");
    ESPALIER_ASSIGN_OR_RETURN(const FileInfo info, LookUp(path, "create"));
    found = info.length;
    if (info.is_directory || found > expected) break;
    if (found < expected) continue;  // it may still be in the process of being written
    ESPALIER_ASSIGN_OR_RETURN(const std::string there, ReadAll(Shown(path), expected));
    if (there == content) return {};
    break;
  }
  if (found >= expected) {
    return FileProblem(StatusCode::kAlreadyExists, "create", Shown(path), "it exists");
  }
  return FileProblem(StatusCode::kUnavailable, "create", Shown(path),
                     "the answer was lost, and a file of " + std::to_string(found) + " of " +
                         std::to_string(expected) +
                         " bytes is there; delete it if no process is writing to it");
}

Status WebHdfsFileSystem::CreateExclusively(const std::string& uri,
                                            std::string_view content) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, PathOf(uri));
  Status last;
  bool maybe_done = false;
  for (int round = 0; round < kCreateRounds; ++round) {
    const auto answer =
        client_->Create({.path = path, .doing = "create", .shown = Shown(path)}, content, true);
    if (answer.status.ok()) return {};
    maybe_done |= answer.maybe_done;
    if (!maybe_done) return answer.status;
    // An answer was lost. If the file exists, this call may have created it.
    last = Confirm(path, content);
    if (last.code() != StatusCode::kNotFound) return last;
    last = answer.status;
    if (last.code() == StatusCode::kNotFound) return last;  // its directory is missing
  }
  return last;
}

std::string WebHdfsFileSystem::TemporaryFor(const std::string& path,
                                            const std::string& writer) const {
  std::string who = writer.empty() ? writer_ : writer;
  if (who.empty()) {
    char host[256] = {};
    (void)gethostname(host, sizeof(host) - 1);
    who = std::string(host) + "-" + std::to_string(getpid());
  }
  std::replace_if(
      who.begin(), who.end(), [](char c) { return c == '/' || c == ':'; }, '-');
  const size_t slash = path.find_last_of('/');
  return path.substr(0, slash + 1) + "." + path.substr(slash + 1) + ".tmp-" + who + "-" +
         std::to_string(++temporaries_);
}

WebHdfsClient::Answer WebHdfsFileSystem::RenameTo(const std::string& from, const std::string& to,
                                                  const char* option,
                                                  const std::string& doing) const {
  auto answer = client_->Ask({.method = HttpMethod::kPut,
                              .op = "RENAME",
                              .path = from,
                              .parameters = {{"destination", to}, {"renameoptions", option}},
                              .doing = doing,
                              .shown = Shown(to)});
  if (!answer.status.ok() || answer.body.empty()) return answer;
  // A gateway that does not know the option answers like the plain rename.
  const Result<bool> renamed = ParseBoolean(answer.body);
  if (!renamed.ok() || !*renamed) {
    answer.status = FileProblem(StatusCode::kAlreadyExists, doing, Shown(to),
                                "HDFS refused; there may be something of that name");
  }
  return answer;
}

Status WebHdfsFileSystem::WriteAtomically(const std::string& uri, std::string_view content,
                                          const std::string& writer) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, PathOf(uri));
  const Result<FileInfo> old = LookUp(path, "write");
  if (old.ok() && old->is_directory) {
    return FileProblem(StatusCode::kFailedPrecondition, "write", Shown(path), "it is a directory");
  }
  if (!old.ok() && old.status().code() != StatusCode::kNotFound) return old.status();
  const std::string temporary = TemporaryFor(path, writer);
  const auto created =
      client_->Create({.path = temporary, .doing = "write", .shown = Shown(path)}, content, false);
  Status done = created.status;
  if (done.ok()) {
    const auto renamed = RenameTo(temporary, path, "OVERWRITE", "write");
    done = renamed.status;
    // Only this call uses the temporary file. If it is missing, an earlier attempt renamed it.
    if (done.code() == StatusCode::kNotFound && renamed.maybe_done) return {};
  }
  if (done.ok()) return {};
  if (created.status.ok() || created.maybe_done) {
    const auto removed = client_->Ask({.method = HttpMethod::kDelete,
                                       .op = "DELETE",
                                       .path = temporary,
                                       .doing = "delete",
                                       .shown = Shown(temporary)});
    if (!removed.status.ok()) return done.Wrap(removed.status.message());
  }
  return done;
}

Status WebHdfsFileSystem::Rename(const std::string& from_uri, const std::string& to_uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string from, PathOf(from_uri));
  ESPALIER_ASSIGN_OR_RETURN(const std::string to, PathOf(to_uri));
  const std::string doing = "rename '" + Printable(Shown(from), 1024) + "' to";
  const auto answer = RenameTo(from, to, "NONE", doing);
  const StatusCode code = answer.status.code();
  if (code == StatusCode::kNotFound && answer.maybe_done && LookUp(to, "rename").ok()) return {};
  // HDFS refuses to rename a file onto a directory (or the reverse) with a plain IOException.
  if (code == StatusCode::kUnavailable && LookUp(from, "rename").ok() &&
      LookUp(to, "rename").ok()) {
    return FileProblem(StatusCode::kAlreadyExists, doing, Shown(to), "it exists");
  }
  return answer.status;
}

Status WebHdfsFileSystem::Delete(const std::string& uri) const { return DeleteOne(uri, false); }

Status WebHdfsFileSystem::RemoveEmptyDirectory(const std::string& uri) const {
  return DeleteOne(uri, true);
}

// Deletes a file or an empty directory. HDFS refuses a directory with entries.
Status WebHdfsFileSystem::DeleteOne(const std::string& uri, bool directory) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, PathOf(uri));
  ESPALIER_ASSIGN_OR_RETURN(const FileInfo info, LookUp(path, "delete"));
  if (info.is_directory != directory) {
    return FileProblem(StatusCode::kFailedPrecondition, "delete", Shown(path),
                       directory ? "it is not a directory" : "it is a directory");
  }
  const auto answer = client_->Ask({.method = HttpMethod::kDelete,
                                    .op = "DELETE",
                                    .path = path,
                                    .parameters = {{"recursive", "false"}},
                                    .doing = "delete",
                                    .shown = Shown(path)});
  ESPALIER_RETURN_IF_ERROR(answer.status);
  const Result<bool> deleted = ParseBoolean(answer.body);
  if (deleted.ok() && (*deleted || answer.maybe_done)) return {};
  if (!deleted.ok()) {
    return FileProblem(StatusCode::kUnavailable, "delete", Shown(path), deleted.status().message());
  }
  return FileProblem(StatusCode::kNotFound, "delete", Shown(path), "it does not exist");
}

Status WebHdfsFileSystem::MakeDirectory(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, PathOf(uri));
  const std::string doing = "make the directory";
  const auto answer = client_->Ask({.method = HttpMethod::kPut,
                                    .op = "MKDIRS",
                                    .path = path,
                                    .doing = doing,
                                    .shown = Shown(path)});
  if (answer.status.code() == StatusCode::kAlreadyExists) {
    return FileProblem(StatusCode::kFailedPrecondition, doing, Shown(path),
                       "a part of it is a file, not a directory");
  }
  ESPALIER_RETURN_IF_ERROR(answer.status);
  const Result<bool> made = ParseBoolean(answer.body);
  if (made.ok() && *made) return {};
  return FileProblem(StatusCode::kUnavailable, doing, Shown(path),
                     made.ok() ? "HDFS refused without saying why" : made.status().message());
}

Status WebHdfsFileSystem::Restrict(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, PathOf(uri));
  return client_
      ->Ask({.method = HttpMethod::kPut,
             .op = "SETPERMISSION",
             .path = path,
             .parameters = {{"permission", "700"}},
             .doing = "restrict the access to",
             .shown = Shown(path)})
      .status;
}

Status WebHdfsFileSystem::RemoveTree(const std::string& uri) const {
  ESPALIER_ASSIGN_OR_RETURN(const std::string path, PathOf(uri));
  if (path == "/") {
    return InvalidArgument("refused to delete '" + Shown(path) + "' with all in it");
  }
  const auto answer = client_->Ask({.method = HttpMethod::kDelete,
                                    .op = "DELETE",
                                    .path = path,
                                    .parameters = {{"recursive", "true"}},
                                    .doing = "delete",
                                    .shown = Shown(path)});
  if (answer.status.code() == StatusCode::kNotFound) return {};
  ESPALIER_RETURN_IF_ERROR(answer.status);
  const Result<bool> deleted = ParseBoolean(answer.body);  // false: the path did not exist
  if (deleted.ok()) return {};
  return FileProblem(StatusCode::kUnavailable, "delete", Shown(path), deleted.status().message());
}

}  // namespace

std::unique_ptr<FileSystem> MakeWebHdfsFileSystem(std::shared_ptr<const WebHdfsClient> client,
                                                  std::string writer) {
  return std::make_unique<WebHdfsFileSystem>(std::move(client), std::move(writer));
}

}  // namespace espalier::storage
