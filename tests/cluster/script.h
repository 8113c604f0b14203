// The little language of tests/scenarios: a script is commands, each followed by what the machine
// did in answer, one line an action.
//
//   # a comment, kept as it is
//   > a attaches threads=2
//   a <- Welcome worker-1
//
// A command is `>` and words; `key=value` words are its options; a value may be in double quotes.
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

// A machine that plays commands: returns the lines of what it did.
class Player {
 public:
  virtual ~Player() = default;
  virtual std::vector<std::string> Play(const Command& command) = 0;
};

// The script with what `player` does now in the place of what was expected.
std::string Replay(const std::string& script, Player& player);

}  // namespace espalier::cluster::script
