// What model.json of a bundle says: all of a trained model but its weights. Thread rule: values and
// re-entrant functions.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/bundle/model_json.h"
#include "src/model/network.h"
#include "src/storage/file_system.h"

namespace espalier::scoring {

struct ModelOutline {
  bundle::ModelDocument document;
  model::NetworkShape shape;
  std::string sha256;  // of model.json, which in turn names that of the weights

  bool classification() const { return document.job.model.task == spec::Task::kClassification; }
  bool multilabel() const { return document.job.model.task == spec::Task::kMultilabel; }
  bool autoencoder() const { return document.job.model.task == spec::Task::kAutoencoder; }
  // Numbers that prediction gives a row: classes or targets.
  int64_t width() const;
};

// Reads model.json of the bundle in `directory`. With `sha256` it must be the one that had it: what
// a job was planned by (kFailedPrecondition). Other errors are those of LoadTrainedModel
// (trained_model.h).
Result<ModelOutline> LoadModelOutline(const storage::FileSystem& files,
                                      const std::string& directory, const std::string& sha256 = {});

// A file of the bundle in `directory`, at most `bytes_max` long. kNotFound says what a bundle
// holds.
Result<std::string> ReadBundleFile(const storage::FileSystem& files, const std::string& directory,
                                   const char* name, int64_t bytes_max);
// The same error, of that path.
Status ErrorOf(const std::string& path, const Status& error);

}  // namespace espalier::scoring
