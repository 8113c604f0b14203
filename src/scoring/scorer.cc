#include "src/scoring/scorer.h"

#include <algorithm>

#include "src/data/features/feature_encoder.h"
#include "src/model/leaf_pass.h"

namespace espalier::scoring {
namespace {

template <typename T>
class TypedScorer final : public Scorer {
 public:
  explicit TypedScorer(const TrainedModel& model)
      : model_(model),
        parameters_(std::get<AlignedVector<T>>(model.parameters).data()),
        storage_(model.document.storage.value_or(spec::StorageType::kFloat64)),
        encoder_(EncoderOf(model)),
        vocabularies_(model.document.preprocessing),
        pass_(model.shape, kScoringBatch),
        predictions_(static_cast<size_t>(kScoringBatch * model.width())) {}

  void PredictSome(const data::DecodedRows& rows, const data::ShardTexts& texts, int64_t first,
                   int64_t some, std::vector<double>* values) override {
    values->clear();
    if (first == 0) {
      maps_.clear();
      vocabularies_.Extend(texts.categories, &maps_);
    }
    for (int64_t begin = first; begin < first + some; begin += kScoringBatch) {
      const int64_t count = std::min(kScoringBatch, first + some - begin);
      Encode(rows, maps_, begin, count, 0);
      AddPredictions(count, values);
    }
  }

  void Evaluate(const data::DecodedRows& rows, const data::ShardTexts& texts,
                std::span<const int32_t> classes, std::vector<double>* totals,
                std::vector<double>* values) override {
    if (values != nullptr) Predict(rows, texts, values);
    data::CodeMaps maps;
    vocabularies_.Extend(texts.categories, &maps);
    int64_t filled = 0;
    const auto flush = [&] {
      pass_.Evaluate(parameters_, filled, totals->data());
      filled = 0;
    };
    for (int64_t r = 0; r < rows.rows; ++r) {
      if (!classes.empty() && classes[static_cast<size_t>(r)] < 0) continue;
      Encode(rows, maps, r, 1, filled);
      FillAnswer(rows, classes, r, filled);
      if (++filled == kScoringBatch) flush();
    }
    if (filled > 0) flush();
  }

 private:
  static data::FeatureEncoder EncoderOf(const TrainedModel& model) {
    data::FeatureEncoder encoder(model.document.preprocessing);
    if (model.shape.sparse) encoder.PrepareSparse();
    return encoder;
  }

  // Puts rows [begin, begin + count) into the batch, behind the `filled` that are in it.
  void Encode(const data::DecodedRows& rows, const data::CodeMaps& maps, int64_t begin,
              int64_t count, int64_t filled) {
    if (!model_.shape.sparse) {
      encoder_.EncodeRows(storage_, rows, maps, begin, count,
                          pass_.inputs() + filled * encoder_.dense(),
                          pass_.codes() + filled * encoder_.coded());
      return;
    }
    if (filled == 0) encoder_.BeginSparse(&pass_.sparse());
    encoder_.EncodeSparseRows(rows, maps, begin, count, &pass_.sparse(),
                              pass_.codes() + filled * encoder_.coded());
  }

  void FillAnswer(const data::DecodedRows& rows, std::span<const int32_t> classes, int64_t r,
                  int64_t at) {
    const auto row = static_cast<size_t>(r);
    pass_.weights()[at] = rows.weights.size() > 0 ? static_cast<T>(rows.weights[row]) : T{1};
    if (!classes.empty()) {
      pass_.labels()[at] = classes[row];
      return;
    }
    if (model_.autoencoder()) return;  // its inputs are the answer
    const std::vector<spec::FittedTarget>& targets = model_.document.preprocessing.targets;
    for (size_t t = 0; t < targets.size(); ++t) {
      const double value = rows.targets[row * targets.size() + t];
      pass_.targets()[static_cast<size_t>(at) * targets.size() + t] =
          static_cast<T>((value - targets[t].shift) * targets[t].factor);
    }
  }

  // Of the inputs that are in place.
  void AddPredictions(int64_t count, std::vector<double>* values) {
    pass_.Predict(parameters_, count, predictions_.data());
    const std::vector<spec::FittedTarget>& targets = model_.document.preprocessing.targets;
    const size_t width = static_cast<size_t>(model_.width());
    for (size_t i = 0; i < static_cast<size_t>(count) * width; ++i) {
      const double value = static_cast<double>(predictions_[i]);
      if (model_.classification()) {
        values->push_back(value);
      } else {
        const spec::FittedTarget& target = targets[i % width];
        const double predicted = value / target.factor + target.shift;
        values->push_back(target.range.empty()
                              ? predicted
                              : std::clamp(predicted, target.range[0], target.range[1]));
      }
    }
  }

  const TrainedModel& model_;
  const T* const parameters_;
  const spec::StorageType storage_;
  const data::FeatureEncoder encoder_;
  const data::Vocabularies vocabularies_;
  data::CodeMaps maps_;  // of the rows whose predictions are being asked for
  model::LeafPass<T> pass_;
  AlignedVector<T> predictions_;
};

}  // namespace

std::unique_ptr<Scorer> Scorer::Make(const TrainedModel& model) {
  if (std::holds_alternative<AlignedVector<double>>(model.parameters)) {
    return std::make_unique<TypedScorer<double>>(model);
  }
  return std::make_unique<TypedScorer<float>>(model);
}

}  // namespace espalier::scoring
