#include "src/data/text/libsvm_reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "src/base/text.h"
#include "src/data/table/advice.h"
#include "src/data/table/number.h"
#include "src/data/table/schema.h"

namespace espalier::data {
namespace {

// This delimiter and this quote never occur within a line, so each line is one field.
constexpr spec::CsvOptions kLines = {.header = false, .delimiter = '\n', .quote = '\n'};

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// Takes the next token from `rest`. Returns an empty token if none is left.
std::string_view NextToken(std::string_view* rest) {
  size_t begin = 0;
  while (begin < rest->size() && IsBlank((*rest)[begin])) ++begin;
  size_t end = begin;
  while (end < rest->size() && !IsBlank((*rest)[end])) ++end;
  const std::string_view token = rest->substr(begin, end - begin);
  rest->remove_prefix(end);
  return token;
}

std::string Zeros(size_t columns) {
  std::string zeros(2 * columns, '0');
  for (size_t i = 1; i < zeros.size(); i += 2) zeros[i] = ',';
  return zeros;
}

}  // namespace

size_t LibsvmColumns(const spec::DataSpec& data) {
  int64_t highest = -1;
  const auto see = [&](const std::vector<spec::ColumnPattern>& columns) {
    for (const auto& entry : columns) {
      if (const auto* range = std::get_if<spec::ColumnRange>(&entry)) {
        highest = std::max(highest, range->last);
      } else if (const auto* position = std::get_if<int64_t>(&entry)) {
        highest = std::max(highest, *position);
      } else {
        const std::string& name = std::get<std::string>(entry);  // digits, checked by Validate
        int64_t position_in_text = 0;
        std::from_chars(name.data(), name.data() + name.size(), position_in_text);
        highest = std::max(highest, position_in_text);
      }
    }
  };
  see(data.features.columns);
  for (const spec::FeatureGroup& group : data.features.groups) see(group.columns);
  return static_cast<size_t>(std::min<int64_t>(highest, kColumnsMax - 1) + 1);
}

LibsvmReader::LibsvmReader(const storage::ReadableFile& file, const spec::LibsvmOptions& options,
                           const CsvRange& range, size_t columns, int64_t window_bytes, bool sparse,
                           bool labels)
    : lines_(file, kLines, range, window_bytes),
      columns_(std::max<size_t>(columns, 1)),
      zeros_(Zeros(sparse ? 1 : columns_)),
      sparse_(sparse),
      labels_(labels),
      first_(options.zero_based ? 0 : 1) {
  ends_.resize(sparse ? 1 : columns_);
}

std::string_view LibsvmReader::shown(size_t i) const {
  if (!sparse_ || i == 0) return field(i);
  for (const Entry& pair : entries_) {
    if (pair.column == i) return pair.text;
  }
  return "0";
}

int64_t LibsvmReader::OffsetOf(std::string_view token) const {
  return lines_.field_offset(0) + (token.data() - line_.data());
}

int64_t LibsvmReader::field_offset(size_t i) const {
  if (i > 0) {
    for (const Entry& pair : entries_) {
      if (pair.column == i) return OffsetOf(pair.token);
    }
  }
  return record_offset_;
}

bool LibsvmReader::Bad(const std::string& why, std::string_view token) {
  error_ = BadInput(why).At(
      {.file = lines_.file_path(), .offset = OffsetOf(token), .text = Printable(token)});
  return false;
}

RecordReader::Outcome LibsvmReader::Next() {
  for (;;) {
    const Outcome outcome = lines_.Next();
    record_offset_ = lines_.record_offset();
    if (outcome == Outcome::kBadRecord || outcome == Outcome::kFailed) error_ = lines_.error();
    if (outcome != Outcome::kRecord) return outcome;
    line_ = lines_.field(0);
    line_ = line_.substr(0, line_.find('#'));
    if (!Trimmed(line_).empty()) return Take();
  }
}

bool LibsvmReader::TakeLabel(std::string_view* rest, std::string_view* label) {
  std::string_view after = *rest;
  *label = NextToken(&after);
  if (label->find(':') != std::string_view::npos) {
    if (labels_) {
      return Bad("the line starts with a pair (expected the label, then index:value pairs)",
                 *label);
    }
    *label = rest->substr(0, 0);
    return true;
  }
  if (labels_ && label->find(',') != std::string_view::npos) {
    return Bad("the row has several labels (expected one)", *label);
  }
  *rest = after;
  return true;
}

RecordReader::Outcome LibsvmReader::Take() {
  std::string_view rest = line_, label;
  entries_.clear();
  if (!TakeLabel(&rest, &label)) return Outcome::kBadRecord;
  for (std::string_view token = NextToken(&rest); !token.empty(); token = NextToken(&rest)) {
    Entry pair;
    if (!ParsePair(token, &pair)) return Outcome::kBadRecord;
    entries_.push_back(pair);
  }
  if (!Sort()) return Outcome::kBadRecord;
  double number = 0;
  if (label.starts_with('+') && ParseNumberSlowly(label, &number) == NumberKind::kNumber) {
    label.remove_prefix(1);
  }
  if (sparse_) {
    text_ = label.data();
    ends_[0] = static_cast<uint32_t>(label.size());
    fields_ = columns_;
  } else {
    WriteDense(label);
  }
  return Outcome::kRecord;
}

bool LibsvmReader::ParsePair(std::string_view token, Entry* pair) {
  const size_t colon = token.find(':');
  if (colon == std::string_view::npos) {
    return Bad("the row has a field without a colon (expected index:value)", token);
  }
  const std::string_view index = token.substr(0, colon);
  if (index == "qid") {
    return Bad("the row has a query id (qid), as for ranking, which is not supported. Take it out",
               token);
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), value);
  const bool too_large = error == std::errc::result_out_of_range;
  if (!too_large && (error != std::errc() || end != index.data() + index.size())) {
    return Bad("what is before the colon is not a whole number (expected index:value)", token);
  }
  if (!too_large && value < first_) {
    return Bad(
        std::string("the index is 0, and indices count from 1") + advice::kZeroBased.training,
        token);
  }
  const uint64_t column = value - first_ + 1;
  if (too_large || column >= columns_) {
    const std::string highest = std::to_string(columns_ - 1);
    return Bad(first_ == 0 ? "the index is above " + std::to_string(columns_ - 2) +
                                 ", which is column " + highest + advice::kHighestColumn.training
                           : "the index is above " + highest + advice::kHighestIndex.training,
               token);
  }
  *pair = {static_cast<uint32_t>(column), token.substr(colon + 1), token};
  if (pair->text.empty()) return Bad("nothing follows the colon (expected index:value)", token);
  return true;
}

bool LibsvmReader::Sort() {
  const auto by_index = [](const Entry& a, const Entry& b) { return a.column < b.column; };
  if (!std::is_sorted(entries_.begin(), entries_.end(), by_index)) {
    std::stable_sort(entries_.begin(), entries_.end(), by_index);
  }
  for (size_t i = 1; i < entries_.size(); ++i) {
    if (entries_[i].column == entries_[i - 1].column) {
      return Bad("the index is in the row twice; each index may be there once", entries_[i].token);
    }
  }
  return true;
}

void LibsvmReader::WriteDense(std::string_view label) {
  dense_.assign(kReadable, '\0');
  dense_ += label;
  dense_ += ',';
  ends_[0] = static_cast<uint32_t>(label.size());
  size_t column = 1;
  // Writes "0," for the columns up to `to`, which is excluded.
  const auto fill = [&](size_t to) {
    uint32_t end = static_cast<uint32_t>(dense_.size() - kReadable) + 1;
    dense_.append(zeros_, 0, 2 * (to - column));
    for (; column < to; ++column, end += 2) ends_[column] = end;
  };
  for (const Entry& pair : entries_) {
    fill(pair.column);
    dense_ += pair.text;
    ends_[column++] = static_cast<uint32_t>(dense_.size() - kReadable);
    dense_ += ',';
  }
  fill(columns_);
  text_ = dense_.data() + kReadable;
  fields_ = columns_;
}

}  // namespace espalier::data
