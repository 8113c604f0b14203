// Broken links that the members of a job report.
//
// Thread rule: a value.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "src/base/ids.h"
#include "src/base/status.h"
#include "src/cluster/arrangement.h"

namespace espalier::cluster {

// A report of a generation is open until the coordinator knows whether a worker died. If none did
// within a heartbeat, the link itself is broken, and later generations keep the two members apart
// in the tree.
class LinkReports {
 public:
  struct Report {
    WorkerId from, about;
    Status why;
    int64_t since_ms = 0;
  };

  void Add(Report report) { open_.push_back(std::move(report)); }
  bool any_open() const { return !open_.empty(); }
  // Time of the oldest open report. REQUIRES: any_open().
  int64_t oldest_ms() const { return open_.front().since_ms; }
  bool AnyAbout(WorkerId worker) const;
  // Drops the open reports: they belong to a generation that is over.
  void DropOpen() { open_.clear(); }
  std::vector<Report> TakeOpen() { return std::exchange(open_, {}); }
  // Moves the times of open reports.
  template <typename F>
  void Shift(F&& shift) {
    for (Report& report : open_) shift(report.since_ms);
  }

  // Records that a link is broken.
  void Break(const Report& report);
  // Pairs of workers with a broken link.
  const WorkerPairs& broken() const { return broken_; }
  // Returns the worker with the most broken links to the others, then with the most reports against
  // it, then the last one. REQUIRES: `workers` is not empty.
  WorkerId Worst(const std::vector<WorkerId>& workers) const;

 private:
  std::vector<Report> open_;
  WorkerPairs broken_;
  std::map<WorkerId, int64_t> reports_about_;
};

}  // namespace espalier::cluster
