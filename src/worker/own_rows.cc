#include "src/worker/own_rows.h"

#include <algorithm>
#include <utility>

#include "src/base/check.h"

namespace espalier::worker {
namespace {

constexpr size_t kStoresMax = 8;  // beyond this, all are loaded again as one
constexpr std::array<spec::FileRole, data::kSets> kRoles = {
    spec::FileRole::kTrain, spec::FileRole::kValidation, spec::FileRole::kTest};

bool Overlap(const plan::Range& a, const plan::Range& b) {
  return a.begin < b.end && b.begin < a.end;
}

}  // namespace

void OwnRows::Drop(const data::RowRanges& wanted) {
  std::erase_if(stores_, [&](const std::unique_ptr<data::RowStore>& store) {
    return std::none_of(kRoles.begin(), kRoles.end(), [&](spec::FileRole set) {
      return Overlap(store->rows(set), wanted[static_cast<size_t>(set)]);
    });
  });
}

Status OwnRows::Cover(const data::RowRanges& wanted, Generation generation) {
  staged_.clear();
  Drop(wanted);
  std::vector<data::RowRanges> missing = Missing(wanted);
  if (stores_.size() + missing.size() > kStoresMax) {
    stores_.clear();
    missing = {wanted};
  }
  return LoadAll(
      missing, generation, [] { return false; }, stores_);
}

Status OwnRows::Stage(const data::RowRanges& wanted, Generation generation,
                      const std::function<bool()>& cancelled) {
  staged_.clear();
  return LoadAll(Missing(wanted), generation, cancelled, staged_);
}

void OwnRows::Adopt(const data::RowRanges& wanted) {
  for (auto& store : staged_) stores_.push_back(std::move(store));
  staged_.clear();
  Drop(wanted);
}

Status OwnRows::LoadAll(const std::vector<data::RowRanges>& parts, Generation generation,
                        const std::function<bool()>& cancelled,
                        std::vector<std::unique_ptr<data::RowStore>>& into) {
  for (const data::RowRanges& part : parts) {
    Request request{part, generation, 0, 0, cancelled};
    for (const auto* stores : {&stores_, &staged_}) {
      for (const auto& store : *stores) {
        request.memory_bytes += store->memory_bytes();
        request.spill_bytes += store->spill_bytes();
      }
    }
    ESPALIER_ASSIGN_OR_RETURN(auto store, load_(request));
    into.push_back(std::move(store));
  }
  return Status::Ok();
}

std::vector<data::RowRanges> OwnRows::Missing(const data::RowRanges& wanted) const {
  std::vector<data::RowRanges> parts;
  for (size_t set = 0; set < data::kSets; ++set) {
    std::vector<plan::Range> held;
    for (const auto& store : stores_) held.push_back(store->rows(kRoles[set]));
    std::sort(held.begin(), held.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
    size_t part = 0;
    const auto add = [&](int64_t begin, int64_t end) {
      if (begin >= end) return;
      if (parts.size() <= part) parts.emplace_back();
      parts[part++][set] = {begin, end};
    };
    int64_t at = wanted[set].begin;
    for (const plan::Range& h : held) {
      add(at, std::min(h.begin, wanted[set].end));
      at = std::max(at, h.end);
    }
    add(at, wanted[set].end);
  }
  return parts;
}

const data::RowStore& OwnRows::Find(spec::FileRole set, int64_t row) const {
  for (const auto& store : stores_) {
    const plan::Range range = store->rows(set);
    if (range.begin <= row && row < range.end) return *store;
  }
  CheckFailed(__FILE__, __LINE__, "a row that is held", std::to_string(row));
}

}  // namespace espalier::worker
