// The options of `espalier`. parse_arguments.h makes them from the command line.
//
// Thread rule: values, and a pure function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/security/issue.h"
#include "src/security/keychain.h"
#include "src/storage/file_systems.h"

namespace espalier::cli {

// Values from the environment.
struct Environment {
  std::string coordinator;          // ESPALIER_COORDINATOR
  security::TlsFiles tls;           // ESPALIER_TLS_CA, _CERTIFICATE, _KEY
  std::string token;                // ESPALIER_TOKEN
  std::string token_file;           // ESPALIER_TOKEN_FILE
  bool no_color = false;            // NO_COLOR is set and not empty
  std::string terminal;             // TERM
  int columns = 0;                  // COLUMNS; 0: not set
  std::string locale;               // LC_ALL, LC_CTYPE or LANG, the first that is set
  std::string temporary_directory;  // TMPDIR, or /tmp
  std::string home;                 // HOME, or the working directory
  storage::HadoopEnvironment hadoop;
};

inline constexpr const char* kDefaultCoordinator = "127.0.0.1:7700";
inline constexpr int64_t kTimeoutMsMin = 100, kTimeoutMsMax = 86'400'000;  // range of --timeout
inline constexpr int kLocalWorkersMax = 64;
inline constexpr int kThreadsMax = 1024;

// Arguments of `espalier yarn`; sizes as text.
struct YarnArguments {
  std::string name;               // of the service; run: empty means the job's
  std::string queue;              // empty: default of the user
  std::string tarball, service;   // files; empty: those of this program's installation
  std::string keytab, principal;  // up, run: with Kerberos
  int64_t workers = 1;            // up, run, scale
  int64_t vcores = 1, coordinator_vcores = 1;
  std::string memory = "4GiB", coordinator_memory = "1GiB";
  std::string wait = "5min";  // up, run: for the coordinator
  bool detach = false;        // run: the cluster ends by itself
  std::string container;      // logs: only this container
  std::string log_bytes = "64KiB";
};

// Arguments of `espalier evaluate` and `espalier predict`.
struct ScoringArguments {
  std::string model;                   // a bundle's directory
  std::vector<std::string> data;       // patterns
  std::string data_format;             // empty: from the files' names
  bool raw = false;                    // reads files of tables with a log as plain files
  std::optional<std::string> report;   // evaluate: a file
  std::string output;                  // predict: a directory
  std::string format;                  // predict: "csv", "parquet"; empty: from the output's name
  std::vector<std::string> keep;       // predict: data columns to copy
  std::vector<std::string> columns;    // predict: "prediction", "probabilities"; empty: both
  bool spreadsheet_safe = false;       // predict
  std::string on_bad_row = "empty";    // predict: "empty", "reject" or "fail"
  std::optional<int64_t> rejects_max;  // predict
  bool overwrite = false;              // predict
};

// Arguments of `espalier init`.
struct InitArguments {
  std::string table;                 // a file, a pattern or a directory
  std::optional<std::string> label;  // column; none: prompt
  // Job file; "-": standard output; none: derived from the table.
  std::optional<std::string> output;
  bool force = false;  // allows replacing a file
};

struct CliOptions {
  bool json = false;
  // host:port, file:PATH, hdfs://... or yarn:NAME, from the flag, the environment or the default.
  // For check and sweep, empty means no coordinator. For evaluate and predict, only the flag is
  // used, and empty means this machine.
  std::string coordinator;
  // Connection security, from the flag or the environment. A token itself is never an argument.
  security::TlsFiles tls;
  std::string token_file;
  std::string token;  // from the environment
  // Time limit for an unreachable coordinator, at first and after an outage, and for an answer.
  // None: the defaults of ApiClientOptions and FollowOptions.
  std::optional<int64_t> timeout_ms;
  std::string certs_directory;  // certs: directory of the authority
  std::string certs_output;     // certs issue: new directory; empty: below the authority's
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
  std::optional<std::string> resume;         // train, submit: run to continue
  bool accept_data = false;                  // train, submit: allows other data
  bool accept_arithmetic = false;            // train, submit: allows other arithmetic
  bool exit_with_parent = false;             // train: stops when the parent process ends
  std::string key;                           // reference: empty means all keys
  bool effective = false;                    // check: prints the job with all of its defaults
  bool detach = false;                       // submit; evaluate and predict on a cluster
  YarnArguments yarn;
  ScoringArguments scoring;
  InitArguments init;
};

// Parsed command line: options, and texts from which `finish` derives options.
struct RawArguments {
  CliOptions options;
  std::string job, role, timeout;
};

// Parses "job-17" or "17".
Result<JobId> ParseJobId(const std::string& text);

}  // namespace espalier::cli
