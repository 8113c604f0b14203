#include "src/cluster/job_history.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace espalier::cluster {
namespace {

bool Same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool Same(const spec::Metrics& a, const spec::Metrics& b) {
  return a.rows == b.rows && Same(a.weight, b.weight) && Same(a.loss, b.loss) &&
         Same(a.accuracy, b.accuracy) && Same(a.rmse, b.rmse) && Same(a.mae, b.mae);
}

bool Same(const spec::HistoryRow& a, const spec::HistoryRow& b) {
  return a.step == b.step && Same(a.learning_rate, b.learning_rate) && Same(a.train, b.train) &&
         a.validation.has_value() == b.validation.has_value() &&
         (!a.validation || Same(*a.validation, *b.validation));
}

}  // namespace

std::vector<spec::HistoryRow> JobHistory::From(int64_t from) const {
  const int64_t skip = std::clamp<int64_t>(from - begin_, 0, end() - begin_);
  return {rows_.begin() + skip, rows_.end()};
}

bool JobHistory::Knows(int64_t number, const spec::HistoryRow& row, bool earlier) const {
  if (number >= end()) return false;
  if (earlier || number < begin_) return true;
  return Same(rows_[static_cast<size_t>(number - begin_)], row);
}

void JobHistory::Set(int64_t number, spec::HistoryRow row, int64_t rows_max) {
  if (number < begin_) return;
  if (number < end()) {
    rows_[static_cast<size_t>(number - begin_)] = std::move(row);
    return;
  }
  if (number > end()) {  // no member still has the rows in between
    rows_.clear();
    begin_ = number;
  }
  rows_.push_back(std::move(row));
  if (static_cast<int64_t>(rows_.size()) <= rows_max) return;
  rows_.pop_front();
  ++begin_;
}

void JobHistory::EndAt(int64_t steps) {
  while (!rows_.empty() && rows_.back().step > steps) rows_.pop_back();
}

}  // namespace espalier::cluster
