// The delegation tokens for a job: one for each secured file system that it uses, obtained with the
// Kerberos ticket of the user.
//
// Thread rule: the main thread. Waits for KDCs and NameNodes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/spec/job_spec.h"
#include "src/spec/scoring_spec.h"
#include "src/spec/storage_token.h"
#include "src/storage/file_systems.h"

namespace espalier::cli {

// Returns the paths in a job.
std::vector<std::string> PathsOf(const spec::JobSpec& spec);
std::vector<std::string> PathsOf(const spec::ScoringSpec& spec);

// Returns the file systems of the paths without duplicates, for example "hdfs://ns". Omits local
// ones.
std::vector<std::string> FileSystemsOf(const std::vector<std::string>& paths);

struct JobTokens {
  spec::StorageTokens tokens;
  std::vector<std::string> notes;  // for the user: skipped steps and their consequences
};

// Fetches the tokens. `renewer` asks the coordinator for its principal. It is called only if the
// user has a ticket. A missing ticket, a coordinator without a principal and an unreachable file
// system are notes, because the daemons may have their own credentials and routes. Other failures
// of a file system or of Kerberos are errors.
Result<JobTokens> FetchJobTokens(const std::vector<std::string>& paths,
                                 const storage::StorageOptions& storage,
                                 const std::function<Result<std::string>()>& renewer);

}  // namespace espalier::cli
