// The crashes of starts during the replay of the journal, by job. They are lines in the file
// `replay-crashes` of the state directory:
//
//   0.1.0 job-7       this version crashed while it replayed an entry of job-7
//   0.1.0 job-7 end   the entry was JobEnded
//
// A handler of SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT appends the line, and the process then
// ends as if there were no handler. So only a crash of this process counts. A process that is
// killed, that runs out of memory or whose machine loses power writes nothing. A signal from
// another process does not count.
//
// A signal handler can use local files only. If the directory is on an HDFS, a child process, which
// waits during the replay, writes the line there. The crashed process waits for the child.
//
// Thread rule: one thread, whose crashes count. Of several objects, only the first one counts
// crashes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "src/base/ids.h"
#include "src/storage/file_system.h"

namespace espalier::coordinator {

class ReplayCrashes {
 public:
  // Creates the directory, reads the lines of earlier starts, and handles crashes from now on. If
  // this fails, crashes do not count, and the log states why. REQUIRES: `files` has no connections
  // yet.
  ReplayCrashes(const std::string& directory, std::shared_ptr<const storage::FileSystem> files);
  // Handles no more crashes.
  ~ReplayCrashes();
  ReplayCrashes(const ReplayCrashes&) = delete;
  ReplayCrashes& operator=(const ReplayCrashes&) = delete;

  // The crashes of earlier starts of this version at one job.
  struct Past {
    int64_t times = 0;
    bool at_end = false;  // one of them was at JobEnded
  };
  Past Of(JobId job) const;
  // From now on, a crash is one of this job. 0: it does not count. `ends`: the entry is JobEnded.
  void At(JobId job, bool ends);
  // Handles no more crashes and forgets the earlier ones.
  void Clear();

 private:
  void Read();
  void Watch();
  void Unwatch();

  const std::string path_;
  const std::shared_ptr<const storage::FileSystem> files_;
  std::map<JobId, Past> past_;
};

}  // namespace espalier::coordinator
