// The program espalier-coordinator without its main function, so that a test can pass a faulty
// journal.
//
// Thread rule: called once, by main.
#pragma once

#include <functional>
#include <memory>

#include "src/coordinator/journal.h"

namespace espalier::coordinator {

using JournalWrap = std::function<void(OpenedJournal&)>;

// Runs the program and returns the exit code: 0, ended by a signal, as requested; 1, failed; 2,
// wrong flags or configuration (including a port in use). `wrap`, if set, changes the opened
// journal.
int CoordinatorMain(int argc, char** argv, const JournalWrap& wrap = {});

}  // namespace espalier::coordinator
