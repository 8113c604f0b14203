#include "src/storage/file_system.h"

#include "src/base/text.h"

namespace espalier::storage {

Result<std::string> FileSystem::ReadAll(const std::string& path, int64_t bytes_max) const {
  ESPALIER_ASSIGN_OR_RETURN(const auto file, Open(path));
  if (file->info().length > bytes_max) {
    return ResourceExhausted(QuotedPath(path) + " has " + std::to_string(file->info().length) +
                             " bytes; at most " + std::to_string(bytes_max) + " are read here");
  }
  std::string content(file->info().length, '\0');
  ESPALIER_ASSIGN_OR_RETURN(const size_t size, file->ReadAt(0, content));
  content.resize(size);
  return content;
}

Status FileProblem(StatusCode code, const std::string& doing, const std::string& path,
                   const std::string& why) {
  return {code, "cannot " + doing + " '" + Printable(path, 1024) + "': " + why};
}

}  // namespace espalier::storage
