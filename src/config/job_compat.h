// The section `compat`: a job in another program's words. It is mapped onto the ordinary spec,
// before the other sections are read; what it has said they must not say again.
//
//   spark-mlp   the parameters of Spark ML's MultilayerPerceptronClassifier
//   sparktorch  the parameters of SparkTorch's job; network and optimizer stay in `model`, `train`
//
// Where the meaning differs from the original's, config/reference.yaml says so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/config/reader.h"
#include "src/spec/job_spec.h"

namespace espalier::config {

// Reads root's `compat`, if there is one, into `out` and `batch` (train.batch, if it says one), and
// refuses what contradicts it elsewhere.
Status ReadCompat(Reader& reader, YamlNode& root, spec::JobSpec& out,
                  std::optional<int64_t>& batch);

// What the section says of data that `data` leaves out: of LIBSVM text the features and the label.
void CompleteCompat(spec::JobSpec& job);

// The key that may name a file, from the top.
std::vector<std::string> CompatPathKey();

}  // namespace espalier::config
