// CoordinatorCore: from the journal and to it.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "src/base/text.h"
#include "src/cluster/coordinator_core.h"

namespace espalier {

void CoordinatorCore::Recall(const JournalEntry&) {}

std::vector<JournalEntry> CoordinatorCore::Remember() const { return {}; }

void CoordinatorCore::On(const JobRefused& event) {
  JobRecord* job = FindJob(event.job);
  if (job == nullptr) return;
  if (!IsFinal(job->snapshot.state)) Fail(*job, event.why);
  if (jobs_.erase(event.job) == 0) return;
  out_.persist.push_back(JobForgotten{event.job});
  out_.notify.push_back({event.job});
}

}  // namespace espalier
