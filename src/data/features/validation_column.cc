#include "src/data/features/validation_column.h"

#include <algorithm>
#include <cmath>

#include "src/base/text.h"
#include "src/data/features/feature_decoder.h"
#include "src/data/table/class_text.h"
#include "src/data/table/number.h"
#include "src/data/table/row_words.h"

namespace espalier::data {
namespace {

using spec::FileRole;

constexpr int64_t kGroupHashes = int64_t{1} << 32;

bool IsYes(std::string_view text) {
  return text == "1" || text == "true" || text == "True" || text == "TRUE";
}
bool IsNo(std::string_view text) {
  return text == "0" || text == "false" || text == "False" || text == "FALSE";
}

// Returns the indices at which `sorted` changes: the first of each run of equal values, without 0.
std::vector<size_t> Changes(const std::vector<double>& sorted) {
  std::vector<size_t> changes;
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] != sorted[i - 1]) changes.push_back(i);
  }
  return changes;
}

}  // namespace

ValidationColumn::ValidationColumn(const spec::JobSpec& job, const spec::Schema& schema,
                                   int32_t file)
    : validation_(job.data.validation),
      active_(schema.validation >= 0),
      seeks_(active_ && validation_.seeks_bounds()),
      file_(static_cast<uint64_t>(file)),
      key_(MakeKey(validation_.seed.value_or(job.train.seed), RandomUse::kValidation)),
      format_(job.data.features.date_format) {
  if (validation_.time && !format_.empty() && format_ != "auto") dates_.emplace(format_);
}

std::optional<FileRole> ValidationColumn::RoleOf(std::string_view text, uint64_t position,
                                                 bool dropped) {
  if (validation_.column) {
    if (IsYes(text)) return FileRole::kValidation;
    if (IsNo(text)) return FileRole::kTrain;
    return std::nullopt;
  }
  const std::optional<double> place = PlaceOf(text);
  if (!place) return std::nullopt;
  if (seeks_) {
    if (!dropped) Offer(position, *place);
    return FileRole::kTrain;
  }
  const bool inside = (!validation_.from || *place >= *validation_.from) &&
                      (!validation_.to || *place < *validation_.to);
  return inside && validation_.bounded() ? FileRole::kValidation : FileRole::kTrain;
}

std::optional<double> ValidationColumn::PlaceOf(std::string_view text) {
  if (validation_.group) {
    const std::optional<std::string> number = PlainDecimal(text);
    const int64_t hash = HashedCode(number ? std::string_view(*number) : text, kGroupHashes);
    return UnitDouble(RandomBits(key_, 0, static_cast<uint64_t>(hash)));
  }
  if (dates_) return dates_->Parse(text);
  double number = 0;
  const bool is_number = ParseNumberSlowly(text, &number) == NumberKind::kNumber;
  if (has_numbers_.value_or(is_number) != is_number) return std::nullopt;
  const std::optional<double> time = is_number ? number : ParseDate(text);
  if (time) has_numbers_ = is_number;
  return time;
}

std::string ValidationColumn::fault() const {
  if (validation_.column) return MarkFault();
  if (has_numbers_) {
    return std::string("the column of data.validation.time has ") +
           (*has_numbers_ ? "numbers" : "dates") + " in other rows, expected the same in this row";
  }
  return "the column of data.validation.time: " + DateFault(format_);
}

void ValidationColumn::Offer(uint64_t position, double place) {
  static const PhiloxKey kKey = MakeKey(0, RandomUse::kSample);  // data only, no seed
  const std::pair offered(RandomBits(kKey, file_, position), place);
  if (static_cast<int64_t>(picked_.size()) == spec::SampledRowsMax(1, true)) {
    if (picked_.front() < offered) return;
    std::pop_heap(picked_.begin(), picked_.end());
    picked_.pop_back();
  }
  picked_.push_back(offered);
  std::push_heap(picked_.begin(), picked_.end());
}

spec::RowSample ValidationColumn::TakePlaces() {
  std::sort(picked_.begin(), picked_.end());
  spec::RowSample sample;
  sample.bins = true;
  for (const auto& [key, place] : picked_) {
    sample.keys.push_back(key);
    sample.values.push_back(place);
  }
  picked_.clear();
  return sample;
}

Result<PlaceBounds> ChooseBounds(const spec::ValidationSpec& v, const spec::RowSample& places) {
  std::vector<double> sorted = places.values;
  std::sort(sorted.begin(), sorted.end());
  const std::vector<size_t> changes = Changes(sorted);
  const auto parts = static_cast<size_t>(v.fold ? *v.of : 2);
  if (changes.size() + 1 < parts) {
    const auto found = static_cast<int64_t>(changes.size() + !sorted.empty());
    return BadInput(std::string(v.deciding_key()) + ": found " + HumanCount(found) +
                    (v.group ? (found == 1 ? " group" : " groups")
                             : (found == 1 ? " time" : " different times")) +
                    " in the training rows, expected at least " + std::to_string(parts) +
                    ". Choose " + (v.fold ? "fewer folds" : "another column, or remove the key"));
  }
  const auto rows = static_cast<double>(sorted.size());
  std::vector<size_t> cuts = {0};
  size_t next = 0;  // first change that may be a cut
  for (size_t k = 1; k < parts; ++k) {
    const double wanted = v.fold ? rows * static_cast<double>(k) / static_cast<double>(parts)
                                 : rows * (1 - v.fraction);
    const auto off = [&](size_t i) { return std::abs(static_cast<double>(changes[i]) - wanted); };
    const size_t last = changes.size() - (parts - k);  // leaves one change for each further cut
    size_t best = next;
    while (best < last && off(best + 1) < off(best)) ++best;
    cuts.push_back(changes[best]);
    next = best + 1;
  }
  cuts.push_back(sorted.size());
  const auto chosen = static_cast<size_t>(v.fold ? *v.fold : 1);
  PlaceBounds bounds;
  if (chosen > 0) bounds.from = sorted[cuts[chosen]];
  if (chosen + 1 < parts) bounds.to = sorted[cuts[chosen + 1]];
  bounds.rows = static_cast<int64_t>(cuts[chosen + 1] - cuts[chosen]);
  bounds.of = static_cast<int64_t>(sorted.size());
  return bounds;
}

}  // namespace espalier::data
