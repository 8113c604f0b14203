// The file systems that this program can reach, behind one interface. The shells read the
// environment and pass it in: HADOOP_CONF_DIR, for the user HADOOP_USER_NAME, then USER, for a
// secured HDFS also ESPALIER_HADOOP_CA and HADOOP_TOKEN_FILE_LOCATION. (KRB5_CLIENT_KTNAME,
// KRB5CCNAME and KRB5_CONFIG are read by Kerberos' own library.)
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/storage/file_system.h"
#include "src/storage/uri.h"
#include "src/storage/webhdfs_client.h"

namespace espalier::storage {

struct StorageOptions {
  std::string hadoop_conf_dir;  // empty: none; read when an HDFS is first used
  std::string token_file;       // of Hadoop's credentials, as YARN writes it; read then, too
  std::string writer;  // in temporary names where a call gives no other; empty: host and process
  WebHdfsOptions webhdfs;            // with the user's name
  std::vector<std::string> secrets;  // paths and URIs that no path may lead to (secret_files.h)
};

// What Hadoop's own tools would take from the environment.
struct HadoopEnvironment {
  std::string conf_dir;    // HADOOP_CONF_DIR, else $HADOOP_HOME/etc/hadoop if it exists; or empty
  std::string user;        // HADOOP_USER_NAME, else USER, else the process's own; or empty
  std::string ca;          // ESPALIER_HADOOP_CA: a PEM file (HttpOptions::ca_file); or empty
  std::string token_file;  // HADOOP_TOKEN_FILE_LOCATION; or empty
  // Files and directories with what proves who this process is: that one, those of
  // KRB5_CLIENT_KTNAME and KRB5CCNAME, and systemd's CREDENTIALS_DIRECTORY.
  std::vector<std::string> secrets;
};
// `variable` gives the value of an environment variable, or nothing.
HadoopEnvironment ReadHadoopEnvironment(
    const std::function<std::string(const char* name)>& variable);

// The way to the NameNodes of one file system, which `prefix` names ("hdfs://ns").
Result<std::shared_ptr<const WebHdfsClient>> MakeWebHdfsClient(const StorageOptions& options,
                                                               const Uri& uri);

// Sends each path to the file system of its scheme (uri.h). Each HDFS is made at its first use and
// kept, with its connections. Errors of a configuration come from the call that needs it.
std::unique_ptr<FileSystem> MakeFileSystem(StorageOptions options);

}  // namespace espalier::storage
