// The subjects of the conformance suite on the local disk.
#include "src/storage/file_systems.h"
#include "tests/storage/subject.h"
#include "tests/storage/temporary_directory.h"

namespace espalier::storage {

std::vector<Subject> MakeSubjects() {
  std::vector<Subject> subjects;
  for (const bool any : {false, true}) {
    const std::shared_ptr<const FileSystem> files =
        any ? MakeFileSystem(StorageOptions{}) : MakeLocalFileSystem();
    auto directory = std::make_shared<TemporaryDirectory>();
    std::shared_ptr<const std::string> root(&directory->path(), [directory](const std::string*) {});
    subjects.push_back({any ? "any" : "local", files, root});
  }
  return subjects;
}

}  // namespace espalier::storage
