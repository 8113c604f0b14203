#include "src/coordinator/open_journal.h"

#include <algorithm>
#include <utility>

#include "src/base/log.h"
#include "src/coordinator/file_journal.h"
#include "src/coordinator/replay.h"
#include "src/coordinator/sqlite_journal.h"
#include "src/storage/uri.h"

namespace espalier::coordinator {

namespace {

Result<OpenedJournal> OpenFiles(const std::string& state_directory,
                                const std::shared_ptr<const storage::FileSystem>& files,
                                int64_t now_us, Replay& replay) {
  replay.Begin();
  ESPALIER_RETURN_IF_ERROR(files->MakeDirectory(state_directory));
  if (Status s = files->Restrict(state_directory); !s.ok()) {
    LogWarning(
        "other users may be able to read the journal, which holds the delegation tokens of "
        "jobs: " +
        s.ToString());
  }
  return OpenFileJournal(state_directory, files, now_us, replay);
}

}  // namespace

Result<OpenedJournal> OpenJournal(const std::string& state_directory,
                                  const storage::StorageOptions& storage, int64_t now_us) {
  now_us = std::max<int64_t>(1, now_us);
  if (state_directory.empty()) {
    return OpenedJournal{MakeForgetfulJournal(), {static_cast<uint64_t>(now_us)}, {}};
  }
  ESPALIER_ASSIGN_OR_RETURN(const storage::Uri uri, storage::ParseUri(state_directory));
  const bool plain = uri.kind == storage::Uri::Kind::kLocal && uri.path == state_directory;
  const std::shared_ptr<const storage::FileSystem> files = storage::MakeFileSystem(storage);
  const auto replay = std::make_shared<Replay>(state_directory, files);
  auto opened = plain ? OpenSqliteJournal(state_directory, now_us, *replay)
                      : OpenFiles(state_directory, files, now_us, *replay);
  ESPALIER_RETURN_IF_ERROR(opened.status());
  opened->replaying = [replay](JobId job, const cluster::JournalEntry* e) { replay->At(job, e); };
  opened->replayed = [replay] { replay->Succeed(); };
  return opened;
}

}  // namespace espalier::coordinator
