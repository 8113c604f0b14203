#include "src/cluster/link_reports.h"

#include <algorithm>

namespace espalier::cluster {

bool LinkReports::AnyAbout(WorkerId worker) const {
  return std::any_of(open_.begin(), open_.end(),
                     [&](const Report& report) { return report.about == worker; });
}

void LinkReports::Break(const Report& report) {
  broken_.insert(PairOf(report.from, report.about));
  ++reports_about_[report.about];
}

WorkerId LinkReports::Worst(const std::vector<WorkerId>& workers) const {
  const auto blame = [&](WorkerId worker) {
    int64_t pairs = 0;
    for (const auto& [a, b] : broken_) {
      const WorkerId other = a == worker ? b : b == worker ? a : WorkerId{};
      pairs += other && std::find(workers.begin(), workers.end(), other) != workers.end();
    }
    const auto found = reports_about_.find(worker);
    return std::pair(pairs, found == reports_about_.end() ? int64_t{0} : found->second);
  };
  return *std::max_element(workers.rbegin(), workers.rend(),
                           [&](WorkerId a, WorkerId b) { return blame(a) < blame(b); });
}

}  // namespace espalier::cluster
