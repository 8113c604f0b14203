// The reference of jobs and sweeps: each key with its type, its default and its text. Types and
// defaults come from the readers, and texts from the Keys of the fields and from key_docs.cc.
// config/reference.yaml is generated from both, and a test compares it.
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace espalier::config {

// Text of one key. In `path`, "*" matches any word: "train.optimizer.*.beta1". "[]" follows the
// name of a list.
struct KeyDoc {
  std::string path;
  const char* example;  // value to show for a key without a default; nullptr: the key has a default
  std::string text;
};
// Returns the texts in the order of presentation.
std::span<const KeyDoc> KeyDocs();

struct KeyReference {
  std::string path;                // "train.batch"
  std::string type;                // possible values
  std::vector<std::string> words;  // that may be the value
  std::string value;               // default with `preset: none`; empty: none, or a section
  bool by_preset = false;          // the other presets may choose the value (KeysOfPresets)
  const KeyDoc* doc = nullptr;     // nullptr: the key has no text
};
// Returns all keys of jobs that train, predict or evaluate, in the order of the reader. The keys of
// a sweep file follow, below "sweep".
std::vector<KeyReference> AllKeys();

// A key of training jobs that holds one value.
struct ScalarKey {
  std::string path;   // "*" is the word of the map above it: "train.optimizer.*.beta1"
  std::string type;   // "int", "float", "bool", "str"; "any": one of several types
  std::string value;  // default with `preset: none`; empty: none
  std::string text;
};
// Returns them in the order of presentation. Keys of lists and of `compat` are not among them.
std::vector<ScalarKey> ScalarKeys();

// Returns `key` and the keys below it, in the order of presentation. For "data.csv", these are that
// key, data.csv.header and so on. The "[]" of lists may be omitted. kInvalidArgument: unknown key;
// the message suggests similar keys.
Result<std::vector<KeyReference>> KeysBelow(std::string_view key);

// Returns types, defaults and texts of keys for a terminal of 80 columns. Consecutive keys with the
// same text, like the learning rates of all optimizers, share it.
std::string KeyText(std::span<const KeyReference> keys);

// Returns the text of config/reference.yaml.
std::string ReferenceYaml();

}  // namespace espalier::config
