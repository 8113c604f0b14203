#include "src/data/class_weights.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/data/class_text.h"

namespace espalier {
namespace {

std::vector<double> Balanced(const std::vector<std::string>& classes,
                             const std::map<std::string, int64_t>& rows) {
  int64_t all = 0;
  for (const std::string& name : classes) all += rows.at(name);
  std::vector<double> weights;
  for (const std::string& name : classes) {
    const auto expected = static_cast<double>(all) / static_cast<double>(classes.size());
    weights.push_back(expected / static_cast<double>(rows.at(name)));
  }
  return weights;
}

}  // namespace

Result<std::vector<double>> FitClassWeights(const ClassWeights& wanted,
                                            const std::vector<std::string>& classes,
                                            const std::map<std::string, int64_t>& rows) {
  if (wanted.balanced) return Balanced(classes, rows);
  if (wanted.given.empty()) return std::vector<double>();
  std::vector<double> weights(classes.size(), 1.0);
  for (const ClassWeight& given : wanted.given) {
    auto at = std::find(classes.begin(), classes.end(), given.label);
    if (at == classes.end()) at = std::find(classes.begin(), classes.end(), ClassText(given.label));
    if (at == classes.end()) {
      const auto near = Nearest(given.label, classes);
      return InvalidArgument("train.class_weight: names '" + Printable(given.label) +
                             "', which is the label of no training row" +
                             (near ? "; did you mean '" + Printable(*near) + "'?" : ""));
    }
    weights[at - classes.begin()] = given.weight;
  }
  if (std::all_of(weights.begin(), weights.end(), [](double w) { return w == 0; })) {
    return InvalidArgument("train.class_weight: all classes weigh 0, so that no row would count");
  }
  return weights;
}

}  // namespace espalier
