#include "src/storage/file_systems.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "src/base/mutex.h"
#include "src/base/text.h"
#include "src/storage/hadoop_config.h"
#include "src/storage/hadoop_token.h"
#include "src/storage/local_file_system.h"
#include "src/storage/name_nodes.h"
#include "src/storage/uri.h"
#include "src/storage/webhdfs_file_system.h"

namespace espalier::storage {
namespace {

// Returns the text of this file system's token in the file, or "".
Result<std::string> FileToken(const std::string& file, const Uri& uri, const HadoopConfig& config,
                              const std::vector<NameNode>& name_nodes) {
  const std::string what = "the file that HADOOP_TOKEN_FILE_LOCATION names";
  const auto bytes = MakeLocalFileSystem()->ReadAll(file, kTokenFileBytesMax);
  if (!bytes.ok()) {
    return Status(bytes.status().code(), what + ": " + bytes.status().message());
  }
  const auto tokens = ParseTokenFile(*bytes);
  if (!tokens.ok()) {
    return InvalidArgument(what + ", '" + Printable(file, 1024) +
                           "': " + tokens.status().message());
  }
  const HadoopToken* token = TokenFor(*tokens, TokenServices(uri, config, name_nodes));
  return token == nullptr ? "" : TokenText(*token);
}

// Returns the paths of the local URIs, or of the others.
std::vector<std::string> PathsOf(const std::vector<std::string>& uris, bool local) {
  std::vector<std::string> paths;
  for (const std::string& text : uris) {
    const Result<Uri> uri = ParseUri(text);
    if (!uri.ok() || (uri->kind == Uri::Kind::kLocal) != local) continue;
    std::string path = uri->path;
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    paths.push_back(std::move(path));
  }
  return paths;
}

// Returns whether an HDFS may resolve the path to a file with another path.
// /.reserved/.inodes/ID/REST and /.reserved/raw/PATH lead to any file, and
// DIRECTORY/.snapshot/NAME/REST to its former content. (Neither name can be that of a file.)
bool IsByway(const std::string& path) {
  return path == "/.reserved" || path.starts_with("/.reserved/") ||
         (path + "/").find("/.snapshot/") != std::string::npos;
}

Result<HadoopConfig> ReadConfig(const StorageOptions& options) {
  if (options.hadoop_conf_dir.empty()) return HadoopConfig();
  return HadoopConfig::Read(options.hadoop_conf_dir, options.webhdfs.user);
}

class AnyFileSystem : public FileSystem {
 public:
  explicit AnyFileSystem(StorageOptions options) : options_(std::move(options)) {}

  Result<std::vector<FileInfo>> List(const std::string& pattern) const override {
    ESPALIER_ASSIGN_OR_RETURN(const auto files, For(pattern));
    return files->List(pattern);
  }
  Result<std::vector<std::string>> Names(const std::string& directory) const override {
    ESPALIER_ASSIGN_OR_RETURN(const auto files, For(directory));
    return files->Names(directory);
  }
  Result<FileInfo> Stat(const std::string& path) const override {
    ESPALIER_ASSIGN_OR_RETURN(const auto files, For(path));
    return files->Stat(path);
  }
  Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) const override {
    ESPALIER_ASSIGN_OR_RETURN(const auto files, For(path));
    return files->Open(path);
  }
  Result<std::vector<BlockLocation>> BlockLocations(const std::string& path, int64_t offset,
                                                    int64_t length) const override {
    ESPALIER_ASSIGN_OR_RETURN(const auto files, For(path));
    return files->BlockLocations(path, offset, length);
  }
  Status CreateExclusively(const std::string& path, std::string_view content) const override {
    ESPALIER_ASSIGN_OR_RETURN(const auto files, For(path));
    return files->CreateExclusively(path, content);
  }
  Status WriteAtomically(const std::string& path, std::string_view content,
                         const std::string& writer) const override {
    ESPALIER_ASSIGN_OR_RETURN(const auto files, For(path));
    return files->WriteAtomically(path, content, writer);
  }
  Status Rename(const std::string& from, const std::string& to) const override {
    ESPALIER_ASSIGN_OR_RETURN(const auto files, For(from, true));
    ESPALIER_ASSIGN_OR_RETURN(const auto target, For(to));
    if (files == target) return files->Rename(from, to);
    return InvalidArgument("cannot rename '" + Printable(from) + "' to '" + Printable(to) +
                           "': they are on different file systems");
  }
  Status Exchange(const std::string& one, const std::string& other) const override {
    ESPALIER_ASSIGN_OR_RETURN(const auto files, For(one, true));
    ESPALIER_ASSIGN_OR_RETURN(const auto target, For(other));
    if (files == target) return files->Exchange(one, other);
    return InvalidArgument("cannot swap '" + Printable(one) + "' and '" + Printable(other) +
                           "': they are on different file systems");
  }
  Status Delete(const std::string& path) const override {
    ESPALIER_ASSIGN_OR_RETURN(const auto files, For(path));
    return files->Delete(path);
  }
  Status MakeDirectory(const std::string& path) const override {
    ESPALIER_ASSIGN_OR_RETURN(const auto files, For(path));
    return files->MakeDirectory(path);
  }
  Status Restrict(const std::string& path) const override {
    ESPALIER_ASSIGN_OR_RETURN(const auto files, For(path));
    return files->Restrict(path);
  }
  Status RemoveTree(const std::string& path) const override {
    ESPALIER_ASSIGN_OR_RETURN(const auto files, For(path, true));
    return files->RemoveTree(path);
  }
  Status RemoveEmptyDirectory(const std::string& path) const override {
    ESPALIER_ASSIGN_OR_RETURN(const auto files, For(path, true));
    return files->RemoveEmptyDirectory(path);
  }

 private:
  Result<std::shared_ptr<const FileSystem>> For(const std::string& path, bool whole = false) const {
    ESPALIER_ASSIGN_OR_RETURN(const Uri uri, ParseUri(path));
    if (uri.kind == Uri::Kind::kLocal) return local_;
    if (IsSecret(uri.path, whole)) {
      return FileProblem(StatusCode::kPermissionDenied, "use", path,
                         "it is a secret of this daemon, which no job may read or change");
    }
    if (!secrets_.empty() && IsByway(uri.path)) {
      return FileProblem(StatusCode::kPermissionDenied, "use", path,
                         "a path by /.reserved or .snapshot may lead to what is a secret of this "
                         "daemon. Name the file by its usual path");
    }
    MutexLock lock(mutex_);
    std::shared_ptr<const FileSystem>& known = remote_[uri.prefix];
    if (known != nullptr) return known;
    ESPALIER_ASSIGN_OR_RETURN(auto client, MakeWebHdfsClient(options_, uri));
    known = MakeWebHdfsFileSystem(std::move(client), options_.writer);
    return known;
  }

  // Ignores the address, because one HDFS has many. With `whole`, also returns true for a directory
  // that contains a secret.
  bool IsSecret(const std::string& path, bool whole) const {
    const std::string plain = std::filesystem::path(path).lexically_normal().string();
    return std::any_of(secrets_.begin(), secrets_.end(), [&](const std::string& secret) {
      return plain == secret || plain.starts_with(secret + "/") ||
             (whole && secret.starts_with(plain + "/"));
    });
  }

  const StorageOptions options_;
  const std::vector<std::string> secrets_ = PathsOf(options_.secrets, false);  // secrets on an HDFS
  const std::shared_ptr<const FileSystem> local_ =
      MakeLocalFileSystem(PathsOf(options_.secrets, true));
  mutable Mutex mutex_;
  // By prefix.
  mutable std::map<std::string, std::shared_ptr<const FileSystem>> remote_ GUARDED_BY(mutex_);
};

}  // namespace

Result<std::string> PlaceName(const std::string& path, const StorageOptions& options) {
  ESPALIER_ASSIGN_OR_RETURN(const Uri uri, ParseUri(path));
  if (uri.kind == Uri::Kind::kLocal) return CanonicalPath(path);
  if (IsByway(uri.path)) {
    return FileProblem(StatusCode::kInvalidArgument, "use", path,
                       "a path by /.reserved or .snapshot may lead to any place. Give the usual "
                       "path");
  }
  ESPALIER_ASSIGN_OR_RETURN(const HadoopConfig config, ReadConfig(options));
  ESPALIER_ASSIGN_OR_RETURN(const std::string name, FileSystemName(uri, config));
  return name + uri.path;
}

Result<std::shared_ptr<const WebHdfsClient>> MakeWebHdfsClient(const StorageOptions& options,
                                                               const Uri& uri) {
  ESPALIER_ASSIGN_OR_RETURN(const HadoopConfig config, ReadConfig(options));
  ESPALIER_ASSIGN_OR_RETURN(auto name_nodes, FindNameNodes(uri, config));
  WebHdfsOptions webhdfs = options.webhdfs;
  const Result<std::string> security = config.Get("hadoop.security.authentication");
  if (!security.ok()) return security.status();
  webhdfs.kerberos = *security == "kerberos";
  if (!options.token_file.empty()) {
    ESPALIER_ASSIGN_OR_RETURN(webhdfs.file_token,
                              FileToken(options.token_file, uri, config, name_nodes));
  }
  if (name_nodes[0].secure && webhdfs.http.ca_file.empty()) {
    webhdfs.http.java_trust_store = JavaTrustStore(options.hadoop_conf_dir);
  }
  return std::make_shared<const WebHdfsClient>(uri.prefix, std::move(name_nodes),
                                               std::move(webhdfs));
}

std::unique_ptr<FileSystem> MakeFileSystem(StorageOptions options) {
  return std::make_unique<AnyFileSystem>(std::move(options));
}

std::unique_ptr<FileSystem> MakeFileSystem() { return MakeFileSystem(StorageOptions{}); }

Result<std::unique_ptr<FileSystem>> FileSystemFor(const std::string& uri) {
  ESPALIER_RETURN_IF_ERROR(ParseUri(uri).status());
  return MakeFileSystem();
}

HadoopEnvironment ReadHadoopEnvironment(
    const std::function<std::string(const char* name)>& variable) {
  HadoopEnvironment found;
  found.conf_dir = variable("HADOOP_CONF_DIR");
  if (const std::string home = variable("HADOOP_HOME"); found.conf_dir.empty() && !home.empty()) {
    const std::string directory = home + "/etc/hadoop";
    const auto there = MakeFileSystem()->Stat(directory);
    if (there.ok() && there->is_directory) found.conf_dir = directory;
  }
  found.user = variable("HADOOP_USER_NAME");
  if (found.user.empty()) found.user = variable("USER");
  if (found.user.empty()) found.user = ProcessUser();
  found.ca = variable("ESPALIER_HADOOP_CA");
  found.token_file = variable("HADOOP_TOKEN_FILE_LOCATION");
  for (const char* name : {"HADOOP_TOKEN_FILE_LOCATION", "KRB5_CLIENT_KTNAME", "KRB5CCNAME",
                           "CREDENTIALS_DIRECTORY"}) {
    std::string path = variable(name);
    for (const std::string_view type : {"FILE:", "WRFILE:", "DIR:"}) {
      if (path.starts_with(type)) path.erase(0, type.size());
    }
    std::error_code unknown;
    if (!path.empty()) found.secrets.push_back(std::filesystem::absolute(path, unknown).string());
  }
  // Default location of Kerberos tickets.
  found.secrets.push_back("/tmp/krb5cc_" + std::to_string(geteuid()));
  return found;
}

}  // namespace espalier::storage
