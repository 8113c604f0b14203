#include "src/cli/options_certs.h"

#include <CLI/CLI.hpp>

namespace espalier::cli {
namespace {

constexpr const char* kCertsExamples =
    "A private certificate authority, for clusters that have none. Anyone with ca.key\n"
    "can issue certificates, so keep it off the hosts. `issue` creates a directory\n"
    "with ca.crt, tls.crt and tls.key. Copy it to the host or person in the\n"
    "certificate. `compare` checks whether a CA file may replace another. It fails if\n"
    "the new file accepts a revoked certificate again.\n"
    "\n"
    "Examples:\n"
    "  espalier certs init                     an authority in espalier-ca/\n"
    "  espalier certs issue coordinator head --host head.example.org --host 10.0.0.5\n"
    "  espalier certs issue worker node-1\n"
    "  espalier certs issue operator ann       submits jobs and cancels its own jobs\n"
    "  espalier certs issue admin root         cancels any job and drains workers\n"
    "  espalier certs revoke espalier-ca/worker-node-1/tls.crt\n"
    "  espalier certs compare old/ca.crt new/ca.crt";

void AddDirectory(CLI::App* app, CliOptions& o) {
  app->add_option("--directory", o.certs_directory,
                  "Directory of the authority (default: espalier-ca)");
}

void AddCertsJson(CLI::App* app, CliOptions& o) {
  app->add_flag("--json", o.json, "Write JSON to standard output");
}

}  // namespace

void DeclareCerts(CLI::App* app, RawArguments*) { app->footer(kCertsExamples); }

void DeclareCertsInit(CLI::App* app, RawArguments* raw) {
  CliOptions& o = raw->options;
  app->add_option("--name", o.authority_name, "Name of the authority (default: Espalier CA)");
  AddDirectory(app, o);
  AddCertsJson(app, o);
}

void DeclareCertsIssue(CLI::App* app, RawArguments* raw) {
  CliOptions& o = raw->options;
  app->add_option("ROLE", raw->role, "coordinator, worker, admin, operator or reader")->required();
  app->add_option("NAME", o.certificate.name, "Name of the worker, person or service")->required();
  app->add_option("--host", o.certificate.hosts,
                  "Host name or address of the coordinator or worker. Repeat it for each name");
  app->add_option("--days", o.certificate.days, "Validity in days (default: 397)");
  app->add_option("--output", o.certs_output,
                  "Directory to create (default: ROLE-NAME in the directory of the authority)");
  AddDirectory(app, o);
  AddCertsJson(app, o);
}

void DeclareCertsRevoke(CLI::App* app, RawArguments* raw) {
  CliOptions& o = raw->options;
  app->add_option("FILE", o.revoked, "PEM file with the certificate (tls.crt)")->required();
  AddDirectory(app, o);
  AddCertsJson(app, o);
}

void DeclareCertsCompare(CLI::App* app, RawArguments* raw) {
  CliOptions& o = raw->options;
  app->add_option("FILES", o.compared, "CA file in use, and its replacement")
      ->required()
      ->expected(2);
  AddCertsJson(app, o);
}

Status FinishCertsIssue(const Environment&, RawArguments* raw) {
  ESPALIER_ASSIGN_OR_RETURN(raw->options.certificate.role, security::ParseRole(raw->role));
  return {};
}

}  // namespace espalier::cli
