// ModelOutline: the content of a bundle's model.json, which is a trained model without its weights.
//
// Thread rule: values and re-entrant functions.
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
  std::string sha256;  // of model.json, which contains the SHA-256 of the weights

  bool classification() const { return document.job.model.task == spec::Task::kClassification; }
  bool multilabel() const { return document.job.model.task == spec::Task::kMultilabel; }
  bool autoencoder() const { return document.job.model.task == spec::Task::kAutoencoder; }
  // Returns the number of outputs per row: classes or targets.
  int64_t width() const;
};

// Reads model.json of the bundle in `directory`. kFailedPrecondition: `sha256` is set and differs,
// so the file is not the one that a job was planned with. Other errors are those of
// LoadTrainedModel (trained_model.h).
Result<ModelOutline> LoadModelOutline(const storage::FileSystem& files,
                                      const std::string& directory, const std::string& sha256 = {});

// Reads a file of the bundle in `directory`, with at most `bytes_max` bytes. kNotFound: the
// directory or the file does not exist. kInvalidArgument: `directory` is a file.
Result<std::string> ReadBundleFile(const storage::FileSystem& files, const std::string& directory,
                                   const char* name, int64_t bytes_max);
// Returns the same error with `path` in front.
Status ErrorOf(const std::string& path, const Status& error);

}  // namespace espalier::scoring
