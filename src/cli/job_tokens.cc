#include "src/cli/job_tokens.h"

#include <optional>
#include <set>

#include "src/storage/delegation_tokens.h"
#include "src/storage/kerberos.h"
#include "src/storage/uri.h"

namespace espalier::cli {

std::vector<std::string> PathsOf(const spec::JobSpec& spec) {
  std::vector<std::string> paths = spec.data.train;
  paths.insert(paths.end(), spec.data.test.begin(), spec.data.test.end());
  const std::vector<std::string>& validation = spec.data.validation.files;
  paths.insert(paths.end(), validation.begin(), validation.end());
  paths.push_back(spec.output.path);
  if (spec.resume) paths.push_back(spec.resume->from);
  if (spec.train.initial && !spec.train.initial->from.empty()) {
    paths.push_back(spec.train.initial->from);
  }
  return paths;
}

std::vector<std::string> PathsOf(const spec::ScoringSpec& spec) {
  std::vector<std::string> paths = spec.data;
  paths.push_back(spec.model);
  if (!spec.output.path.empty()) paths.push_back(spec.output.path);
  return paths;
}

std::vector<std::string> FileSystemsOf(const std::vector<std::string>& paths) {
  std::set<std::string> found;
  for (const std::string& path : paths) {
    const Result<storage::Uri> uri = storage::ParseUri(path);
    if (uri.ok() && uri->kind != storage::Uri::Kind::kLocal) found.insert(uri->prefix);
  }
  return {found.begin(), found.end()};
}

Result<JobTokens> FetchJobTokens(const std::vector<std::string>& paths,
                                 const storage::StorageOptions& storage,
                                 const std::function<Result<std::string>()>& renewer) {
  JobTokens job;
  std::optional<std::string> principal;
  for (const std::string& file_system : FileSystemsOf(paths)) {
    const Result<bool> secured = storage::IsSecured(storage, file_system);
    if (secured.status().code() == StatusCode::kCancelled) return secured.status();
    if (!secured.ok()) {
      job.notes.push_back("no delegation token of " + file_system +
                          " goes with the job, as it is not known whether it is secured by "
                          "Kerberos: " +
                          secured.status().ToString());
      continue;
    }
    if (!*secured) continue;
    if (!principal) {
      const auto own =
          storage::OwnPrincipal({storage.webhdfs.http.reply_ms, storage.webhdfs.http.cancelled});
      if (own.status().code() == StatusCode::kPermissionDenied) {
        job.notes.push_back("no delegation token of " + file_system +
                            " goes with the job, so the daemons must have a "
                            "keytab: " +
                            own.status().message());
        return job;
      }
      ESPALIER_RETURN_IF_ERROR(own.status());
      const Result<std::string> asked = renewer();
      if (!asked.ok() && asked.status().code() != StatusCode::kFailedPrecondition) {
        return asked.status();
      }
      if (!asked.ok()) {
        job.notes.push_back(
            "the job's delegation tokens cannot be renewed, and end after a day "
            "unless HDFS is configured otherwise: " +
            asked.status().message());
      }
      principal = asked.ok() ? *asked : *own;
    }
    ESPALIER_ASSIGN_OR_RETURN(std::string text,
                              storage::FetchToken(storage, file_system, *principal, ""));
    job.tokens.push_back({file_system, std::move(text)});
  }
  return job;
}

}  // namespace espalier::cli
