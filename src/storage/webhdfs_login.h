// Authentication of calls to the NameNodes of one HDFS. In this order:
//   a token of the job     provided by the coordinator (token_store.h)
//   a token of the file    that YARN gave to this container (hadoop_token.h)
//   Kerberos               if Hadoop's configuration enables it, or a NameNode requires it
//   a name                 user.name, which an HDFS without security accepts
//
// DataNodes need no authentication, because the NameNode's redirect contains its own proof.
//
// Thread rule: const calls from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/storage/kerberos.h"
#include "src/storage/token_store.h"
#include "src/storage/webhdfs_protocol.h"

namespace espalier::storage {

struct LoginOptions {
  std::string user;       // sent as user.name; empty: none, HDFS uses its default
  bool kerberos = false;  // from the configuration
  std::shared_ptr<const TokenStore> tokens;  // tokens of a job; may be null
  std::string file_token;                    // SECRET; empty: none
};

class WebHdfsLogin {
 public:
  enum class Kind { kName, kJobToken, kFileToken, kKerberos };
  // SECRET, except for the kind.
  struct Proof {
    Kind kind = Kind::kName;
    Parameters parameters;      // query parameters of the URL
    std::string authorization;  // header; empty: none
    std::string token;          // token in the parameters
  };

  WebHdfsLogin(LoginOptions options, std::string prefix, KerberosLimits limits)
      : options_(std::move(options)),
        prefix_(std::move(prefix)),
        limits_(std::move(limits)),
        kerberos_(options_.kerberos) {}

  // Returns the proof for one call to the NameNode on `host`. Errors and `waited_ms` are those of
  // NegotiateHeader.
  Result<Proof> Make(const std::string& host, int64_t* waited_ms) const;
  // Switches to Kerberos. Called if a NameNode requires it although a name was sent.
  void UseKerberos() const { kerberos_ = true; }
  // Call after the proof's token was refused. Returns true if another attempt may help.
  bool MayHaveAnother(const Proof& proof) const;

 private:
  const LoginOptions options_;
  const std::string prefix_;
  const KerberosLimits limits_;
  mutable std::atomic<bool> kerberos_;
};

}  // namespace espalier::storage
