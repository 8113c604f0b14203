#include "src/bundle/json.h"

#include <cmath>

#include "src/bundle/metrics_json.h"
#include "src/storage/bounded_json.h"

namespace espalier::bundle {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool IsUtf8(std::string_view text) {
  // Dumping drops bytes that are not UTF-8, which shows whether the text contained any.
  const Json json(std::string{text});
  const std::string dumped = json.dump(-1, ' ', false, Json::error_handler_t::ignore);
  const Json back = Json::parse(dumped, nullptr, false);
  return back.is_string() && back.get_ref<const std::string&>() == text;
}

Json PerClass(const spec::Metrics& m, std::span<const std::string> classes) {
  Json list = Json::array();
  for (size_t k = 0; k < m.classes.size(); ++k) {
    const spec::ClassMetrics& c = m.classes[k];
    list.push_back(
        {{"class", k < classes.size() ? TextToJson(classes[k]) : Json(std::to_string(k))},
         {"precision", NumberToJson(c.precision)},
         {"recall", NumberToJson(c.recall)},
         {"f1", NumberToJson(c.f1)},
         {"weight", NumberToJson(c.weight)}});
  }
  return list;
}

Json ConfusionMatrix(const spec::Metrics& m) {
  Json matrix = Json::array();
  const size_t n = m.classes.size();
  for (size_t i = 0; i < n; ++i) {
    Json row = Json::array();
    for (size_t j = 0; j < n; ++j) row.push_back(NumberToJson(m.confusion[i * n + j]));
    matrix.push_back(std::move(row));
  }
  return matrix;
}

}  // namespace

Json ParseJson(std::string_view text) {
  if (storage::NestedTooDeep(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

Json TextToJson(std::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string hex;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    hex += {kHex[byte >> 4], kHex[byte & 15]};
  }
  return {{"hex", hex}};
}

Result<std::string> TextFromJson(const Json& json, const std::string& path) {
  if (json.is_string()) return json.get<std::string>();
  const Status wrong = BadInput(path + ": expected text");
  if (!json.is_object() || !json.contains("hex") || !json["hex"].is_string()) return wrong;
  const auto& hex = json["hex"].get_ref<const std::string&>();
  if (hex.size() % 2 != 0) return wrong;
  std::string text;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int high = HexDigit(hex[i]), low = HexDigit(hex[i + 1]);
    if (high < 0 || low < 0) return wrong;
    text += static_cast<char>(high * 16 + low);
  }
  return text;
}

Json NumberToJson(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == std::trunc(value) && std::abs(value) < 0x1p53) return static_cast<int64_t>(value);
  return value;
}

Json PerTarget(const spec::Metrics& m) {
  Json list = Json::array();
  for (const spec::TargetMetrics& t : m.targets) {
    list.push_back({{"target", TextToJson(t.name)},
                    {"rmse", NumberToJson(t.rmse)},
                    {"mae", NumberToJson(t.mae)},
                    {"r2", NumberToJson(t.r2)}});
    if (t.coverage) list.back()["coverage"] = NumberToJson(*t.coverage);
  }
  return list;
}

Json MetricsToJson(const spec::Metrics& m, std::span<const std::string> classes) {
  Json out = {{"rows", m.rows}, {"weight", NumberToJson(m.weight)}, {"loss", NumberToJson(m.loss)}};
  const std::vector<std::string> notes = spec::MetricNotes(m, classes);
  if (!notes.empty()) out["warnings"] = notes;
  if (!m.classification) {
    out["rmse"] = NumberToJson(m.rmse);
    out["mae"] = NumberToJson(m.mae);
    out["r2"] = NumberToJson(m.r2);
    if (m.coverage) out["coverage"] = NumberToJson(*m.coverage);
    if (m.targets.size() > 1) out["per_target"] = PerTarget(m);
    return out;
  }
  out["accuracy"] = NumberToJson(m.accuracy);
  for (const char* name : {"precision", "recall", "f1"}) {
    if (const auto value = spec::MetricValue(m, name)) out[name] = NumberToJson(*value);
  }
  if (m.auc || (m.classes.size() == 2 && !m.f1_micro)) {
    out["auc"] = m.auc ? NumberToJson(*m.auc) : Json();
    out["average_precision"] = m.average_precision ? NumberToJson(*m.average_precision) : Json();
  }
  if (m.unknown_labels > 0) out["unknown_labels"] = m.unknown_labels;
  if (m.f1_micro) out["f1_micro"] = NumberToJson(*m.f1_micro);
  if (m.f1_macro) out["f1_macro"] = NumberToJson(*m.f1_macro);
  if (m.classes.empty()) return out;
  out["per_class"] = PerClass(m, classes);
  if (m.confusion.size() == m.classes.size() * m.classes.size()) {
    out["confusion_matrix"] = ConfusionMatrix(m);
  }
  return out;
}

std::string MetricsJsonText(const spec::Metrics& metrics, std::span<const std::string> classes) {
  return MetricsToJson(metrics, classes).dump();
}

}  // namespace espalier::bundle
