#include "src/storage/pattern_listing.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/storage/glob.h"

namespace espalier {
namespace {

class PatternWalk {
 public:
  PatternWalk(const DirectoryReader& reader, std::vector<FileInfo>* files)
      : reader_(reader), files_(files) {}

  // Adds a file, or the files in a directory.
  Status Add(FileInfo found) {
    if (!found.is_directory) {
      files_->push_back(std::move(found));
    } else {
      ESPALIER_ASSIGN_OR_RETURN(auto entries, EntriesOf(found.path));
      for (FileInfo& entry : entries) {
        if (!entry.is_directory && !IsHiddenName(NameOf(entry))) {
          files_->push_back(std::move(entry));
        }
      }
    }
    if (files_->size() <= kListedFilesMax) return {};
    return ResourceExhausted("'" + Printable(found.path) +
                             "' and what was listed before are more than " +
                             std::to_string(kListedFilesMax) + " files");
  }

  // Walks the segments of a pattern from `position` on, below `path`.
  Status Expand(std::string path, const std::string& pattern, size_t position) {
    // Segments without wildcards are taken as they are, hidden or not.
    while (position < pattern.size()) {
      const size_t slash = std::min(pattern.find('/', position), pattern.size());
      const std::string segment = pattern.substr(position, slash - position);
      position = slash + 1;
      if (segment.empty()) {
        if (path.empty()) path = "/";
      } else if (HasGlob(segment)) {
        return Match(path, segment, pattern, slash >= pattern.size() ? pattern.size() : position);
      } else {
        path = JoinPath(path, segment);
      }
    }
    Result<FileInfo> found = reader_.Look(path);
    // Nothing there: a pattern may match nothing.
    if (!found.ok()) return IsNothing(found.status()) ? Status() : found.status();
    return Add(*std::move(found));
  }

 private:
  static bool IsNothing(const Status& status) {
    return status.code() == StatusCode::kNotFound ||
           status.code() == StatusCode::kFailedPrecondition;
  }
  static std::string_view NameOf(const FileInfo& info) {
    return std::string_view(info.path).substr(info.path.find_last_of('/') + 1);
  }
  Result<std::vector<FileInfo>> EntriesOf(const std::string& directory) const {
    Result<std::vector<FileInfo>> entries = reader_.Entries(directory);
    if (!entries.ok() && IsNothing(entries.status())) return std::vector<FileInfo>();
    return entries;
  }

  // Goes on below each name in `path` that matches `segment`.
  Status Match(const std::string& path, const std::string& segment, const std::string& pattern,
               size_t rest) {
    ESPALIER_ASSIGN_OR_RETURN(auto entries, EntriesOf(path.empty() ? "." : path));
    for (FileInfo& entry : entries) {
      const std::string name(NameOf(entry));
      if (IsHiddenName(name) || !GlobMatches(segment, name)) continue;
      entry.path = JoinPath(path, name);
      if (rest >= pattern.size()) {
        ESPALIER_RETURN_IF_ERROR(Add(std::move(entry)));
      } else if (entry.is_directory) {
        ESPALIER_RETURN_IF_ERROR(Expand(entry.path, pattern, rest));
      }
    }
    return {};
  }

  const DirectoryReader& reader_;
  std::vector<FileInfo>* const files_;
};

}  // namespace

std::string JoinPath(const std::string& directory, const std::string& name) {
  if (directory.empty()) return name;
  return directory.ends_with('/') ? directory + name : directory + "/" + name;
}

Result<std::vector<FileInfo>> ListPattern(const DirectoryReader& reader, const std::string& path) {
  std::vector<FileInfo> files;
  PatternWalk walk(reader, &files);
  // A plain name comes first: a file may have a wildcard in its name.
  Result<FileInfo> plain = reader.Look(path);
  if (plain.ok()) {
    ESPALIER_RETURN_IF_ERROR(walk.Add(*std::move(plain)));
  } else if (!HasGlob(path)) {
    return plain.status();
  } else {
    ESPALIER_ASSIGN_OR_RETURN(const auto patterns, ExpandBraces(path));
    for (const std::string& pattern : patterns) {
      ESPALIER_RETURN_IF_ERROR(walk.Expand("", pattern, 0));
    }
  }
  const auto by_path = [](const FileInfo& a, const FileInfo& b) { return a.path < b.path; };
  const auto same_path = [](const FileInfo& a, const FileInfo& b) { return a.path == b.path; };
  std::sort(files.begin(), files.end(), by_path);
  files.erase(std::unique(files.begin(), files.end(), same_path), files.end());
  return files;
}

}  // namespace espalier
