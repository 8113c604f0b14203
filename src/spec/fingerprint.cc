// The canonical text: one line per field, `path=value`. Texts have a length prefix, and lists and
// variants contain their size or alternative. Two jobs therefore have the same text only if they
// are the same.
#include <string>
#include <type_traits>
#include <variant>

#include "src/base/checksum.h"
#include "src/base/text.h"
#include "src/spec/fields.h"
#include "src/spec/job_spec.h"
#include "src/spec/names.h"

namespace espalier::spec {
namespace {

class Canon {
 public:
  template <typename T>
  void Write(const std::string& path, const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      Line(path, value ? "true" : "false");
    } else if constexpr (std::is_same_v<T, std::string>) {
      Line(path, std::to_string(value.size()) + ":" + value);
    } else if constexpr (Named<T>) {
      Line(path, NameOf(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      Line(path, ShortestDouble(value));
    } else if constexpr (std::is_integral_v<T>) {
      Line(path, std::to_string(value));
    } else {
      Fields(
          [&](const Key& key, const auto& member) {
            if (!key.LeftOut(member)) Write(path + "." + key.name, member);
          },
          value);
    }
  }
  template <typename T>
  void Write(const std::string& path, const std::optional<T>& value) {
    if (!value) return Line(path, "not given");  // `none` may be a regular value
    Write(path, *value);
  }
  template <typename T>
  void Write(const std::string& path, const std::vector<T>& values) {
    Line(path, std::to_string(values.size()) + " items");
    for (const T& v : values) Write(path + "[]", v);
  }
  template <typename... T>
  void Write(const std::string& path, const std::variant<T...>& value) {
    Line(path, "alternative " + std::to_string(value.index()));
    std::visit([&](const auto& v) { Write(path, v); }, value);
  }

  const std::string& text() const { return text_; }

 private:
  void Line(const std::string& path, const std::string& value) {
    text_ += path + "=" + value + "\n";
  }
  std::string text_ = "espalier job 1\n";
};

// Maps "hdfs://namenode:9000/a/b" to "hdfs:///a/b". The files are the same, regardless of the
// address that serves them.
std::string WithoutAddress(const std::string& path) {
  const size_t scheme = path.find("://");
  if (scheme == std::string::npos) return path;
  const size_t slash = path.find('/', scheme + 3);
  return path.substr(0, scheme + 3) + (slash == std::string::npos ? "" : path.substr(slash));
}

}  // namespace

std::string CanonicalText(const JobSpec& job) {
  DataSpec data = job.data;
  for (auto* list : {&data.train, &data.test, &data.validation.files}) {
    for (std::string& path : *list) path = WithoutAddress(path);
  }
  TrainSpec train = job.train;
  if (train.initial) train.initial->from = WithoutAddress(train.initial->from);
  Canon canon;
  canon.Write("data", data);
  // Earlier versions draw these rows differently (data/features/validation_draw.h).
  if (data.validation.exact && (data.validation.fold || data.validation.stratify)) {
    canon.Write("data.validation.shares", std::string("balanced"));
  }
  canon.Write("model", job.model);
  canon.Write("train", train);
  return canon.text();
}

std::string Fingerprint(const JobSpec& job) { return Sha256Hex(CanonicalText(job)); }

}  // namespace espalier::spec
