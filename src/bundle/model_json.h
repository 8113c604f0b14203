// model.json: a complete description of a trained model, except for its weights. One JSON object,
// with one line for each top-level key:
//
//   format           2
//   written_by       "espalier 0.1.0"
//   spec             {"name": .., "data": {..}, "model": {..}, "train": {..}}: these sections of
//                    the job in the syntax of a job file (config/reference.yaml), with all fields
//                    that apply. In format 1, which 0.1.0 wrote: the fields of the structs of
//                    spec/job_spec.h under the names of their Keys
//   schema           {"names": [..], "features": [..], "rules": [..], "label": [..], "weight": ..,
//                     "validation": ..}
//   preprocessing    {"features": [{"name", "shift", "factor", "null_value", "null_indicator",
//                     "codes", "embedding", "hashed", "vocabulary"}, ..], "targets": [..],
//                     "classes": [..], "class_weights": [..]}: input x becomes (x - shift) *
//                    factor. Nulls become null_value first. With null_indicator the next input is
//                    1 for null and 0 for others. With codes it is a category (spec/input.h). The
//                    network's output y becomes y / factor + shift of its target, with loss
//                    poisson exp(y). class_weights, if any, weighted the training rows of each
//                    class, for multilabel the ones of each target
//   storage          "uint8", "float32" or "float64": the type of all rows of the job as read.
//                    Bytes are scaled in the model's precision, wider numbers in float64
//   sparse           true if the job multiplied rows without their zeros (spec/sparse_rows.h).
//                    Scoring with this model then does the same. Otherwise absent
//   notes            ["the task is regression: ..", ..]: decisions of the profiling pass that
//                    differ from those of the sample of rows, and probable problems of the table.
//                    Absent if empty
//   rows             {"train": .., "validation": .., "test": .., "skipped": ..}
//   training         {"steps": .., "epochs": .., "stopped_because": ".."}, and if
//                    spec.train.mode is async "async": {"largest_lag": .., "refused": ..}; if
//                    spec.train.threshold chose one "threshold": {"metric": .., "threshold": ..,
//                    "value": .., "value_at_half": .., "reached": ..}
//   thresholds       [.., ..] as spec.model.thresholds, if spec.train.threshold chose them;
//                    otherwise absent
//   costs            [{"label": .., "predicted": .., "cost": ..}, ..] of spec.model.costs, with the
//                    names of preprocessing.classes; absent if all mistakes cost 1. Scoring uses
//                    spec.model.costs
//   intervals        {"level": .., "half_widths": [..]} by target, in its units: prediction
//                    intervals; absent without spec.train.intervals
//   metrics          {"train": {..}, "validation": {..} | null, "test": {..} | null}
//   job_fingerprint, data_fingerprint, arithmetic_id, weights_sha256
//   accepted         ["data_fingerprint 3f.. until step 1200", ..]: differences that a person
//                    accepted when the run was resumed; empty for weights of one run on the same
//                    data and arithmetic
//
// The file contains neither output and workers nor any time, host or job id, so the same job gives
// the same bytes. Text that is not UTF-8 is written as {"hex": ".."}.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/spec/metrics.h"

namespace espalier::bundle {

inline constexpr int64_t kModelJsonBytesMax = int64_t{256} << 20;

struct ModelDocument {
  spec::JobSpec job;  // output and workers are not stored
  spec::Schema schema;
  spec::Preprocessing preprocessing;
  // Absent: unknown, in bundles of older versions.
  std::optional<spec::StorageType> storage;
  // Whether rows are multiplied sparse. false also in bundles of older versions.
  bool sparse = false;
  int64_t train_rows = 0, validation_rows = 0, test_rows = 0, skipped_rows = 0;
  int64_t steps = 0;
  double epochs = 0;
  std::string stopped_because;             // "epochs", "steps", "time", "early stopping"
  std::optional<spec::AsyncCounts> async;  // for asynchronous training; written, not read
  std::vector<double> best_epochs;         // epochs of the weights, by fit; written, not read
  int64_t fits = 1;                        // as in model::NetworkShape
  bool constant = false;                   // as in model::NetworkShape
  double temperature = 1;                  // divisor of the last layer's outputs; written, not read
  std::vector<double> thresholds;          // as in NetworkShape, if training chose them
  std::optional<spec::ChosenThreshold> threshold;  // written, not read
  std::vector<spec::CostOfClass> costs;            // as in NetworkShape; written, not read
  std::optional<spec::PredictionIntervals> intervals;
  int64_t skipped_steps = 0;                      // written, not read
  spec::Metrics train;                            // for the weights, or running values of an epoch
  std::optional<spec::Metrics> validation, test;  // for the saved weights
  std::string data_fingerprint;
  std::string arithmetic_id;
  std::string weights_sha256;
  std::vector<std::string> accepted;
  std::vector<std::string> notes = {};  // written, not read
};

// Returns only the `preprocessing` part. kBadInput as below.
std::string EncodePreprocessing(const spec::Preprocessing& preprocessing);
Result<spec::Preprocessing> DecodePreprocessing(std::string_view text);

std::string EncodeModelJson(const ModelDocument& document);

// Decodes everything except the metrics. kBadInput contains the path of the missing or wrong part.
// kFailedPrecondition: another format. `text` may have up to kModelJsonBytesMax bytes.
Result<ModelDocument> DecodeModelJson(std::string_view text);

}  // namespace espalier::bundle
