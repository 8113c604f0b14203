#include "src/bundle/same_columns.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "src/base/text.h"

namespace espalier::bundle {
namespace {

// What stands where `now` has something else, in words; nothing: they are the same.
std::optional<std::string> Difference(const std::vector<std::string>& earlier,
                                      const std::vector<std::string>& now) {
  const size_t least = std::min(earlier.size(), now.size());
  for (size_t i = 0; i < least; ++i) {
    if (earlier[i] == now[i]) continue;
    return "'" + Printable(earlier[i]) + "' where this job has '" + Printable(now[i]) + "'";
  }
  if (earlier.size() == now.size()) return std::nullopt;
  return std::to_string(earlier.size()) + " where this job has " + std::to_string(now.size());
}

template <typename Part>
std::vector<std::string> NamesOf(const std::vector<Part>& parts) {
  std::vector<std::string> names;
  for (const Part& part : parts) names.push_back(part.name);
  return names;
}

}  // namespace

Status CheckCategories(const spec::Preprocessing& model, const spec::Preprocessing& fitted) {
  const auto coded = [](const spec::Preprocessing& p) {
    std::vector<const spec::FittedFeature*> features;
    for (const spec::FittedFeature& f : p.features) {
      if (f.codes > 0) features.push_back(&f);
    }
    return features;
  };
  const auto earlier = coded(model), now = coded(fitted);
  for (size_t i = 0; i < now.size(); ++i) {
    const bool same = i < earlier.size() && earlier[i]->codes == now[i]->codes &&
                      earlier[i]->hashed == now[i]->hashed &&
                      earlier[i]->vocabulary == now[i]->vocabulary;
    if (same) continue;
    return FailedPrecondition(
        "the column '" + Printable(now[i]->name) +
        "' had other values in the training rows of that model, so its weights would be taken for "
        "other values; name the layers that do not depend on them: {from: MODEL, layers: [1]}, or "
        "hash the column (`hash`) in both");
  }
  return {};
}

Status CheckNames(const spec::Preprocessing& model, const spec::Preprocessing& fitted,
                  const LayersTaken& taken, const std::string& otherwise) {
  if (const auto found = Difference(NamesOf(model.features), NamesOf(fitted.features));
      found && taken.first) {
    return FailedPrecondition(
        "the inputs of that model are other columns, or in another order: " + *found +
        "; list them in its order in data.features.columns" + otherwise);
  }
  const bool one = model.targets.size() == 1 && fitted.targets.size() == 1;
  const auto found = model.classes.empty() && !one
                         ? Difference(NamesOf(model.targets), NamesOf(fitted.targets))
                         : Difference(model.classes, fitted.classes);
  if (found && taken.last) {
    return FailedPrecondition("that model answers with other classes or targets: " + *found +
                              "; name the layers below the last one: {from: MODEL, layers: [0]}" +
                              otherwise);
  }
  return {};
}

Status CheckPlaces(const spec::Preprocessing& model, const spec::Preprocessing& fitted) {
  const spec::InputShape earlier = spec::InputsOf(model), now = spec::InputsOf(fitted);
  if (earlier.dense == now.dense && earlier.numbers == now.numbers && earlier.coded == now.coded &&
      model.classes.size() == fitted.classes.size() &&
      model.targets.size() == fitted.targets.size()) {
    return {};
  }
  return FailedPrecondition(
      "that network has other inputs or answers than this job's: a checkpoint is for a network of "
      "the same layers and inputs");
}

}  // namespace espalier::bundle
