#include "tests/cluster/script.h"

#include <sstream>

namespace espalier::cluster::script {

std::string Command::Text(const std::string& key, const std::string& otherwise) const {
  const auto it = options.find(key);
  return it == options.end() ? otherwise : it->second;
}

int64_t Command::Number(const std::string& key, int64_t otherwise) const {
  const auto it = options.find(key);
  return it == options.end() ? otherwise : std::stoll(it->second);
}

Command Parse(const std::string& line) {
  std::vector<std::string> tokens(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      if (!tokens.back().empty()) tokens.emplace_back();
    } else {
      tokens.back() += c;
    }
  }
  if (tokens.back().empty()) tokens.pop_back();
  Command command;
  for (const std::string& token : tokens) {
    const size_t equals = token.find('=');
    if (equals == std::string::npos) {
      command.words.push_back(token);
    } else {
      command.options[token.substr(0, equals)] = token.substr(equals + 1);
    }
  }
  return command;
}

std::string Replay(const std::string& script, Player& player) {
  std::istringstream in(script);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    const bool kept = line.empty() || line[0] == '#' || line[0] == '>';
    if (kept) out += line + "\n";
    if (line.empty() || line[0] != '>') continue;
    for (const std::string& did : player.Play(Parse(line.substr(1)))) out += did + "\n";
  }
  return out;
}

}  // namespace espalier::cluster::script
