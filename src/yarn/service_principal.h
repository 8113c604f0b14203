// The login of a service in a YARN cluster with Kerberos. YARN's own master of a service logs in by
// itself, with a keytab on HDFS. A person's ticket ends after a day, and the service gets no new
// ones. Coordinator and workers use the same keytab. They run as the same user on the same nodes,
// so separate secrets would protect nothing.
//
// Thread rule: pure functions.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/storage/hadoop_config.h"

namespace espalier::yarn {

// Values of --principal and --keytab; both empty without Kerberos.
struct YarnIdentity {
  std::string principal;  // "ann/host@REALM"; _HOST is each node's name
  std::string keytab;     // SECRET: bytes of the file
};

// Returns whether Hadoop's configuration enables Kerberos.
Result<bool> HasKerberos(const storage::HadoopConfig& config);

// Returns kInvalidArgument unless YARN accepts the principal for a service: NAME/HOST@REALM, of
// letters, digits and . _ -, because YARN inserts it in a command.
Status CheckPrincipal(const std::string& principal);

// Returns kInvalidArgument if the bytes are not a keytab or contain no key of the principal. Also
// returns it if the default principal of the keytab is a different one, because the programs in the
// containers do not name a principal. `shown` names the file. REQUIRES: CheckPrincipal.
Status CheckKeytab(const YarnIdentity& identity, const std::string& shown);

}  // namespace espalier::yarn
