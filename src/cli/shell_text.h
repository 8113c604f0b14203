// Words of a command line.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace espalier::cli {

// Returns `text` as one word of a POSIX shell: unchanged, or in single quotes.
std::string ShellWord(std::string_view text);

}  // namespace espalier::cli
