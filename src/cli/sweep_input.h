// Checks that the runs of a sweep have read the same table, so that results from different states
// of the table are never compared.
//
// Two sources show it. sweep.json records the files that existed when the first run began, as a job
// does at its submission: paths, lengths and modification times. model.json records the data that a
// run has read (data_fingerprint). The fingerprint is the same for all jobs of one version that
// split the same rows in the same way.
//
// Thread rule: values. ListInput reads directories.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "src/base/status.h"
#include "src/cli/json.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::cli {

// The files of a job's data.
struct InputListing {
  int64_t files = 0, bytes = 0;
  std::string sha256;  // over paths, lengths and modification times
  bool operator==(const InputListing&) const = default;
};
// Listings by InputKey.
using InputListings = std::map<std::string, InputListing>;

// Returns a key that is equal for jobs that name the same files.
std::string InputKey(const spec::JobSpec& job);
// Lists the input. Returns nothing if this machine cannot list it: then the job itself reports the
// problem, or only its workers have access.
std::optional<InputListing> ListInput(const storage::FileSystem& files, const spec::JobSpec& job);

// Returns [{"input":KEY,"files":..,"bytes":..,"sha256":..}, ..].
Json ListingsJson(const InputListings& listings);
// Reads listings from a file that anyone may have edited. Omits invalid entries.
InputListings ReadListings(const Json& json);

// Returns kFailedPrecondition if the files of the run `name` have changed.
Status CheckListing(const std::string& name, const InputListing& before, const InputListing& now);

// The data that the finished runs have read.
class ReadData {
 public:
  // Adds a run. Returns kFailedPrecondition if an earlier run, of a job that splits the same rows
  // in the same way, has read other data. `data_fingerprint` may be empty: unknown.
  Status Take(const std::string& name, const spec::JobSpec& job,
              const std::string& data_fingerprint);

 private:
  struct Run {
    std::string name, data_fingerprint;
  };
  std::map<std::string, Run> runs_;  // by the parts of their jobs that determine rows
};

}  // namespace espalier::cli
