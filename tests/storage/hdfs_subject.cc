// The subject of the conformance suite on a real HDFS.
#include "tests/storage/hdfs_subject.h"

#include "tests/storage/subject.h"

namespace espalier::storage {

std::vector<Subject> MakeSubjects() {
  const std::shared_ptr<const FileSystem> files = MakeFileSystem(HdfsOptions("espalier"));
  return {{"hdfs", files, OwnDirectory(files, FreshHdfsPath("conformance")), false}};
}

}  // namespace espalier::storage
