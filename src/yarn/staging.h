// What a service needs on HDFS before YARN is asked to run it, and what its user keeps on this
// machine.
//
//   BASE/packages/espalier-SHA256.tar.gz    the tarball, by its content: sent once
//   BASE/yarn/NAME/                         0700: the user's alone
//     ca.crt coordinator.crt coordinator.key worker.crt worker.key   a private authority's
//     core-site.xml                         how the nodes find HDFS: what the client knows of it
//     hadoop-ca.pem                         whom they believe over HTTPS; only where one is named
//     service.keytab                        by which the service logs in; only with Kerberos
//     address                               the coordinator's, written by it
//     state/                                its journal
//   HOME/NAME/                              on this machine, 0700: ca.crt, tls.crt, tls.key of an
//                                           admin, and `coordinator`: BASE/yarn/NAME/address
//
// BASE is .espalier in the user's home directory on HDFS, HOME is .espalier/yarn in that on this
// machine. The authority's own key is kept nowhere.
//
// Thread rule: one thread; the file systems' calls block.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/security/keychain.h"
#include "src/storage/file_system.h"
#include "src/storage/hadoop_config.h"
#include "src/yarn/service_spec.h"

namespace espalier::yarn {

// "hdfs://ns", without a slash at its end. kInvalidArgument: the configuration names no HDFS.
Result<std::string> DefaultHdfs(const storage::HadoopConfig& config);

// BASE: "hdfs://ns/user/ann/.espalier". `home`: "/user/ann".
std::string YarnBase(const std::string& hdfs, const std::string& home);

// The service's folder below the base.
std::string YarnFolder(const std::string& base, const std::string& name);

// Sends the tarball unless one of the same content is there; its URI. `sent` says which.
Result<std::string> SendPackage(const storage::FileSystem& files, const std::string& base,
                                const std::string& local_tarball, bool* sent);

// As properties of one core-site.xml: what clients need to find and use an HDFS. Pure.
Result<std::string> ClientSite(const storage::HadoopConfig& config);

// What the nodes are told of the cluster's Hadoop, and given for it.
struct YarnHadoop {
  std::string site;    // ClientSite
  std::string ca_pem;  // the authorities that HDFS over HTTPS is believed by; "": as each node says
  std::string keytab;  // SECRET: YarnIdentity's
};
// `ca_file`: of this machine, ESPALIER_HADOOP_CA; or empty. kInvalidArgument: it holds no
// certificate.
Result<YarnHadoop> HadoopForNodes(const storage::FileSystem& files,
                                  const storage::HadoopConfig& config, const std::string& ca_file);

// Makes the service's folder anew: certificates of a new authority and what the nodes are told of
// Hadoop. `now_s`: since 1970. REQUIRES: places.hadoop_ca and .keytab say whether there is a ca_pem
// and a keytab.
Status PrepareFolder(const storage::FileSystem& files, const YarnPlaces& places,
                     const std::string& name, const YarnHadoop& hadoop, const std::string& user,
                     const std::string& local_directory, int64_t now_s);

// What is kept on this machine.
struct YarnKept {
  std::string directory;  // HOME/NAME
  security::TlsFiles Tls(const std::string& service) const;
  std::string CoordinatorFile() const { return directory + "/coordinator"; }
};

}  // namespace espalier::yarn
