// ScoringSpec::Validate checks the bounds of each field, then conditions between fields.
#include <algorithm>
#include <type_traits>

#include "src/base/text.h"
#include "src/spec/fields.h"
#include "src/spec/findings.h"
#include "src/spec/names.h"
#include "src/spec/scoring_spec.h"

namespace espalier::spec {
namespace {

void CheckPrediction(Findings& f, const ScoringSpec& spec, const std::string& section) {
  f.Expect(!spec.output.path.empty(), "output", "nothing",
           "the directory to write the predictions to; add `output: PATH`");
  if (!spec.output.path.empty()) f.Paths("output", {spec.output.path});
  f.Expect(spec.keep.size() <= kListMax, section + ".keep",
           std::to_string(spec.keep.size()) + " columns", "at most " + std::to_string(kListMax));
  for (const std::string& name : spec.keep) {
    f.Expect(!name.empty() && name.size() <= kTextMax, section + ".keep", Quoted(name),
             "the name of a column (without a header its position)");
  }
}

void CheckEvaluation(Findings& f, const ScoringSpec& spec) {
  if (!spec.output.path.empty()) f.Paths("output", {spec.output.path});
  f.Expect(!spec.output.path.ends_with('/'), "output", Quoted(spec.output.path),
           "a file for the report, such as report.html");
  f.Expect(!spec.output.overwrite, "output", "overwrite",
           "only the path of the report: one that is there is replaced");
  Fields(
      [&](const Key& key, const auto& member) {
        f.Expect(key.Belongs(spec.kind) || member == std::remove_cvref_t<decltype(member)>{},
                 std::string("evaluate.") + key.yaml, "a value", "none: it is a key of `predict`");
      },
      spec);
}

}  // namespace

Status ScoringSpec::Validate() const {
  Findings f;
  const std::string section = NameOf(kind);
  const bool printable = std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  f.Expect(!name.empty() && name.size() <= 128 && printable, "name", Quoted(name),
           "1 to 128 bytes without control characters");
  f.Expect(!model.empty(), section + ".model", "nothing",
           "the directory of a trained model; add `model: PATH`");
  if (!model.empty()) f.Paths(section + ".model", {model});
  f.Expect(!data.empty(), section + ".data", "nothing",
           "files, directories or patterns; add `data: PATH`");
  f.Paths(section + ".data", data);
  CheckFields(f, *this);
  f.Expect(workers.max == 0 || workers.max >= workers.min, "workers.max",
           std::to_string(workers.max),
           "at least workers.min, which is " + std::to_string(workers.min));
  kind == JobKind::kPredict ? CheckPrediction(f, *this, section) : CheckEvaluation(f, *this);
  return f.Take();
}

}  // namespace espalier::spec
