// The Kerberos identity of this process, and its proof to a service that requires SPNEGO.
//
// The system library (MIT's libgssapi) finds the identity. It uses the keytab in
// KRB5_CLIENT_KTNAME, and fetches and renews tickets itself. Without a keytab it uses the tickets
// of the cache in KRB5CCNAME, or of the default cache. KRB5_CONFIG or /etc/krb5.conf define realm
// and KDCs.
//
// The library waits for a KDC that does not answer and cannot be interrupted. Each call therefore
// runs on a separate thread, which is abandoned after its time limit.
//
// Thread rule: safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace espalier::storage {

inline constexpr int kKerberosCallsMax = 16;           // abandoned calls that wait for a KDC
inline constexpr int kKerberosWordsMax = 8;            // messages of one failure
inline constexpr size_t kKerberosWordsBytesMax = 400;  // bytes of all messages

struct KerberosLimits {
  int64_t wait_ms = 30'000;         // time for the library, which may wait for KDCs
  std::function<bool()> cancelled;  // called about every 100 ms; true ends the wait; may be empty
};

// Returns the value of an Authorization header for the service HTTP on `host` (a name in the KDC,
// not an address): "Negotiate ...". It is SECRET, and valid for one request within minutes.
// kPermissionDenied: the message states the problem and its fix (KerberosProblem). kUnavailable: no
// KDC answers. kCancelled: the wait was cancelled. `waited_ms`, if given, is set to the duration of
// a long wait.
Result<std::string> NegotiateHeader(const std::string& host, const KerberosLimits& limits,
                                    int64_t* waited_ms = nullptr);

// Returns the principal to which NegotiateHeader proves our identity: "HTTP/HOST@REALM", with the
// host as given, in lower case, and the realm that krb5.conf gives for it. Never asks DNS for
// another name of the host, whatever krb5.conf says.
Result<std::string> ServicePrincipal(const std::string& host);

// Returns this process's own principal, "name@REALM". Errors are the same.
Result<std::string> OwnPrincipal(const KerberosLimits& limits);

// Returns the error for a message of the Kerberos library or of a server. `doing` is, for example,
// "prove our identity to 'localhost' by Kerberos". A pure function.
Status KerberosProblem(const std::string& doing, const std::string& words);

// Returns Java's Kerberos message in an error page, "... (Mechanism level: WORDS)", or "".
std::string GssWords(std::string_view body);
// Returns the error for a message of `who`, for example "the NameNode HOST", that rejects the
// proof.
Status RefusedProof(const std::string& who, const std::string& words);

}  // namespace espalier::storage
