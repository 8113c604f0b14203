// Files that a service needs on HDFS before YARN runs it, and files that its user keeps on the
// local machine.
//
//   BASE/packages/espalier-SHA256.tar.gz    the tarball, by its content: sent once
//   BASE/yarn/NAME/                         0700: accessible to the user only
//     ca.crt coordinator.crt coordinator.key worker.crt worker.key   of a private authority
//     core-site.xml                         HDFS settings for the nodes, from the client
//     hadoop-ca.pem                         authorities for HTTPS; only if configured
//     service.keytab                        the service's login; only with Kerberos
//     address                               the coordinator's address, written by it
//     state/                                its journal
//   HOME/NAME/                              local, 0700: ca.crt, tls.crt, tls.key of an admin, and
//                                           `coordinator`: BASE/yarn/NAME/address
//
// BASE is .espalier in the user's home directory on HDFS. HOME is .espalier/yarn in the local home
// directory. The authority's own key is not stored.
//
// Thread rule: one thread. Calls of the file systems block.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/security/keychain.h"
#include "src/storage/file_system.h"
#include "src/storage/hadoop_config.h"
#include "src/yarn/service_spec.h"

namespace espalier::yarn {

// Returns, for example, "hdfs://ns", without a trailing slash. kInvalidArgument: the configuration
// contains no HDFS.
Result<std::string> DefaultHdfs(const storage::HadoopConfig& config);

// Returns BASE, for example "hdfs://ns/user/ann/.espalier". `home` is, for example, "/user/ann".
std::string YarnBase(const std::string& hdfs, const std::string& home);

// Returns the service's folder below the base.
std::string YarnFolder(const std::string& base, const std::string& name);

// Sends the tarball unless a file with the same content exists. Returns its URI. `sent` is set to
// whether it was sent.
Result<std::string> SendPackage(const storage::FileSystem& files, const std::string& base,
                                const std::string& local_tarball, bool* sent);

// Returns the properties that clients need to find and use an HDFS, as one core-site.xml. Pure.
Result<std::string> ClientSite(const storage::HadoopConfig& config);

// Hadoop settings and files for the nodes.
struct YarnHadoop {
  std::string site;    // result of ClientSite
  std::string ca_pem;  // authorities for HDFS over HTTPS; empty: settings of each node
  std::string keytab;  // SECRET: YarnIdentity::keytab
};
// Collects the settings. `ca_file` is a local file (ESPALIER_HADOOP_CA), or empty.
// kInvalidArgument: it contains no certificate.
Result<YarnHadoop> HadoopForNodes(const storage::FileSystem& files,
                                  const storage::HadoopConfig& config, const std::string& ca_file);

// Recreates the service's folder with certificates of a new authority and the Hadoop settings.
// `now_s` is in seconds since 1970. REQUIRES: places.hadoop_ca and .keytab match the presence of a
// ca_pem and a keytab.
Status PrepareFolder(const storage::FileSystem& files, const YarnPlaces& places,
                     const std::string& name, const YarnHadoop& hadoop, const std::string& user,
                     const std::string& local_directory, int64_t now_s);

// Files kept on the local machine.
struct YarnKept {
  std::string directory;  // HOME/NAME
  security::TlsFiles Tls(const std::string& service) const;
  std::string CoordinatorFile() const { return directory + "/coordinator"; }
};

}  // namespace espalier::yarn
