#include "src/scoring/onnx_dates.h"

#include <vector>

namespace espalier::scoring {
namespace {

class Dates {
 public:
  explicit Dates(OnnxGraph& graph) : graph_(graph) {}

  std::string PartOf(const std::string& seconds, spec::DatePart part) {
    if (part == spec::DatePart::kEpoch) return seconds;
    const std::string whole = Op("Floor", {seconds});
    const std::string days = FloorOfQuotient(whole, 86'400);
    const std::string second = Op("Sub", {whole, With("Mul", days, 86'400)});
    if (part == spec::DatePart::kHour) return FloorOfQuotient(second, 3600);
    if (part == spec::DatePart::kMinute) return Modulo(FloorOfQuotient(second, 60), 60);
    if (part == spec::DatePart::kSecond) return Modulo(second, 60);
    if (part == spec::DatePart::kWeekday) return Modulo(With("Add", days, 3), 7);
    const std::string shifted = With("Add", days, 719'468);
    const std::string era = FloorOfQuotient(shifted, 146'097);
    const std::string of_era = Op("Sub", {shifted, With("Mul", era, 146'097)});
    const std::string leaps =
        Op("Sub", {Op("Sub", {FloorOfQuotient(of_era, 1460), FloorOfQuotient(of_era, 36'524)}),
                   Op("Neg", {FloorOfQuotient(of_era, 146'096)})});
    const std::string year_of_era = FloorOfQuotient(Op("Sub", {of_era, leaps}), 365);
    const std::string before =
        Op("Sub", {Op("Add", {With("Mul", year_of_era, 365), FloorOfQuotient(year_of_era, 4)}),
                   FloorOfQuotient(year_of_era, 100)});
    const std::string day_of_year = Op("Sub", {of_era, before});
    const std::string months = FloorOfQuotient(With("Add", With("Mul", day_of_year, 5), 2), 153);
    if (part == spec::DatePart::kDay) {
      const std::string month_begin = FloorOfQuotient(With("Add", With("Mul", months, 153), 2), 5);
      return With("Add", Op("Sub", {day_of_year, month_begin}), 1);
    }
    const std::string late = FloorOfQuotient(months, 10);  // 1 in January and February
    if (part == spec::DatePart::kMonth) {
      return Op("Sub", {With("Add", months, 3), With("Mul", late, 12)});
    }
    const std::string year = Op("Add", {Op("Add", {year_of_era, With("Mul", era, 400)}), late});
    if (part == spec::DatePart::kYear) return year;
    const std::string last = With("Sub", year, 1);  // days before this year, counted from year 1
    const std::string leap_days =
        Op("Add", {Op("Sub", {FloorOfQuotient(last, 4), FloorOfQuotient(last, 100)}),
                   FloorOfQuotient(last, 400)});
    const std::string begin = With("Sub", Op("Add", {With("Mul", last, 365), leap_days}), 719'162);
    return With("Add", Op("Sub", {days, begin}), 1);
  }

 private:
  std::string Op(const char* op, const std::vector<std::string>& inputs) {
    return graph_.Node(op, inputs);
  }
  // Applies an operation to a tensor and a number.
  std::string With(const char* op, const std::string& x, double number) {
    return Op(op, {x, graph_.Number(number)});
  }
  std::string FloorOfQuotient(const std::string& x, double divisor) {
    return Op("Floor", {With("Div", x, divisor)});
  }
  std::string Modulo(const std::string& x, double divisor) {
    return Op("Sub", {x, With("Mul", FloorOfQuotient(x, divisor), divisor)});
  }

  OnnxGraph& graph_;
};

}  // namespace

std::string DatePartNode(OnnxGraph& graph, const std::string& seconds, spec::DatePart part) {
  return Dates(graph).PartOf(seconds, part);
}

}  // namespace espalier::scoring
