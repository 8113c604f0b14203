#include "src/data/input/table_formats.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/base/in_order.h"
#include "src/base/text.h"
#include "src/data/table/advice.h"
#include "src/storage/glob.h"
#include "src/storage/pattern_listing.h"
#include "src/storage/uri.h"

namespace espalier::data {
namespace {

constexpr int kLooksAtOnce = 16;  // each mostly waits for a remote file system
// Limit for the directories above a file. A path has fewer.
constexpr int kAncestorsMax = 256;

// Files in each partition of a Hudi table, by the format of these files.
constexpr const char* kHudiPartition = ".hoodie_partition_metadata";
constexpr const char* kHudiParquetPartition = ".hoodie_partition_metadata.parquet";

struct Table {
  std::string directory, kind, marker;
};

bool IsDigits(std::string_view text) {
  return text.size() >= 7 &&  // Hive writes at least seven
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Matches base_0000005, base_0000005_v0000012, delta_0000001_0000002, delta_0000001_0000001_0000,
// and the same with delete_delta_.
bool IsAcidName(std::string_view name) {
  const auto starts = [&name](std::string_view prefix) {
    if (!name.starts_with(prefix)) return false;
    name.remove_prefix(prefix.size());
    return true;
  };
  const bool base = starts("base_");
  if (!base && !starts("delete_delta_") && !starts("delta_")) return false;
  const size_t end = std::min(name.find('_'), name.size());
  if (!IsDigits(name.substr(0, end))) return false;
  if (base) return end == name.size() || name.substr(end).starts_with("_v");
  name.remove_prefix(std::min(end + 1, name.size()));
  return IsDigits(name.substr(0, std::min(name.find('_'), name.size())));
}

bool IsIcebergFile(std::string_view name) {
  return name == "version-hint.text" || name.ends_with(".metadata.json") ||
         name.ends_with(".metadata.json.gz") || name.ends_with(".gz.metadata.json");
}

std::string_view NameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Returns the directory above. Empty: `path` has none.
std::string Above(const std::string& path, const std::string& root) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || path.size() <= root.size() + 1) return "";
  return slash <= root.size() ? root + "/" : path.substr(0, slash);
}

class Search {
 public:
  explicit Search(const storage::FileSystem& files) : files_(files) {}

  // If the local file is a symbolic link, adds the directories above the file that it names.
  void AddLinked(const std::string& path) {
    std::error_code error;
    const auto uri = storage::ParseUri(path);
    if (!uri.ok() || uri->kind != storage::Uri::Kind::kLocal) return;
    if (!std::filesystem::is_symlink(uri->path, error) || error) return;
    AddAbove(storage::CanonicalPath(path), 0);
  }

  // Adds the directories above `path`. A pattern found the last `found` of them.
  void AddAbove(const std::string& path, int32_t found) {
    const auto uri = storage::ParseUri(path);
    const std::string root = uri.ok() ? uri->prefix : "";
    std::string directory = Above(path, root);
    for (int i = 0; i < kAncestorsMax && !directory.empty(); ++i, --found) {
      if (!directories_.emplace(directory, found > 0).second) return;
      directory = Above(directory, root);
    }
  }

  void Add(const std::string& directory) { directories_.emplace(directory, true); }

  // Also adds the same directories without symbolic links, up to the root.
  void AddRealPaths() {
    std::vector<std::string> given;
    for (const auto& [directory, found] : directories_) given.push_back(directory);
    if (given.empty()) given.emplace_back(".");
    for (const std::string& directory : given) {
      const std::string real = storage::CanonicalPath(directory);
      if (!directories_.emplace(real, false).second) continue;
      AddAbove(real, 0);
    }
  }

  // Returns the first table in path order.
  Result<std::optional<Table>> Find() const {
    const std::vector<std::pair<std::string, bool>> all(directories_.begin(), directories_.end());
    std::optional<Table> first;
    using Found = Result<std::optional<Table>>;
    const Status status = InOrder<Found>(
        static_cast<int64_t>(all.size()), kLooksAtOnce,
        [&](int64_t i) { return Look(all[static_cast<size_t>(i)]); },
        [&](int64_t, Found found) -> Status {
          ESPALIER_RETURN_IF_ERROR(found.status());
          if (!first && *found) first = **found;
          return {};
        });
    if (!status.ok()) return status;
    return first;
  }

 private:
  static bool Unreachable(const Status& status) {
    return status.code() == StatusCode::kUnavailable ||
           status.code() == StatusCode::kDeadlineExceeded ||
           status.code() == StatusCode::kCancelled;
  }

  Result<std::optional<Table>> Look(const std::pair<std::string, bool>& at) const {
    const auto& [directory, found] = at;
    if (IsAcidName(NameOf(directory))) {
      return std::optional<Table>({Above(directory, ""), "a transactional (ACID) table of Hive",
                                   std::string(NameOf(directory))});
    }
    // A directory that a pattern found takes one request. The directories above may contain
    // anything and may not allow a listing.
    if (found) {
      const auto names = files_.Names(directory);
      if (names.ok()) return LookIn(directory, *names);
      if (Unreachable(names.status())) return names.status();
    }
    std::vector<std::string> names;
    for (const char* name : {"_delta_log", ".hoodie", "_spark_metadata", "metadata"}) {
      const auto info = files_.Stat(storage::JoinPath(directory, name));
      if (info.ok() && info->is_directory) names.emplace_back(name);
      if (!info.ok() && Unreachable(info.status())) return info.status();
    }
    // A partition that was copied out of a table still has this file.
    for (const char* name : {kHudiPartition, kHudiParquetPartition}) {
      const auto info = files_.Stat(storage::JoinPath(directory, name));
      if (info.ok() && !info->is_directory) names.emplace_back(name);
      if (!info.ok() && Unreachable(info.status())) return info.status();
    }
    return LookIn(directory, names);
  }

  Result<std::optional<Table>> LookIn(const std::string& directory,
                                      const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      if (name == "_delta_log") return Made(directory, "a Delta table", name);
      if (name == ".hoodie" || name.starts_with(kHudiPartition))
        return Made(directory, "a Hudi table", name);
      if (name == "_spark_metadata") return Made(directory, "the output of a Spark stream", name);
      if (IsAcidName(name)) return Made(directory, "a transactional (ACID) table of Hive", name);
      if (name != "metadata") continue;
      const auto inside = files_.Names(storage::JoinPath(directory, name));
      if (!inside.ok()) {
        if (Unreachable(inside.status())) return inside.status();
        continue;
      }
      const auto file = std::find_if(inside->begin(), inside->end(), IsIcebergFile);
      if (file != inside->end()) return Made(directory, "an Iceberg table", name + "/" + *file);
    }
    return std::optional<Table>();
  }

  static std::optional<Table> Made(const std::string& directory, const char* kind,
                                   const std::string& marker) {
    return Table{directory, kind, marker};
  }

  const storage::FileSystem& files_;
  std::map<std::string, bool> directories_;  // whether a pattern found it
};

// Returns the directories that a pattern spells out, without the name of its last segment.
std::string Fixed(const std::string& pattern) {
  size_t end = 0;
  for (size_t begin = 0; begin <= pattern.size();) {
    const size_t slash = std::min(pattern.find('/', begin), pattern.size());
    if (storage::HasGlob(std::string_view(pattern).substr(begin, slash - begin))) break;
    end = slash;
    begin = slash + 1;
  }
  return pattern.substr(0, end);
}

}  // namespace

Status CheckTableFormats(const storage::FileSystem& files, const std::string& field,
                         const std::string& pattern, const std::vector<storage::FileInfo>& listed) {
  Search search(files);
  for (const storage::FileInfo& file : listed) {
    search.AddAbove(file.path, file.found_below);
    search.AddLinked(file.path);
  }
  if (listed.empty()) {
    const auto uri = storage::ParseUri(pattern);
    if (!uri.ok() || uri->path.size() <= 1) return {};
    const std::string fixed = Fixed(pattern);
    search.Add(fixed.empty() ? "." : fixed);
    search.AddAbove(fixed, 0);
  }
  search.AddRealPaths();
  ESPALIER_ASSIGN_OR_RETURN(const std::optional<Table> table, search.Find());
  if (!table) return {};
  const std::string directory = table->directory.empty() ? "." : table->directory;
  return InvalidArgument(field + ": " + QuotedPath(directory) + " is " + table->kind + " (found " +
                         QuotedPath(table->marker) +
                         ", expected plain files): only its log says which rows are live. Export "
                         "a snapshot of the table as Parquet or CSV files to another directory. "
                         "To read all of its files, deleted and replaced rows included" +
                         advice::kRaw.training)
      .At({.file = pattern});
}

}  // namespace espalier::data
