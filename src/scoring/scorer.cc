#include "src/scoring/scorer.h"

#include <algorithm>

#include "src/data/features/feature_encoder.h"
#include "src/model/leaf_pass.h"
#include "src/model/loss.h"
#include "src/model/metrics.h"

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
        predictions_(static_cast<size_t>(kScoringBatch * model.width())),
        unseen_(encoder_.coded_features().size()) {}

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
      CountUnseen(rows, texts, begin, count, 0);
      AddPredictions(count, values);
    }
  }

  void Evaluate(const data::DecodedRows& rows, const data::ShardTexts& texts,
                std::span<const int32_t> classes, std::vector<double>* totals,
                std::vector<double>* values) override {
    if (values != nullptr) {
      const std::vector<int64_t> before = unseen_;
      Predict(rows, texts, values);
      unseen_ = before;  // the rows are encoded and counted once more below
    }
    data::CodeMaps maps;
    vocabularies_.Extend(texts.categories, &maps);
    const bool classification = !classes.empty();
    ForBatches(
        rows, texts, maps, [&](size_t row) { return !classification || classes[row] >= 0; },
        [&](int64_t row, int64_t at) { FillAnswer(rows, classes, row, at); },
        [&](int64_t count) { pass_.Evaluate(parameters_, count, totals->data()); });
    if (!classification) return;
    ForBatches(
        rows, texts, maps, [&](size_t row) { return classes[row] < 0; },
        [&](int64_t row, int64_t at) { pass_.weights()[at] = WeightOf(rows, row); },
        [&](int64_t count) { AddUnknown(count, totals); });
  }

  spec::UnseenCounts TakeUnseen() override {
    spec::UnseenCounts counts;
    const spec::Schema& schema = model_.document.schema;
    for (size_t k = 0; k < unseen_.size(); ++k) {
      const auto feature = static_cast<size_t>(encoder_.coded_features()[k]);
      const auto column = static_cast<size_t>(schema.features[feature]);
      if (unseen_[k] > 0) {
        int64_t& rows = counts[schema.names[column]];
        rows = std::max(rows, unseen_[k]);
      }
      unseen_[k] = 0;
    }
    return counts;
  }

 private:
  static data::FeatureEncoder EncoderOf(const TrainedModel& model) {
    data::FeatureEncoder encoder(model.document.preprocessing);
    if (model.shape.sparse) encoder.PrepareSparse();
    return encoder;
  }

  // Writes rows [begin, begin + count) to the batch, after its first `filled` rows.
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

  // Counts values of rows [begin, begin + count) without a text in the vocabulary, except nulls.
  // The rows are in the batch after its first `filled` rows.
  void CountUnseen(const data::DecodedRows& rows, const data::ShardTexts& texts, int64_t begin,
                   int64_t count, int64_t filled) {
    const std::vector<int32_t>& coded = encoder_.coded_features();
    size_t vocabularies = 0;
    for (size_t k = 0; k < coded.size(); ++k) {
      const spec::FittedFeature& feature =
          model_.document.preprocessing.features[static_cast<size_t>(coded[k])];
      if (feature.hashed) continue;
      const std::vector<std::string>& values = texts.categories[vocabularies++].texts();
      const auto known = static_cast<int32_t>(feature.vocabulary.size());
      if (known == 0) continue;
      const int32_t* codes = pass_.codes() + filled * encoder_.coded() + k;
      for (int64_t i = 0; i < count; ++i, codes += encoder_.coded()) {
        if (*codes >= 0 && *codes < known) continue;
        const int32_t text = encoder_.DecodedCode(rows, begin + i, k);
        unseen_[k] += !values[static_cast<size_t>(text)].empty();
      }
    }
  }

  // Encodes the rows for which `wanted(row)` is true, calls `fill(row, place in the batch)` for
  // each, and passes full batches to `take(count)`.
  template <typename Wanted, typename Fill, typename Take>
  void ForBatches(const data::DecodedRows& rows, const data::ShardTexts& texts,
                  const data::CodeMaps& maps, Wanted wanted, Fill fill, Take take) {
    int64_t filled = 0;
    for (int64_t r = 0; r < rows.rows; ++r) {
      if (!wanted(static_cast<size_t>(r))) continue;
      Encode(rows, maps, r, 1, filled);
      CountUnseen(rows, texts, r, 1, filled);
      fill(r, filled);
      if (++filled < kScoringBatch) continue;
      take(filled);
      filled = 0;
    }
    if (filled > 0) take(filled);
  }

  // Adds rows in the batch whose label is not a class.
  void AddUnknown(int64_t count, std::vector<double>* totals) {
    pass_.Predict(parameters_, count, predictions_.data());
    const auto width = static_cast<size_t>(model_.width());
    for (size_t r = 0; r < static_cast<size_t>(count); ++r) {
      const T* answer = predictions_.data() + r * width;
      model::AddUnknownLabel(model_.shape, model::PredictedClass(model_.shape, answer),
                             static_cast<double>(pass_.weights()[r]), totals);
    }
  }

  static T WeightOf(const data::DecodedRows& rows, int64_t row) {
    return rows.weights.size() > 0 ? static_cast<T>(rows.weights[static_cast<size_t>(row)]) : T{1};
  }

  void FillAnswer(const data::DecodedRows& rows, std::span<const int32_t> classes, int64_t r,
                  int64_t at) {
    const auto row = static_cast<size_t>(r);
    pass_.weights()[at] = WeightOf(rows, r);
    if (!classes.empty()) {
      pass_.labels()[at] = classes[row];
      return;
    }
    if (model_.autoencoder()) return;  // its inputs are the targets
    const std::vector<spec::FittedTarget>& targets = model_.document.preprocessing.targets;
    for (size_t t = 0; t < targets.size(); ++t) {
      const double value = rows.targets[row * targets.size() + t];
      pass_.targets()[static_cast<size_t>(at) * targets.size() + t] =
          static_cast<T>((value - targets[t].shift) * targets[t].factor);
    }
  }

  // Adds the predictions for the inputs in the batch.
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
  data::CodeMaps maps_;  // for the rows of the current predictions
  model::LeafPass<T> pass_;
  AlignedVector<T> predictions_;
  std::vector<int64_t> unseen_;  // by coded feature
};

}  // namespace

std::unique_ptr<Scorer> Scorer::Make(const TrainedModel& model) {
  if (std::holds_alternative<AlignedVector<double>>(model.parameters)) {
    return std::make_unique<TypedScorer<double>>(model);
  }
  return std::make_unique<TypedScorer<float>>(model);
}

}  // namespace espalier::scoring
