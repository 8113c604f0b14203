// Shared parts of the command lines of all programs: the layout of --help.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <memory>

namespace CLI {
class App;
class FormatterBase;
}  // namespace CLI

namespace espalier::config {

inline constexpr size_t kHelpColumns = 80;

// Returns the formatter of --help. Lines have at most kHelpColumns columns. In a footer,
// consecutive lines are one paragraph, which is wrapped. Lines that are indented (examples) stay
// separate.
std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter();

}  // namespace espalier::config
