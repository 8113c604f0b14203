#include "src/yarn/staging.h"

#include <algorithm>
#include <vector>

#include "src/base/checksum.h"
#include "src/base/text.h"
#include "src/security/issue.h"
#include "src/security/secret_file.h"

namespace espalier::yarn {
namespace {

constexpr int64_t kPackageBytesMax = int64_t{1} << 30;
// Hadoop properties for access to its file systems.
constexpr const char* kClientProperties[] = {"fs.defaultFS", "dfs.", "hadoop.security.",
                                             "hadoop.rpc."};
// Parts of property names that may hold a secret. These properties are excluded.
constexpr const char* kSecretWords[] = {"password", "secret", "credential", "keytab"};

bool IsForClients(const std::string& name) {
  const auto begins = [&name](const char* prefix) { return name.starts_with(prefix); };
  const auto holds = [&name](const char* word) { return name.find(word) != std::string::npos; };
  return std::any_of(std::begin(kClientProperties), std::end(kClientProperties), begins) &&
         std::none_of(std::begin(kSecretWords), std::end(kSecretWords), holds);
}

std::string XmlText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string RoleNameOf(std::string_view user) {
  std::string out;
  for (const char c : user) out += security::CheckRoleName("a" + std::string(1, c)).ok() ? c : '-';
  return security::CheckRoleName(out).ok() ? out : "user";
}

Status WriteKeptFiles(const storage::FileSystem& files, const std::string& directory,
                      const security::KeyAndCertificate& own, const std::string& ca_pem,
                      const std::string& address) {
  ESPALIER_RETURN_IF_ERROR(files.RemoveTree(directory));
  ESPALIER_RETURN_IF_ERROR(files.MakeDirectory(directory));
  ESPALIER_RETURN_IF_ERROR(files.Restrict(directory));
  ESPALIER_RETURN_IF_ERROR(
      security::WriteNewFile(directory + "/tls.key", own.key_pem, security::Secrecy::kSecret));
  ESPALIER_RETURN_IF_ERROR(security::WriteNewFile(directory + "/tls.crt", own.certificate_pem,
                                                  security::Secrecy::kPublic));
  ESPALIER_RETURN_IF_ERROR(
      security::WriteNewFile(directory + "/ca.crt", ca_pem, security::Secrecy::kPublic));
  return security::WriteNewFile(directory + "/coordinator", address + "\n",
                                security::Secrecy::kPublic);
}

}  // namespace

Result<std::string> DefaultHdfs(const storage::HadoopConfig& config) {
  ESPALIER_ASSIGN_OR_RETURN(std::string base, config.Get("fs.defaultFS"));
  if (!base.starts_with("hdfs://")) {
    return InvalidArgument(
        "fs.defaultFS: found '" + Printable(base) + "' in " + config.origin() +
        ", expected hdfs://...: YARN fetches what its containers run from there");
  }
  while (base.ends_with('/')) base.pop_back();
  return base;
}

std::string YarnBase(const std::string& hdfs, const std::string& home) {
  return hdfs + home + "/.espalier";
}

std::string YarnFolder(const std::string& base, const std::string& name) {
  return base + "/yarn/" + name;
}

Result<std::string> SendPackage(const storage::FileSystem& files, const std::string& base,
                                const std::string& local_tarball, bool* sent) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string content,
                            files.ReadAll(local_tarball, kPackageBytesMax));
  const std::string uri = base + "/packages/espalier-" + Sha256Hex(content) + ".tar.gz";
  const Result<storage::FileInfo> there = files.Stat(uri);
  *sent = false;
  if (there.ok() && there->length == static_cast<int64_t>(content.size())) return uri;
  if (!there.ok() && there.status().code() != StatusCode::kNotFound) return there.status();
  ESPALIER_RETURN_IF_ERROR(files.MakeDirectory(base + "/packages"));
  ESPALIER_RETURN_IF_ERROR(files.WriteAtomically(uri, content));
  *sent = true;
  return uri;
}

Result<std::string> ClientSite(const storage::HadoopConfig& config) {
  std::string out = "<?xml version=\"1.0\"?>\n<configuration>\n";
  for (const std::string& name : config.Names()) {
    if (!IsForClients(name)) continue;
    ESPALIER_ASSIGN_OR_RETURN(const std::string value, config.Get(name));
    out += "  <property><name>" + XmlText(name) + "</name><value>" + XmlText(value) +
           "</value></property>\n";
  }
  return out + "</configuration>\n";
}

Result<YarnHadoop> HadoopForNodes(const storage::FileSystem& files,
                                  const storage::HadoopConfig& config, const std::string& ca_file) {
  YarnHadoop out;
  ESPALIER_ASSIGN_OR_RETURN(out.site, ClientSite(config));
  if (ca_file.empty()) return out;
  const auto unfit = [](const Status& why) {
    return InvalidArgument("ESPALIER_HADOOP_CA, the file for the containers: " + why.message() +
                           "; expected the PEM file of the authorities to trust for HDFS over "
                           "HTTPS");
  };
  Result<std::string> pem = files.ReadAll(ca_file, security::kPemBytesMax);
  if (!pem.ok()) return unfit(pem.status());
  if (const auto trust = security::Trust::Parse(*pem, ca_file); !trust.ok())
    return unfit(trust.status());
  out.ca_pem = *std::move(pem);
  return out;
}

Status PrepareFolder(const storage::FileSystem& files, const YarnPlaces& places,
                     const std::string& name, const YarnHadoop& hadoop, const std::string& user,
                     const std::string& local_directory, int64_t now_s) {
  ESPALIER_ASSIGN_OR_RETURN(const security::KeyAndCertificate authority,
                            security::MakeAuthority("Espalier on YARN: " + name, now_s));
  const auto issue = [&](security::Role role, const std::string& holder,
                         std::vector<std::string> hosts) {
    return security::Issue(authority, {.role = role, .name = holder, .hosts = std::move(hosts)},
                           now_s);
  };
  // The coordinator may run on any node, so its certificate names the service instead of a host.
  ESPALIER_ASSIGN_OR_RETURN(const security::KeyAndCertificate coordinator,
                            issue(security::Role::kCoordinator, name, {name}));
  ESPALIER_ASSIGN_OR_RETURN(const security::KeyAndCertificate worker,
                            issue(security::Role::kWorker, "worker", {}));
  ESPALIER_ASSIGN_OR_RETURN(const security::KeyAndCertificate person,
                            issue(security::Role::kAdmin, RoleNameOf(user), {}));
  ESPALIER_RETURN_IF_ERROR(files.RemoveTree(places.folder));
  ESPALIER_RETURN_IF_ERROR(files.MakeDirectory(places.folder));
  ESPALIER_RETURN_IF_ERROR(files.Restrict(places.folder));  // before the folder contains secrets
  std::vector<std::pair<const char*, const std::string*>> written = {
      {"ca.crt", &authority.certificate_pem},    {"coordinator.crt", &coordinator.certificate_pem},
      {"coordinator.key", &coordinator.key_pem}, {"worker.crt", &worker.certificate_pem},
      {"worker.key", &worker.key_pem},           {"core-site.xml", &hadoop.site}};
  if (places.hadoop_ca) written.emplace_back(kHadoopCaFile, &hadoop.ca_pem);
  if (places.keytab) written.emplace_back(kKeytabFile, &hadoop.keytab);
  for (const auto& [file, text] : written) {
    ESPALIER_RETURN_IF_ERROR(files.CreateExclusively(places.File(file), *text));
    ESPALIER_RETURN_IF_ERROR(files.Restrict(places.File(file)));
  }
  return WriteKeptFiles(files, local_directory, person, authority.certificate_pem,
                        places.address());
}

security::TlsFiles YarnKept::Tls(const std::string& service) const {
  return {.ca = directory + "/ca.crt",
          .certificate = directory + "/tls.crt",
          .key = directory + "/tls.key",
          .server_name = service};
}

}  // namespace espalier::yarn
