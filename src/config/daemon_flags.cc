#include "src/config/daemon_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <type_traits>
#include <vector>

#include "src/config/command_line.h"
#include "src/config/yaml_tree.h"
#include "src/storage/file_system.h"

namespace espalier::config {
namespace {

std::string FlagOf(const std::string& key) {
  std::string flag = "--" + key;
  for (char& c : flag) {
    if (c == '_' || c == '.') c = '-';
  }
  return flag;
}

// Splits a text into sentences, without their periods.
std::vector<std::string> SentencesOf(std::string_view text) {
  std::vector<std::string> out(1);
  for (size_t i = 0; i < text.size(); ++i) {
    const bool last = i + 1 == text.size();
    if (text[i] == '.' && (last || (i + 2 < text.size() && text[i + 1] == ' ' &&
                                    text[i + 2] >= 'A' && text[i + 2] <= 'Z'))) {
      if (!last) out.emplace_back();
      ++i;  // also skips the space
    } else {
      out.back() += text[i];
    }
  }
  return out;
}

// Returns the first sentence of the description, and the default if it is not a plain value.
std::string HelpOf(const Option& option) {
  const std::vector<std::string> sentences = SentencesOf(option.doc);
  std::string help = sentences.front();
  for (const std::string& s : sentences) {
    if (s.starts_with("Default: ")) help += ". " + s;
  }
  return help;
}

// Returns the placeholder for the value in the help.
const char* TypeName(const Option& option, bool number) {
  switch (option.unit) {
    case Option::Unit::kMilliseconds:
      return "TIME";
    case Option::Unit::kBytes:
      return "SIZE";
    case Option::Unit::kNone:
      break;
  }
  return number ? "NUMBER" : "TEXT";
}

// Role rules are lists, which only a file can hold.
template <typename T>
constexpr bool kHasFlag = !std::is_same_v<T, std::vector<security::RoleRule>>;

}  // namespace

template <typename Options>
void AddDaemonFlags(CLI::App& app, DaemonFlags& flags) {
  app.formatter(MakeHelpFormatter());
  app.add_option("--config", flags.config, "YAML file with the options below")->type_name("FILE");
  Options defaults;
  Describe(
      [&](const Option& option, auto& member) {
        using T = std::remove_reference_t<decltype(member)>;
        const std::string key = option.key;
        if constexpr (std::is_same_v<T, bool>) {
          app.add_flag_function(
              FlagOf(key),
              [&flags, key](int64_t count) { flags.values[key] = count > 0 ? "true" : "false"; },
              HelpOf(option));
        } else if constexpr (kHasFlag<T>) {
          app.add_option_function<std::string>(
                 FlagOf(key), [&flags, key](const std::string& text) { flags.values[key] = text; },
                 HelpOf(option))
              ->type_name(TypeName(option, std::is_integral_v<T>));
        }
      },
      defaults);
  for (const auto& [before, now] : kRenamedOptions) {
    const std::string flag = FlagOf(now), key = now, note = RenamedNote(FlagOf(before), flag);
    if (app.get_option_no_throw(flag) == nullptr) continue;
    app.add_option_function<std::string>(FlagOf(before),
                                         [&flags, key, note](const std::string& text) {
                                           flags.values[key] = text;
                                           flags.notes.push_back(note);
                                         })
        ->group("");  // hidden in the help
  }
  app.footer(
      "TIME: milliseconds, or a value with a unit, such as 30s or '5 min'. SIZE: bytes, or a value "
      "with a unit, such as 64MiB.");
  app.add_flag("--print-config", flags.print_config,
               "Print the options in use as a configuration file and exit");
}

template <typename Options>
Result<Options> OptionsFrom(DaemonFlags& flags) {
  Options options;
  if (!flags.config.empty()) {
    ESPALIER_ASSIGN_OR_RETURN(auto files, storage::FileSystemFor(flags.config));
    ESPALIER_ASSIGN_OR_RETURN(const std::string text, files->ReadAll(flags.config, kYamlBytesMax));
    ESPALIER_ASSIGN_OR_RETURN(options, ParseOptions<Options>(text, flags.config, &flags.notes));
  }
  ESPALIER_RETURN_IF_ERROR(SetOptions(flags.values, FlagOf, options));
  return options;
}

template void AddDaemonFlags<CoordinatorOptions>(CLI::App&, DaemonFlags&);
template void AddDaemonFlags<WorkerOptions>(CLI::App&, DaemonFlags&);
template Result<CoordinatorOptions> OptionsFrom<CoordinatorOptions>(DaemonFlags&);
template Result<WorkerOptions> OptionsFrom<WorkerOptions>(DaemonFlags&);

}  // namespace espalier::config
