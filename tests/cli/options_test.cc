#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "src/base/text.h"
#include "src/cli/command_table.h"
#include "src/cli/parse_arguments.h"

namespace espalier::cli {
namespace {

ParsedArguments Parse(const std::vector<std::string>& words, const Environment& env = {}) {
  return ParseArguments(words, env);
}

TEST_CASE("train and submit take a run to resume") {
  for (const char* command : {"train", "submit"}) {
    const auto plain = Parse({command, "job.yaml"});
    REQUIRE(plain.options);
    CHECK_FALSE(plain.options->resume);
    const auto parsed = Parse({command, "job.yaml", "--resume", "runs/a", "--accept-other-data",
                               "--accept-other-arithmetic"});
    REQUIRE(parsed.options);
    CHECK(parsed.options->resume == "runs/a");
    CHECK(parsed.options->accept_data);
    CHECK(parsed.options->accept_arithmetic);
    CHECK(Parse({command, "job.yaml", "--resume", ""}).error.code() ==
          StatusCode::kInvalidArgument);
  }
  CHECK_FALSE(Parse({"check", "job.yaml", "--resume", "a"}).error.ok());
}

TEST_CASE("train takes a job file, workers, threads, json and output") {
  const auto parsed =
      Parse({"train", "job.yaml", "--workers", "3", "--threads", "2", "--json", "--output", "out"});
  REQUIRE(parsed.options);
  CHECK(parsed.command->name == "train");
  CHECK(parsed.options->job_file == "job.yaml");
  CHECK(parsed.options->workers == 3);
  CHECK(parsed.options->threads == 2);
  CHECK(parsed.options->json);
  CHECK(parsed.options->output == "out");
  const auto bare = Parse({"train", "job.yaml"});
  REQUIRE(bare.options);
  CHECK_FALSE(bare.options->workers);
  CHECK_FALSE(bare.options->threads);
  CHECK_FALSE(bare.options->json);
}

TEST_CASE("a number of workers out of 1 to 64 is refused") {
  for (const char* count : {"0", "65", "-1", "two"}) {
    const auto parsed = Parse({"train", "job.yaml", "--workers", count});
    CHECK_FALSE(parsed.options);
    CHECK(parsed.error.code() == StatusCode::kInvalidArgument);
    CHECK_THAT(parsed.error.message(), Catch::Contains("--workers"));
  }
  CHECK(Parse({"train", "job.yaml", "--workers", "64"}).options);
}

TEST_CASE("an unknown command names the nearest one") {
  const auto parsed = Parse({"trian", "job.yaml"});
  CHECK(parsed.error.code() == StatusCode::kInvalidArgument);
  CHECK(parsed.error.message() ==
        "unknown command 'trian'; did you mean 'train'? `espalier --help` lists the commands");
  CHECK(Parse({"frobnicate"}).error.message() ==
        "unknown command 'frobnicate'; `espalier --help` lists the commands");
}

TEST_CASE("missing job files and extra words are errors") {
  CHECK(Parse({"train"}).error.message() ==
        "JOB.yaml is required. `espalier train --help` lists the options and arguments.");
  CHECK(Parse({"check", "a.yaml", "b.yaml"}).error.message() ==
        "'b.yaml': unexpected argument. `espalier check --help` lists the options and arguments.");
  CHECK(Parse({"check"}).error.code() == StatusCode::kInvalidArgument);
  CHECK(Parse({"train", "a.yaml", "--output", ""}).error.code() == StatusCode::kInvalidArgument);
}

TEST_CASE("an unknown option names the nearest one or a job's key") {
  const auto error = [](const std::vector<std::string>& words) {
    return Parse(words).error.message();
  };
  CHECK(error({"train", "a.yaml", "--worker", "2"}) ==
        "--worker: unknown option (did you mean --workers?). `espalier train --help` lists the "
        "options and arguments.");
  CHECK_THAT(error({"train", "--worker=2"}), Catch::StartsWith("--worker: unknown option (did"));
  CHECK(error({"train", "--epochs", "5", "a.yaml"}) ==
        "--epochs: unknown option. Set train.epochs in the job file.");
  CHECK(error({"submit", "a.yaml", "--label", "y"}) ==
        "--label: unknown option. Set data.label in the job file.");
  CHECK_THAT(error({"list", "--epochs", "5"}),
             Catch::StartsWith("--epochs: unknown option. `espalier list --help`"));
  CHECK_THAT(error({"--verson"}),
             Catch::StartsWith("--verson: unknown option (did you mean --version?)"));
  CHECK_THAT(error({"certs", "issue", "worker", "w", "--hosts", "h"}),
             Catch::Contains("--host?") && Catch::Contains("`espalier certs issue --help`"));
  CHECK(Parse({"train", "a.yaml", "--output", "--odd"}).options->output == "--odd");
}

TEST_CASE("help is a command") {
  CHECK(Parse({"help"}).help == Parse({"--help"}).help);
  CHECK(Parse({"help", "train"}).help == Parse({"train", "--help"}).help);
  CHECK(Parse({"help", "certs", "issue"}).help == Parse({"certs", "issue", "--help"}).help);
  CHECK_THAT(Parse({"help", "trian"}).error.message(), Catch::Contains("did you mean 'train'?"));
}

TEST_CASE("reference takes at most one key") {
  CHECK(Parse({"reference"}).options->key.empty());
  const auto parsed = Parse({"reference", "data.csv", "--json"});
  REQUIRE(parsed.options);
  CHECK(parsed.command->name == "reference");
  CHECK(parsed.options->key == "data.csv");
  CHECK(parsed.options->json);
  CHECK_FALSE(Parse({"reference", "data", "train"}).options);
}

TEST_CASE("check asks a coordinator only when one is named") {
  CHECK(Parse({"check", "a.yaml"}).options->coordinator.empty());
  CHECK(Parse({"check", "a.yaml", "--coordinator", "n:1"}).options->coordinator == "n:1");
  CHECK(Parse({"workers"}).options->coordinator == kDefaultCoordinator);
}

TEST_CASE("--timeout is a time, for commands that use a coordinator") {
  CHECK_FALSE(Parse({"list"}).options->timeout_ms);
  for (const char* command : {"list", "workers"}) {
    CHECK(Parse({command, "--timeout", "5min"}).options->timeout_ms == 300'000);
    CHECK_THAT(Parse({command, "--help"}).help, Catch::Contains("--timeout"));
  }
  CHECK(Parse({"submit", "a.yaml", "--timeout", "1.5s"}).options->timeout_ms == 1500);
  for (const char* wrong : {"30", "soon", "99ms", "25h"}) {
    CHECK_THAT(Parse({"list", "--timeout", wrong}).error.message(),
               Catch::Contains("--timeout: found '" + std::string(wrong) + "', expected a time"));
  }
  CHECK(Parse({"train", "a.yaml", "--timeout", "5min"}).error.code() ==
        StatusCode::kInvalidArgument);
}

TEST_CASE("--version is the command of that name") {
  CHECK(Parse({"--version"}).command->name == "version");
  CHECK(Parse({"version", "--json"}).command->name == "version");
}

TEST_CASE("help is text and no error") {
  CHECK_THAT(Parse({}).help, Catch::Contains("train") && Catch::Contains("Exit codes"));
  CHECK_THAT(Parse({"--help"}).help, Catch::Contains("espalier check job.yaml"));
  CHECK_THAT(Parse({"train", "--help"}).help,
             Catch::Contains("--workers") && Catch::Contains("Examples"));
  CHECK_THAT(Parse({"--help"}).help, Catch::Contains("--version"));
}

TEST_CASE("help fits a terminal of 80 columns") {
  for (const Command& command : Commands()) {
    std::istringstream name{std::string(command.name)};
    std::vector<std::string> words;
    for (std::string word; name >> word;) words.push_back(word);
    words.push_back("--help");
    const std::string help = Parse(words).help;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(DisplayColumns(line) <= 80);
    }
    CHECK_THAT(help, !Catch::Contains(" INT") && !Catch::Contains("REQUIRED"));
    CHECK_THAT(help, !Catch::Contains("\n\n\n") && !Catch::EndsWith("\n\n"));
  }
  CHECK_THAT(Parse({"train", "--help"}).help, Catch::Contains("\n  -h, --help ") &&
                                                  Catch::Contains("\n  --workers N ") &&
                                                  Catch::Contains("processes, 1 to 64 "));
}

TEST_CASE("each row of the command table has its help") {
  std::string group;
  for (const Command& command : Commands()) {
    INFO(command.name);
    std::istringstream name{std::string(command.name)};
    std::vector<std::string> words;
    for (std::string word; name >> word;) words.push_back(word);
    const bool in_group = command.name.starts_with(group + " ");
    REQUIRE(words.size() == (in_group ? 2U : 1U));
    const auto parent = in_group ? Parse({group, "--help"}) : Parse({"--help"});
    if (command.run == nullptr) group = command.name;
    CHECK_THAT(parent.help, Catch::Contains("  " + words.back() + " ") &&
                                Catch::Contains(std::string(" ") + command.help + "\n"));
    words.push_back("--help");
    CHECK_THAT(Parse(words).help, Catch::StartsWith(command.help));
  }
}

TEST_CASE("a job is named with or without job- before its number") {
  CHECK(ParseJobId("job-17").value() == JobId{17});
  CHECK(ParseJobId("17").value() == JobId{17});
  for (const char* wrong :
       {"", "job-", "job-0", "0", "x", "17x", "-3", "99999999999999999999999"}) {
    INFO(wrong);
    CHECK(ParseJobId(wrong).status().code() == StatusCode::kInvalidArgument);
  }
  CHECK(Parse({"watch", "job-17"}).options->job == JobId{17});
  CHECK(Parse({"cancel", "soon"}).error.code() == StatusCode::kInvalidArgument);
}

TEST_CASE("the coordinator is from a flag, the environment or default") {
  CHECK(Parse({"list"}).options->coordinator == "127.0.0.1:7700");
  const Environment env = {.coordinator = "file:/run/coordinator"};
  CHECK(Parse({"list"}, env).options->coordinator == "file:/run/coordinator");
  CHECK(Parse({"list", "--coordinator", "a:1"}, env).options->coordinator == "a:1");
}

TEST_CASE("certificates and tokens are from flags or the environment") {
  Environment env;
  env.tls = {"e/ca", "e/crt", "e/key"};
  env.token = "secret";
  const auto from_environment = Parse({"list"}, env);
  CHECK(from_environment.options->tls == env.tls);
  CHECK(from_environment.options->token == "secret");
  const auto mine = Parse({"list", "--tls-certificate", "a", "--tls-key", "b"}, env);
  CHECK(mine.options->tls == security::TlsFiles{"e/ca", "a", "b"});
  CHECK(mine.options->token.empty());
  const auto token = Parse({"list", "--token-file", "t"}, env);
  CHECK(token.options->tls == security::TlsFiles{"e/ca", "", ""});
  CHECK(token.options->token_file == "t");
  CHECK_THAT(Parse({"list", "--tls-certificate", "a"}).error.message(), Catch::Contains("tls.ca"));
  CHECK_FALSE(Parse({"list", "--token", "secret"}).error.ok());
  CHECK(Parse({"train", "job.yaml"}, env).options->tls ==
        security::TlsFiles{});  // train starts a separate cluster
}

TEST_CASE("a cluster on YARN is reached with its stored certificates") {
  Environment env;
  env.home = "/home/me";
  env.tls = {"e/ca", "e/crt", "e/key"};
  const auto list = Parse({"list", "--coordinator", "yarn:mnist"}, env);
  REQUIRE(list.options);
  CHECK(list.options->tls.ca == "/home/me/.espalier/yarn/mnist/ca.crt");
  CHECK(list.options->tls.server_name == "mnist");
  env.coordinator = "yarn:mnist";
  CHECK(Parse({"list"}, env).options->tls == list.options->tls);
  CHECK(Parse({"list", "--tls-ca", "x"}, env).options->tls.ca == "x");
  CHECK_FALSE(Parse({"list", "--tls-server-name", "x"}, {}).error.ok());
}

TEST_CASE("yarn takes a service's name and the sizes of its containers") {
  const auto up = Parse({"yarn", "up", "mnist", "--workers", "4", "--memory", "8GiB", "--vcores",
                         "2", "--queue", "science"});
  REQUIRE(up.options);
  CHECK(up.command->name == "yarn up");
  CHECK(up.options->yarn.workers == 4);
  CHECK(up.options->yarn.queue == "science");
  CHECK(up.options->coordinator == "yarn:mnist");
  const auto scale = Parse({"yarn", "scale", "mnist", "3"});
  REQUIRE(scale.options);
  CHECK(scale.options->yarn.workers == 3);
  CHECK(Parse({"yarn", "run", "job.yaml", "--detach"}).options->yarn.detach);
  CHECK(Parse({"yarn", "down", "mnist"}).command->name == "yarn down");
  CHECK_THAT(Parse({"yarn", "up", "Mnist"}).error.message(), Catch::Contains("lower-case"));
  CHECK_THAT(Parse({"yarn", "up", "m", "--memory", "64MiB"}).error.message(),
             Catch::Contains("--memory: found 64, expected 512"));
  CHECK_THAT(Parse({"yarn", "up", "m", "--memory", "much"}).error.message(),
             Catch::Contains("found 'much'"));
  CHECK_THAT(Parse({"yarn", "up", "m", "--wait", "soon"}).error.message(),
             Catch::Contains("--wait"));
  const auto secured = Parse({"yarn", "run", "job.yaml", "--keytab", "k", "--principal", "a/b@R"});
  REQUIRE(secured.options);
  CHECK(secured.options->yarn.keytab == "k");
  CHECK(secured.options->yarn.principal == "a/b@R");
  CHECK_THAT(Parse({"yarn", "up", "m", "--keytab", "k"}).error.message(),
             Catch::Contains("--keytab: found without --principal"));
  CHECK_THAT(Parse({"yarn", "up", "m", "--principal", "a/b@R"}).error.message(),
             Catch::Contains("--principal: found without --keytab"));
  CHECK_THAT(Parse({"yarn", "up", "m", "--keytab", "k", "--principal", "a@R"}).error.message(),
             Catch::Contains("without a host"));
  CHECK_FALSE(Parse({"yarn", "scale", "mnist", "-1"}).error.ok());
  CHECK_FALSE(Parse({"yarn"}).error.ok());
  CHECK_THAT(Parse({"yarn", "--help"}).help, Catch::Contains("espalier yarn scale mnist 8"));
}

TEST_CASE("certs creates an authority and certificates of a role") {
  const auto init = Parse({"certs", "init", "--directory", "ca", "--name", "Mine"});
  REQUIRE(init.options);
  CHECK(init.command->name == "certs init");
  CHECK(init.options->certs_directory == "ca");
  CHECK(init.options->authority_name == "Mine");
  const auto issue = Parse({"certs", "issue", "coordinator", "head", "--host", "a", "--host",
                            "10.0.0.5", "--days", "90", "--output", "new"});
  REQUIRE(issue.options);
  CHECK(issue.command->name == "certs issue");
  CHECK(issue.options->certificate.role == security::Role::kCoordinator);
  CHECK(issue.options->certificate.name == "head");
  CHECK(issue.options->certificate.hosts == std::vector<std::string>{"a", "10.0.0.5"});
  CHECK(issue.options->certificate.days == 90);
  CHECK(issue.options->certs_output == "new");
  const auto revoke = Parse({"certs", "revoke", "a/tls.crt", "--directory", "ca"});
  REQUIRE(revoke.options);
  CHECK(revoke.command->name == "certs revoke");
  CHECK(revoke.options->revoked == "a/tls.crt");
  CHECK_FALSE(Parse({"certs", "revoke"}).error.ok());
  const auto compare = Parse({"certs", "compare", "old.crt", "new.crt"});
  REQUIRE(compare.options);
  CHECK(compare.command->name == "certs compare");
  CHECK(compare.options->compared == std::vector<std::string>{"old.crt", "new.crt"});
  CHECK_FALSE(Parse({"certs", "compare", "old.crt"}).error.ok());
  CHECK_THAT(Parse({"certs", "issue", "root", "x"}).error.message(), Catch::Contains("'root'"));
  CHECK_FALSE(Parse({"certs"}).error.ok());
  CHECK_FALSE(Parse({"certs", "issue", "worker"}).error.ok());
  CHECK_THAT(Parse({"certs", "--help"}).help, Catch::Contains("espalier certs issue worker"));
}

}  // namespace
}  // namespace espalier::cli
