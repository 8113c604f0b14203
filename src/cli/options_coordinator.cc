#include "src/cli/options_coordinator.h"

#include <CLI/CLI.hpp>

#include "src/base/text.h"
#include "src/cli/yarn_kept.h"
#include "src/config/units.h"

namespace espalier::cli {
namespace {

void TakeFromEnvironment(const Environment& env, CliOptions& options) {
  const auto fill = [](std::string& option, const std::string& variable) {
    if (option.empty()) option = variable;
  };
  if (options.coordinator.starts_with(kYarnCoordinator) && !options.tls.any()) {
    const std::string service = options.coordinator.substr(std::string(kYarnCoordinator).size());
    options.tls = KeptOfYarn(env, service).Tls(service);
    return;
  }
  fill(options.tls.ca, env.tls.ca);
  fill(options.tls.server_name, env.tls.server_name);
  if (options.token_file.empty()) {
    fill(options.tls.certificate, env.tls.certificate);
    fill(options.tls.key, env.tls.key);
  }
  // A certificate on the command line takes precedence over a token in the environment.
  if (options.tls.certificate.empty() || options.tls == env.tls) {
    fill(options.token_file, env.token_file);
    options.token = env.token;
  }
}

}  // namespace

void AddCoordinator(CLI::App* app, const std::string& without, RawArguments* raw) {
  CliOptions& o = raw->options;
  app->add_option(
      "--coordinator", o.coordinator,
      "host:port, unix:/PATH, file:PATH, hdfs://... or yarn:NAME (default: " + without + ")");
  app->add_option("--tls-ca", o.tls.ca, "PEM file with the certificate authorities to trust");
  app->add_option("--tls-certificate", o.tls.certificate, "PEM file with your certificate");
  app->add_option("--tls-key", o.tls.key, "PEM file with the private key of your certificate");
  app->add_option(
      "--tls-server-name", o.tls.server_name,
      "Host name in the certificate of the coordinator (default: the host in --coordinator)");
  app->add_option("--token-file", o.token_file, "File with your token, instead of a certificate");
  app->add_option(
      "--timeout", raw->timeout,
      "Time to retry an unreachable coordinator, and to wait for each response, such as "
      "30s or 5min (default: no retry, and 30 s for a response, 2 min with submit; "
      "during a job, 1 min of retries)");
}

Status FinishCluster(const Environment& env, RawArguments* raw) {
  ESPALIER_RETURN_IF_ERROR(FinishOptionalCluster(env, raw));
  if (raw->options.coordinator.empty()) raw->options.coordinator = kDefaultCoordinator;
  return {};
}

Status FinishOptionalCluster(const Environment& env, RawArguments* raw) {
  if (raw->options.coordinator.empty()) raw->options.coordinator = env.coordinator;
  ESPALIER_RETURN_IF_ERROR(FinishIdentity(env, &raw->options));
  return FinishTimeout(raw);
}

Status FinishTimeout(RawArguments* raw) {
  if (raw->timeout.empty()) return {};
  raw->options.timeout_ms = config::ParseDuration(raw->timeout);
  const auto& ms = raw->options.timeout_ms;
  if (ms && *ms >= kTimeoutMsMin && *ms <= kTimeoutMsMax) return {};
  return InvalidArgument("--timeout: found '" + Printable(raw->timeout, 40) +
                         "', expected a time from " + HumanDuration(kTimeoutMsMin) +
                         " to 24 h, such as 30s or 5min");
}

Status FinishIdentity(const Environment& env, CliOptions* options) {
  TakeFromEnvironment(env, *options);
  return options->tls.Validate(true);
}

}  // namespace espalier::cli
