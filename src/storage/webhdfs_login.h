// How calls to the NameNodes of one HDFS say who makes them. In this order:
//   a token of the job     handed out by the coordinator (token_store.h)
//   a token of the file    that YARN gave to this container (hadoop_token.h)
//   Kerberos               where Hadoop's configuration says so, or a NameNode asks for it
//   a name                 user.name, which an HDFS without security believes
// Data nodes are not told: what the NameNode redirects to carries its own proof.
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
  std::string user;       // sent as user.name; empty: none, and HDFS takes its own default
  bool kerberos = false;  // as the configuration says
  std::shared_ptr<const TokenStore> tokens;  // of a job; may be null
  std::string file_token;                    // SECRET; empty: none
};

class WebHdfsLogin {
 public:
  enum class Kind { kName, kJobToken, kFileToken, kKerberos };
  // SECRET, all but the kind.
  struct Proof {
    Kind kind = Kind::kName;
    Parameters parameters;      // of the call's address
    std::string authorization;  // header; empty: none
    std::string token;          // that is shown
  };

  WebHdfsLogin(LoginOptions options, std::string prefix, KerberosLimits limits)
      : options_(std::move(options)),
        prefix_(std::move(prefix)),
        limits_(std::move(limits)),
        kerberos_(options_.kerberos) {}

  // For one call to the NameNode on `host`. Errors as NegotiateHeader's; `waited_ms` too.
  Result<Proof> Make(const std::string& host, int64_t* waited_ms) const;
  // A NameNode asks for Kerberos though a name was told: from now on it is used.
  void UseKerberos() const { kerberos_ = true; }
  // The proof's token was refused. True: another try may help.
  bool MayHaveAnother(const Proof& proof) const;

 private:
  const LoginOptions options_;
  const std::string prefix_;
  const KerberosLimits limits_;
  mutable std::atomic<bool> kerberos_;
};

}  // namespace espalier::storage
