// The language of tests/scenarios. A script consists of commands, each followed by the actions of
// the core, one per line.
//
//   # a comment, which is kept
//   > a attaches threads=2
//   a <- Welcome worker-1
//
// A command is `>` and words. `key=value` words are its options, and a value may be in double
// quotes.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace espalier::cluster::script {

struct Command {
  std::vector<std::string> words;
  std::map<std::string, std::string> options;

  std::string Word(size_t i) const { return i < words.size() ? words[i] : ""; }
  std::string Text(const std::string& key, const std::string& otherwise = "") const;
  int64_t Number(const std::string& key, int64_t otherwise) const;
};

Command Parse(const std::string& line);

// A core that plays commands and returns the lines of its actions.
class Player {
 public:
  virtual ~Player() = default;
  virtual std::vector<std::string> Play(const Command& command) = 0;
};

// Returns the script with the current actions of `player` instead of the expected ones.
std::string Replay(const std::string& script, Player& player);

}  // namespace espalier::cluster::script
