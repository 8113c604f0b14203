// `espalier certs init`, `issue`, `revoke` and `compare`: an authority and certificates for a
// cluster without any. Nothing is overwritten except the revocation list.
#include <sys/stat.h>

#include <cerrno>
#include <chrono>

#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/exit_code.h"
#include "src/cli/json.h"
#include "src/security/secret_file.h"
#include "src/security/trust_replacement.h"
#include "src/storage/file_system.h"
#include "src/storage/local_file_system.h"

namespace espalier::cli {
namespace {

constexpr const char* kDirectory = "espalier-ca";
constexpr const char* kAuthority = "Espalier CA";
constexpr const char* kTrust = "/trust.pem";  // authority's certificate and revocation list

int64_t NowS() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string DirectoryOf(const CliOptions& options) {
  return options.certs_directory.empty() ? kDirectory : options.certs_directory;
}

// Creates a directory for the current user only. An existing one is accepted if `old_too`.
Status MakeDirectory(const std::string& path, bool old_too) {
  if (mkdir(path.c_str(), 0700) == 0 || (errno == EEXIST && old_too)) return Status::Ok();
  if (errno == EEXIST) {
    return AlreadyExists(QuotedPath(path) +
                         " exists, and is not overwritten. Give another --output");
  }
  return storage::CreationError(errno, "make the directory", path);
}

Status InitFiles(const CliOptions& options) {
  const std::string directory = DirectoryOf(options);
  ESPALIER_ASSIGN_OR_RETURN(
      const security::KeyAndCertificate authority,
      security::MakeAuthority(options.authority_name.empty() ? kAuthority : options.authority_name,
                              NowS()));
  ESPALIER_RETURN_IF_ERROR(MakeDirectory(directory, true));
  // The key first: an existing key means that an authority exists.
  ESPALIER_RETURN_IF_ERROR(
      security::WriteNewFile(directory + "/ca.key", authority.key_pem, security::Secrecy::kSecret));
  return security::WriteNewFile(directory + "/ca.crt", authority.certificate_pem,
                                security::Secrecy::kPublic);
}

Result<security::KeyAndCertificate> ReadAuthority(const std::string& directory) {
  security::KeyAndCertificate out;
  const auto mend = [](const Status& s) {
    return s.code() == StatusCode::kNotFound
               ? NotFound(s.message() + ". Run `espalier certs init` to create an authority")
               : s;
  };
  auto certificate = security::ReadSmallFile(directory + "/ca.crt", security::Secrecy::kPublic,
                                             security::kPemBytesMax, "authority");
  if (!certificate.ok()) return mend(certificate.status());
  auto key = security::ReadSmallFile(directory + "/ca.key", security::Secrecy::kSecret,
                                     security::kPemBytesMax, "authority");
  if (!key.ok()) return mend(key.status());
  return security::KeyAndCertificate{*std::move(key), *std::move(certificate)};
}

// Reads the authority's file with its latest list; empty: no certificate has been revoked.
Result<std::string> ReadList(const std::string& directory) {
  auto text = security::ReadSmallFile(directory + kTrust, security::Secrecy::kPublic,
                                      security::kPemBytesMax, "revocation list");
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) return std::string();
  return text;
}

// Returns the created directory.
Result<std::string> IssueFiles(const CliOptions& options) {
  const std::string authority_at = DirectoryOf(options);
  ESPALIER_ASSIGN_OR_RETURN(const security::KeyAndCertificate authority,
                            ReadAuthority(authority_at));
  ESPALIER_ASSIGN_OR_RETURN(const std::string list, ReadList(authority_at));
  Result<std::string> trust = security::TrustOf(authority, list);
  if (!trust.ok()) return trust.status().Wrap(QuotedPath(authority_at + kTrust));
  ESPALIER_ASSIGN_OR_RETURN(const security::KeyAndCertificate issued,
                            security::Issue(authority, options.certificate, NowS()));
  const std::string output = options.certs_output.empty()
                                 ? authority_at + "/" +
                                       security::RoleName(options.certificate.role) + "-" +
                                       options.certificate.name
                                 : options.certs_output;
  ESPALIER_RETURN_IF_ERROR(MakeDirectory(output, false));
  ESPALIER_RETURN_IF_ERROR(
      security::WriteNewFile(output + "/tls.key", issued.key_pem, security::Secrecy::kSecret));
  ESPALIER_RETURN_IF_ERROR(security::WriteNewFile(output + "/tls.crt", issued.certificate_pem,
                                                  security::Secrecy::kPublic));
  ESPALIER_RETURN_IF_ERROR(
      security::WriteNewFile(output + "/ca.crt", *trust, security::Secrecy::kPublic));
  return output;
}

// Returns the written file.
Result<std::string> RevokeIn(const CliOptions& options) {
  const std::string path = DirectoryOf(options) + kTrust;
  ESPALIER_ASSIGN_OR_RETURN(const security::KeyAndCertificate authority,
                            ReadAuthority(DirectoryOf(options)));
  ESPALIER_ASSIGN_OR_RETURN(
      const std::string revoked,
      security::ReadSmallFile(options.revoked, security::Secrecy::kPublic, security::kPemBytesMax,
                              "the certificate to revoke"));
  ESPALIER_ASSIGN_OR_RETURN(const std::string list_so_far, ReadList(DirectoryOf(options)));
  ESPALIER_ASSIGN_OR_RETURN(const std::string list,
                            security::Revoke(authority, list_so_far, revoked, NowS()));
  const auto files = storage::MakeFileSystem();
  ESPALIER_RETURN_IF_ERROR(files->WriteAtomically(path, authority.certificate_pem + list));
  return path;
}

Status CompareFiles(const CliOptions& options) {
  const auto read = [](const std::string& path) {
    return security::ReadSmallFile(path, security::Secrecy::kPublic, security::kPemBytesMax,
                                   "CA file");
  };
  ESPALIER_ASSIGN_OR_RETURN(const std::string before, read(options.compared[0]));
  ESPALIER_ASSIGN_OR_RETURN(const std::string after, read(options.compared[1]));
  return security::CheckReplaces({before, options.compared[0]}, {after, options.compared[1]});
}

std::string NextSteps(const security::CertificateRequest& request, const std::string& at) {
  const std::string files = "--tls-ca " + at + "/ca.crt --tls-certificate " + at +
                            "/tls.crt --tls-key " + at + "/tls.key";
  switch (request.role) {
    case security::Role::kCoordinator:
      return "Copy it to the coordinator's host, then\n  espalier-coordinator --listen "
             "0.0.0.0:7700 " +
             files + "\n";
    case security::Role::kWorker:
      return "Copy it to the worker's host, then\n  espalier-worker --name " + request.name +
             " --listen 0.0.0.0:7701 --advertise " +
             (request.hosts.empty() ? "HOST" : request.hosts[0]) + " --coordinator HOST:7700 " +
             files + "\n";
    default:
      return "Give it to " + request.name +
             ". The holder then sets\n  export ESPALIER_TLS_CA=" + at +
             "/ca.crt ESPALIER_TLS_CERTIFICATE=" + at + "/tls.crt ESPALIER_TLS_KEY=" + at +
             "/tls.key\n  espalier list --coordinator HOST:7700\n";
  }
}

}  // namespace

int RunCertsInit(const CommandContext& context) {
  if (const Status made = InitFiles(context.options); !made.ok())
    return ShowError(context, made, ExitCodeOf(made));
  const std::string directory = DirectoryOf(context.options);
  if (context.options.json) {
    context.console.Out(JsonLine({{"authority", directory}}));
    return kExitSuccess;
  }
  context.console.Out(
      "An authority for ten years is in " + directory +
      "/: every host needs ca.crt, ca.key signs "
      "certificates and must stay secret.\nNext:\n  espalier certs issue coordinator NAME --host "
      "HOST\n  espalier certs issue worker NAME\n  espalier certs issue operator NAME\n"
      "  espalier certs issue admin NAME\n");
  return kExitSuccess;
}

int RunCertsIssue(const CommandContext& context) {
  const Result<std::string> made = IssueFiles(context.options);
  if (!made.ok()) return ShowError(context, made.status(), ExitCodeOf(made.status()));
  const security::CertificateRequest& request = context.options.certificate;
  if (context.options.json) {
    context.console.Out(JsonLine({{"certificate", *made},
                                  {"role", security::RoleName(request.role)},
                                  {"name", request.name},
                                  {"days", request.days}}));
    return kExitSuccess;
  }
  context.console.Out("The certificate of " + std::string(security::RoleName(request.role)) + " " +
                      request.name + ", for " + Counted(request.days, "day") + ", is in " + *made +
                      "/ (ca.crt, tls.crt and the secret tls.key).\n" + NextSteps(request, *made));
  return kExitSuccess;
}

int RunCertsRevoke(const CommandContext& context) {
  const Result<std::string> written = RevokeIn(context.options);
  if (!written.ok()) return ShowError(context, written.status(), ExitCodeOf(written.status()));
  if (context.options.json) {
    context.console.Out(JsonLine({{"trust", *written}}));
    return kExitSuccess;
  }
  context.console.Out("Revoked. " + *written +
                      " is the authority with its list of revoked certificates: put it in the "
                      "place of each daemon's and client's ca file (ca.crt, tls.ca), all at once "
                      "by a rename. Daemons read it within some seconds and end what is open of "
                      "those on it.\n");
  return kExitSuccess;
}

int RunCertsCompare(const CommandContext& context) {
  if (const Status may = CompareFiles(context.options); !may.ok())
    return ShowError(context, may, ExitCodeOf(may));
  if (context.options.json) {
    context.console.Out(JsonLine({{"replaces", true}}));
    return kExitSuccess;
  }
  context.console.Out(context.options.compared[1] + " may take the place of " +
                      context.options.compared[0] +
                      ": certificates that are refused stay refused.\n");
  return kExitSuccess;
}

}  // namespace espalier::cli
