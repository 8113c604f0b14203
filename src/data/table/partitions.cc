#include "src/data/table/partitions.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "src/base/text.h"
#include "src/storage/glob.h"

namespace espalier::data {
namespace {

constexpr std::string_view kNullValue = "__HIVE_DEFAULT_PARTITION__";

// Decodes %2F and similar codes. Other text is unchanged.
std::string Decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
      out.push_back(static_cast<char>(code));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

// Calls `take` for the directories of a path, from the file upwards, until it returns false.
template <typename Take>
void ForDirectories(std::string_view path, Take&& take) {
  for (size_t slash = path.rfind('/'); slash != std::string_view::npos && slash > 0;) {
    path = path.substr(0, slash);
    slash = path.rfind('/');
    if (!take(slash == std::string_view::npos ? path : path.substr(slash + 1))) return;
  }
}

class PartitionedReader final : public RecordReader {
 public:
  PartitionedReader(std::unique_ptr<RecordReader> inner,
                    const std::vector<std::optional<std::string>>& values)
      : inner_(std::move(inner)) {
    added_ = values.size();
    for (const auto& value : values) {
      tail_ += '\0' + value.value_or("");
      tail_ends_.push_back(static_cast<uint32_t>(tail_.size()));
    }
  }

  Outcome Next() override {
    const Outcome outcome = inner_->Next();
    record_offset_ = inner_->record_offset();
    if (outcome != Outcome::kRecord) {
      error_ = inner_->error();
      return outcome;
    }
    const size_t own = inner_->fields();
    const uint32_t length = own == 0 ? 0 : inner_->ends()[own - 1];
    const uint32_t first = own == 0 ? 1 : 0;  // a separator precedes all fields but the first
    buffer_.assign(kReadable, '\0');
    buffer_.append(inner_->text(), length).append(tail_, first).push_back('\0');
    ends_.assign(inner_->ends(), inner_->ends() + own);
    for (const uint32_t end : tail_ends_) ends_.push_back(length + end - first);
    text_ = buffer_.data() + kReadable;
    fields_ = ends_.size();
    return outcome;
  }

  std::string_view record() const override { return inner_->record(); }
  int64_t field_offset(size_t i) const override {
    return i < inner_->fields() ? inner_->field_offset(i) : record_offset_;
  }
  int64_t position() const override { return inner_->position(); }
  uint32_t checksum() const override { return inner_->checksum(); }

 private:
  const std::unique_ptr<RecordReader> inner_;
  std::string tail_;  // fields, each after one separator byte
  std::vector<uint32_t> tail_ends_;
  std::string buffer_;
};

}  // namespace

void Partitions::LeaveOut(const std::vector<std::string>& columns) {
  if (names.empty()) return;
  for (const std::string& column : columns) {
    std::erase(names, column);
    texts.erase(column);
  }
}

Result<std::vector<std::string>> PartitionNames(const storage::FileInfo& file) {
  std::vector<std::string> names;
  int32_t left = file.found_below;
  ForDirectories(file.path, [&](std::string_view directory) {
    if (left-- <= 0) return false;
    if (storage::IsPartitionName(directory))
      names.push_back(Decoded(directory.substr(0, directory.find('='))));
    return true;
  });
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return names;
  return InvalidArgument(QuotedPath(file.path) + " lies in two directories that give the column '" +
                         Printable(*twice) + "' (expected each column once)")
      .At({.file = file.path, .column = Printable(*twice)});
}

std::string ShadowedText(const std::string& path, const std::string& column) {
  return "the column " + Quoted(column) + " is in " + QuotedPath(path) +
         " and in the name of its directory; the value of the directory is used, as in Spark and "
         "Hive";
}

Status PositionsAreAmbiguous(const std::string& path, const std::string& column) {
  return InvalidArgument("the column " + Quoted(column) + " is in " + QuotedPath(path) +
                         " and in the name of its directory, and the job specifies columns by "
                         "position. Specify their names in data.label and data.features")
      .At({.file = path, .column = Printable(column)});
}

std::optional<std::string> PartitionValue(const std::string& path, const std::string& name) {
  std::optional<std::string> value;
  ForDirectories(path, [&](std::string_view directory) {
    const size_t equals = directory.find('=');
    if (!storage::IsPartitionName(directory) || Decoded(directory.substr(0, equals)) != name)
      return true;
    const std::string_view text = directory.substr(equals + 1);
    if (text != kNullValue) value = Decoded(text);
    return false;
  });
  return value;
}

std::vector<std::optional<std::string>> PartitionValues(const spec::Schema& schema,
                                                        const std::string& path) {
  std::vector<std::optional<std::string>> values;
  for (size_t i = schema.names.size() - schema.partitions; i < schema.names.size(); ++i) {
    values.push_back(PartitionValue(path, schema.names[i]));
  }
  return values;
}

std::unique_ptr<RecordReader> WithPartitions(
    std::unique_ptr<RecordReader> reader, const std::vector<std::optional<std::string>>& values) {
  if (values.empty()) return reader;
  return std::make_unique<PartitionedReader>(std::move(reader), values);
}

}  // namespace espalier::data
