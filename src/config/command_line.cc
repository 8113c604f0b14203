#include "src/config/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <vector>

#include "src/base/text.h"
#include "src/config/key_hints.h"
#include "src/config/reader.h"

namespace espalier::config {
namespace {

// First columns of the texts in lists of options and of commands.
constexpr size_t kOptionColumn = 30, kCommandColumn = 14;
constexpr const char* kJobFile = "JOB.yaml";
constexpr size_t kKeysShownMax = 3;

class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (size_t at = 0; (at = text.find("\n\n\n", at)) != text.npos;) text.erase(at, 1);
    while (text.ends_with("\n\n")) text.pop_back();
    return text;
  }
  std::string make_description(const CLI::App* app) const override {
    return WrapLines(CLI::Formatter::make_description(app), kHelpColumns);
  }
  std::string make_subcommand(const CLI::App* app) const override {
    return Entry(app->get_name(), app->get_description(), kCommandColumn);
  }
  std::string make_option(const CLI::Option* option, bool positional) const override {
    return Entry(make_option_name(option, positional) + make_option_opts(option),
                 make_option_desc(option), kOptionColumn);
  }
  // Returns "-h, --help".
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, positional);
    for (size_t at = 0; (at = name.find(',', at)) != name.npos;) name.insert(++at, " ");
    return name;
  }
  // Returns the placeholder of the value: " TEXT", or " N" for a number. The text of an option has
  // its range and its default. The line of usage shows which arguments are required.
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0 || option->get_positional()) return "";
    std::string type = option->get_type_name();
    type = type.substr(0, type.find(':'));  // the rest describes a check
    const bool number = type == "INT" || type == "UINT" || type == "NUMBER" || type == "FLOAT";
    return " " + (number ? "N" : type) + (option->get_required() ? " (required)" : "");
  }
  std::string make_footer(const CLI::App* app) const override {
    std::string out, paragraph;
    const auto end_paragraph = [&] {
      if (!paragraph.empty()) out += Lines(WrapWords("", paragraph, "", kHelpColumns));
      paragraph.clear();
    };
    std::istringstream lines(app->get_footer());
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty() && line[0] != ' ') {
        paragraph += (paragraph.empty() ? "" : " ") + line;
        continue;
      }
      end_paragraph();
      out += WrapLines(line, kHelpColumns) + "\n";
    }
    end_paragraph();
    return out;
  }

 private:
  static std::string Lines(const std::vector<std::string>& lines) {
    std::string out;
    for (const std::string& line : lines) out += line + "\n";
    return out;
  }
  static std::string Entry(const std::string& name, const std::string& text, size_t column) {
    std::string first = "  " + name;
    if (text.empty()) return first + "\n";
    const bool fits = first.size() + 2 <= column;
    const std::string rest(column, ' ');
    if (fits) first.resize(column, ' ');
    return (fits ? "" : first + "\n") +
           Lines(WrapWords(fits ? first : rest, text, rest, kHelpColumns));
  }
};

// Returns the name of the option in a word such as "--workers=2"; "" if the word is not an option.
std::string OptionIn(const std::string& word) {
  const bool is_long = word.size() > 2 && word.starts_with("--") && word[2] != '-';
  const bool is_short = word.size() > 1 && word[0] == '-' && std::isalpha(word[1]) != 0;
  if (!is_long && !is_short) return "";
  return is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
}

// Returns the names of the options that --help lists.
std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

Status UnknownOption(const CLI::App& command, const std::string& option, const std::string& help) {
  const std::string shown = Printable(option, 40) + ": unknown option";
  std::string key = option.substr(option.find_first_not_of('-'));
  std::replace(key.begin(), key.end(), '-', '_');
  std::vector<std::string> keys;
  if (command.get_option_no_throw(kJobFile) != nullptr) keys = JobKeysNamed(key);
  if (!keys.empty()) {
    const bool more = keys.size() > kKeysShownMax;
    if (more) keys.resize(kKeysShownMax);
    return InvalidArgument(shown + ". Set " + Joined(keys) + (more ? ", ..." : "") +
                           " in the job file.");
  }
  const auto near = Nearest(option, OptionNames(command));
  return InvalidArgument(shown + (near ? " (did you mean " + *near + "?)" : "") + help);
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter() {
  return std::make_shared<HelpFormatter>();
}

Status CommandLineError(const CLI::App& app, const CLI::Error& error) {
  const CLI::App* command = &app;
  std::string name = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  const std::string help = ". `" + name + " --help` lists the options and arguments.";
  const std::vector<std::string> left = app.remaining(true);
  for (const std::string& word : left) {
    const std::string option = OptionIn(word);
    if (!option.empty()) return UnknownOption(*command, option, help);
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !left.empty()) {
    return InvalidArgument(Quoted(left.front()) + ": unexpected argument" + help);
  }
  return InvalidArgument(error.what() + help);
}

}  // namespace espalier::config
