#include "src/spec/conditions.h"

#include <vector>

#include "src/spec/names.h"

namespace espalier::spec {
namespace {

const char* PathOf(Decider decider) {
  switch (decider) {
    case Decider::kNone:
      break;
    case Decider::kTask:
      return "model.task";
    case Decider::kLoss:
      return "model.loss";
    case Decider::kOptimizer:
      return "train.optimizer";
    case Decider::kMode:
      return "train.mode";
    case Decider::kColumnType:
      return "type";
  }
  return "";
}

template <Named E>
std::vector<std::string> WordsOf(uint32_t values) {
  std::vector<std::string> words;
  for (const auto& [value, name] : Names<E>::kAll) {
    if ((values >> static_cast<uint32_t>(value) & 1) != 0) words.emplace_back(name);
  }
  return words;
}

// Returns "gd or lbfgs".
std::string WordsOf(Decider decider, uint32_t values) {
  std::vector<std::string> words;
  switch (decider) {
    case Decider::kNone:
      break;
    case Decider::kTask:
      words = WordsOf<Task>(values);
      break;
    case Decider::kLoss:
      words = WordsOf<Loss>(values);
      break;
    case Decider::kOptimizer:
      words = WordsOf<OptimizerKind>(values);
      break;
    case Decider::kMode:
      words = WordsOf<TrainMode>(values);
      break;
    case Decider::kColumnType:
      words = WordsOf<FeatureType>(values);
      break;
  }
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  return text;
}

}  // namespace

int Decided::ValueOf(Decider decider) const {
  switch (decider) {
    case Decider::kNone:
      break;
    case Decider::kTask:
      return static_cast<int>(task);
    case Decider::kLoss:
      return static_cast<int>(loss);
    case Decider::kOptimizer:
      return static_cast<int>(optimizer);
    case Decider::kMode:
      return static_cast<int>(mode);
    case Decider::kColumnType:
      return static_cast<int>(column_type);
  }
  return 0;
}

bool Decided::Permit(const Condition& condition) const {
  const bool among = (condition.values >> ValueOf(condition.decider) & 1) != 0;
  return among != condition.without;
}

std::string Decided::Refusal(const Condition& condition) const {
  const std::string path = PathOf(condition.decider);
  const std::string text =
      condition.without ? "with " + path + " " +
                              WordsOf(condition.decider, uint32_t{1} << ValueOf(condition.decider))
                        : "unless " + path + " is " + WordsOf(condition.decider, condition.values);
  return condition.reason == nullptr ? text : text + ": " + condition.reason;
}

std::string SentenceOf(const Condition& condition, const std::string& usual) {
  const std::string start = !condition.without ? "Only with "
                            : usual.empty()    ? "Not with "
                                               : "Only " + usual + " with ";
  return start + PathOf(condition.decider) + " " + WordsOf(condition.decider, condition.values) +
         ".";
}

}  // namespace espalier::spec
