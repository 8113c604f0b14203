// The whole program espalier-coordinator, but for its main function: a test gives it a journal that
// behaves badly.
//
// Thread rule: called once, by main.
#pragma once

#include <functional>
#include <memory>

#include "src/coordinator/journal.h"

namespace espalier::coordinator {

using JournalWrap = std::function<std::unique_ptr<Journal>(std::unique_ptr<Journal>)>;

// The exit code: 0 ended by a signal, as asked; 1 failed; 2 wrong flags or configuration (a port
// that is taken included). `wrap`, if any, gives the journal to use instead of the one opened.
int CoordinatorMain(int argc, char** argv, const JournalWrap& wrap = {});

}  // namespace espalier::coordinator
