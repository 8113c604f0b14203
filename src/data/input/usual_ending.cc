#include "src/data/input/usual_ending.h"

#include <cstdint>
#include <map>
#include <utility>

#include "src/base/text.h"
#include "src/spec/job_spec.h"
#include "src/storage/pattern_listing.h"

namespace espalier::data {
namespace {

std::string_view DirectoryOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

// Returns ".csv" for "d/a.csv.gz", and nothing for a name without a dot.
std::string_view EndingOf(std::string_view path) {
  const std::string_view name = spec::WithoutCodec(path.substr(path.rfind('/') + 1));
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(dot);
}

// Returns ".gz" for "d/a.csv.gz".
std::string_view CodecOf(std::string_view path) {
  return path.substr(spec::WithoutCodec(path).size());
}

}  // namespace

UsualEnding::UsualEnding(const std::vector<spec::InputFile>& files) : files_(files) {
  std::map<std::string_view, int64_t> counts;
  const auto rank = [&counts](std::string_view ending) {
    return std::pair(spec::FormatByName(ending).has_value(), counts[ending]);
  };
  for (const spec::InputFile& file : files) counts[EndingOf(file.path)] += file.length > 0;
  std::string_view best;
  bool any = false;
  for (const spec::InputFile& file : files) {  // of equal endings, the first one
    const std::string_view ending = EndingOf(file.path);
    if (file.length == 0 || (any && rank(ending) <= rank(best))) continue;
    best = ending;
    any = true;
  }
  ending_ = best;
}

bool UsualEnding::Has(std::string_view path) const { return EndingOf(path) == ending_; }

std::string UsualEnding::Advice() const {
  std::string_view first;
  std::string codec;
  for (const spec::InputFile& file : files_) {
    if (!Has(file.path)) continue;
    if (first.empty()) {
      first = file.path;
      codec = CodecOf(first);
    }
    if (DirectoryOf(file.path) != DirectoryOf(first)) return "Use a pattern that leaves it out";
    if (CodecOf(file.path) != codec) codec = "*";
  }
  return "Use a pattern such as " +
         QuotedPath(storage::JoinPath(std::string(DirectoryOf(first)), "*" + ending_ + codec));
}

}  // namespace espalier::data
