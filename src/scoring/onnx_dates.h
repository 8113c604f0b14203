// The numeric parts of a date, computed by an ONNX graph.
//
// Thread rule: a pure function.
#pragma once

#include <string>

#include "src/scoring/onnx_graph.h"
#include "src/spec/job_spec.h"

namespace espalier::scoring {

// Adds the nodes for one part of `seconds` since 1970 (UTC), a double tensor of any shape. Returns
// the name of the result, which has the same shape. The arithmetic is that of
// data/features/dates.cc, with integers stored in doubles. NaN remains NaN.
std::string DatePartNode(OnnxGraph& graph, const std::string& seconds, spec::DatePart part);

}  // namespace espalier::scoring
