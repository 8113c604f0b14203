#include "src/cli/parse_arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <vector>

#include "src/base/text.h"
#include "src/cli/command_table.h"
#include "src/config/command_line.h"

namespace espalier::cli {
namespace {

constexpr const char* kMainExamples =
    "Examples:\n"
    "  espalier init table.csv                  write a job file for a table\n"
    "  espalier check job.yaml                  inspect data and model; train nothing\n"
    "  espalier reference train.epochs          explain a key of the job file\n"
    "  espalier train job.yaml                  train on this machine\n"
    "  espalier sweep sweep.yaml                try values of keys, cross-validate\n"
    "  espalier submit job.yaml                 train on a running cluster\n"
    "  espalier watch job-17                    follow that job again\n"
    "  espalier evaluate models/job test.csv    measure a model on other rows\n"
    "  espalier predict models/job new.csv --output scored\n"
    "\n"
    "Commands find a cluster by --coordinator, otherwise by the environment variable\n"
    "ESPALIER_COORDINATOR, otherwise at 127.0.0.1:7700. An address is host:port,\n"
    "unix:/PATH, yarn:NAME (from `espalier yarn`), or the location of a file that\n"
    "contains the address: file:PATH or hdfs://...\n"
    "\n"
    "For a cluster with TLS, use --tls-ca with --tls-certificate and --tls-key, or\n"
    "with --token-file. The environment variables are ESPALIER_TLS_CA,\n"
    "ESPALIER_TLS_CERTIFICATE, ESPALIER_TLS_KEY, ESPALIER_TLS_SERVER_NAME,\n"
    "ESPALIER_TOKEN_FILE and ESPALIER_TOKEN.\n"
    "\n"
    "If the coordinator is unreachable, commands fail immediately. With --timeout 5min,\n"
    "they retry for five minutes.\n"
    "\n"
    "Exit codes:\n"
    "  0    success\n"
    "  1    the job failed or was cancelled\n"
    "  2    wrong arguments or job file; a refused certificate or token\n"
    "  3    the coordinator was not reached\n"
    "  130  interrupted\n"
    "\n"
    "`espalier COMMAND --help`, or `espalier help COMMAND`, describes a command.";

// Returns the first words of a command line: the names of commands and groups.
std::vector<std::string> FirstWords() {
  std::vector<std::string> words;
  for (const Command& command : Commands()) {
    if (command.name.find(' ') == std::string_view::npos) words.emplace_back(command.name);
  }
  return words;
}

Status CheckFirstWord(const std::string& word) {
  const std::vector<std::string> words = FirstWords();
  if (std::count(words.begin(), words.end(), word) > 0) return {};
  std::string message = "unknown command '" + Printable(word, 40) + "'";
  const auto near = Nearest(word, words);
  message += near ? "; did you mean '" + *near + "'? " : "; ";
  return InvalidArgument(message + "`espalier --help` lists the commands");
}

// Adds one row of the table to `app`. Parsing that command sets `*chosen` to the row.
void AddCommand(CLI::App& app, const Command& command, RawArguments* raw, const Command** chosen) {
  const std::string name(command.name);
  const size_t space = name.find(' ');
  const bool in_group = space != std::string::npos;
  CLI::App* parent = in_group ? app.get_subcommand(name.substr(0, space)) : &app;
  CLI::App* sub = parent->add_subcommand(in_group ? name.substr(space + 1) : name, command.help);
  if (command.run == nullptr) {
    sub->require_subcommand(1);
  } else {
    sub->callback([&command, chosen] { *chosen = &command; });
  }
  command.declare(sub, raw);
}

}  // namespace

ParsedArguments ParseArguments(std::span<const std::string> arguments, const Environment& env) {
  ParsedArguments parsed;
  std::vector<std::string> words(arguments.rbegin(), arguments.rend());
  if (words.empty()) words.push_back("--help");
  if (words.back() == "--version") words = {"version"};
  if (words.back() == "help") {  // `help train` is `train --help`
    words.pop_back();
    words.insert(words.begin(), "--help");
  }
  if (!words.back().starts_with("-")) {
    parsed.error = CheckFirstWord(words.back());
    if (!parsed.error.ok()) return parsed;
  }
  CLI::App app{"Espalier trains multi-layer perceptrons on tables, on one machine or many.",
               "espalier"};
  app.formatter(config::MakeHelpFormatter());
  RawArguments raw;
  app.require_subcommand(1);
  app.add_flag("--version")->description("Print the version");
  for (const Command& command : Commands()) AddCommand(app, command, &raw, &parsed.command);
  app.footer(kMainExamples);  // last: commands inherit an existing footer
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    if (app.exit(error, out, err) == 0) {
      parsed.help = out.str();
    } else {
      parsed.error = config::CommandLineError(app, error);
    }
    return parsed;
  }
  if (parsed.command->finish != nullptr) parsed.error = parsed.command->finish(env, &raw);
  if (parsed.error.ok()) parsed.options = std::move(raw.options);
  return parsed;
}

}  // namespace espalier::cli
