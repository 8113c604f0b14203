// A date's numeric parts, computed by an ONNX graph. Thread rule: a pure function.
#pragma once

#include <string>

#include "src/scoring/onnx_graph.h"
#include "src/spec/job_spec.h"

namespace espalier::scoring {

// Of `seconds` since 1970 (UTC), double of any shape: the name of what has the part, in the same
// shape. It is the arithmetic of data/feature_decoder.cc, in whole numbers of double; NaN stays
// NaN.
std::string DatePartNode(OnnxGraph& graph, const std::string& seconds, spec::DatePart part);

}  // namespace espalier::scoring
