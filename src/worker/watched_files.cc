#include "src/worker/watched_files.h"

#include <utility>

namespace espalier::worker {
namespace {

class WatchedFile final : public storage::ReadableFile {
 public:
  WatchedFile(std::unique_ptr<storage::ReadableFile> inner, const WatchedFiles::Hooks& hooks)
      : inner_(std::move(inner)), hooks_(hooks) {}

  const storage::FileInfo& info() const override { return inner_->info(); }
  Result<size_t> ReadAt(int64_t offset, std::span<char> out) const override {
    ESPALIER_RETURN_IF_ERROR(hooks_.may_go_on());
    ESPALIER_ASSIGN_OR_RETURN(const size_t bytes, inner_->ReadAt(offset, out));
    hooks_.after_read(static_cast<int64_t>(bytes));
    return bytes;
  }
  void WillRead(int64_t offset, int64_t length) const override { inner_->WillRead(offset, length); }

 private:
  const std::unique_ptr<storage::ReadableFile> inner_;
  const WatchedFiles::Hooks& hooks_;
};

}  // namespace

Result<std::unique_ptr<storage::ReadableFile>> WatchedFiles::Open(const std::string& path) const {
  ESPALIER_RETURN_IF_ERROR(hooks_.may_go_on());
  ESPALIER_ASSIGN_OR_RETURN(auto file, files_.Open(path));
  return std::unique_ptr<storage::ReadableFile>(
      std::make_unique<WatchedFile>(std::move(file), hooks_));
}

Status WatchedFiles::CreateExclusively(const std::string& path, std::string_view content) const {
  ESPALIER_RETURN_IF_ERROR(hooks_.may_go_on());
  return files_.CreateExclusively(path, content);
}

Status WatchedFiles::WriteAtomically(const std::string& path, std::string_view content,
                                     const std::string& writer) const {
  ESPALIER_RETURN_IF_ERROR(hooks_.may_go_on());
  return files_.WriteAtomically(path, content, writer);
}

Status WatchedFiles::MakeDirectory(const std::string& path) const {
  ESPALIER_RETURN_IF_ERROR(hooks_.may_go_on());
  return files_.MakeDirectory(path);
}

}  // namespace espalier::worker
