#include "src/data/parquet/table.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/io/memory.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/properties.h>

#include <cmath>
#include <exception>
#include <utility>

#include "src/base/text.h"
#include "src/data/parquet/passthrough_arrays.h"

namespace espalier::data {
namespace {

Status FromArrow(const arrow::Status& status) {
  if (status.ok()) return {};
  if (status.IsOutOfMemory()) return ResourceExhausted("making a Parquet file: no memory is left");
  return Internal("making a Parquet file: " + status.ToString());
}

// Strings of Parquet must be UTF-8. Kept text and classes may contain any bytes.
Status AppendText(std::string_view text, arrow::StringBuilder* builder) {
  if (FindInvalidUtf8(text) == std::string_view::npos) return FromArrow(builder->Append(text));
  return FromArrow(builder->Append(ValidUtf8(text)));
}

// Dictionary builders ignore the order of a dictionary. The builder looks up each appended value in
// its own dictionary.
bool Fits(const arrow::DataType& type, const arrow::DataType& builder) {
  const auto is_dictionary = [](const arrow::DataType& t) {
    return t.id() == arrow::Type::DICTIONARY;
  };
  if (!is_dictionary(type) || !is_dictionary(builder)) return type.Equals(builder);
  const auto value = [](const arrow::DataType& t) {
    return static_cast<const arrow::DictionaryType&>(t).value_type();
  };
  return value(type)->Equals(*value(builder));
}

}  // namespace

struct ParquetTable::Columns {
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> kept;
  arrow::StringBuilder word, reason;
  std::vector<std::unique_ptr<arrow::DoubleBuilder>> numbers;
};

ParquetTable::ParquetTable(std::vector<std::string> kept, std::string word,
                           std::vector<std::string> numbers, std::string reason)
    : kept_names_(std::move(kept)),
      word_name_(std::move(word)),
      number_names_(std::move(numbers)),
      reason_name_(std::move(reason)),
      columns_(std::make_unique<Columns>()) {
  for (size_t i = 0; i < number_names_.size(); ++i) {
    columns_->numbers.push_back(std::make_unique<arrow::DoubleBuilder>());
  }
}

ParquetTable::~ParquetTable() = default;

Status ParquetTable::StartKept(const PassthroughColumns& kept) {
  const ParquetArrays* arrays = ParquetArrays::Of(kept);
  columns_->kept.resize(kept_names_.size());
  for (size_t i = 0; i < kept_names_.size(); ++i) {
    const auto type = arrays == nullptr ? arrow::utf8() : arrays->arrays()[i]->type();
    ESPALIER_RETURN_IF_ERROR(
        FromArrow(arrow::MakeBuilder(arrow::default_memory_pool(), type, &columns_->kept[i])));
  }
  return {};
}

Status ParquetTable::AppendKept(const PassthroughColumns& kept, int64_t first, int64_t rows) {
  const ParquetArrays* arrays = ParquetArrays::Of(kept);
  for (size_t i = 0; i < kept_names_.size(); ++i) {
    arrow::ArrayBuilder* builder = columns_->kept[i].get();
    if (arrays != nullptr) {
      const arrow::Array& array = *arrays->arrays()[i];
      if (!Fits(*array.type(), *builder->type())) {
        return Internal("the column " + kept_names_[i] + " changed its type within a file");
      }
      const arrow::ArraySpan span(*array.data());
      ESPALIER_RETURN_IF_ERROR(FromArrow(builder->AppendArraySlice(span, first, rows)));
      if (array.length() > 0) {  // estimate from the average size of a row
        bytes_ += arrow::util::TotalBufferSize(array) / array.length() * rows;
      }
      continue;
    }
    std::string scratch;
    for (int64_t r = 0; r < rows; ++r) {
      const std::string_view text = kept.Text(first + r, i, &scratch);
      ESPALIER_RETURN_IF_ERROR(AppendText(text, static_cast<arrow::StringBuilder*>(builder)));
      bytes_ += static_cast<int64_t>(text.size() + sizeof(size_t));
    }
  }
  return {};
}

Status ParquetTable::Append(const PassthroughColumns& kept, int64_t rows,
                            const std::vector<std::string>& words, std::span<const int32_t> word_of,
                            std::span<const double> values, std::span<const std::string> reasons,
                            int64_t first) {
  if (columns_->kept.empty()) ESPALIER_RETURN_IF_ERROR(StartKept(kept));
  ESPALIER_RETURN_IF_ERROR(AppendKept(kept, first, rows));
  const auto append_text = [this](arrow::StringBuilder& builder, const std::string* text) {
    bytes_ += text != nullptr ? static_cast<int64_t>(text->size()) : 0;
    return text != nullptr ? AppendText(*text, &builder) : FromArrow(builder.AppendNull());
  };
  for (size_t r = 0; r < static_cast<size_t>(rows) && !word_name_.empty(); ++r) {
    const bool none = word_of[r] < 0;
    ESPALIER_RETURN_IF_ERROR(
        append_text(columns_->word, none ? nullptr : &words[static_cast<size_t>(word_of[r])]));
  }
  const size_t width = number_names_.size();
  for (size_t i = 0; i < width; ++i) {
    arrow::DoubleBuilder& builder = *columns_->numbers[i];
    ESPALIER_RETURN_IF_ERROR(FromArrow(builder.Reserve(rows)));
    for (int64_t r = 0; r < rows; ++r) {
      const double value = values[static_cast<size_t>(r) * width + i];
      std::isnan(value) ? builder.UnsafeAppendNull() : builder.UnsafeAppend(value);
    }
  }
  for (size_t r = 0; r < static_cast<size_t>(rows) && !reason_name_.empty(); ++r) {
    const bool none = reasons.empty() || reasons[r].empty();
    ESPALIER_RETURN_IF_ERROR(append_text(columns_->reason, none ? nullptr : &reasons[r]));
  }
  rows_ += rows;
  bytes_ += rows * static_cast<int64_t>(8 * width + 4 + 16 * kept_names_.size());
  return {};
}

Result<std::string> ParquetTable::Finish() {
  if (columns_->kept.empty()) ESPALIER_RETURN_IF_ERROR(StartKept(PassthroughColumns(0)));
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  const auto add = [&](const std::string& name, arrow::ArrayBuilder& builder) -> Status {
    std::shared_ptr<arrow::Array> array;
    ESPALIER_RETURN_IF_ERROR(FromArrow(builder.Finish(&array)));
    fields.push_back(arrow::field(ValidUtf8(name), array->type()));
    arrays.push_back(std::move(array));
    return {};
  };
  for (size_t i = 0; i < kept_names_.size(); ++i) {
    ESPALIER_RETURN_IF_ERROR(add(kept_names_[i], *columns_->kept[i]));
  }
  if (!word_name_.empty()) ESPALIER_RETURN_IF_ERROR(add(word_name_, columns_->word));
  for (size_t i = 0; i < number_names_.size(); ++i) {
    ESPALIER_RETURN_IF_ERROR(add(number_names_[i], *columns_->numbers[i]));
  }
  if (!reason_name_.empty()) ESPALIER_RETURN_IF_ERROR(add(reason_name_, columns_->reason));
  const int64_t rows = std::exchange(rows_, 0);
  bytes_ = 0;
  columns_->kept.clear();
  const auto table = arrow::Table::Make(arrow::schema(std::move(fields)), std::move(arrays), rows);
  try {
    auto sink = arrow::io::BufferOutputStream::Create();
    if (!sink.ok()) return FromArrow(sink.status());
    const auto properties = parquet::WriterProperties::Builder()
                                .compression(parquet::Compression::SNAPPY)
                                ->enable_page_checksum()
                                ->build();
    ESPALIER_RETURN_IF_ERROR(FromArrow(
        parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), *sink, rows, properties)));
    const auto buffer = (*sink)->Finish();
    if (!buffer.ok()) return FromArrow(buffer.status());
    return (*buffer)->ToString();
  } catch (const std::exception& error) {
    return Internal(std::string("making a Parquet file: ") + error.what());
  }
}

}  // namespace espalier::data
