// Writer of the YAML of jobs, in the forms that job_sections.h reads. A value that is not a plain
// field in YAML has an overload of Write. All others follow from their Keys.
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "src/base/text.h"
#include "src/config/job_sections.h"
#include "src/config/job_yaml.h"
#include "src/spec/fields.h"
#include "src/spec/names.h"

namespace espalier::config {
namespace {

YamlNode Map() { return {.kind = YamlNode::Kind::kMap}; }

void Append(YamlNode& map, std::string key, YamlNode value) {
  // The key is a text, so that the label `1` of class_weight remains a text.
  map.entries.push_back({ScalarNode(std::move(key)), std::move(value)});
}

// Returns `{word: value}`.
YamlNode Single(std::string word, YamlNode value) {
  YamlNode map = Map();
  Append(map, std::move(word), std::move(value));
  return map;
}

// Returns the amount in the largest of `units` that divides it ("10 min").
struct NamedUnit {
  int64_t size;
  const char* name;
};
template <size_t kUnits>
YamlNode Amount(int64_t value, const NamedUnit (&units)[kUnits]) {
  for (const NamedUnit& unit : units) {
    if (value % unit.size != 0) continue;
    return ScalarNode(std::to_string(value / unit.size) + " " + unit.name);
  }
  return ScalarNode(std::to_string(value));
}
YamlNode Duration(int64_t ms) {
  static constexpr NamedUnit kUnits[] = {
      {86'400'000, "d"}, {3'600'000, "h"}, {60'000, "min"}, {1000, "s"}, {1, "ms"}};
  return Amount(ms, kUnits);
}
YamlNode Size(int64_t bytes) {
  static constexpr NamedUnit kUnits[] = {{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}};
  return Amount(bytes, kUnits);
}

// A struct with a `kind` that determines which of its fields apply.
template <typename T>
concept HasKind = spec::HasFields<T> && requires(const T& t) {
  requires spec::Named<std::remove_cvref_t<decltype(t.kind)>>;
};

// The overloads are members of one struct, so that nested types find each other in any order of
// definition.
struct Writer {
  static YamlNode Write(bool value) { return ScalarNode(value ? "true" : "false"); }
  static YamlNode Write(char value) { return ScalarNode(std::string(1, value), true); }
  static YamlNode Write(const std::string& text) { return ScalarNode(text, true); }
  static YamlNode Write(const spec::ColumnRange& range) {
    return ScalarNode(std::to_string(range.first) + ".." + std::to_string(range.last), true);
  }
  static YamlNode Write(const spec::Span& span) {
    return ScalarNode(ShortestDouble(span.amount) + (span.epochs ? " epochs" : " steps"));
  }
  static YamlNode Write(const spec::Scale& scale) {
    if (scale.kind != spec::ScaleKind::kDivide) return Write(scale.kind);
    return Single("divide", Write(scale.divisor));
  }
  static YamlNode Write(const spec::NullPolicy& nulls) {
    if (nulls.kind != spec::NullKind::kConstant) return Write(nulls.kind);
    return Single("constant", Write(nulls.constant));
  }
  static YamlNode Write(const spec::Shuffle& shuffle) {
    if (shuffle.kind != spec::ShuffleKind::kWindow) return Write(shuffle.kind);
    return Single("window", Write(shuffle.window_rows));
  }
  static YamlNode Write(const spec::BadRows& bad_rows) {
    YamlNode map = Single("policy", ScalarNode(bad_rows.skip ? "skip" : "fail"));
    Append(map, "limit", Write(bad_rows.limit));
    return map;
  }
  static YamlNode Write(const spec::ClassWeights& weights) {
    if (weights.given.empty()) return ScalarNode(weights.balanced ? "balanced" : "none");
    YamlNode map = Map();
    for (const auto& [label, weight] : weights.given) Append(map, label, Write(weight));
    return map;
  }
  static YamlNode Write(const spec::DecisionCosts& costs) {
    YamlNode map = Map();
    for (const auto& [label, row] : costs.given) {
      YamlNode predicted = Map();
      for (const auto& [other, cost] : row) Append(predicted, other, Write(cost));
      Append(map, label, std::move(predicted));
    }
    return map;
  }
  static YamlNode Write(const spec::FeatureGroup& group) { return WithEncoding(group); }
  static YamlNode Write(const spec::CategoryOptions& options) { return WithEncoding(options); }
  static YamlNode Write(const spec::FeatureSpec& features) {
    YamlNode map =
        Single("columns", features.columns.empty() ? ScalarNode("auto") : Write(features.columns));
    AppendFields(map, features);
    return map;
  }
  static YamlNode Write(const spec::ModelSpec& model) {
    YamlNode map = Map();
    AppendFields(map, model);
    if (model.loss) Append(map, "loss", Loss(*model.loss, model));
    return map;
  }
  template <typename... T>
  static YamlNode Write(const std::variant<T...>& value) {
    return std::visit([](const auto& v) { return Write(v); }, value);
  }
  template <typename T>
  static YamlNode Write(const std::vector<T>& values) {
    YamlNode list{.kind = YamlNode::Kind::kSequence};
    for (const T& value : values) list.items.push_back(Write(value));
    return list;
  }
  template <typename T>
  static YamlNode Write(const T& value) {
    if constexpr (spec::Named<T>) {
      return ScalarNode(spec::NameOf(value));
    } else if constexpr (std::floating_point<T>) {
      return ScalarNode(ShortestDouble(value));
    } else if constexpr (std::integral<T>) {
      return ScalarNode(std::to_string(value));
    } else {
      YamlNode map = Map();
      AppendFields(map, value);
      if constexpr (HasKind<T>) {
        if (map.entries.empty()) return Write(value.kind);
        return Single(spec::NameOf(value.kind), std::move(map));
      } else {
        return map;
      }
    }
  }

  // Returns the section `workers` of a job that scores.
  static YamlNode ScoringWorkers(const spec::WorkerRange& workers) {
    YamlNode map = Map();
    spec::Fields(
        [&](const spec::Key& key, const auto& member) {
          if (!key.training_only) AppendField(map, key, member);
        },
        workers);
    return map;
  }
  static YamlNode Train(const spec::JobSpec& job) {
    YamlNode map = Map();
    AppendFields(map, job.train);
    const auto automatic = [](const auto& value) {
      return value == 0 ? ScalarNode("auto") : Write(value);
    };
    Append(map, "batch", automatic(job.train.batch));
    if (job.train.epochs) Append(map, "epochs", automatic(*job.train.epochs));
    Append(map, "on_nonfinite", ScalarNode(job.train.skip_nonfinite ? "skip" : "fail"));
    if (!job.checkpoint) {
      Append(map, "checkpoint", ScalarNode("none"));
    } else if (job.checkpoint->asked_for) {
      YamlNode checkpoint = Map();
      AppendFields(checkpoint, *job.checkpoint);
      Append(map, "checkpoint", std::move(checkpoint));
    }
    return map;
  }

 private:
  template <typename S>
  static YamlNode WithEncoding(const S& options) {
    YamlNode map = Map();
    AppendFields(map, options);
    if (options.embedding > 0) {
      Append(map, "encode", Single("embedding", Write(options.embedding)));
    }
    return map;
  }
  // Returns the loss with its parameter, which is a field of the model.
  static YamlNode Loss(spec::Loss loss, const spec::ModelSpec& model) {
    const auto with = [loss](const char* key, double value) {
      return Single(spec::NameOf(loss), Single(key, Write(value)));
    };
    switch (loss) {
      case spec::Loss::kSoftmaxCrossEntropy:
      case spec::Loss::kBinaryCrossEntropy:
        return with("label_smoothing", model.label_smoothing);
      case spec::Loss::kHuber:
        return with("delta", model.huber_delta);
      case spec::Loss::kQuantile:
        return with("quantile", model.quantile);
      default:
        return ScalarNode(spec::NameOf(loss));
    }
  }

  // Appends the fields of `s` that have a key, apply to its kind and have a value.
  template <typename S>
  static void AppendFields(YamlNode& map, const S& s) {
    spec::Fields(
        [&](const spec::Key& key, const auto& member) {
          if constexpr (HasKind<S>) {
            if (!key.Belongs(s.kind)) return;
          }
          AppendField(map, key, member);
        },
        s);
  }
  template <typename T>
  static void AppendField(YamlNode& map, const spec::Key& key, const T& member) {
    if (key.inlined) {
      if constexpr (spec::HasFields<T>) AppendFields(map, member);
    } else if (!key.by_hand && !key.LeftOut(member)) {
      if constexpr (std::is_same_v<T, std::string>) {
        if (key.path && member.empty()) return;
      }
      Append(map, key.yaml, Field(key, member));
    }
  }
  template <typename T>
  static void AppendField(YamlNode& map, const spec::Key& key, const std::optional<T>& member) {
    if (member && key.later && !key.by_hand) {  // an explicit value, even a default one
      return Append(map, key.yaml, Field(key, *member));
    }
    if (member) return AppendField(map, key, *member);
    if (key.absent != nullptr) Append(map, key.yaml, ScalarNode(key.absent));
  }
  template <typename T>
  static YamlNode Field(const spec::Key& key, const T& member) {
    if constexpr (std::is_same_v<T, char>) {
      if (member == 0 && key.no_character != nullptr) return ScalarNode(key.no_character);
    } else if constexpr (std::is_same_v<T, int64_t>) {
      if (key.unit == spec::Key::Unit::kMilliseconds) return Duration(member);
      if (key.unit == spec::Key::Unit::kBytes) return Size(member);
    }
    return Write(member);
  }
};

}  // namespace

YamlNode JobToYaml(const spec::JobSpec& job) {
  YamlNode root = Single("name", Writer::Write(job.name));
  if (job.preset != spec::Preset::kNone) Append(root, "preset", Writer::Write(job.preset));
  Append(root, "data", Writer::Write(job.data));
  Append(root, "model", Writer::Write(job.model));
  Append(root, "train", Writer::Train(job));
  Append(root, "workers", Writer::Write(job.workers));
  Append(root, "output", Writer::Write(job.output));
  if (job.resume) Append(root, "resume", Writer::Write(*job.resume));
  return root;
}

YamlNode ScoringToYaml(const spec::ScoringSpec& spec) {
  YamlNode root = Single("name", Writer::Write(spec.name));
  Append(root, spec::NameOf(spec.kind()), Writer::Write(spec));
  Append(root, "workers", Writer::ScoringWorkers(spec.workers));
  if (!spec.output.path.empty()) Append(root, "output", Writer::Write(spec.output));
  return root;
}

}  // namespace espalier::config
