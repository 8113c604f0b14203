#include "src/data/table/advice.h"

#include <string_view>

namespace espalier::data {
namespace {

// kWhitespace is before kDelimiter, which it contains.
constexpr Advice kAll[] = {advice::kWhitespace,
                           advice::kDelimiter,
                           advice::kComment,
                           advice::kNamedTwice,
                           advice::kNoName,
                           advice::kNoHeader,
                           advice::kMultiline,
                           advice::kBlanksBefore,
                           advice::kEscapedQuote,
                           advice::kTwoBackslashes,
                           advice::kEscapedDelimiter,
                           advice::kExtraField,
                           advice::kFieldLeftOut,
                           advice::kUnnamedField,
                           advice::kZeroBased,
                           advice::kHighestColumn,
                           advice::kHighestIndex,
                           advice::kUnsupported,
                           advice::kManyElements,
                           advice::kIsParquet,
                           advice::kIsNamedParquet,
                           advice::kRaw,
                           advice::kMissing,
                           advice::kNotNumber,
                           advice::kNotPlain,
                           advice::kOtherForm,
                           advice::kFit,
                           advice::kNullLabel,
                           advice::kDateForm,
                           advice::kNoDate};

}  // namespace

// Advice is at the end of a message, or before other advice.
std::string ForTraining(const std::string& message) {
  return message + (message.ends_with('?') ? "" : ".") +
         " Correct the row, or skip bad rows with data.bad_rows: {policy: skip, limit: 10}";
}

std::string ForScoring(std::string message) {
  for (const Advice& advice : kAll) {
    const std::string_view training = advice.training;
    if (const size_t at = message.rfind(training); at != std::string::npos) {
      message.replace(at, training.size(), advice.scoring);
    }
  }
  return message;
}

}  // namespace espalier::data
