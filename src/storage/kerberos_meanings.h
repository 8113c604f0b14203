// Meanings of the error texts of Kerberos libraries and servers.
//
// Thread rule: values.
#pragma once

#include <array>
#include <string_view>

#include "src/base/status.h"

namespace espalier::storage {

struct KerberosMeaning {
  std::string_view text;  // part of the error text; "*" matches a name
  StatusCode code;
  const char* why;
  const char* fix;  // imperative
};

inline constexpr const char* kKerberosGetTicket =
    "name a keytab by KRB5_CLIENT_KTNAME (daemons), or get a ticket with kinit (people)";
inline constexpr const char* kKerberosWrongKeys =
    "the keys of the keytab are not, or no longer, those of its principal";

// The first match is used.
inline constexpr std::array kKerberosMeanings = {
    KerberosMeaning{
        "Clock skew too great", StatusCode::kPermissionDenied,
        "the clocks of this host, of the KDC and of the server differ by more than Kerberos "
        "allows (5 minutes unless configured otherwise)",
        "set them by NTP"},
    KerberosMeaning{
        "not yet valid", StatusCode::kPermissionDenied,
        "the ticket begins in the future: the clocks of this host and of the KDC differ",
        "set them by NTP"},
    KerberosMeaning{"Cannot contact any KDC", StatusCode::kUnavailable, "no KDC answers",
                    "is it up, and does krb5.conf (KRB5_CONFIG) name its address?"},
    KerberosMeaning{"Cannot find KDC", StatusCode::kPermissionDenied,
                    "the realm's KDC is not known",
                    "name it in krb5.conf (KRB5_CONFIG) under [realms]"},
    KerberosMeaning{"Cannot resolve", StatusCode::kUnavailable, "the KDC's host name is not known",
                    "see krb5.conf (KRB5_CONFIG)"},
    KerberosMeaning{
        "default realm", StatusCode::kPermissionDenied, "no Kerberos realm is configured",
        "name the cluster's krb5.conf by KRB5_CONFIG, or set default_realm in /etc/krb5.conf"},
    KerberosMeaning{"Server*not found in Kerberos database", StatusCode::kPermissionDenied,
                    "the KDC knows no service of that host name",
                    "name the server by the host name in its principal HTTP/HOST, not by "
                    "an address or another name"},
    KerberosMeaning{"Client*not found in Kerberos database", StatusCode::kPermissionDenied,
                    "the KDC does not know the principal of the keytab or ticket",
                    "is the keytab of this realm, and the principal still there?"},
    KerberosMeaning{"Preauthentication failed", StatusCode::kPermissionDenied, kKerberosWrongKeys,
                    "export the keytab again"},
    KerberosMeaning{"Decrypt integrity check failed", StatusCode::kPermissionDenied,
                    kKerberosWrongKeys, "export the keytab again"},
    KerberosMeaning{"Password incorrect", StatusCode::kPermissionDenied, kKerberosWrongKeys,
                    "export the keytab again"},
    KerberosMeaning{"Key table file", StatusCode::kPermissionDenied, "the keytab cannot be read",
                    "KRB5_CLIENT_KTNAME must name a keytab that this user may read"},
    KerberosMeaning{"Permission denied", StatusCode::kPermissionDenied,
                    "the keytab or ticket cache cannot be read",
                    "KRB5_CLIENT_KTNAME and KRB5CCNAME must name files that this user may read"},
    KerberosMeaning{"Unsupported key table format", StatusCode::kPermissionDenied,
                    "the file is not a keytab",
                    "KRB5_CLIENT_KTNAME must name one that ktutil or kadmin wrote"},
    KerberosMeaning{"Bad format in credentials cache", StatusCode::kPermissionDenied,
                    "the ticket cache is damaged", "remove it and get a ticket with kinit"},
    KerberosMeaning{"encryption type", StatusCode::kPermissionDenied,
                    "client, KDC and service have no encryption type in common",
                    "see permitted_enctypes in krb5.conf, and the keys of both principals"},
    KerberosMeaning{
        "xpired", StatusCode::kPermissionDenied, "the Kerberos ticket has expired",
        "get a new one with kinit, or name a keytab by KRB5_CLIENT_KTNAME, which needs no "
        "renewing by hand"},
    KerberosMeaning{"No Kerberos credentials available", StatusCode::kPermissionDenied,
                    "neither a Kerberos ticket nor a keytab was found", kKerberosGetTicket},
    KerberosMeaning{"No credentials were supplied", StatusCode::kPermissionDenied,
                    "neither a Kerberos ticket nor a keytab was found", kKerberosGetTicket},
    KerberosMeaning{
        "not found in Kerberos database", StatusCode::kPermissionDenied,
        "the KDC does not know one of the principals",
        "see that the server is named by the host in its principal HTTP/HOST, and that the "
        "keytab is of this realm"},
};

}  // namespace espalier::storage
