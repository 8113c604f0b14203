#include "src/storage/pattern_listing.h"

#include <algorithm>
#include <utility>

#include "src/base/text.h"
#include "src/storage/glob.h"

namespace espalier::storage {
namespace {

// Maximum depth of nested directories `name=value`. Deeper nesting is treated as a cycle of links.
constexpr int32_t kPartitionDepthMax = 32;

std::string_view NameOf(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

bool IsLeftOut(std::string_view name) {
  return IsHiddenName(name) && !(name.starts_with('_') && IsPartitionName(name));
}

bool IsNothing(const Status& status) {
  return status.code() == StatusCode::kNotFound || status.code() == StatusCode::kFailedPrecondition;
}

// Returns whether the file system does not answer. Another request would wait again.
bool IsAway(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded || status.code() == StatusCode::kCancelled;
}

// Returns the position of the first segment with a wildcard in the pattern.
size_t FirstGlob(const std::string& pattern) {
  size_t begin = 0;
  while (begin < pattern.size()) {
    const size_t slash = std::min(pattern.find('/', begin), pattern.size());
    if (HasGlob(std::string_view(pattern).substr(begin, slash - begin))) return begin;
    begin = slash + 1;
  }
  return pattern.size();
}

class PatternWalk {
 public:
  // Parts of a pattern from `fixed` on count as found, not as spelled out.
  PatternWalk(const DirectoryReader& reader, size_t fixed, std::vector<FileInfo>* files)
      : reader_(reader), fixed_(fixed), files_(files) {}

  // Adds a file, or the files in a directory. `below` is the number of found directories above it.
  Status Add(FileInfo found, int32_t below) {
    if (!found.is_directory) {
      found.found_below = below;
      files_->push_back(std::move(found));
    } else {
      ESPALIER_RETURN_IF_ERROR(AddDirectory(found.path, below, 0));
    }
    if (files_->size() <= kListedFilesMax) return {};
    return ResourceExhausted("'" + Printable(reader_.Shown(found.path)) +
                             "' and what was listed before are more than " +
                             std::to_string(kListedFilesMax) + " files");
  }

  // Walks the segments of a pattern from `position` on, below `path`.
  Status Expand(std::string path, const std::string& pattern, size_t position, int32_t below) {
    // Segments without wildcards are used as they are, hidden or not.
    bool found_last = false;  // the last segment of `path` is in the found part
    while (position < pattern.size()) {
      const size_t slash = std::min(pattern.find('/', position), pattern.size());
      const std::string segment = pattern.substr(position, slash - position);
      const size_t begin = std::exchange(position, slash + 1);
      if (segment.empty()) {
        if (path.empty()) path = "/";
      } else if (HasGlob(segment)) {
        return Match(path, segment, pattern, slash >= pattern.size() ? pattern.size() : position,
                     below);
      } else {
        path = JoinPath(path, segment);
        found_last = begin >= fixed_;
        below += found_last;
      }
    }
    Result<FileInfo> found = reader_.Look(path);
    // A pattern may match nothing.
    if (!found.ok()) return IsNothing(found.status()) ? Status() : found.status();
    if (!found->is_directory) below -= found_last;
    return Add(*std::move(found), below);
  }

 private:
  Status AddDirectory(const std::string& path, int32_t below, int32_t depth) {
    const auto wanted = [](std::string_view name) { return !IsLeftOut(name); };
    ESPALIER_ASSIGN_OR_RETURN(auto entries, EntriesOf(path, wanted));
    for (FileInfo& entry : entries) {
      const std::string name(NameOf(entry.path));
      if (!entry.is_directory) {
        entry.found_below = below;
        if (!IsHiddenName(name)) files_->push_back(std::move(entry));
        continue;
      }
      const bool deep = depth >= kPartitionDepthMax;
      if (!IsPartitionName(name) || deep) return NotRead(path, name, deep);
      ESPALIER_RETURN_IF_ERROR(AddDirectory(entry.path, below + 1, depth + 1));
      if (files_->size() > kListedFilesMax) break;
    }
    return {};
  }

  Status NotRead(const std::string& path, const std::string& name, bool deep) const {
    const std::string shown = Printable(reader_.Shown(path), 1024);
    return InvalidArgument(
        "'" + shown + "' holds the directory '" + Printable(name) + "', " +
        (deep ? "more than " + std::to_string(kPartitionDepthMax) +
                    " directories deep; do links lead in a circle?"
              : "which is not read (expected files, or directories named name=value, as Hive and "
                "Spark write them). Select the files by patterns, such as '" +
                    JoinPath(shown, "*.csv") + "' and '" + JoinPath(shown, "*/*.csv") + "'"));
  }

  Result<std::vector<FileInfo>> EntriesOf(const std::string& directory,
                                          const DirectoryReader::Wanted& wanted) const {
    Result<std::vector<FileInfo>> entries = reader_.Entries(directory, wanted);
    if (!entries.ok() && IsNothing(entries.status())) return std::vector<FileInfo>();
    return entries;
  }

  // Continues below each name in `path` that matches `segment`.
  Status Match(const std::string& path, const std::string& segment, const std::string& pattern,
               size_t rest, int32_t below) {
    const auto wanted = [&segment](std::string_view name) {
      return !IsLeftOut(name) && GlobMatches(segment, name);
    };
    ESPALIER_ASSIGN_OR_RETURN(auto entries, EntriesOf(path.empty() ? "." : path, wanted));
    for (FileInfo& entry : entries) {
      const std::string name(NameOf(entry.path));
      if (IsHiddenName(name) && !entry.is_directory) continue;
      entry.path = JoinPath(path, name);
      const int32_t here = below + entry.is_directory;
      if (rest >= pattern.size()) {
        ESPALIER_RETURN_IF_ERROR(Add(std::move(entry), here));
      } else if (entry.is_directory) {
        ESPALIER_RETURN_IF_ERROR(Expand(entry.path, pattern, rest, here));
      }
    }
    return {};
  }

  const DirectoryReader& reader_;
  const size_t fixed_;
  std::vector<FileInfo>* const files_;
};

}  // namespace

std::string JoinPath(const std::string& directory, const std::string& name) {
  if (directory.empty()) return name;
  return directory.ends_with('/') ? directory + name : directory + "/" + name;
}

Result<std::vector<FileInfo>> ListPattern(const DirectoryReader& reader, const std::string& path) {
  std::vector<FileInfo> files;
  PatternWalk walk(reader, FirstGlob(path), &files);
  // A plain name has precedence, because a file name may contain a wildcard.
  Result<FileInfo> plain = reader.Look(path);
  if (plain.ok()) {
    ESPALIER_RETURN_IF_ERROR(walk.Add(*std::move(plain), 0));
  } else if (!HasGlob(path) || IsAway(plain.status())) {
    return plain.status();
  } else {
    ESPALIER_ASSIGN_OR_RETURN(const auto patterns, ExpandBraces(path));
    for (const std::string& pattern : patterns) {
      ESPALIER_RETURN_IF_ERROR(CheckLevels(pattern, reader.Shown(path)));
      ESPALIER_RETURN_IF_ERROR(walk.Expand("", pattern, 0, 0));
    }
  }
  const auto by_path = [](const FileInfo& a, const FileInfo& b) { return a.path < b.path; };
  const auto same_path = [](const FileInfo& a, const FileInfo& b) { return a.path == b.path; };
  std::sort(files.begin(), files.end(), by_path);
  files.erase(std::unique(files.begin(), files.end(), same_path), files.end());
  return files;
}

}  // namespace espalier::storage
