#include "src/spec/scoring_spec.h"

namespace espalier::spec {

PartFormat FormatOf(const ScoringSpec& spec) {
  if (spec.format) return *spec.format;
  return spec.output.path.ends_with(".parquet") ? PartFormat::kParquet : PartFormat::kCsv;
}

}  // namespace espalier::spec
