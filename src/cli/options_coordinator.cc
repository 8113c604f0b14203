#include "src/cli/options_coordinator.h"

#include <CLI/CLI.hpp>

namespace espalier {

void AddCoordinator(CLI::App* command, const std::string& without, CliOptions* options,
                    std::string* timeout) {
  CliOptions& o = *options;
  command->add_option(
      "--coordinator", o.coordinator,
      "host:port, unix:/PATH, file:PATH, hdfs://... or yarn:NAME (default: " + without + ")");
  command->add_option("--tls-ca", o.tls.ca, "PEM file: the authorities that are believed");
  command->add_option("--tls-certificate", o.tls.certificate, "PEM file: the caller's certificate");
  command->add_option("--tls-key", o.tls.key, "PEM file: its key");
  command->add_option(
      "--tls-server-name", o.tls.server_name,
      "The host that the coordinator's certificate names (default: the one dialled)");
  command->add_option("--token-file", o.token_file, "File with the caller's token, in its place");
  command->add_option(
      "--timeout", *timeout,
      "How long a coordinator that is not reached is tried again, and an answer is\n"
      "waited for: 30s, 5min (default: one try; 30 s, submit 2 min; a coordinator\n"
      "that goes away while a job is followed 1 min)");
}

}  // namespace espalier
