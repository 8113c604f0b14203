// The reference of a job file: each key with its type, its default and its text. Types and defaults
// come from the reader of jobs, texts from key_docs.cc; config/reference.yaml is printed from both,
// and a test compares it.
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace espalier::config {

// Text of one key. In `path`, "*" stands for any word: "train.optimizer.*.beta1"; "[]" follows the
// name of a list.
struct KeyDoc {
  const char* path;
  const char* example;  // value to show for a key without a default; nullptr: it has a default
  const char* text;
};
// In the order of presentation.
std::span<const KeyDoc> KeyDocs();

struct KeyReference {
  std::string path;                // "train.batch"
  std::string type;                // "a whole number"; empty: a section, or only words
  std::vector<std::string> words;  // that may be the value
  std::string value;               // default; empty: none, or a section
  const KeyDoc* doc = nullptr;     // nullptr: the key has no text
};
// Returns all keys of a job file, in the order of the reader.
std::vector<KeyReference> JobReference();

// Returns the text of config/reference.yaml.
std::string ReferenceYaml();

}  // namespace espalier::config
