// README.md of a bundle: a description of the model and how to read it.
//
// Thread rule: pure functions.
#pragma once

#include <string>

#include "src/bundle/model_json.h"
#include "src/spec/tensors.h"

namespace espalier::bundle {

std::string BundleReadme(const ModelDocument& document, const spec::TensorList& tensors);

}  // namespace espalier::bundle
