// Who this process is by Kerberos, and its proof to a service that asks for SPNEGO.
//
// The identity is the system library's (MIT's libgssapi) to find: the keytab that
// KRB5_CLIENT_KTNAME names, with tickets fetched and renewed by itself; else the tickets of the
// cache that KRB5CCNAME names, or of the default one. Realm and KDCs are those of KRB5_CONFIG or
// /etc/krb5.conf.
//
// The library waits for a KDC that does not answer, and cannot be interrupted: each call runs on a
// thread of its own and is left behind when its limit is over.
// Thread rule: safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace espalier::storage {

inline constexpr int kKerberosCallsMax = 16;           // that still wait for a KDC
inline constexpr int kKerberosWordsMax = 8;            // messages of one failure
inline constexpr size_t kKerberosWordsBytesMax = 400;  // of all of them

struct KerberosLimits {
  int64_t wait_ms = 30'000;         // for the library, which may wait for KDCs
  std::function<bool()> cancelled;  // asked about every 100 ms; true ends the wait; may be empty
};

// The value of an Authorization header for the service HTTP on `host` (a name that the KDC knows,
// not an address): "Negotiate ...". It is SECRET, and good for one request within minutes.
// kPermissionDenied: what is missing or wrong, and how to mend it (KerberosProblem); kUnavailable:
// no KDC answers; kCancelled. `waited_ms`, if given, is set to what the wait took when it was long.
Result<std::string> NegotiateHeader(const std::string& host, const KerberosLimits& limits,
                                    int64_t* waited_ms = nullptr);

// This process's own principal: "name@REALM". Errors as above.
Result<std::string> OwnPrincipal(const KerberosLimits& limits);

// The error for the words in which Kerberos' library, or a server's, says what failed. `doing`:
// "prove who we are to localhost". A pure function.
Status KerberosProblem(const std::string& doing, const std::string& words);

// What Java's Kerberos says in a page of an error: "... (Mechanism level: WORDS)"; or nothing.
std::string GssWords(std::string_view body);
// The error for such words of `who`, "the NameNode HOST", which does not take our proof.
Status RefusedProof(const std::string& who, const std::string& words);

}  // namespace espalier::storage
