// The command line of `espalier`. Thread rule: pure functions; the environment is passed in.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/security/issue.h"
#include "src/security/keychain.h"
#include "src/storage/file_systems.h"

namespace espalier::cli {

struct Command;

// What the shell hands in from the environment.
struct Environment {
  std::string coordinator;          // ESPALIER_COORDINATOR
  security::TlsFiles tls;           // ESPALIER_TLS_CA, _CERTIFICATE, _KEY
  std::string token;                // ESPALIER_TOKEN
  std::string token_file;           // ESPALIER_TOKEN_FILE
  bool no_color = false;            // NO_COLOR is set to anything but nothing
  std::string terminal;             // TERM
  std::string locale;               // LC_ALL, else LC_CTYPE, else LANG
  std::string temporary_directory;  // TMPDIR, else /tmp
  std::string home;                 // HOME, else the working directory
  storage::HadoopEnvironment hadoop;
};

inline constexpr const char* kDefaultCoordinator = "127.0.0.1:7700";
inline constexpr int64_t kTimeoutMsMin = 100, kTimeoutMsMax = 86'400'000;  // of --timeout
inline constexpr int kLocalWorkersMax = 64;
inline constexpr int kThreadsMax = 1024;

// What `espalier yarn` is told; sizes as they were written.
struct YarnArguments {
  std::string name;               // of the service; run: "": after the job
  std::string queue;              // "": the user's own
  std::string tarball, service;   // files; "": found beside this program
  std::string keytab, principal;  // up, run: with Kerberos
  int64_t workers = 1;            // up, run, scale
  int64_t vcores = 1, coordinator_vcores = 1;
  std::string memory = "4GiB", coordinator_memory = "1GiB";
  std::string wait = "5min";  // up, run: for the coordinator
  bool detach = false;        // run: the cluster ends by itself
  std::string container;      // logs: this one alone
  std::string log_bytes = "64KiB";
};

// What `espalier evaluate` and `espalier predict` are told.
struct ScoringArguments {
  std::string model;                   // a bundle's directory
  std::vector<std::string> data;       // patterns
  std::string data_format;             // "": by the files' names
  bool raw = false;                    // reads files of tables with a log as they are
  std::optional<std::string> report;   // evaluate: a file
  std::string output;                  // predict: a directory
  std::string format;                  // predict: "csv", "parquet", or "": by the output's name
  std::vector<std::string> keep;       // predict: columns of the data
  std::vector<std::string> columns;    // predict: "prediction", "probabilities"; empty: both
  bool spreadsheet_safe = false;       // predict
  std::string on_bad_row = "empty";    // predict: "empty", "reject" or "fail"
  std::optional<int64_t> rejects_max;  // predict
  bool overwrite = false;              // predict
};

// The options of `espalier init`.
struct InitArguments {
  std::string table;                  // a file, a pattern or a directory
  std::optional<std::string> label;   // a column; none: asked for
  std::optional<std::string> output;  // the job file; none: after the table
  bool force = false;                 // may replace a file
};

struct CliOptions {
  bool json = false;
  // host:port, file:PATH, hdfs://... or yarn:NAME; flag, else environment, else default (of check
  // and sweep: empty, ask none; of evaluate and predict the flag alone counts, and empty is this
  // machine)
  std::string coordinator;
  // Of those that speak to it: flag, else environment. A token itself is never an argument.
  security::TlsFiles tls;
  std::string token_file;
  std::string token;  // from the environment
  // How long an unreachable coordinator is tried, at first and when it goes away, and how long an
  // answer is waited for; none: as ApiClientOptions and FollowOptions say.
  std::optional<int64_t> timeout_ms;
  std::string certs_directory;  // certs: of the authority
  std::string certs_output;     // certs issue: a new directory; "": below the authority's
  std::string authority_name;   // certs init
  security::CertificateRequest certificate;  // certs issue
  std::string revoked;                       // certs revoke: a PEM file
  std::vector<std::string> compared;         // certs compare: two CA files
  std::string job_file;                      // train, sweep (the sweep's), submit, check
  JobId job;                                 // watch, status, cancel
  bool keep_model = false;                   // cancel
  std::string worker;                        // drain: name or id
  std::optional<int> workers;                // train, sweep
  std::optional<int> threads;                // train, sweep, evaluate, predict
  std::optional<std::string> output;         // train, submit
  std::optional<std::string> resume;         // train, submit: the run to go on with
  bool accept_data = false;                  // train, submit: it may have had other data
  bool accept_arithmetic = false;            // train, submit: and been computed by other arithmetic
  bool exit_with_parent = false;             // train: stop when the process that started it ends
  std::string key;                           // reference: "" is all keys
  bool effective = false;                    // check: print the job with all of its defaults
  bool detach = false;                       // submit; evaluate and predict on a cluster
  YarnArguments yarn;
  ScoringArguments scoring;
  InitArguments init;
};

// One of three: options to act on, text to print (help), or an error (exit code 2).
struct ParsedArguments {
  std::optional<CliOptions> options;
  const Command* command = nullptr;  // with options: the row of command_table.h to run
  std::string help;
  Status error;
};

// `arguments` without the program's name.
ParsedArguments ParseArguments(std::span<const std::string> arguments, const Environment& env);

// "job-17" or "17".
Result<JobId> ParseJobId(const std::string& text);

}  // namespace espalier::cli
