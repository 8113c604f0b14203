// Suggestions for names that are not keys of a job.
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::config {

// A name that other programs have for keys of a training job.
struct KeyAlias {
  const char* name;
  const char* keys[2];  // nullptr after the last one
};
std::span<const KeyAlias> KeyAliases();

// Returns the keys that other programs call so.
std::vector<std::string> KeysOfAlias(std::string_view name);

// Returns the keys of a training job whose last part is `name`, without "[]": for "epochs",
// "train.epochs".
std::vector<std::string> JobKeysNamed(std::string_view name);

// Returns the end of an error about an unknown key in the map at `path` of a training job, whose
// keys are `known`: "; did you mean train.batch?". It suggests the keys that other programs call so
// and the keys of that name in other maps. Empty: there are none.
std::string JobKeyHint(const std::string& path, const std::string& key,
                       const std::vector<std::string>& known);

// Returns "; did you mean a, b?", with the first few keys.
std::string DidYouMean(std::vector<std::string> keys);

// Returns the names in a path: "data", "csv", "header".
std::vector<std::string> PathParts(std::string_view path);
// Returns a path without the "[]" of its lists.
std::string WithoutBrackets(std::string_view path);

}  // namespace espalier::config
