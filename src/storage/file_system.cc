#include "src/storage/file_system.h"

#include <algorithm>
#include <cctype>

#include "src/base/text.h"
#include "src/storage/local_file_system.h"

namespace espalier {
namespace {

// "hdfs" of "hdfs://host/path"; empty for a plain path.
std::string_view SchemeOf(std::string_view uri) {
  const size_t colon = uri.find("://");
  if (colon == std::string_view::npos || colon == 0) return {};
  const std::string_view scheme = uri.substr(0, colon);
  const bool is_scheme = std::all_of(scheme.begin(), scheme.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '+' || c == '-' || c == '.';
  });
  return is_scheme ? scheme : std::string_view{};
}

Status CheckScheme(const std::string& uri) {
  const std::string_view scheme = SchemeOf(uri);
  if (scheme.empty() || scheme == "file") return {};
  if (scheme == "hdfs" || scheme == "webhdfs") {
    return Unimplemented("HDFS is not in this build yet: '" + Printable(uri) +
                         "'; copy the files to a local disk and give their path");
  }
  return InvalidArgument("the scheme '" + Printable(scheme) + "' of '" + Printable(uri) +
                         "' is not known; expected a path or file:///PATH");
}

// Answers for paths of every scheme; so far there is one.
class AnyFileSystem : public FileSystem {
 public:
  Result<std::vector<FileInfo>> List(const std::string& pattern) const override {
    ESPALIER_RETURN_IF_ERROR(CheckScheme(pattern));
    return local_->List(pattern);
  }
  Result<FileInfo> Stat(const std::string& path) const override {
    ESPALIER_RETURN_IF_ERROR(CheckScheme(path));
    return local_->Stat(path);
  }
  Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) const override {
    ESPALIER_RETURN_IF_ERROR(CheckScheme(path));
    return local_->Open(path);
  }
  Status CreateExclusively(const std::string& path, std::string_view content) const override {
    ESPALIER_RETURN_IF_ERROR(CheckScheme(path));
    return local_->CreateExclusively(path, content);
  }
  Status WriteAtomically(const std::string& path, std::string_view content) const override {
    ESPALIER_RETURN_IF_ERROR(CheckScheme(path));
    return local_->WriteAtomically(path, content);
  }
  Status Rename(const std::string& from, const std::string& to) const override {
    ESPALIER_RETURN_IF_ERROR(CheckScheme(from));
    ESPALIER_RETURN_IF_ERROR(CheckScheme(to));
    return local_->Rename(from, to);
  }
  Status Delete(const std::string& path) const override {
    ESPALIER_RETURN_IF_ERROR(CheckScheme(path));
    return local_->Delete(path);
  }
  Status MakeDirectory(const std::string& path) const override {
    ESPALIER_RETURN_IF_ERROR(CheckScheme(path));
    return local_->MakeDirectory(path);
  }
  Result<std::vector<std::string>> Names(const std::string& directory) const override {
    ESPALIER_RETURN_IF_ERROR(CheckScheme(directory));
    return local_->Names(directory);
  }
  Status RemoveTree(const std::string& path) const override {
    ESPALIER_RETURN_IF_ERROR(CheckScheme(path));
    return local_->RemoveTree(path);
  }

 private:
  const std::unique_ptr<FileSystem> local_ = MakeLocalFileSystem();
};

}  // namespace

Result<std::string> FileSystem::ReadAll(const std::string& path, int64_t bytes_max) const {
  ESPALIER_ASSIGN_OR_RETURN(const auto file, Open(path));
  if (file->info().length > bytes_max) {
    return ResourceExhausted("'" + path + "' has " + std::to_string(file->info().length) +
                             " bytes; at most " + std::to_string(bytes_max) + " are read here");
  }
  std::string content(file->info().length, '\0');
  ESPALIER_ASSIGN_OR_RETURN(const size_t size, file->ReadAt(0, content));
  content.resize(size);
  return content;
}

Result<std::unique_ptr<FileSystem>> FileSystemFor(const std::string& uri) {
  ESPALIER_RETURN_IF_ERROR(CheckScheme(uri));
  return MakeLocalFileSystem();
}

std::unique_ptr<FileSystem> MakeFileSystem() { return std::make_unique<AnyFileSystem>(); }

}  // namespace espalier
