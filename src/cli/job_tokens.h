// The delegation tokens that a job takes along: one for each secured file system it names, got with
// the Kerberos ticket of the person who submits it.
//
// Thread rule: the main thread; waits for KDCs and NameNodes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/spec/job_spec.h"
#include "src/spec/scoring_spec.h"
#include "src/spec/storage_token.h"
#include "src/storage/file_systems.h"

namespace espalier::cli {

// The paths that a job names.
std::vector<std::string> PathsOf(const spec::JobSpec& spec);
std::vector<std::string> PathsOf(const spec::ScoringSpec& spec);

// What paths begin with, each once: "hdfs://ns". Local ones are left out.
std::vector<std::string> FileSystemsOf(const std::vector<std::string>& paths);

struct JobTokens {
  spec::StorageTokens tokens;
  std::vector<std::string> notes;  // for the person: what was not done, and what follows
};

// `renewer` asks the coordinator for its principal; it is asked only when there is a ticket.
// Without a ticket, a coordinator's principal, or a way to that file system, that is a note: the
// daemons may have identities, and ways, of their own. An error: the file system, or Kerberos,
// fails otherwise.
Result<JobTokens> FetchJobTokens(const std::vector<std::string>& paths,
                                 const storage::StorageOptions& storage,
                                 const std::function<Result<std::string>()>& renewer);

}  // namespace espalier::cli
