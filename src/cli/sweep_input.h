// Whether the runs of a sweep have read the same table, so that results of before and after a
// change of it are not put side by side.
//
// Two things tell it. sweep.json keeps which files there were when the first run began, as a job
// keeps them from its submit on: paths, lengths and times of change. And model.json tells what a
// run has read (data_fingerprint), which is the same for all jobs of one version that split the
// same rows alike.
//
// Thread rule: values; ListInput reads directories.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "src/base/status.h"
#include "src/cli/json_view.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::cli {

// The files of a job's data.
struct InputListing {
  int64_t files = 0, bytes = 0;
  std::string sha256;  // over their paths, lengths and times of change
  bool operator==(const InputListing&) const = default;
};
// By InputKey.
using InputListings = std::map<std::string, InputListing>;

// The same for jobs that name the same files.
std::string InputKey(const spec::JobSpec& job);
// None when this machine cannot list them: then the job itself says what is wrong, or only its
// workers see them.
std::optional<InputListing> ListInput(const storage::FileSystem& files, const spec::JobSpec& job);

// [{"input":KEY,"files":..,"bytes":..,"sha256":..}, ..].
Json ListingsJson(const InputListings& listings);
// Of a file that anybody may have edited: what is no listing is left out.
InputListings ReadListings(const Json& json);

// kFailedPrecondition: the files of the run `name` are not what they were.
Status CheckListing(const std::string& name, const InputListing& before, const InputListing& now);

// What the runs that are done have read.
class ReadData {
 public:
  // kFailedPrecondition: a run before this one, of a job that splits the same rows alike, has read
  // others. `data_fingerprint` may be empty: not known.
  Status Take(const std::string& name, const spec::JobSpec& job,
              const std::string& data_fingerprint);

 private:
  struct Run {
    std::string name, data_fingerprint;
  };
  std::map<std::string, Run> runs_;  // by what their jobs say of rows
};

}  // namespace espalier::cli
