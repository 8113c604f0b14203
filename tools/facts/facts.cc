// Prints a Python module with the limits, names, codes and defaults that the programs share with
// the Python client. A header of its room declares each one. tools/build writes the module to
// build/facts/_facts.py, and deploy/python/setup.py puts it into the wheel.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/base/version.h"
#include "src/bundle/bundle.h"
#include "src/bundle/model_json.h"
#include "src/bundle/safetensors.h"
#include "src/cli/coordinator_address.h"
#include "src/cli/exit_code.h"
#include "src/cli/follow.h"
#include "src/cli/options.h"
#include "src/cli/yarn_kept.h"
#include "src/config/daemon_options.h"
#include "src/config/job_yaml.h"
#include "src/config/reference.h"
#include "src/config/yaml_tree.h"
#include "src/data/features/feature_decoder.h"
#include "src/data/table/number.h"
#include "src/data/table/schema.h"
#include "src/model/network.h"
#include "src/rpc/api_client.h"
#include "src/rpc/call_metadata.h"
#include "src/rpc/coordinator_address.h"
#include "src/security/roles.h"
#include "src/security/secret_file.h"
#include "src/spec/input.h"
#include "src/spec/names.h"
#include "src/storage/hadoop_config.h"
#include "src/storage/hadoop_token.h"
#include "src/storage/kerberos.h"
#include "src/storage/kerberos_meanings.h"
#include "src/storage/name_nodes.h"
#include "src/yarn/service_spec.h"
#include "src/yarn/staging.h"
#include "tools/facts/module.h"

namespace espalier::facts {
namespace {

using Texts = std::vector<std::string>;

// Returns the names of the metrics of all tasks, in the order of history.csv.
Texts AllMetricNames() {
  Texts names;
  for (const auto& [task, word] : spec::Names<spec::Task>::kAll) {
    for (const std::string& name : spec::MetricNames(task)) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

void AddErrors(Module& m) {
  Texts codes;
  for (int i = 1; i <= static_cast<int>(StatusCode::kInternal); ++i) {
    codes.emplace_back(StatusCodeName(static_cast<StatusCode>(i)));
  }
  m.Value("ERROR_CODES", codes);
  m.Number("EXIT_JOB_FAILED", cli::kExitJobFailed);
  m.Number("EXIT_USAGE", cli::kExitUsage);
  m.Number("EXIT_UNREACHABLE", cli::kExitUnreachable);
  m.Number("EXIT_INTERRUPTED", cli::kExitInterrupted);
}

void AddJobs(Module& m) {
  m.Number("JOB_BYTES_MAX", config::kYamlBytesMax);
  std::vector<Texts> keys, list_keys;
  for (const config::PathKey& key : config::PathKeys())
    (key.list ? list_keys : keys).push_back(key.names);
  m.Value("PATH_KEYS", keys);
  m.Value("PATH_LIST_KEYS", list_keys);
  std::vector<Texts> scalars;  // path, type, default, text
  for (const config::ScalarKey& key : config::ScalarKeys()) {
    scalars.push_back({key.path, key.type, key.value, key.text});
  }
  m.Value("SCALAR_KEYS", scalars);
  m.Value("METRIC_NAMES", AllMetricNames());
}

void AddModels(Module& m) {
  m.Text("MODEL_FILE", bundle::kModelFile);
  m.Text("WEIGHTS_FILE", bundle::kWeightsFile);
  m.Number("MODEL_BYTES_MAX", bundle::kModelJsonBytesMax);
  m.Number("WEIGHTS_BYTES_MAX", bundle::kWeightsBytesMax);
  m.Number("WEIGHTS_HEADER_BYTES_MAX", bundle::kSafetensorsHeaderBytesMax);
  m.Number("LAYERS_MAX", model::kLayersMax);
  m.Number("FITS_MAX", spec::kFitsMax);
  m.Number("WIDTH_MAX", model::kWidthMax);
  m.Number("INPUTS_MAX", model::kInputsMax);
  m.Number("CODES_MAX", spec::kCodesMax);
  m.Number("EMBEDDING_MAX", spec::kEmbeddingMax);
}

void AddTables(Module& m) {
  m.List("NULL_WORDS", data::kNullWords);
  m.List("TRUE_WORDS", data::kTrueWords);
  m.List("FALSE_WORDS", data::kFalseWords);
  m.Number("FIRST_DAY", data::kFirstDay);
  m.Number("LAST_DAY", data::kLastDay);
  m.Number("DAY_NUMBER_MIN", data::kDayNumberMin);
  m.Number("DAY_NUMBER_MAX", data::kDayNumberMax);
  m.Number("MONTH_NUMBER_MIN", data::kMonthNumberMin);
  m.Number("MONTH_NUMBER_MAX", data::kMonthNumberMax);
  m.Number("CATEGORY_BYTES_MAX", data::kCategoryBytesMax);
  m.Number("COLUMNS_MAX", data::kColumnsMax);
}

void AddHadoop(Module& m) {
  m.List("HADOOP_FILES", storage::kHadoopFiles);
  m.Number("HADOOP_FILE_BYTES_MAX", storage::kHadoopFileBytesMax);
  m.Number("HADOOP_PROPERTIES_MAX", storage::kHadoopPropertiesMax);
  m.Number("HADOOP_INCLUDE_DEPTH_MAX", storage::kHadoopIncludeDepthMax);
  m.Number("HADOOP_INCLUDED_FILES_MAX", storage::kHadoopIncludedFilesMax);
  m.Number("HADOOP_ELEMENT_DEPTH_MAX", storage::kHadoopElementDepthMax);
  m.Number("HADOOP_VARIABLE_DEPTH_MAX", storage::kHadoopVariableDepthMax);
  m.Number("HADOOP_VALUE_BYTES_MAX", storage::kHadoopValueBytesMax);
  m.Number("NAME_NODES_MAX", storage::kNameNodesMax);
  m.Number("NAME_NODE_RPC_PORT", storage::kDefaultRpcPort);
  m.Number("NAME_NODE_HTTP_PORT", storage::kDefaultHttpPort);
  m.Number("NAME_NODE_HTTPS_PORT", storage::kDefaultHttpsPort);
  m.Text("TOKEN_FILE_MAGIC", storage::kTokenFileMagic);
  m.Number("TOKEN_FILE_BYTES_MAX", storage::kTokenFileBytesMax);
  m.Number("TOKEN_FILE_TOKENS_MAX", storage::kTokenFileTokensMax);
  m.List("HDFS_TOKEN_KINDS", storage::kHdfsTokenKinds);
  m.Number("KERBEROS_WAIT_MS", storage::KerberosLimits().wait_ms);
  m.Number("KERBEROS_CALLS_MAX", storage::kKerberosCallsMax);
  m.Number("KERBEROS_WORDS_MAX", storage::kKerberosWordsMax);
  m.Number("KERBEROS_WORDS_BYTES_MAX", storage::kKerberosWordsBytesMax);
  std::vector<Texts> meanings;  // text, code, why, fix
  for (const storage::KerberosMeaning& meaning : storage::kKerberosMeanings) {
    meanings.push_back(
        {std::string(meaning.text), StatusCodeName(meaning.code), meaning.why, meaning.fix});
  }
  m.Value("KERBEROS_MEANINGS", meanings);
}

void AddConnections(Module& m) {
  const rpc::ApiClientOptions client;
  m.Text("DEFAULT_COORDINATOR", cli::kDefaultCoordinator);
  m.Text("VERSION_KEY", rpc::kVersionKey);
  m.Text("ERROR_KEY", rpc::kErrorKey);
  m.Number("METADATA_BYTES_MAX", rpc::kMetadataBytesMax);
  m.Number("ANSWER_BYTES_MAX", rpc::kApiAnswerBytesMax);
  m.Number("KEEPALIVE_INTERVAL_MS", client.keepalive_interval_ms);
  m.Number("KEEPALIVE_TIMEOUT_MS", client.keepalive_timeout_ms);
  m.Number("CONNECT_TIMEOUT_MS", client.connect_timeout_ms);
  m.Number("CALL_TIMEOUT_MS", client.call_timeout_ms);
  m.Number("SUBMIT_TIMEOUT_MS", client.submit_timeout_ms);
  m.Number("WITHDRAW_TIMEOUT_MS", client.withdraw_timeout_ms);
  m.Number("AWAY_LIMIT_MS", cli::FollowOptions().away_limit_ms);
  m.Number("REACH_LIMIT_MS", cli::FollowOptions().reach_limit_ms);
  m.Number("TIMEOUT_MS_MIN", cli::kTimeoutMsMin);
  m.Number("TIMEOUT_MS_MAX", cli::kTimeoutMsMax);
  m.Number("ASK_AGAIN_PAUSE_MS", cli::kAskAgainPauseMs);
  m.Number("SUBMIT_AGAIN_MS", cli::kSubmitAgainMs);
  m.Number("WATCH_AGAIN_PAUSE_MS", cli::kWatchAgainPauseMs);
  m.Number("ADDRESS_FILE_BYTES_MAX", rpc::kAddressFileBytesMax);
  m.Number("PEM_BYTES_MAX", security::kPemBytesMax);
  m.Number("CLIENT_TOKEN_FILE_BYTES_MAX", cli::kClientTokenFileBytesMax);
  m.Number("SECRET_MODE_REFUSED", security::kSecretModeRefused);
  m.Text("ROLE_SCHEME", security::kRoleScheme);
}

void AddClusters(Module& m) {
  m.Text("YARN_COORDINATOR", cli::kYarnCoordinator);
  m.Text("YARN_KEPT_DIRECTORY", cli::kYarnKeptDirectory);
  m.Number("YARN_NAME_BYTES_MAX", yarn::kYarnNameBytesMax);
  m.Number("COORDINATOR_MEMORY_MB_MIN", yarn::kCoordinatorMemoryMbMin);
  m.Number("COORDINATOR_SHARES", yarn::kCoordinatorShares);
  m.Number("COORDINATOR_SHARE_MAX_MB", yarn::kCoordinatorShareMaxMb);
  m.Number("LEAVE_TIMEOUT_MS", config::WorkerOptions().leave_timeout_ms);
}

}  // namespace
}  // namespace espalier::facts

int main() {
  espalier::facts::Module module;
  module.Text("VERSION", espalier::kVersion);
  espalier::facts::AddErrors(module);
  espalier::facts::AddJobs(module);
  espalier::facts::AddModels(module);
  espalier::facts::AddTables(module);
  espalier::facts::AddHadoop(module);
  espalier::facts::AddConnections(module);
  espalier::facts::AddClusters(module);
  return std::fputs(module.text().c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
}
