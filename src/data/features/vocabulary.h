// Computes the codes of a categorical column from its counted values. Thread rule: pure functions,
// values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/data/table/class_text.h"
#include "src/data/table/label_texts.h"
#include "src/spec/input.h"

namespace espalier::data {

// Stores the vocabulary of a column whose training rows contain these texts. Values with the same
// ClassText are one value. The vocabulary has the values with at least min_count rows, as integers
// if all are integers, otherwise in byte order. Null (the empty text) is a value like any other.
// With zero_rare, null and rarer values have no code. A column of at most one_hot_max values
// (without null) keeps all of them and has no embedding. `feature` receives the codes and texts.
void FitVocabulary(const std::map<std::string, int64_t>& texts_seen,
                   const spec::CategoryOptions& options, spec::FittedFeature* feature);

// Code of each value, by feature with a vocabulary and then by position in a shard's texts. A value
// without a code has the number of codes.
using CodeMaps = std::vector<std::vector<int32_t>>;

// Vocabularies of a job or a model.
class Vocabularies {
 public:
  Vocabularies() = default;
  explicit Vocabularies(const spec::Preprocessing& preprocessing);

  // Returns the features with a vocabulary, ascending.
  const std::vector<int64_t>& features() const { return features_; }
  // Adds the codes of texts that `maps` does not contain yet.
  void Extend(const std::vector<LabelTexts>& categories, CodeMaps* maps) const;

 private:
  std::vector<int64_t> features_;
  std::vector<ClassIndex> texts_;
  std::vector<int32_t> others_;
};

}  // namespace espalier::data
