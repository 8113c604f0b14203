#include "src/config/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace espalier::config {
namespace {

// A program with one command and its options.
struct Program {
  Program() {
    app.formatter(MakeHelpFormatter());
    app.require_subcommand(1);
    run = app.add_subcommand("run", "Run a job");
    run->add_option("JOB.yaml", file, "The job file")->required();
    run->add_option("--workers", workers,
                    "Number of worker processes that are started on this machine (default: 1)")
        ->check(CLI::Range(1, 64));
    run->footer(
        "Starts the workers,\nand\nruns.\n\nExamples:\n"
        "  tool run job.yaml --workers 2          a comment that is too long for the whole line");
  }
  CLI::App app{"A tool", "tool"};
  CLI::App* run;
  std::string file;
  int workers = 1;
};

TEST_CASE("help is wrapped at 80 columns, and examples are kept") {
  CHECK(Program().run->help() ==
        "Run a job\n"
        "Usage: run [OPTIONS] JOB.yaml\n"
        "\n"
        "Positionals:\n"
        "  JOB.yaml                    The job file\n"
        "\n"
        "Options:\n"
        "  -h, --help                  Print this help message and exit\n"
        "  --workers N                 Number of worker processes that are started on\n"
        "                              this machine (default: 1)\n"
        "\n"
        "Starts the workers, and runs.\n"
        "\n"
        "Examples:\n"
        "  tool run job.yaml --workers 2          a comment that is too long for the\n"
        "                                         whole line\n");
}

TEST_CASE("an unknown option is reported before a missing argument") {
  const auto error = [](std::vector<std::string> words) {
    Program program;
    std::reverse(words.begin(), words.end());
    try {
      program.app.parse(words);
    } catch (const CLI::Error& caught) {
      return CommandLineError(program.app, caught).message();
    }
    return std::string("none");
  };
  CHECK_THAT(error({"run", "--worker", "2"}),
             Catch::StartsWith("--worker: unknown option (did you mean --workers?). `tool run "));
  CHECK_THAT(error({"run", "a", "--workers"}), Catch::StartsWith("--workers: "));
  CHECK_THAT(error({"run", "a", "--workers", "65"}), Catch::Contains("not in range 1 to 64"));
  CHECK_THAT(error({"run", "a", "---"}), Catch::StartsWith("'---': unexpected argument"));
  CHECK_THAT(error({"-v"}), Catch::StartsWith("-v: unknown option. `tool --help`"));
}

}  // namespace
}  // namespace espalier::config
