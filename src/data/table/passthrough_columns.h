// Selected columns of a run of rows, exactly as in the input: text fields, or the arrays of a
// format with its own types.
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
class PassthroughArrays {
 public:
  virtual ~PassthroughArrays() = default;
  // Returns the same as PassthroughColumns::Text.
  virtual std::string_view Text(int64_t row, size_t column, std::string* scratch) const = 0;
};

class PassthroughColumns {
 public:
  explicit PassthroughColumns(size_t columns = 0) : columns_(columns) {}

  size_t columns() const { return columns_; }
  // Returns the bytes of the text fields. The size of arrays is unknown.
  size_t bytes() const { return text_.size() + ends_.size() * sizeof(size_t); }

  // Adds a text field. Fields arrive row by row, columns() of them per row.
  void AddField(std::string_view field) {
    text_ += field;
    ends_.push_back(text_.size());
  }
  // Replaces all columns by arrays.
  void SetArrays(std::unique_ptr<PassthroughArrays> arrays) {
    Clear();
    arrays_ = std::move(arrays);
  }
  void Clear() {
    text_.clear();
    ends_.clear();
    arrays_ = nullptr;
  }

  // Returns the content of a row: text unchanged, numbers in their shortest form, dates and times
  // as Arrow writes them, null as empty text. The result points into the columns or into *scratch.
  std::string_view Text(int64_t row, size_t column, std::string* scratch) const {
    if (arrays_ != nullptr) return arrays_->Text(row, column, scratch);
    const size_t field = static_cast<size_t>(row) * columns_ + column;
    const size_t begin = field == 0 ? 0 : ends_[field - 1];
    return std::string_view(text_).substr(begin, ends_[field] - begin);
  }

  // Returns the arrays, or null for text.
  const PassthroughArrays* arrays() const { return arrays_.get(); }

 private:
  size_t columns_;
  std::string text_;
  std::vector<size_t> ends_;
  std::unique_ptr<PassthroughArrays> arrays_;
};

}  // namespace espalier::data
