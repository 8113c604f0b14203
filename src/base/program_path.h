// The file to execute in order to start a running program again, and to find the programs installed
// with it.
//
// Usually this file is /proc/self/exe. The launcher of the relocatable tarball (src/launcher)
// starts a program through a loader, and /proc/self/exe is then the loader. In that case argv[0]
// holds the program's path, because the launcher sets it to its own absolute path.
//
// Thread rule: call from main, before other threads exist.
#pragma once

#include <string>

#include "src/base/status.h"

namespace espalier {

// Returns the absolute path. kInternal if neither source has it.
Result<std::string> ProgramPath(const std::string& argv0);

// Makes the file name in argv[0] the name that ps and pgrep show. Otherwise a program behind the
// launcher would have the loader's name.
void ShowProgramName(const std::string& argv0);

}  // namespace espalier
