#include "src/data/parquet/projection.h"

#include <algorithm>
#include <unordered_map>

#include "src/base/text.h"

namespace espalier::data {
namespace {

// A column of the file and, for a vector, one of its elements. Column -1: missing.
struct Place {
  int column = -1;
  int64_t element = 0;
};

class ColumnFinder {
 public:
  ColumnFinder(const spec::Schema& schema, const std::vector<ParquetColumn>& columns)
      : schema_(schema) {
    for (size_t i = 0; i < columns.size(); ++i) {
      position_.insert_or_assign(columns[i].name, static_cast<int>(i));  // directories are last
    }
    for (const std::string& name : schema.names) {
      std::string vector;
      int64_t element = 0;
      if (position_.contains(name) || !ParseElementName(name, &vector, &element)) continue;
      widths_[vector] = std::max(widths_[vector], element + 1);
    }
  }

  Place Find(int32_t position) const {
    const std::string& name = schema_.names[position];
    Place place;
    std::string vector;
    auto found = position_.find(name);
    if (found == position_.end() && ParseElementName(name, &vector, &place.element)) {
      found = position_.find(vector);
    }
    if (found != position_.end()) place.column = found->second;
    return place;
  }

  // Returns the number of elements of a vector that the schema has.
  int64_t WidthOf(const std::string& vector) const {
    const auto found = widths_.find(vector);
    return found == widths_.end() ? 0 : found->second;
  }

 private:
  const spec::Schema& schema_;
  std::unordered_map<std::string, int> position_;
  std::unordered_map<std::string, int64_t> widths_;
};

// Adds a feature. Adjacent elements of one vector become one run.
void AddFeature(const ParquetProjection::Run& run, ParquetProjection* out) {
  if (run.plain && !out->features.empty()) {
    ParquetProjection::Run& last = out->features.back();
    if (last.plain && last.source == run.source && last.element + last.count == run.element) {
      ++last.count;
      return;
    }
  }
  out->features.push_back(run);
}

}  // namespace

Result<ParquetProjection> Project(const spec::FeatureSpec& features, const spec::Schema& schema,
                                  const std::vector<ParquetColumn>& columns,
                                  const std::string& path, std::span<const int32_t> kept) {
  const ColumnFinder finder(schema, columns);
  std::vector<int32_t> wanted = schema.features;
  wanted.insert(wanted.end(), schema.label.begin(), schema.label.end());
  if (schema.weight >= 0) wanted.push_back(schema.weight);
  if (schema.validation >= 0) wanted.push_back(schema.validation);
  wanted.insert(wanted.end(), kept.begin(), kept.end());
  ParquetProjection out;
  for (const int32_t position : wanted) {
    const Place place = finder.Find(position);
    if (place.column < 0) {
      return DataLoss("a column of the job is no longer in " + QuotedPath(path) +
                      ". Submit the job again when its input no longer changes")
          .At({.file = path, .column = schema.names[position]});
    }
    out.columns.push_back(place.column);
  }
  std::sort(out.columns.begin(), out.columns.end());
  out.columns.erase(std::unique(out.columns.begin(), out.columns.end()), out.columns.end());
  for (const int column : out.columns) {
    const ParquetColumn& c = columns[column];
    out.vectors.push_back(c.vector);
    out.widths.push_back(c.vector ? finder.WidthOf(c.name) : 1);
    out.numbers_a_row += out.widths.back();
  }
  const auto source = [&](int32_t position) {
    const int column = finder.Find(position).column;
    return static_cast<int32_t>(std::lower_bound(out.columns.begin(), out.columns.end(), column) -
                                out.columns.begin());
  };
  for (size_t slot = 0; slot < schema.features.size(); ++slot) {
    const int32_t position = schema.features[slot];
    AddFeature({source(position), static_cast<int32_t>(slot), 1, finder.Find(position).element,
                spec::IsPlain(features, schema.rule(slot))},
               &out);
  }
  for (const int32_t position : schema.label) out.label.push_back(source(position));
  for (const int32_t position : kept) out.kept.push_back(source(position));
  if (schema.weight >= 0) out.weight = source(schema.weight);
  if (schema.validation >= 0) out.validation = source(schema.validation);
  return out;
}

}  // namespace espalier::data
