#include "src/spec/scoring_spec.h"

namespace espalier::spec {

PartFormat FormatOf(const PredictionSpec& prediction, const OutputSpec& output) {
  if (prediction.format) return *prediction.format;
  return output.path.ends_with(".parquet") ? PartFormat::kParquet : PartFormat::kCsv;
}

}  // namespace espalier::spec
