// The replay of a journal at a start. It sets a job aside if its entries crashed two starts, so
// that the other jobs can run.
//
//   crashes at a job   read of its entries
//   0, 1               all
//   2                  outlines (rpc/journal_codec.h). After a crash at JobEnded, that entry is
//                      left out, and the numbers of generations with it, so that no output is
//                      cleared away
//   3 or more          nothing except its number and JobSetAside
//
// The core fails a set-aside job like any other: it answers workers and clients. After two crashes
// it also keeps the request id, clears away what the job wrote, and revokes its tokens. After more
// crashes these are unknown, and other jobs wait for the workers that this job had taken from them
// until the liveness limit. The journal is rewritten before the replay continues, so the job stays
// set aside at all later starts and in all later versions. A later version does not try the job
// again: its user has seen that the job failed, and its output may belong to another job.
//
// The raw entries go to the file `set-aside-job-N-HASH` in the state directory, a segment
// (segment.h) of at most kSetAsideBytesMax that only this user can read. It may hold delegation
// tokens. HASH is the start of the SHA-256 of the file. So no file replaces another one, for
// example that of an earlier journal with the same job number. Entries beyond the limit are left
// out. If the first one does not fit, no file is written. A start that is killed leaves nothing to
// repair: the next one writes the same file, or finds JobSetAside in the rewritten journal and
// keeps the file that this entry names.
//
// Thread rule: as ReplayCrashes's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/cluster/coordinator_actions.h"
#include "src/coordinator/replay_crashes.h"
#include "src/coordinator/segment.h"
#include "src/rpc/journal_codec.h"
#include "src/storage/file_system.h"

namespace espalier::coordinator {

inline constexpr size_t kSetAsideBytesMax = size_t{64} << 20;

class Replay {
 public:
  Replay(std::string directory, std::shared_ptr<const storage::FileSystem> files);

  // Counts crashes from now on. Creates the directory if it does not exist. If two coordinators
  // start in one directory at the same time, some crashes may not count.
  void Begin();
  // Forgets the records read so far, because another coordinator rewrote the journal meanwhile.
  void ReadAgain() { raw_.clear(); }
  // Returns the entry of a record, after comparing its checksum. None: the job is set aside, and
  // its outline does not hold the entry.
  Result<std::optional<cluster::JournalEntry>> Read(const std::string& path, uint64_t sequence,
                                                    uint32_t checksum, std::string_view bytes);
  // Returns whether a job is set aside, of those read so far.
  bool sets_aside() const { return !raw_.empty(); }
  // Writes the files of the set-aside jobs, and adds the entries that fail these jobs to the
  // journal's entries. The caller then rewrites the journal. A file that cannot be written does not
  // stop the start.
  void SetAside(std::vector<cluster::JournalEntry>* past);
  // CoordinatorCore::Replaying.
  void At(JobId job, const cluster::JournalEntry* entry);
  // Forgets the crashes, because the core has replayed all entries.
  void Succeed();

 private:
  Result<std::optional<cluster::JournalEntry>> Decode(const rpc::EntryHead& head,
                                                      std::string_view bytes) const;
  // The first entries of a set-aside job.
  struct Raw {
    std::vector<std::string> records;
    size_t bytes = kSegmentHeaderBytes;  // of their segment, at most kSetAsideBytesMax
    size_t left_out = 0;                 // number of entries
  };
  static void Add(std::string_view record, Raw* raw);
  // Returns the error of a job that this start sets aside, after keeping its entries.
  std::string SetAsideNow(JobId job, const Raw& raw) const;
  // Writes the file of a set-aside job. Returns a sentence that names it, or states why it is not
  // written.
  std::string KeepEntries(JobId job, const Raw& raw) const;
  Status Keep(const std::string& path, const std::string& segment) const;

  std::string directory_;
  const std::shared_ptr<const storage::FileSystem> files_;
  std::unique_ptr<ReplayCrashes> crashes_;  // from Begin on
  std::map<JobId, Raw> raw_;                // set-aside jobs
};

}  // namespace espalier::coordinator
