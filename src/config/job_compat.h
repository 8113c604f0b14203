// The section `compat`: a job in the terms of another program. It is mapped to the regular spec
// before the other sections are read. They must not repeat its settings.
//
//   spark-mlp   the parameters of Spark ML's MultilayerPerceptronClassifier
//   sparktorch  the parameters of SparkTorch's job; network and optimizer stay in `model`, `train`
//
// config/reference.yaml documents each difference in meaning from the original.
//
// Thread rule: one thread, that of the Reader.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/config/reader.h"
#include "src/spec/job_spec.h"

namespace espalier::config {

// Reads root's `compat`, if present, into `out` and `batch` (train.batch, if the section sets it).
// Returns an error for keys elsewhere that contradict it.
Status ReadCompat(Reader& reader, YamlNode& root, spec::JobSpec& out,
                  std::optional<int64_t>& batch);

// Sets the parts of `data` that the section implies and `data` leaves out. For LIBSVM text, these
// are the features and the label.
void CompleteCompat(spec::JobSpec& job);

// Returns the key that may contain a path, as names from the top.
std::vector<std::string> CompatPathKey();

}  // namespace espalier::config
