#include "src/scoring/report_file.h"

#include <utility>

#include "src/base/text.h"
#include "src/bundle/bundle.h"
#include "src/scoring/report.h"

namespace espalier::scoring {
namespace {

constexpr int64_t kHistoryBytesMax = int64_t{64} << 20;

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Returns whether the file is an input, under that path or another one (through a link, or with
// another spelling of its URI).
bool IsRead(const spec::InputFile& file, const std::string& path, const storage::FileInfo& there) {
  return file.path == path ||
         (BaseName(file.path) == BaseName(path) && file.length == there.length &&
          file.modified_ms == there.modified_ms);
}

}  // namespace

Status CheckReportPath(const storage::FileSystem& files, const spec::InputPlan& input,
                       const std::string& path) {
  const auto there = files.Stat(path);
  if (!there.ok()) {
    if (there.status().code() == StatusCode::kNotFound) return {};
    return there.status().Wrap("the report");
  }
  if (there->is_directory) {
    return InvalidArgument(QuotedPath(path) +
                           " is a directory; expected a file for the report, such as report.html");
  }
  for (const spec::InputFile& file : input.files) {
    if (!IsRead(file, path, *there)) continue;
    return InvalidArgument(QuotedPath(path) +
                           " is a file for the report and seems to be read, too (a file of its "
                           "name, size and time is); name another one for the report");
  }
  return {};
}

Status WriteReport(const storage::FileSystem& files, const ModelOutline& trained,
                   const Evaluation& evaluation, const spec::ScoringSpec& spec,
                   std::span<const std::string> notes) {
  std::string data;
  for (const std::string& pattern : spec.data) data += (data.empty() ? "" : ", ") + pattern;
  std::string history;
  auto found = files.ReadAll(spec.model + "/" + bundle::kHistoryFile, kHistoryBytesMax);
  if (found.ok()) {
    history = *std::move(found);
  } else if (found.status().code() != StatusCode::kNotFound) {
    return found.status().Wrap("the report");
  }
  const Status written = files.WriteAtomically(
      spec.output.path,
      ReportHtml({trained, evaluation, spec.model, std::move(data), std::move(history), notes}));
  return written.ok() ? written : written.Wrap("the report");
}

}  // namespace espalier::scoring
