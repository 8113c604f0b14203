// Which file to execute to get a running program again, and where its fellows lie.
//
// Usually that is /proc/self/exe. A program that a loader was told to run, as the launcher of the
// relocatable tarball does (src/launcher), finds the loader there; its own path is then argv[0],
// which the launcher sets to the absolute path of itself.
//
// Thread rule: call from main, before there are threads.
#pragma once

#include <string>

#include "src/base/status.h"

namespace espalier {

// The absolute path; kInternal when neither tells it.
Result<std::string> ProgramPath(const std::string& argv0);

// Makes the file name in argv[0] the name that ps and pgrep show: behind the launcher it would be
// the loader's.
void ShowProgramName(const std::string& argv0);

}  // namespace espalier
