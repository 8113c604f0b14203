#include "src/config/daemon_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <type_traits>
#include <vector>

#include "src/base/text.h"
#include "src/config/log_level_names.h"
#include "src/config/units.h"
#include "src/config/yaml_tree.h"
#include "src/storage/file_system.h"

namespace espalier {
namespace {

std::string FlagOf(const Option& option) {
  std::string flag = "--" + std::string(option.key);
  for (char& c : flag) {
    if (c == '_' || c == '.') c = '-';
  }
  return flag;
}

// Sentences, without their periods.
std::vector<std::string> SentencesOf(std::string_view text) {
  std::vector<std::string> out(1);
  for (size_t i = 0; i < text.size(); ++i) {
    const bool last = i + 1 == text.size();
    if (text[i] == '.' && (last || (i + 2 < text.size() && text[i + 1] == ' ' &&
                                    text[i + 2] >= 'A' && text[i + 2] <= 'Z'))) {
      if (!last) out.emplace_back();
      ++i;  // and the space
    } else {
      out.back() += text[i];
    }
  }
  return out;
}

// The first sentence of its meaning, and its default if that is not a value.
std::string HelpOf(const Option& option) {
  const std::vector<std::string> sentences = SentencesOf(option.doc);
  std::string help = sentences.front();
  for (const std::string& s : sentences) {
    if (s.starts_with("Default: ")) help += ". " + s;
  }
  return help;
}

// What stands for its value in the help.
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

Status Unexpected(const Option& option, const std::string& text, const std::string& expected) {
  return InvalidArgument(FlagOf(option) + ": found '" + Printable(text) + "', expected " +
                         expected);
}

Status Set(const Option&, const std::string& text, std::string& out) {
  out = text;
  return {};
}
Status Set(const Option&, const std::string& text, bool& out) {
  out = text == "true";
  return {};
}
Status Set(const Option& option, const std::string& text, LogLevel& out) {
  const auto level = FromName<LogLevel>(text);
  if (!level) return Unexpected(option, text, "debug, info, warning, error or off");
  out = *level;
  return {};
}
Status Set(const Option& option, const std::string& text, int64_t& out) {
  switch (option.unit) {
    case Option::Unit::kMilliseconds: {
      const auto value = ParseMilliseconds(text);
      if (!value) return Unexpected(option, text, "milliseconds or a time such as 30s or '5 min'");
      out = *value;
      return {};
    }
    case Option::Unit::kBytes: {
      const auto value = ParseBytes(text);
      if (!value) return Unexpected(option, text, "a size such as 64MiB, or bytes");
      out = *value;
      return {};
    }
    case Option::Unit::kNone:
      break;
  }
  const auto value = ParseWhole(text);
  if (!value) return Unexpected(option, text, "a whole number");
  out = *value;
  return {};
}
Status Set(const Option& option, const std::string& text, int& out) {
  const auto value = ParseWhole(text);
  if (!value || *value < option.min || *value > option.max) {
    return Unexpected(
        option, text,
        "a whole number from " + std::to_string(option.min) + " to " + std::to_string(option.max));
  }
  out = static_cast<int>(*value);
  return {};
}

// Rules of roles are lists: only a file holds them.
template <typename T>
constexpr bool kHasFlag = !std::is_same_v<T, std::vector<RoleRule>>;

}  // namespace

template <typename Options>
void AddDaemonFlags(CLI::App& app, DaemonFlags& flags) {
  app.add_option("--config", flags.config, "YAML file with the options below")->type_name("FILE");
  Options defaults;
  Describe(
      [&](const Option& option, auto& member) {
        using T = std::remove_reference_t<decltype(member)>;
        const std::string key = option.key;
        if constexpr (std::is_same_v<T, bool>) {
          app.add_flag_function(
              FlagOf(option),
              [&flags, key](int64_t count) { flags.values[key] = count > 0 ? "true" : "false"; },
              HelpOf(option));
        } else if constexpr (kHasFlag<T>) {
          app.add_option_function<std::string>(
                 FlagOf(option),
                 [&flags, key](const std::string& text) { flags.values[key] = text; },
                 HelpOf(option))
              ->type_name(TypeName(option, std::is_integral_v<T>));
        }
      },
      defaults);
  app.footer(
      "TIME: milliseconds, or a value with a unit, such as 30s or '5 min'. SIZE: bytes, or a value "
      "with a unit, such as 64MiB.");
  app.add_flag("--print-config", flags.print_config,
               "Prints the options in use as a configuration file, then exits");
}

template <typename Options>
Result<Options> OptionsFrom(const DaemonFlags& flags) {
  Options options;
  if (!flags.config.empty()) {
    ESPALIER_ASSIGN_OR_RETURN(auto files, FileSystemFor(flags.config));
    ESPALIER_ASSIGN_OR_RETURN(const std::string text, files->ReadAll(flags.config, kYamlBytesMax));
    ESPALIER_ASSIGN_OR_RETURN(options, ParseOptions<Options>(text, flags.config));
  }
  Status status;
  Describe(
      [&](const Option& option, auto& member) {
        if constexpr (kHasFlag<std::remove_reference_t<decltype(member)>>) {
          const auto given = flags.values.find(option.key);
          if (status.ok() && given != flags.values.end()) {
            status = Set(option, given->second, member);
          }
        }
      },
      options);
  ESPALIER_RETURN_IF_ERROR(status);
  return options;
}

template void AddDaemonFlags<CoordinatorOptions>(CLI::App&, DaemonFlags&);
template void AddDaemonFlags<WorkerOptions>(CLI::App&, DaemonFlags&);
template Result<CoordinatorOptions> OptionsFrom<CoordinatorOptions>(const DaemonFlags&);
template Result<WorkerOptions> OptionsFrom<WorkerOptions>(const DaemonFlags&);

}  // namespace espalier
