#include "src/storage/kerberos.h"

#include <gssapi/gssapi.h>
#include <krb5.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "src/base/base64.h"
#include "src/base/mutex.h"
#include "src/base/text.h"
#include "src/storage/kerberos_meanings.h"

namespace espalier::storage {
namespace {

constexpr auto kSlice = std::chrono::milliseconds(100);

const std::string kNoCredentials = "No Kerberos credentials available, ";

// Handles texts with a name in the middle: "Server HTTP/x@R not found in ...".
bool Matches(const KerberosMeaning& meaning, std::string_view words) {
  const size_t star = meaning.text.rfind('*');
  if (star == meaning.text.npos) return words.find(meaning.text) != words.npos;
  const size_t found = words.find(meaning.text.substr(star + 1));
  return found != words.npos &&
         words.substr(0, found).find(meaning.text.substr(0, star)) != words.npos;
}

// ---- the library -----------------------------------------------------------------------------

// Returns the library's messages for a failure: the general one and the mechanism's.
std::string WordsOf(OM_uint32 major, OM_uint32 minor) {
  std::string words;
  for (const auto& [value, type] : {std::pair{major, GSS_C_GSS_CODE}, {minor, GSS_C_MECH_CODE}}) {
    OM_uint32 context = 0, ignored = 0;
    for (int i = 0; i < kKerberosWordsMax; ++i) {
      gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
      if (gss_display_status(&ignored, value, type, GSS_C_NO_OID, &context, &text) !=
          GSS_S_COMPLETE) {
        break;
      }
      if (!words.empty()) words += "; ";
      const std::string_view said(static_cast<const char*>(text.value), text.length);
      words += said.substr(0, said.find('\0'));
      gss_release_buffer(&ignored, &text);
      if (context == 0) break;
    }
  }
  return Printable(words, kKerberosWordsBytesMax);
}

// 1.3.6.1.5.5.2
gss_OID_desc kSpnego = {6, const_cast<char*>("\x2b\x06\x01\x05\x05\x02")};
// Kerberos, 1.2.840.113554.1.2.2
gss_OID_desc kKerberos = {9, const_cast<char*>("\x2a\x86\x48\x86\xf7\x12\x01\x02\x02")};
// GSS_KRB5_NT_PRINCIPAL_NAME, 1.2.840.113554.1.2.2.1
gss_OID_desc kPrincipalName = {10, const_cast<char*>("\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01")};

// Owners that release objects of the library.
struct Name {
  gss_name_t it = GSS_C_NO_NAME;
  ~Name() {
    OM_uint32 ignored = 0;
    if (it != GSS_C_NO_NAME) gss_release_name(&ignored, &it);
  }
};
struct Credential {
  gss_cred_id_t it = GSS_C_NO_CREDENTIAL;
  ~Credential() {
    OM_uint32 ignored = 0;
    if (it != GSS_C_NO_CREDENTIAL) gss_release_cred(&ignored, &it);
  }
};
struct Context {
  gss_ctx_id_t it = GSS_C_NO_CONTEXT;
  ~Context() {
    OM_uint32 ignored = 0;
    if (it != GSS_C_NO_CONTEXT) gss_delete_sec_context(&ignored, &it, GSS_C_NO_BUFFER);
  }
};
struct Buffer {
  gss_buffer_desc it = GSS_C_EMPTY_BUFFER;
  ~Buffer() {
    OM_uint32 ignored = 0;
    gss_release_buffer(&ignored, &it);
  }
};

// Returns where the library looks for tickets and keys: "the ticket cache FILE:/tmp/krb5cc_0 and
// ...".
std::string Places() {
  krb5_context context = nullptr;
  if (krb5_init_context(&context) != 0) return "no krb5.conf could be read";
  const char* cache = krb5_cc_default_name(context);
  std::string places =
      "looked for in the ticket cache " + std::string(cache == nullptr ? "without a name" : cache);
  krb5_keytab keytab = nullptr;
  std::array<char, 1024> name = {};
  if (krb5_kt_client_default(context, &keytab) == 0) {
    if (krb5_kt_get_name(context, keytab, name.data(), name.size()) == 0) {
      places += " and the keytab " + std::string(name.data()) +
                (krb5_kt_have_content(context, keytab) == 0
                     ? ""
                     : ", which is missing, empty, no keytab, or not for this user to read");
    }
    krb5_kt_close(context, keytab);
  }
  krb5_free_context(context);
  return Printable(places, 1024);
}

// Acquires credentials first. Without them the library would report the error only when it looks
// for the service.
Status Acquire(const std::string& doing, Credential* credential) {
  gss_OID_set_desc wanted = {1, &kSpnego};
  OM_uint32 minor = 0;
  const OM_uint32 major = gss_acquire_cred(&minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, &wanted,
                                           GSS_C_INITIATE, &credential->it, nullptr, nullptr);
  if (!GSS_ERROR(major)) return {};
  const std::string words = WordsOf(major, minor);
  // Without any credentials the mechanism's own message is lost.
  return KerberosProblem(doing, words.find("cannot find mechanisms") == words.npos
                                    ? words
                                    : kNoCredentials + Places());
}

// Imports the principal HTTP/HOST@REALM of a host, with the realm from krb5.conf. An empty realm
// leaves the choice to the KDC. The host is used as given, as in Hadoop's own clients. With a name
// from DNS, a false DNS server could choose the service for the proof. The type of the name
// matters: the library resolves hosts in names of the type "service of a host", but not in
// principals.
Status ImportService(const std::string& doing, const std::string& host, Name* name) {
  if (host.find_first_of("/@\\") != host.npos) {
    return PermissionDenied("cannot " + doing + ": the host name has a '/', '@' or '\\'");
  }
  krb5_context context = nullptr;
  if (krb5_init_context(&context) != 0) {
    return PermissionDenied("cannot " + doing + ": no krb5.conf could be read");
  }
  std::string service = "HTTP/" + host + "@";
  std::transform(service.begin() + 5, service.end(), service.begin() + 5,
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  char** realms = nullptr;
  if (krb5_get_host_realm(context, host.c_str(), &realms) == 0) {
    if (realms[0] != nullptr) service += realms[0];
    krb5_free_host_realm(context, realms);
  }
  krb5_free_context(context);
  gss_buffer_desc text = {service.size(), service.data()};
  OM_uint32 minor = 0;
  const OM_uint32 major = gss_import_name(&minor, &text, &kPrincipalName, &name->it);
  if (GSS_ERROR(major)) return KerberosProblem(doing, WordsOf(major, minor));
  return {};
}

std::string Proving(const std::string& host) {
  return "prove our identity to '" + Printable(host, 300) + "' by Kerberos";
}

Result<std::string> Negotiate(const std::string& host) {
  const std::string doing = Proving(host);
  Credential credential;
  ESPALIER_RETURN_IF_ERROR(Acquire(doing, &credential));
  Name name;
  ESPALIER_RETURN_IF_ERROR(ImportService(doing, host, &name));
  OM_uint32 minor = 0;
  Context context;
  Buffer token;
  const OM_uint32 major = gss_init_sec_context(
      &minor, credential.it, &context.it, name.it, &kSpnego, 0, GSS_C_INDEFINITE,
      GSS_C_NO_CHANNEL_BINDINGS, GSS_C_NO_BUFFER, nullptr, &token.it, nullptr, nullptr);
  if (GSS_ERROR(major)) return KerberosProblem(doing, WordsOf(major, minor));
  return "Negotiate " + Base64({static_cast<const char*>(token.it.value), token.it.length});
}

Result<std::string> Principal() {
  const std::string doing = "find out our identity by Kerberos";
  Credential credential;
  ESPALIER_RETURN_IF_ERROR(Acquire(doing, &credential));
  Name name;
  OM_uint32 minor = 0;
  OM_uint32 major = gss_inquire_cred(&minor, credential.it, &name.it, nullptr, nullptr, nullptr);
  // gss_inquire_cred does not report why a keytab gives no ticket. A proof to any service does.
  if (GSS_ERROR(major)) {
    const Status why = Negotiate("localhost").status();
    return why.ok() ? KerberosProblem(doing, WordsOf(major, minor)) : why;
  }
  Buffer text;
  major = gss_display_name(&minor, name.it, &text.it, nullptr);
  if (GSS_ERROR(major)) return KerberosProblem(doing, WordsOf(major, minor));
  return std::string(static_cast<const char*>(text.it.value), text.it.length);
}

// ---- waiting with a limit --------------------------------------------------------------------

std::atomic<int> left_behind{0};

// One call of the library, shared with the thread that runs it.
struct Call {
  Mutex mutex;
  CondVar ended;
  std::optional<Result<std::string>> result GUARDED_BY(mutex);
  bool abandoned GUARDED_BY(mutex) = false;
};

Result<std::string> Limited(const std::string& doing, const KerberosLimits& limits,
                            std::function<Result<std::string>()> work,
                            int64_t* waited_ms = nullptr) {
  if (left_behind >= kKerberosCallsMax) {
    return Unavailable("cannot " + doing + ": no KDC answers, " +
                       std::to_string(left_behind.load()) + " calls wait for one already");
  }
  const auto call = std::make_shared<Call>();
  std::thread([call, work = std::move(work)] {
    Result<std::string> result = work();
    MutexLock lock(call->mutex);
    call->result = std::move(result);
    if (call->abandoned) --left_behind;
    call->ended.NotifyOne();
  }).detach();
  MutexLock lock(call->mutex);
  const auto ended = [&]() REQUIRES(call->mutex) { return call->result.has_value(); };
  for (int64_t waited = 0; !call->ended.WaitFor(call->mutex, kSlice, ended);) {
    waited += kSlice.count();
    if (waited_ms != nullptr) *waited_ms = waited;
    const bool cancelled = limits.cancelled && limits.cancelled();
    if (!cancelled && waited < limits.wait_ms) continue;
    call->abandoned = true;
    ++left_behind;
    if (cancelled) return Cancelled("cannot " + doing + ": it was cancelled");
    return Unavailable("cannot " + doing + ": no KDC answers within " +
                       HumanDuration(limits.wait_ms) +
                       "; is it up, and does krb5.conf (KRB5_CONFIG) name its address?");
  }
  return *std::move(call->result);
}

}  // namespace

Status KerberosProblem(const std::string& doing, const std::string& words) {
  for (const KerberosMeaning& meaning : kKerberosMeanings) {
    if (!Matches(meaning, words)) continue;
    return {meaning.code, "cannot " + doing + ": " + meaning.why + "; " + meaning.fix +
                              " (Kerberos says: " + words + ")"};
  }
  return PermissionDenied("cannot " + doing + ": " + words);
}

std::string GssWords(std::string_view body) {
  const size_t found = body.find("GSSException: ");
  if (found == body.npos) return {};
  body.remove_prefix(found + 14);
  return Printable(body.substr(0, std::min(body.find_first_of("<\r\n"), body.size())), 300);
}

Status RefusedProof(const std::string& who, const std::string& words) {
  if (words.find("Checksum failed") != words.npos) {
    return PermissionDenied(who +
                            " cannot read our Kerberos ticket: its keytab has not the key that the "
                            "KDC has for its principal HTTP/HOST; export its keytab again (" +
                            words + ")");
  }
  return KerberosProblem("be believed by " + who, words);
}

Result<std::string> NegotiateHeader(const std::string& host, const KerberosLimits& limits,
                                    int64_t* waited_ms) {
  return Limited(
      Proving(host), limits, [host] { return Negotiate(host); }, waited_ms);
}

Result<std::string> ServicePrincipal(const std::string& host) {
  const std::string doing = Proving(host);
  Name given, its;
  ESPALIER_RETURN_IF_ERROR(ImportService(doing, host, &given));
  OM_uint32 minor = 0;
  // As in gss_init_sec_context, which requests a ticket for this name.
  OM_uint32 major = gss_canonicalize_name(&minor, given.it, &kKerberos, &its.it);
  if (GSS_ERROR(major)) return KerberosProblem(doing, WordsOf(major, minor));
  Buffer text;
  major = gss_display_name(&minor, its.it, &text.it, nullptr);
  if (GSS_ERROR(major)) return KerberosProblem(doing, WordsOf(major, minor));
  return std::string(static_cast<const char*>(text.it.value), text.it.length);
}

Result<std::string> OwnPrincipal(const KerberosLimits& limits) {
  return Limited("find out our identity by Kerberos", limits, Principal);
}

}  // namespace espalier::storage
