// Targets and validation rows of a job.
#include "src/spec/job_spec.h"
#include "tests/spec/good_job.h"

namespace espalier::spec {
namespace {

TEST_CASE("options unfit for several labels, no label or folds fail") {
  CheckRefused({
      {[](JobSpec& j) { j.model.task = Task::kAutoencoder; },
       "data.label: found 1 column, expected nothing ... task autoencoder"},
      {[](JobSpec& j) {
         j.model.task = Task::kAutoencoder;
         j.data.label.clear();
         j.data.features.groups.emplace_back().columns = {std::string("a")};
         j.data.features.groups[0].log1p = true;
       },
       "data.features.groups[0].log1p: found true, expected false ... task autoencoder"},
      {[](JobSpec& j) {
         j.model.task = Task::kAutoencoder;
         j.data.label.clear();
         j.data.features.groups.emplace_back().columns = {std::string("a")};
         j.data.features.groups[0].type = FeatureType::kCategorical;
       },
       "data.features.groups[0].type: found categorical ... numeric or boolean ... task "
       "autoencoder"},
      {[](JobSpec& j) {
         j.model.task = Task::kMultilabel;
         j.model.loss = Loss::kMse;
       },
       "model.loss: found mse, expected binary_cross_entropy for task multilabel"},
      {[](JobSpec& j) {
         j.model.task = Task::kMultilabel;
         j.model.target_scale = TargetScale::kStandard;
       },
       "model.target_scale: found standard, expected nothing ... task multilabel"},
      {[](JobSpec& j) { j.data.validation.fold = 0; },
       "data.validation: found fold without of ... `{fold: 0, of: 5}`"},
      {[](JobSpec& j) { j.data.validation.of = 5; },
       "data.validation: found of without fold ... `{fold: 0, of: 5}`"},
      {[](JobSpec& j) { j.data.validation.fold = 5, j.data.validation.of = 5; },
       "data.validation.fold: found 5 ... 0 to 4"},
      {[](JobSpec& j) { j.data.validation.fold = 0, j.data.validation.of = 1; },
       "data.validation.of: found 1 ... 2 to 1000"},
      {[](JobSpec& j) {
         j.data.validation.fold = 0, j.data.validation.of = 5;
         j.data.validation.fraction = 0.5;
       },
       "data.validation: found 2 ways ... fraction, column, files and fold"},
  });
}

TEST_CASE("several labels, no label and a fold are valid") {
  JobSpec labels = GoodJob();
  labels.model.task = Task::kMultilabel;
  labels.data.label.emplace_back(std::string("z"));
  labels.train.class_weight.balanced = true;
  CHECK(labels.Validate().ToString() == "OK");
  CHECK(EffectiveLoss(labels.model) == Loss::kBinaryCrossEntropy);
  JobSpec itself = GoodJob();
  itself.model.task = Task::kAutoencoder;
  itself.data.label.clear();
  CHECK(itself.Validate().ToString() == "OK");
  CHECK(EffectiveLoss(itself.model) == Loss::kMse);
  CHECK(EffectiveTargetScale(itself.model) == TargetScale::kNone);
  JobSpec first = GoodJob(), last = GoodJob();
  first.data.validation.fold = 0, first.data.validation.of = 5;
  last.data.validation.fold = 4, last.data.validation.of = 5;
  CHECK(first.Validate().ToString() == "OK");
  CHECK(first.data.validation.any());
  CHECK(first.data.validation.share() == 0.2);
  CHECK(Fingerprint(first) != Fingerprint(last));
  first.train.early_stopping = EarlyStopping{.metric = "val_loss"};
  CHECK(first.Validate().ToString() == "OK");
}

}  // namespace
}  // namespace espalier::spec
