// Names and deletion of directory trees through opened directories. A directory that a symbolic
// link replaces during a deletion never leads the deletion out of its tree.
//
// Thread rule: pure functions, except for the file system.
#pragma once

#include <string>
#include <vector>

namespace espalier {

// Stores the sorted names in the opened directory, without `.` and `..`. Returns 0 or an errno.
int NamesIn(int directory, std::vector<std::string>* names);

// Result of a deletion.
struct TreeRemoval {
  int error_number = 0;  // 0: all is deleted; ESTALE: a directory was moved in the meantime
  std::string path;      // the entry that failed, relative to the opened directory
};

// Deletes a file, a link or a directory with all in it. `name` is its name in the opened directory
// `parent`. Links are deleted, never followed. A missing name is not an error. At most four files
// are open at a time, whatever the depth. REQUIRES: `name` has no `/` and is not `.` or `..`.
TreeRemoval RemoveTreeIn(int parent, const std::string& name);
// Deletes all in the opened directory, but not the directory itself.
TreeRemoval RemoveContents(int directory);

}  // namespace espalier
