#include "src/data/text/text_input.h"

#include <algorithm>

#include "src/data/table/input_file.h"
#include "src/data/text/libsvm_reader.h"

namespace espalier::data {

Result<std::unique_ptr<TextInput>> TextInput::Open(const storage::FileSystem& files,
                                                   const spec::InputFile& file, bool whole) {
  auto input = std::make_unique<TextInput>();
  ESPALIER_ASSIGN_OR_RETURN(input->raw_, OpenUnchanged(files, file));
  if (whole) ESPALIER_RETURN_IF_ERROR(input->LookAtContent());
  for (View* view : {&input->text_, &input->lines_, &input->places_}) input->MakeView(view);
  return input;
}

Result<std::unique_ptr<TextInput>> TextInput::OpenShard(const storage::FileSystem& files,
                                                        const spec::InputFile& file, int64_t begin,
                                                        int64_t end) {
  auto input = std::make_unique<TextInput>();
  ESPALIER_ASSIGN_OR_RETURN(input->raw_, OpenUnchanged(files, file));
  input->WillRead(begin, end);
  if (begin == 0 && end == file.length) ESPALIER_RETURN_IF_ERROR(input->LookAtContent());
  for (View* view : {&input->text_, &input->lines_, &input->places_}) input->MakeView(view);
  return input;
}

Status TextInput::LookAtContent() {
  ESPALIER_ASSIGN_OR_RETURN(compression_, CompressionOf(*raw_));
  if (compression_ == Compression::kNone) {
    ESPALIER_ASSIGN_OR_RETURN(form_, TextFile::FormOf(*raw_));
  } else {
    ESPALIER_ASSIGN_OR_RETURN(form_, TextFile::FormOf(DecompressedFile(*raw_, compression_)));
  }
  return {};
}

void TextInput::MakeView(View* view) const {
  view->top = raw_.get();
  if (compression_ != Compression::kNone) {
    view->decompressed = std::make_unique<DecompressedFile>(*raw_, compression_);
    view->top = view->decompressed.get();
  }
  if (form_ == TextForm::kUsual) return;
  view->text = std::make_unique<TextFile>(*view->top, form_);
  view->top = view->text.get();
}

void TextInput::WillRead(int64_t begin, int64_t end) const {
  constexpr int64_t kLastRecord = 4096;  // the last record of a shard continues in the next shard
  begin = std::max<int64_t>(begin - 1, 0);  // looking back further costs one more request
  end = std::min(end + kLastRecord, raw_->info().length);
  raw_->WillRead(begin, end - begin);
}

std::unique_ptr<RecordReader> TextInput::Records(const spec::DataSpec& data, CsvRange range,
                                                 std::span<const std::string> names,
                                                 int64_t window_bytes, bool sparse) const {
  const storage::ReadableFile& file = text();
  if (has_other_length()) range = {0, DecompressedFile::kLengthUnknown, range.skip_header};
  const spec::DataFormat format = spec::FormatOf(data, raw_->info().path);
  range.look_back = data.bad_rows.skip && format == spec::DataFormat::kCsv;
  if (format == spec::DataFormat::kLibsvm) {
    return std::make_unique<LibsvmReader>(file, data.libsvm, range, names.size(), window_bytes,
                                          sparse, !data.label.empty());
  }
  if (format == spec::DataFormat::kJson) {
    return std::make_unique<JsonReader>(file, range, names, window_bytes);
  }
  return std::make_unique<CsvReader>(file, data.csv, range, window_bytes);
}

std::unique_ptr<RecordReader> TextInput::KeyRecords(JsonKeys* keys, int64_t window_bytes) const {
  return std::make_unique<JsonReader>(text(), CsvRange{0, text().info().length}, keys,
                                      window_bytes);
}

}  // namespace espalier::data
