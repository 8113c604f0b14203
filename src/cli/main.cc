// The `espalier` program: reads the environment, parses the command line, runs one command.
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "src/base/log.h"
#include "src/base/program_path.h"
#include "src/base/standard_streams.h"
#include "src/cli/blas_kernel.h"
#include "src/cli/command_table.h"
#include "src/cli/commands.h"
#include "src/cli/exit_code.h"
#include "src/cli/parse_arguments.h"
#include "src/cli/result_view.h"
#include "src/rpc/coordinator_address.h"

namespace espalier::cli {
namespace {

std::string Variable(const char* name, const char* otherwise = "") {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

// Logs in with a keytab. This process and its children use the keytab's identity, and leave no
// ticket behind. REQUIRES: no thread has been started yet.
void LogInBy(const std::string& keytab) {
  setenv("KRB5_CLIENT_KTNAME", ("FILE:" + keytab).c_str(), 1);
  setenv("KRB5CCNAME", "MEMORY:", 1);
}

// Returns the exit code. A successful command fails if its result could not be written. An end for
// that reason is not an interrupt.
int CodeOf(int code, const Console& console, bool interrupted) {
  const bool for_that = code == kExitSuccess || (code == kExitInterrupted && !interrupted);
  return console.out_lost() && for_that ? kExitJobFailed : code;
}

int Main(char** argv, const std::vector<std::string>& arguments) {
  const std::string program = argv[0];
  const Environment env = {
      .coordinator = Variable("ESPALIER_COORDINATOR"),
      .tls = {Variable("ESPALIER_TLS_CA"), Variable("ESPALIER_TLS_CERTIFICATE"),
              Variable("ESPALIER_TLS_KEY"), Variable("ESPALIER_TLS_SERVER_NAME")},
      .token = Variable("ESPALIER_TOKEN"),
      .token_file = Variable("ESPALIER_TOKEN_FILE"),
      .no_color = !Variable("NO_COLOR").empty(),
      .terminal = Variable("TERM"),
      .columns = std::atoi(Variable("COLUMNS").c_str()),
      .locale = Variable("LC_ALL", Variable("LC_CTYPE", Variable("LANG").c_str()).c_str()),
      .temporary_directory = Variable("TMPDIR", "/tmp"),
      .home = Variable("HOME"),
      .hadoop = storage::ReadHadoopEnvironment([](const char* name) { return Variable(name); })};
  OpenLog("espalier", LogLevel::kError);
  Console console(env);
  const ParsedArguments parsed = ParseArguments(arguments, env);
  if (!parsed.error.ok()) {
    console.Err(ErrorText(parsed.error, console.err_color()));
    return kExitUsage;
  }
  if (!parsed.options) {
    console.Out(parsed.help);
    return CodeOf(kExitSuccess, console, false);
  }
  if (parsed.options->json) console.KeepOutLines();
  if (parsed.command->needs_blas_kernel) {
    const Status kernel = EnsureBlasKernel(std::getenv("OPENBLAS_CORETYPE"),
                                           std::getenv("OPENBLAS_NUM_THREADS"), argv);
    if (!kernel.ok()) {
      console.Err(ErrorText(kernel, console.err_color()));
      return kExitJobFailed;
    }
  }
  if (!parsed.options->yarn.keytab.empty()) LogInBy(parsed.options->yarn.keytab);
  const auto interrupts = Interrupts::Make(parsed.options->exit_with_parent);
  if (!interrupts.ok()) {
    console.Err(ErrorText(interrupts.status(), console.err_color()));
    return kExitJobFailed;
  }
  console.SetInterrupted([&] { return (*interrupts)->any(); });
  (*interrupts)->SetLast([&console] { console.LeaveLine(); });
  const storage::StorageOptions storage = {
      .hadoop_conf_dir = env.hadoop.conf_dir,
      // With a keytab, the identity is its principal, not that of the container in which this shell
      // runs.
      .token_file = parsed.options->yarn.keytab.empty() ? env.hadoop.token_file : "",
      .webhdfs = {.user = env.hadoop.user, .http = {.ca_file = env.hadoop.ca, .cancelled = [&] {
                                                      return (*interrupts)->cancels();
                                                    }}}};
  const auto files = storage::MakeFileSystem(storage);
  const auto address_files = storage::MakeFileSystem(rpc::ImpatientStorage(storage));
  const int code = parsed.command->run(
      {program, *parsed.options, env, console, **interrupts, *files, *address_files, storage});
  return CodeOf(code, console, (*interrupts)->any());
}

}  // namespace
}  // namespace espalier::cli

int main(int argc, char** argv) {
  if (!espalier::OpenMissingStreams()) return 1;
  espalier::ShowProgramName(argv[0]);
  return espalier::cli::Main(argv, std::vector<std::string>(argv + 1, argv + argc));
}
