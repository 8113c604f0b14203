#include "src/cli/sweep_input.h"

#include <utility>

#include "src/base/checksum.h"
#include "src/base/text.h"

namespace espalier::cli {
namespace {

// Calls f(role, patterns) for each kind of a job's files.
template <typename F>
void EachRole(const spec::DataSpec& data, F&& f) {
  f("train", data.train);
  f("validation", data.validation.files);
  f("test", data.test);
}

void AddText(const std::string& text, Sha256* hash) {
  const std::string length = std::to_string(text.size()) + ":";
  hash->Update(length.data(), length.size());
  hash->Update(text.data(), text.size());
}

std::string Told(const InputListing& listing) {
  return Counted(listing.files, "file") + " of " + Counted(listing.bytes, "byte");
}

constexpr const char* kHowToMend =
    "results of both would be mixed: name another output, or remove the bundles of "
    "before to train them again";

}  // namespace

std::string InputKey(const spec::JobSpec& job) {
  Sha256 hash;
  EachRole(job.data, [&](const char* role, const std::vector<std::string>& patterns) {
    AddText(role, &hash);
    for (const std::string& pattern : patterns) AddText(pattern, &hash);
  });
  return hash.FinishHex();
}

std::optional<InputListing> ListInput(const storage::FileSystem& files, const spec::JobSpec& job) {
  InputListing listing;
  Sha256 hash;
  bool listed = true;
  EachRole(job.data, [&](const char* role, const std::vector<std::string>& patterns) {
    AddText(role, &hash);
    for (const std::string& pattern : patterns) {
      if (!listed) return;
      const auto found = files.List(pattern);
      listed = found.ok();
      if (!listed) return;
      for (const storage::FileInfo& file : *found) {
        ++listing.files;
        listing.bytes += file.length;
        AddText(file.path, &hash);
        AddText(std::to_string(file.length), &hash);
        AddText(std::to_string(file.modified_ms), &hash);
      }
    }
  });
  if (!listed) return std::nullopt;
  listing.sha256 = hash.FinishHex();
  return listing;
}

Json ListingsJson(const InputListings& listings) {
  Json json = Json::array();
  for (const auto& [key, listing] : listings) {
    json.push_back({{"input", key},
                    {"files", listing.files},
                    {"bytes", listing.bytes},
                    {"sha256", listing.sha256}});
  }
  return json;
}

InputListings ReadListings(const Json& json) {
  InputListings listings;
  if (!json.is_array()) return listings;
  for (const Json& one : json) {
    const auto text = [&](const char* key) {
      return one.is_object() && one.contains(key) && one[key].is_string();
    };
    const auto count = [&](const char* key) {
      return one.contains(key) && one[key].is_number_integer();
    };
    if (!text("input") || !text("sha256") || !count("files") || !count("bytes")) continue;
    listings[one["input"].get<std::string>()] = {.files = one["files"].get<int64_t>(),
                                                 .bytes = one["bytes"].get<int64_t>(),
                                                 .sha256 = one["sha256"].get<std::string>()};
  }
  return listings;
}

Status CheckListing(const std::string& name, const InputListing& before, const InputListing& now) {
  if (before == now) return {};
  const bool times = before.files == now.files && before.bytes == now.bytes;
  return FailedPrecondition(
      "the table of " + name + " has changed since the sweep began: it was " + Told(before) +
      " then, " +
      (times ? std::string("and names or times of change are others now") : "now " + Told(now)) +
      "; " + kHowToMend +
      (times ? "; if they are the same rows under new times, remove only sweep.json: what each run "
               "has read is compared as well"
             : ""));
}

Status ReadData::Take(const std::string& name, const spec::JobSpec& job,
                      const std::string& data_fingerprint) {
  if (data_fingerprint.empty()) return {};
  spec::JobSpec rows;  // everything that determines the rows and the set of each row
  rows.data = job.data;
  rows.model.task = job.model.task;
  rows.model.precision = job.model.precision;
  rows.train.seed = job.train.seed;
  const auto [at, added] = runs_.emplace(spec::Fingerprint(rows), Run{name, data_fingerprint});
  if (added || at->second.data_fingerprint == data_fingerprint) return {};
  return FailedPrecondition(
      at->second.name + " and " + name + " have read different rows (data_fingerprint " +
      at->second.data_fingerprint + " and " + data_fingerprint +
      "), as the table has changed between them, or versions that read it differently "
      "trained them; " +
      kHowToMend);
}

}  // namespace espalier::cli
