// From the counted values of a categorical column to its codes. Thread rule: pure functions,
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

// The vocabulary of a column whose training rows hold these texts: values, of which those with the
// same ClassText are one, that at least min_count rows have, as whole numbers when all are such,
// else bytewise; null, the empty text, is a value like others. With zero_rare null and rarer values
// have no code. A column of at most one_hot_max values, null not counted, keeps all of them and
// loses its embedding. `feature` gets its codes and texts.
void FitVocabulary(const std::map<std::string, int64_t>& texts_seen,
                   const spec::CategoryOptions& options, spec::FittedFeature* feature);

// By feature with a vocabulary, then by place in a shard's texts: the value's code. A value without
// one has the number of codes.
using CodeMaps = std::vector<std::vector<int32_t>>;

// The vocabularies of a job or a model.
class Vocabularies {
 public:
  Vocabularies() = default;
  explicit Vocabularies(const spec::Preprocessing& preprocessing);

  const std::vector<int64_t>& features() const { return features_; }  // that have one, ascending
  // Adds the codes of texts beyond those that `maps` knows.
  void Extend(const std::vector<LabelTexts>& categories, CodeMaps* maps) const;

 private:
  std::vector<int64_t> features_;
  std::vector<ClassIndex> texts_;
  std::vector<int32_t> others_;
};

}  // namespace espalier::data
