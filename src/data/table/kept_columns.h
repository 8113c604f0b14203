// Chosen columns of a run of rows as they are in the input: fields of text, or the arrays of a
// format that has its own.
//
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::data {

// Columns in a format's own types.
class KeptArrays {
 public:
  virtual ~KeptArrays() = default;
  // As KeptColumns::Text.
  virtual std::string_view Text(int64_t row, size_t column, std::string* scratch) const = 0;
};

class KeptColumns {
 public:
  explicit KeptColumns(size_t columns = 0) : columns_(columns) {}

  size_t columns() const { return columns_; }
  // Bytes of fields. Those of arrays are unknown.
  size_t bytes() const { return text_.size() + ends_.size() * sizeof(size_t); }

  // Adds a field of text. Each row has columns() fields, row by row.
  void AddField(std::string_view field) {
    text_ += field;
    ends_.push_back(text_.size());
  }
  // Replaces all columns by arrays.
  void SetArrays(std::unique_ptr<KeptArrays> arrays) {
    Clear();
    arrays_ = std::move(arrays);
  }
  void Clear() {
    text_.clear();
    ends_.clear();
    arrays_ = nullptr;
  }

  // Returns what a row holds: text as it is, numbers in their shortest form, dates and times as
  // Arrow writes them. Null is empty. The result points into the columns or into *scratch.
  std::string_view Text(int64_t row, size_t column, std::string* scratch) const {
    if (arrays_ != nullptr) return arrays_->Text(row, column, scratch);
    const size_t field = static_cast<size_t>(row) * columns_ + column;
    const size_t begin = field == 0 ? 0 : ends_[field - 1];
    return std::string_view(text_).substr(begin, ends_[field] - begin);
  }

  // Null for text.
  const KeptArrays* arrays() const { return arrays_.get(); }

 private:
  size_t columns_;
  std::string text_;
  std::vector<size_t> ends_;
  std::unique_ptr<KeptArrays> arrays_;
};

}  // namespace espalier::data
