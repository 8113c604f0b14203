#include "src/config/daemon_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <type_traits>

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

// The first sentence of its meaning, without the period.
std::string HelpOf(const Option& option) {
  std::string_view doc = option.doc;
  for (size_t i = 0; i + 2 < doc.size(); ++i) {
    if (doc[i] == '.' && doc[i + 1] == ' ' && doc[i + 2] >= 'A' && doc[i + 2] <= 'Z') {
      doc = doc.substr(0, i);
    }
  }
  if (doc.ends_with('.')) doc.remove_suffix(1);
  return std::string(doc);
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
Status Set(const Option&, const std::string&, bool& out) {
  out = true;
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

Result<CoordinatorOptions> ParseFile(std::string_view text, std::string_view name,
                                     const CoordinatorOptions&) {
  return ParseCoordinatorOptions(text, name);
}
Result<WorkerOptions> ParseFile(std::string_view text, std::string_view name,
                                const WorkerOptions&) {
  return ParseWorkerOptions(text, name);
}

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
          app.add_flag_callback(
              FlagOf(option), [&flags, key] { flags.values[key] = "true"; }, HelpOf(option));
        } else if constexpr (kHasFlag<T>) {
          app.add_option_function<std::string>(
                 FlagOf(option),
                 [&flags, key](const std::string& text) { flags.values[key] = text; },
                 HelpOf(option))
              ->type_name(TypeName(option, std::is_integral_v<T>));
        }
      },
      defaults);
  app.add_flag("--print-config", flags.print_config,
               "Prints the options in use as a configuration file, then exits");
}

template <typename Options>
Result<Options> OptionsFrom(const DaemonFlags& flags) {
  Options options;
  if (!flags.config.empty()) {
    ESPALIER_ASSIGN_OR_RETURN(auto files, FileSystemFor(flags.config));
    ESPALIER_ASSIGN_OR_RETURN(const std::string text, files->ReadAll(flags.config, kYamlBytesMax));
    ESPALIER_ASSIGN_OR_RETURN(options, ParseFile(text, flags.config, options));
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
