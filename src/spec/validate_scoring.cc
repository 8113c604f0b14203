// ScoringSpec::Validate checks the bounds of each field, then conditions between fields.
#include <algorithm>

#include "src/base/text.h"
#include "src/spec/findings.h"
#include "src/spec/names.h"
#include "src/spec/scoring_spec.h"

namespace espalier::spec {
namespace {

void CheckWork(Findings& f, const ScoringSpec& spec, const PredictionSpec& prediction) {
  const std::string keep = NameOf(PredictionSpec::kKind) + std::string(".keep");
  f.Expect(!spec.output.path.empty(), "output", "nothing",
           "the directory for the predictions. Add `output: PATH`");
  if (!spec.output.path.empty()) f.Paths("output", {spec.output.path});
  f.Expect(prediction.keep.size() <= kListMax, keep,
           std::to_string(prediction.keep.size()) + " columns",
           "at most " + std::to_string(kListMax));
  for (const std::string& name : prediction.keep) {
    f.Expect(!name.empty() && name.size() <= kTextMax, keep, Quoted(name),
             "the name of a column (without a header its position)");
  }
}

void CheckWork(Findings& f, const ScoringSpec& spec, const EvaluationSpec&) {
  if (!spec.output.path.empty()) f.Paths("output", {spec.output.path});
  f.Expect(!spec.output.path.ends_with('/'), "output", Quoted(spec.output.path),
           "a file for the report, such as report.html");
  f.Expect(!spec.output.overwrite, "output", "overwrite",
           "only the path of the report: one that is there is replaced");
}

}  // namespace

Status ScoringSpec::Validate() const {
  Findings f;
  const std::string section = NameOf(kind());
  const bool printable = std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  f.Expect(!name.empty() && name.size() <= 128 && printable, "name", Quoted(name),
           "1 to 128 bytes without control characters");
  f.Expect(!model.empty(), section + ".model", "nothing",
           "the directory of a trained model. Add `model: PATH`");
  if (!model.empty()) f.Paths(section + ".model", {model});
  f.Expect(!data.empty(), section + ".data", "nothing",
           "files, directories or patterns. Add `data: PATH`");
  f.Paths(section + ".data", data);
  CheckFields(f, *this);
  f.Expect(workers.max == 0 || workers.max >= workers.min, "workers.max",
           std::to_string(workers.max),
           "at least workers.min, which is " + std::to_string(workers.min));
  std::visit([&](const auto& of_kind) { CheckWork(f, *this, of_kind); }, work);
  return f.Take();
}

}  // namespace espalier::spec
