// All available file systems, behind one interface. Programs read the environment and pass it in:
// HADOOP_CONF_DIR, and for the user HADOOP_USER_NAME, then USER. A secured HDFS also uses
// ESPALIER_HADOOP_CA and HADOOP_TOKEN_FILE_LOCATION. (The Kerberos library reads
// KRB5_CLIENT_KTNAME, KRB5CCNAME and KRB5_CONFIG itself.)
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
  std::string hadoop_conf_dir;       // empty: none; read on first use of an HDFS
  std::string token_file;            // Hadoop credentials file, as YARN writes it; also read then
  std::string writer;                // default part of temporary names; empty: host and process
  WebHdfsOptions webhdfs;            // includes the user name
  std::vector<std::string> secrets;  // paths and URIs that no path may reach (secret_files.h)
};

// The settings that Hadoop's own tools take from the environment.
struct HadoopEnvironment {
  std::string conf_dir;    // HADOOP_CONF_DIR, or an existing $HADOOP_HOME/etc/hadoop; or empty
  std::string user;        // HADOOP_USER_NAME, or USER, or the process's user; or empty
  std::string ca;          // ESPALIER_HADOOP_CA: a PEM file (HttpOptions::ca_file); or empty
  std::string token_file;  // HADOOP_TOKEN_FILE_LOCATION; or empty
  // Files and directories with the credentials of this process: the token file, the files of
  // KRB5_CLIENT_KTNAME and KRB5CCNAME, and systemd's CREDENTIALS_DIRECTORY.
  std::vector<std::string> secrets;
};
// `variable` returns the value of an environment variable, or "".
HadoopEnvironment ReadHadoopEnvironment(
    const std::function<std::string(const char* name)>& variable);

// Returns a client for the NameNodes of one file system, identified by `prefix` ("hdfs://ns").
Result<std::shared_ptr<const WebHdfsClient>> MakeWebHdfsClient(const StorageOptions& options,
                                                               const Uri& uri);

// Returns one name for all names of a place, to compare places: of a local path, its CanonicalPath;
// on an HDFS, FileSystemName (name_nodes.h) and the path. kInvalidArgument for a path by
// /.reserved or .snapshot, which may lead to any place, and for the errors of ParseUri: `..` on an
// HDFS is one.
Result<std::string> PlaceName(const std::string& path, const StorageOptions& options);

// Returns a file system that passes each path to the file system of its scheme (uri.h). Each HDFS
// is created on first use and kept, with its connections. The call that needs a configuration
// returns the errors in it.
std::unique_ptr<FileSystem> MakeFileSystem(StorageOptions options);

}  // namespace espalier::storage
