#include "src/scoring/onnx.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/base/text.h"
#include "src/scoring/onnx_dates.h"
#include "src/scoring/onnx_graph.h"

namespace espalier::scoring {
namespace {

constexpr int64_t kOnnxParametersMax = (int64_t{2} << 30) / 4 - (int64_t{1} << 24);
constexpr int64_t kFloat = static_cast<int64_t>(OnnxType::kFloat);
constexpr int64_t kDouble = static_cast<int64_t>(OnnxType::kDouble);
constexpr int64_t kInt64 = static_cast<int64_t>(OnnxType::kInt64);
constexpr int64_t kBool = static_cast<int64_t>(OnnxType::kBool);

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();

// Columns of one kind, each once, in the order of the features.
class Columns {
 public:
  int64_t PlaceOf(const std::string& name) {
    const auto [place, added] = places_.emplace(name, size());
    if (added) names_.push_back(name);
    return place->second;
  }
  int64_t size() const { return static_cast<int64_t>(names_.size()); }
  std::string Lines() const {
    std::string text;
    for (const std::string& name : names_) text += (text.empty() ? "" : "\n") + name;
    return text;
  }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, int64_t> places_;
};

class Exporter {
 public:
  explicit Exporter(const TrainedModel& model)
      : model_(model),
        document_(model.document),
        schema_(document_.schema),
        fitted_(document_.preprocessing),
        tensors_(model::Tensors(model.shape)),
        one_hot_begin_(static_cast<size_t>(model.shape.layers.front().in)) {}

  Result<std::string> Run() {
    FindColumns();
    Answer(model_.shape.averages() ? Averaged() : Outputs());
    std::string classes;
    for (const std::string& c : fitted_.classes) classes += (classes.empty() ? "" : "\n") + c;
    if (model_.classification()) graph_.Describe("classes", classes);
    return graph_.Encode(document_.job.name);
  }

 private:
  using Strings = std::vector<std::string>;

  // Returns the outputs of the current fit.
  std::string Outputs() {
    std::string inputs = Concat({Numbers(), Embeddings()});
    if (model_.shape.scaling_layer && !inputs.empty()) inputs = Scaled(inputs);
    return Layers(inputs);
  }

  // Returns the outputs whose predictions are the average of the predictions of all fits
  // (model/average.h).
  std::string Averaged() {
    const model::NetworkShape& shape = model_.shape;
    const bool sigmoid = shape.loss == spec::Loss::kBinaryCrossEntropy;
    const bool logs =
        shape.loss == spec::Loss::kSoftmaxCrossEntropy || shape.loss == spec::Loss::kPoisson;
    const size_t of_fit =
        (tensors_.size() - (shape.constant ? 2 : 0)) / static_cast<size_t>(shape.fits);
    Strings parts;
    size_t missing = 0;
    for (fit_ = 0; fit_ < shape.fits; ++fit_) {
      next_ = static_cast<size_t>(fit_) * of_fit;
      one_hot_begin_ = static_cast<size_t>(shape.layers.front().in);
      const std::string z = Outputs();
      // Each fit finds the same rows without a prediction.
      if (fit_ == 0) missing = missing_.size();
      missing_.resize(missing);
      parts.push_back(sigmoid ? Concat({Op("Sigmoid", {Op("Neg", {z})}), Op("Sigmoid", {z})})
                      : !logs ? z
                      : shape.loss == spec::Loss::kPoisson
                          ? Op("Exp", {z})
                          : Op("Softmax", {z}, {{"axis", int64_t{1}}}));
    }
    const float constant = shape.constant ? ParametersOf("constant.share")[0] : 0.0f;
    std::string mean = Op("Mul", {parts.size() > 1 ? Op("Sum", parts) : parts[0],
                                  FloatNumber((1 - constant) / static_cast<float>(shape.fits))});
    if (shape.constant) mean = Op("Add", {mean, Constant(constant)});
    if (!sigmoid && !logs) return mean;
    mean = Op("Log", {Op("Max", {mean, FloatNumber(std::numeric_limits<float>::min())})});
    if (logs) return mean;
    const int64_t width = shape.outputs(), twice = 2 * width, none = 0, axis = 1;
    const auto half = [&](const int64_t& begin, const int64_t& end) {
      return Op("Slice", {mean, graph_.Whole({&begin, 1}, {1}), graph_.Whole({&end, 1}, {1}),
                          graph_.Whole({&axis, 1}, {1})});
    };
    return Op("Sub", {half(width, twice), half(none, width)});
  }

  // Returns the constant prediction times its share, in the layout of the averages.
  std::string Constant(float share) {
    std::vector<float> answer = ParametersOf("constant.answer");
    if (model_.shape.task == spec::Task::kMultilabel) {  // first those of 0, then those of 1
      std::vector<float> both;
      for (const float a : answer) both.push_back(1 - a);
      both.insert(both.end(), answer.begin(), answer.end());
      answer = std::move(both);
    }
    for (float& a : answer) a *= share;
    return graph_.Floats(answer, {1, static_cast<int64_t>(answer.size())});
  }

  std::string Op(const char* op, const Strings& inputs, const OnnxGraph::Attributes& a = {}) {
    return graph_.Node(op, inputs, a);
  }
  // Concatenates columns, without empty names. Returns "" if nothing is left.
  std::string Concat(Strings parts) {
    std::erase(parts, "");
    if (parts.empty()) return "";
    return parts.size() == 1 ? parts[0] : Op("Concat", parts, {{"axis", int64_t{1}}});
  }

  const std::string& ColumnOf(size_t feature) const {
    return schema_.names[static_cast<size_t>(schema_.features[feature])];
  }

  // Returns whether a row with a null in this feature has no prediction.
  bool Needs(size_t feature) const {
    const auto nulls =
        spec::OptionsOf(document_.job.data.features, schema_.rule(feature)).nulls->kind;
    return nulls == spec::NullKind::kFail || nulls == spec::NullKind::kDrop;
  }

  void FindColumns() {
    Columns dates, booleans;
    for (size_t i = 0; i < fitted_.features.size(); ++i) {
      (fitted_.features[i].codes > 0 ? texts_ : numbers_).PlaceOf(ColumnOf(i));
      const spec::FeatureType type = schema_.rule(i).type;
      if (type == spec::FeatureType::kDate) dates.PlaceOf(ColumnOf(i));
      if (type == spec::FeatureType::kBoolean) booleans.PlaceOf(ColumnOf(i));
    }
    if (numbers_.size() > 0) {
      graph_.Input("numbers", OnnxType::kDouble, numbers_.size());
      graph_.Describe("numbers", numbers_.Lines());
    }
    if (dates.size() > 0) graph_.Describe("dates", dates.Lines());
    if (booleans.size() > 0) graph_.Describe("booleans", booleans.Lines());
    if (texts_.size() > 0) {
      graph_.Input("texts", OnnxType::kString, texts_.size());
      graph_.Describe("texts", texts_.Lines());
    }
  }

  // Returns a feature's number [rows, 1] before scaling.
  std::string NumberOf(size_t feature) {
    const int64_t place = numbers_.PlaceOf(ColumnOf(feature));
    const std::string column =
        Op("Gather", {"numbers", graph_.Whole({&place, 1}, {1})}, {{"axis", int64_t{1}}});
    const spec::FeatureRule rule = schema_.rule(feature);
    if (rule.type == spec::FeatureType::kDate) return DatePartNode(graph_, column, rule.part);
    if (spec::IsPlain(document_.job.data.features, rule) ||
        rule.type == spec::FeatureType::kBoolean) {
      return column;
    }
    const std::string none = Op("LessOrEqual", {column, graph_.Number(-1)});
    missing_.push_back(Op("Cast", {none}, {{"to", kInt64}}));
    return Op("Log", {Op("Add", {column, graph_.Number(1)})});
  }

  // Returns the numeric features.
  std::vector<const spec::FittedFeature*> FittedNumbers() const {
    std::vector<const spec::FittedFeature*> numbers;
    for (const spec::FittedFeature& f : fitted_.features) {
      if (f.codes == 0) numbers.push_back(&f);
    }
    return numbers;
  }

  // Returns scaled numbers, with the smooth clip for features that have it. A third of 0 leaves the
  // others unchanged.
  std::string Clipped(const std::string& z) {
    std::vector<double> limit, below, third;
    for (const spec::FittedFeature* f : FittedNumbers()) {
      // The square does not overflow.
      limit.push_back(f->smooth_clip ? 3e100 : std::numeric_limits<double>::infinity());
      below.push_back(-limit.back());
      third.push_back(f->smooth_clip ? 1.0 / 3 : 0);
    }
    if (std::all_of(third.begin(), third.end(), [](double v) { return v == 0; })) return z;
    const std::vector<int64_t> dims = {1, static_cast<int64_t>(third.size())};
    const std::string held =
        Op("Max", {Op("Min", {z, graph_.Doubles(limit, dims)}), graph_.Doubles(below, dims)});
    const std::string share = Op("Mul", {held, graph_.Doubles(third, dims)});
    const std::string one = Op("Add", {Op("Mul", {share, share}), graph_.Number(1)});
    return Op("Div", {held, Op("Sqrt", {one})});
  }

  // Returns a tensor of the current fit, or of the model.
  std::vector<float> ParametersOf(const std::string& name) const {
    const std::string of_fit = "fits." + std::to_string(fit_) + "." + name;
    const auto tensor =
        std::find_if(tensors_.begin(), tensors_.end(),
                     [&](const spec::TensorInfo& t) { return t.name == name || t.name == of_fit; });
    return Parameters(*tensor);
  }

  // Returns the embeddings of numbers, float [rows, count * width]. `raw`, `scaled`: [rows, all
  // numbers]. The numbers at `places` have an embedding.
  std::string EmbeddedNumbers(const std::string& raw, const std::string& scaled,
                              const std::vector<int64_t>& places) {
    const auto [count, bins, width] = model_.shape.numbers;
    const std::string at = graph_.Whole(places, {count});
    const auto picked = [&](const std::string& all, int64_t last) {
      const int64_t shape[] = {0, count, last};  // 0: the number of rows
      return Op("Reshape",
                {Op("Gather", {all, at}, {{"axis", int64_t{1}}}), graph_.Whole(shape, {3})});
    };
    // Halves of edges and values, because their differences do not overflow.
    std::vector<double> low, size;
    for (const spec::FittedFeature* f : FittedNumbers()) {
      if (f->embedding == 0) continue;
      const auto edges = static_cast<int64_t>(f->bin_edges.size());
      for (int64_t bin = 0; bin < bins; ++bin) {
        const bool has = bin + 1 < edges;  // the weights of other bins are 0
        low.push_back(f->bin_edges[static_cast<size_t>(has ? bin : 0)] / 2);
        size.push_back(has ? f->bin_edges[static_cast<size_t>(bin) + 1] / 2 - low.back() : 1);
      }
    }
    const std::string half = Op("Mul", {picked(raw, 1), graph_.Number(0.5)});
    const std::string passed = Op("Div", {Op("Sub", {half, graph_.Doubles(low, {1, count, bins})}),
                                          graph_.Doubles(size, {1, count, bins})});
    const std::string share =
        Op("Cast", {Op("Min", {Op("Max", {passed, graph_.Number(0)}), graph_.Number(1)})},
           {{"to", kFloat}});
    const std::vector<int64_t> turned = {1, 0, 2};
    const std::string by_number = Op("Transpose", {share}, {{"perm", turned}});
    const std::string product = Op(
        "MatMul",
        {by_number, graph_.Floats(ParametersOf("layers.0.numbers.weight"), {count, bins, width})});
    const std::string slope =
        Op("Mul", {picked(scaled, 1),
                   graph_.Floats(ParametersOf("layers.0.numbers.slope"), {1, count, width})});
    const std::string line =
        Op("Add", {slope, graph_.Floats(ParametersOf("layers.0.numbers.bias"), {1, count, width})});
    const int64_t flat[] = {0, count * width};
    return Op("Reshape", {Op("Add", {line, Op("Transpose", {product}, {{"perm", turned}})}),
                          graph_.Whole(flat, {2})});
  }

  // Returns the inputs of the first layer, except one-hot ones, times their factors.
  std::string Scaled(const std::string& inputs) {
    std::vector<float> factors = ParametersOf("layers.0.scale");
    factors.resize(static_cast<size_t>(model_.shape.layers.front().in));
    return Op("Mul", {inputs, graph_.Floats(factors, {1, model_.shape.layers.front().in})});
  }

  // Returns the network's scaled numbers as float [rows, dense], followed by those with an
  // embedding. Returns "" if there are none.
  std::string Numbers() {
    std::vector<double> shift, factor, null_value;
    std::vector<int64_t> embedded;
    Strings parts;
    bool plain = true, indicators = false, replaces = false;
    std::vector<int64_t> order;   // of [scaled | indicators], in the order of the network
    std::vector<int64_t> needed;  // numbers without which a row has no prediction
    int64_t count = 0;
    for (const spec::FittedFeature& f : fitted_.features) count += f.codes == 0;
    for (size_t i = 0; i < fitted_.features.size(); ++i) {
      const spec::FittedFeature& f = fitted_.features[i];
      if (f.codes > 0) continue;
      plain = plain && spec::IsPlain(document_.job.data.features, schema_.rule(i));
      const auto at = static_cast<int64_t>(shift.size());
      (f.embedding > 0 ? embedded : order).push_back(at);
      if (f.null_indicator) order.push_back(count + at);
      if (Needs(i)) needed.push_back(at);
      indicators = indicators || f.null_indicator;
      shift.push_back(f.shift);
      factor.push_back(f.factor);
      const spec::NullKind nulls =
          spec::OptionsOf(document_.job.data.features, schema_.rule(i)).nulls->kind;
      const bool replaced = spec::FillsNulls(nulls);
      replaces = replaces || replaced;
      null_value.push_back(replaced ? f.null_value : std::nan(""));
    }
    if (count == 0) return "";
    std::string raw = "numbers";  // plain: each column is one feature
    if (!plain) {
      for (size_t i = 0; i < fitted_.features.size(); ++i) {
        if (fitted_.features[i].codes == 0) parts.push_back(NumberOf(i));
      }
      raw = Concat(parts);
    }
    const std::string null = Op("IsNaN", {raw});
    if (!needed.empty()) {
      const auto size = static_cast<int64_t>(needed.size());
      const std::string places = graph_.Whole(needed, {size});
      const std::string missing = Op("Gather", {null, places}, {{"axis", int64_t{1}}});
      missing_.push_back(Op("Cast", {missing}, {{"to", kInt64}}));
    }
    std::string x = raw;
    if (replaces) x = Op("Where", {null, graph_.Doubles(null_value, {1, count}), raw});
    const std::string given = x;
    x = Op("Mul",
           {Op("Sub", {x, graph_.Doubles(shift, {1, count})}), graph_.Doubles(factor, {1, count})});
    x = Op("Cast", {Clipped(x)}, {{"to", kFloat}});
    if (!indicators && embedded.empty()) return x;
    std::string numbers;
    if (!order.empty()) {
      const std::string both = Concat({x, Op("Cast", {null}, {{"to", kFloat}})});
      numbers = Op("Gather", {both, graph_.Whole(order, {static_cast<int64_t>(order.size())})},
                   {{"axis", int64_t{1}}});
    }
    if (embedded.empty()) return numbers;
    return Concat({numbers, EmbeddedNumbers(given, x, embedded)});
  }

  // Returns the table rows that the codes of a coded feature select, [rows, width].
  std::string Picked(size_t feature, size_t coded) {
    const spec::FittedFeature& f = fitted_.features[feature];
    const int64_t place = texts_.PlaceOf(ColumnOf(feature));
    const std::string text =
        Op("Gather", {"texts", graph_.Whole({&place, 1}, {})}, {{"axis", int64_t{1}}});
    if (Needs(feature)) {
      const int64_t column[] = {-1, 1};
      const std::string missing = Encoded(text, {""}, {1}, 0);
      missing_.push_back(Op("Reshape", {missing, graph_.Whole(column, {2})}));
    }
    const model::TableShape& table = model_.shape.tables[coded];
    const char* const kind = table.one_hot ? "layers.0.one_hot." : "layers.0.embeddings.";
    std::vector<float> rows = ParametersOf(kind + std::to_string(coded) + ".weight");
    if (table.one_hot && model_.shape.scaling_layer) {
      const std::vector<float> factors = ParametersOf("layers.0.scale");
      for (size_t i = 0; i < rows.size(); ++i) {
        rows[i] *= factors[one_hot_begin_ + i / static_cast<size_t>(table.width)];
      }
      one_hot_begin_ += static_cast<size_t>(table.codes);
    }
    rows.resize(rows.size() + static_cast<size_t>(table.width));  // zeros for no code
    const std::string weights = graph_.Floats(rows, {table.codes + 1, table.width});
    return Op("Gather", {weights, CodeOf(f, text)}, {{"axis", int64_t{0}}});
  }

  std::string CodeOf(const spec::FittedFeature& f, const std::string& text) {
    if (f.hashed) {
      const std::string hash =
          graph_.Node("MurmurHash3", {text}, {{"positive", int64_t{1}}}, "", "com.microsoft");
      return Op("Mod", {Op("Cast", {hash}, {{"to", kInt64}}), graph_.Whole({&f.codes, 1}, {1})});
    }
    std::vector<int64_t> codes(f.vocabulary.size());
    for (size_t k = 0; k < codes.size(); ++k) codes[k] = static_cast<int64_t>(k);
    const auto other = static_cast<int64_t>(codes.size());
    Strings keys = f.vocabulary;
    if (keys.empty()) {
      keys.emplace_back();
      codes.push_back(other);
    }
    return Encoded(text, keys, codes, other);
  }
  // Maps texts to numbers, and texts that are not keys to `other`.
  std::string Encoded(const std::string& text, const Strings& keys,
                      const std::vector<int64_t>& numbers, int64_t other) {
    return graph_.Node(
        "LabelEncoder", {text},
        {{"keys_strings", keys}, {"values_int64s", numbers}, {"default_int64", other}}, "",
        "ai.onnx.ml");
  }

  std::string Embeddings() {
    Strings parts;
    size_t coded = 0;
    for (size_t i = 0; i < fitted_.features.size(); ++i) {
      if (fitted_.features[i].codes == 0) continue;
      const std::string picked = Picked(i, coded);
      (model_.shape.tables[coded++].one_hot ? one_hot_ : parts).push_back(picked);
    }
    return Concat(std::move(parts));
  }

  std::vector<float> Parameters(const spec::TensorInfo& tensor) const {
    return std::visit(
        [&](const auto& flat) {
          const auto begin = flat.begin() + tensor.offset;
          return std::vector<float>(begin, begin + tensor.size);
        },
        model_.parameters);
  }
  std::string NextTensor() {
    const spec::TensorInfo& tensor = tensors_[next_++];
    return graph_.Floats(Parameters(tensor), tensor.shape);
  }

  std::string Layers(std::string x) {
    for (size_t i = 0; i < model_.shape.layers.size(); ++i) {
      const model::LayerShape& layer = model_.shape.layers[i];
      const std::string weight = NextTensor(), bias = NextTensor();
      std::string z =
          layer.in == 0 ? bias : Op("Gemm", {x, weight, bias}, {{"transB", int64_t{1}}});
      for (const std::string& rows : one_hot_) z = Op("Add", {rows, z});
      one_hot_.clear();
      if (layer.norm) {
        const std::string gain = NextTensor(), shift = NextTensor();
        z = Op("LayerNormalization", {z, gain, shift}, {{"epsilon", 1e-5f}});
      }
      z = Activate(layer.activation, z);
      x = layer.residual ? Op("Add", {z, x}) : z;
    }
    return x;
  }

  std::string FloatNumber(float value) { return graph_.Floats({&value, 1}, {1}); }

  std::string Activate(spec::Activation activation, const std::string& z) {
    switch (activation) {
      case spec::Activation::kIdentity:
        return z;
      case spec::Activation::kRelu:
        return Op("Relu", {z});
      case spec::Activation::kTanh:
        return Op("Tanh", {z});
      case spec::Activation::kSigmoid:
        return Op("Sigmoid", {z});
      case spec::Activation::kLeakyRelu:
        return Op("LeakyRelu", {z}, {{"alpha", 0.01f}});
      case spec::Activation::kElu:
        return Op("Elu", {z}, {{"alpha", 1.0f}});
      case spec::Activation::kSilu:
        return Op("Mul", {z, Op("Sigmoid", {z})});
      case spec::Activation::kGelu:
        break;
    }
    const std::string erf = Op("Erf", {Op("Mul", {z, FloatNumber(0.70710678f)})});
    return Op("Mul", {Op("Mul", {z, FloatNumber(0.5f)}), Op("Add", {erf, FloatNumber(1)})});
  }

  // Returns `answer` for each row, or `none` if a required value is missing or has no logarithm.
  // The NaN of that value may not reach the end of the layers, and a text has no NaN.
  std::string Given(const std::string& answer, const std::string& none) {
    if (missing_.empty()) return answer;
    if (no_answer_.empty()) {  // [rows, 1]
      const int64_t axis = 1;
      const std::string count = Op("ReduceSum", {Concat(missing_), graph_.Whole({&axis, 1}, {1})});
      no_answer_ = Op("Cast", {count}, {{"to", kBool}});
    }
    return Op("Where", {no_answer_, none, answer});
  }
  std::string Given(const std::string& answer, int64_t none) {
    return Given(answer, graph_.Whole({&none, 1}, {1}));
  }
  void Output(const std::string& name, OnnxType type, int64_t columns, const std::string& answer) {
    graph_.Node("Identity", {answer}, {}, name);
    graph_.Output(name, type, columns);
  }

  void Answer(const std::string& z) {
    if (model_.multilabel()) return AnswerLabels(z);
    if (!model_.classification()) return AnswerValues(z);
    const auto classes = static_cast<int64_t>(fitted_.classes.size());
    std::string shares;
    if (model_.shape.loss == spec::Loss::kBinaryCrossEntropy) {
      shares = Concat({Op("Sigmoid", {Op("Neg", {z})}), Op("Sigmoid", {z})});
    } else {
      shares = Op("Softmax", {z}, {{"axis", int64_t{1}}});
    }
    const std::string best = Op("ArgMax", {Scores(shares, classes)}, {{"axis", int64_t{1}}});
    const int64_t all = -1;
    const std::string place = Op("Reshape", {Given(best, classes), graph_.Whole({&all, 1}, {1})});
    Strings names = fitted_.classes;
    names.emplace_back();  // for a row without a prediction
    Output("label", OnnxType::kString, 0,
           Op("Gather", {graph_.Texts(names), place}, {{"axis", int64_t{0}}}));
    Output("probabilities", OnnxType::kFloat, classes, Given(shares, FloatNumber(kNoNumber)));
  }

  // Returns [rows, classes], whose largest value is that of the predicted class. Thresholds and
  // costs decide in double precision, as in model/loss.h.
  std::string Scores(const std::string& shares, int64_t classes) {
    const model::NetworkShape& shape = model_.shape;
    if (shape.decides_plainly()) return shares;
    const std::string exact = Op("Cast", {shares}, {{"to", kDouble}});
    if (!shape.costs.empty()) return Op("MatMul", {exact, Savings(classes)});
    return Op("Div", {exact, graph_.Doubles(shape.thresholds, {1, classes})});
  }

  // Returns [true class, predicted class]: how much less than 1 the prediction costs.
  std::string Savings(int64_t classes) {
    std::vector<double> savings(static_cast<size_t>(classes * classes));
    for (int64_t k = 0; k < classes; ++k) savings[static_cast<size_t>(k * classes + k)] = 1;
    for (const spec::CostOfClass& c : model_.shape.costs) {
      savings[static_cast<size_t>(c.truth * classes + c.predicted)] = 1 - c.cost;
    }
    return graph_.Doubles(savings, {classes, classes});
  }

  void AnswerLabels(const std::string& z) {
    const auto labels = static_cast<int64_t>(fitted_.targets.size());
    const std::string shares = Op("Sigmoid", {z});
    const std::string yes = Op("Greater", {shares, FloatNumber(0.5f)});
    Output("labels", OnnxType::kInt64, labels, Given(Op("Cast", {yes}, {{"to", kInt64}}), -1));
    Output("probabilities", OnnxType::kFloat, labels, Given(shares, FloatNumber(kNoNumber)));
    std::string names;
    for (const spec::FittedTarget& t : fitted_.targets)
      names += (names.empty() ? "" : "\n") + t.name;
    graph_.Describe("labels", names);
  }

  void AnswerValues(const std::string& z) {
    const auto targets = static_cast<int64_t>(fitted_.targets.size());
    std::vector<double> shift, factor, least, most;
    for (const spec::FittedTarget& t : fitted_.targets) {
      shift.push_back(t.shift);
      factor.push_back(t.factor);
      if (t.range.empty()) continue;  // all targets have a range, or none has
      least.push_back(t.range[0]);
      most.push_back(t.range[1]);
    }
    std::string y = Op("Cast", {z}, {{"to", kDouble}});
    if (model_.shape.loss == spec::Loss::kPoisson) y = Op("Exp", {y});
    y = Op("Div", {y, graph_.Doubles(factor, {1, targets})});
    y = Op("Add", {y, graph_.Doubles(shift, {1, targets})});
    if (!least.empty()) {
      y = Op("Min", {Op("Max", {y, graph_.Doubles(least, {1, targets})}),
                     graph_.Doubles(most, {1, targets})});
    }
    Output("values", OnnxType::kDouble, targets, Given(y, graph_.Number(std::nan(""))));
    AnswerIntervals(y, targets);
  }

  // Adds the ends of the prediction intervals, if the model has them. Counts are never negative.
  void AnswerIntervals(const std::string& y, int64_t targets) {
    if (!document_.intervals) return;
    const std::string widths = graph_.Doubles(document_.intervals->half_widths, {1, targets});
    for (const bool upper : {false, true}) {
      std::string end = Op(upper ? "Add" : "Sub", {y, widths});
      if (model_.shape.loss == spec::Loss::kPoisson) end = Op("Max", {end, graph_.Number(0)});
      Output(upper ? "upper" : "lower", OnnxType::kDouble, targets,
             Given(end, graph_.Number(std::nan(""))));
    }
    graph_.Describe("interval_level", ShortestDouble(document_.intervals->level));
  }

  const TrainedModel& model_;
  const bundle::ModelDocument& document_;
  const spec::Schema& schema_;
  const spec::Preprocessing& fitted_;
  const spec::TensorList tensors_;
  int64_t fit_ = 0;       // counted from 0
  size_t next_ = 0;       // index into tensors_, by layer
  size_t one_hot_begin_;  // first factor of the next one-hot feature
  OnnxGraph graph_;
  Columns numbers_, texts_;
  Strings one_hot_;        // their terms in the first layer's sums
  Strings missing_;        // int64 [rows, any]: not 0 if the row has no prediction
  std::string no_answer_;  // bool [rows, 1], from missing_
};

}  // namespace

Result<std::string> EncodeOnnx(const TrainedModel& model) {
  const int64_t parameters = model::ParameterCount(model.shape);
  if (parameters > kOnnxParametersMax) {
    return Unimplemented("the model has " + HumanCount(parameters) + " parameters, more than the " +
                         HumanCount(kOnnxParametersMax) +
                         " that one ONNX file holds; use its weights.safetensors");
  }
  return Exporter(model).Run();
}

}  // namespace espalier::scoring
