#include "src/cli/options_certs.h"

#include <CLI/CLI.hpp>

namespace espalier::cli {
namespace {

constexpr const char* kCertsExamples =
    "A private authority for clusters without one. Its key signs. Keep it off the hosts.\n"
    "\n"
    "Examples:\n"
    "  espalier certs init                     an authority in espalier-ca/\n"
    "  espalier certs issue coordinator head --host head.example.org --host 10.0.0.5\n"
    "  espalier certs issue worker node-1\n"
    "  espalier certs issue operator ann       submits jobs, and cancels its own\n"
    "  espalier certs issue admin root         cancels any job, drains workers\n"
    "  espalier certs revoke espalier-ca/worker-node-1/tls.crt\n"
    "  espalier certs compare old/ca.crt new/ca.crt\n"
    "Each `issue` makes a directory with ca.crt, tls.crt and tls.key to copy to its holder. "
    "`compare`\n"
    "says whether the second CA file may take the place of the first: not if a caller whose\n"
    "certificate was taken back got in again.";

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
  app->add_option("--name", o.authority_name, "Its name (default: Espalier CA)");
  AddDirectory(app, o);
  AddCertsJson(app, o);
}

void DeclareCertsIssue(CLI::App* app, RawArguments* raw) {
  CliOptions& o = raw->options;
  app->add_option("ROLE", raw->role, "coordinator, worker, admin, operator or reader")->required();
  app->add_option("NAME", o.certificate.name, "A worker's --name, or the name of the holder")
      ->required();
  app->add_option("--host", o.certificate.hosts,
                  "Host name or address its holder is reached by; may be repeated");
  app->add_option("--days", o.certificate.days, "Validity in days (default: 397)");
  app->add_option("--output", o.certs_output,
                  "Directory to make (default: ROLE-NAME in that of the authority)");
  AddDirectory(app, o);
  AddCertsJson(app, o);
}

void DeclareCertsRevoke(CLI::App* app, RawArguments* raw) {
  CliOptions& o = raw->options;
  app->add_option("FILE", o.revoked, "PEM file: the certificate (tls.crt)")->required();
  AddDirectory(app, o);
  AddCertsJson(app, o);
}

void DeclareCertsCompare(CLI::App* app, RawArguments* raw) {
  CliOptions& o = raw->options;
  app->add_option("FILES", o.compared, "The CA file that is in use, and the other one")
      ->required()
      ->expected(2);
  AddCertsJson(app, o);
}

Status FinishCertsIssue(const Environment&, RawArguments* raw) {
  ESPALIER_ASSIGN_OR_RETURN(raw->options.certificate.role, security::ParseRole(raw->role));
  return {};
}

}  // namespace espalier::cli
