#include "src/bundle/same_columns.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/text.h"

namespace espalier::bundle {
namespace {

// Describes the first difference between `earlier` and `now`. Returns nothing if they are equal.
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

bool IsSubset(std::vector<std::string> some, std::vector<std::string> all) {
  std::sort(some.begin(), some.end());
  std::sort(all.begin(), all.end());
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

std::vector<const spec::FittedFeature*> Coded(const spec::Preprocessing& p) {
  std::vector<const spec::FittedFeature*> features;
  for (const spec::FittedFeature& f : p.features) {
    if (f.codes > 0) features.push_back(&f);
  }
  return features;
}

// Returns whether each value of `earlier` has a code of the same kind in `now`.
bool HasAll(const spec::FittedFeature& earlier, const spec::FittedFeature& now) {
  if (earlier.hashed || now.hashed) {
    return earlier.hashed == now.hashed && earlier.codes == now.codes;
  }
  return IsSubset(earlier.vocabulary, now.vocabulary);
}

// Returns the position in `now` of each text of `earlier`, or -1 if it is missing. Returns an empty
// list if both are equal.
std::vector<int64_t> PlacesOf(const std::vector<std::string>& earlier,
                              const std::vector<std::string>& now) {
  if (earlier == now) return {};
  std::map<std::string_view, int64_t> places;
  for (const std::string& text : now) places.emplace(text, std::ssize(places));
  std::vector<int64_t> found;
  for (const std::string& text : earlier) {
    const auto at = places.find(text);
    found.push_back(at == places.end() ? -1 : at->second);
  }
  return found;
}

// Returns the position of each code of `earlier` in the same way.
std::vector<int64_t> CodePlaces(const spec::FittedFeature& earlier,
                                const spec::FittedFeature& now) {
  if (earlier.codes == now.codes && earlier.hashed == now.hashed &&
      earlier.vocabulary == now.vocabulary) {
    return {};
  }
  std::vector<int64_t> places(static_cast<size_t>(earlier.codes), -1);
  if (earlier.hashed || now.hashed) return places;
  const size_t known = earlier.vocabulary.size();
  const std::vector<int64_t> moved = PlacesOf(earlier.vocabulary, now.vocabulary);
  for (size_t k = 0; k < std::min(known, places.size()); ++k) {
    places[k] = moved.empty() ? static_cast<int64_t>(k) : moved[k];
  }
  const auto others = std::ssize(now.vocabulary);  // code of other values, if it exists
  if (places.size() > known && now.codes > others) places[known] = others;
  return places;
}

template <typename Part>
std::vector<std::string> NamesOf(const std::vector<Part>& parts) {
  std::vector<std::string> names;
  for (const Part& part : parts) names.push_back(part.name);
  return names;
}

}  // namespace

Status CheckCategories(const spec::Preprocessing& model, const spec::Preprocessing& fitted) {
  const auto earlier = Coded(model), now = Coded(fitted);
  for (size_t i = 0; i < now.size(); ++i) {
    if (i < earlier.size() && HasAll(*earlier[i], *now[i])) continue;
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
  if (!model.classes.empty() && IsSubset(model.classes, fitted.classes)) return {};
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

Placements::Placements(const spec::Preprocessing& model, const spec::Preprocessing& fitted,
                       int64_t layers)
    : classes_(PlacesOf(model.classes, fitted.classes)), last_(layers - 1) {
  const auto earlier = Coded(model), now = Coded(fitted);
  bool moved = false;
  for (size_t k = 0; k < std::min(earlier.size(), now.size()); ++k) {
    tables_.push_back(CodePlaces(*earlier[k], *now[k]));
    moved = moved || !tables_.back().empty();
  }
  if (!moved) return;
  // A scaling layer has one element for each input, followed by those for the codes of one-hot
  // columns.
  const spec::InputShape inputs = spec::InputsOf(fitted);
  int64_t end = inputs.dense + inputs.numbers.count * inputs.numbers.width;
  for (const spec::CodedInput& coded : inputs.coded) end += coded.embedding;
  for (int64_t i = 0; i < end; ++i) scale_.push_back(i);
  for (size_t k = 0; k < tables_.size(); ++k) {
    if (now[k]->embedding > 0) continue;
    for (int64_t code = 0; code < earlier[k]->codes; ++code) {
      const int64_t place = tables_[k].empty() ? code : tables_[k][static_cast<size_t>(code)];
      scale_.push_back(place < 0 ? -1 : end + place);
    }
    end += now[k]->codes;
  }
}

Placement Placements::Of(const std::string& tensor) const {
  const std::string last = "layers." + std::to_string(last_) + ".";
  if (tensor == "layers.0.scale") return {scale_, {}};
  if (tensor == last + "weight" || tensor == last + "bias") return {classes_, {}};
  for (const std::string kind : {"layers.0.one_hot.", "layers.0.embeddings."}) {
    if (!tensor.starts_with(kind)) continue;
    const size_t k = std::stoul(tensor.substr(kind.size()));
    const bool answers = last_ == 0 && kind == "layers.0.one_hot.";
    return {k < tables_.size() ? tables_[k] : std::vector<int64_t>(),
            answers ? classes_ : std::vector<int64_t>()};
  }
  return {};
}

}  // namespace espalier::bundle
