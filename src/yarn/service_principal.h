// By whom a service logs in where YARN has Kerberos. YARN's own master of a service does so by
// itself, with a keytab that lies on HDFS: a person's ticket ends after a day, and nobody hands it
// new ones. Coordinator and workers use the same keytab: they run as the same user on the same
// nodes, so that secrets of their own would protect nothing.
//
// Thread rule: pure functions.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/storage/hadoop_config.h"

namespace espalier::yarn {

// What --principal and --keytab give; both empty where there is no Kerberos.
struct YarnIdentity {
  std::string principal;  // "ann/host@REALM"; _HOST stands for each node's own name
  std::string keytab;     // SECRET: the file's bytes
};

// Whether Hadoop's configuration says so.
Result<bool> HasKerberos(const storage::HadoopConfig& config);

// kInvalidArgument unless YARN takes it for a service: NAME/HOST@REALM, of letters, digits and
// . _ -, as it stands in a command of YARN's.
Status CheckPrincipal(const std::string& principal);

// kInvalidArgument: the bytes are no keytab, it holds no key of the principal, or who uses it
// without naming a principal, as the containers' programs do, is somebody else. `shown` names the
// file. REQUIRES: CheckPrincipal.
Status CheckKeytab(const YarnIdentity& identity, const std::string& shown);

}  // namespace espalier::yarn
