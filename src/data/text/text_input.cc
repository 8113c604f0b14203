#include "src/data/text/text_input.h"

#include <algorithm>

#include "src/data/table/input_file.h"
#include "src/data/text/libsvm_reader.h"

namespace espalier::data {

Result<std::unique_ptr<TextInput>> TextInput::Open(const storage::FileSystem& files,
                                                   const spec::InputFile& file, bool whole) {
  auto input = std::make_unique<TextInput>();
  ESPALIER_ASSIGN_OR_RETURN(input->raw_, OpenUnchanged(files, file));
  if (whole) ESPALIER_RETURN_IF_ERROR(input->LookForCompression());
  return input;
}

Result<std::unique_ptr<TextInput>> TextInput::OpenShard(const storage::FileSystem& files,
                                                        const spec::InputFile& file, int64_t begin,
                                                        int64_t end) {
  ESPALIER_ASSIGN_OR_RETURN(auto input, Open(files, file, false));
  input->WillRead(begin, end);
  if (begin == 0 && end == file.length) ESPALIER_RETURN_IF_ERROR(input->LookForCompression());
  return input;
}

Status TextInput::LookForCompression() {
  ESPALIER_ASSIGN_OR_RETURN(const Compression compression, CompressionOf(*raw_));
  if (compression == Compression::kNone) return {};
  text_ = std::make_unique<DecompressedFile>(*raw_, compression);
  lines_ = std::make_unique<DecompressedFile>(*raw_, compression);
  places_ = std::make_unique<DecompressedFile>(*raw_, compression);
  return {};
}

void TextInput::WillRead(int64_t begin, int64_t end) const {
  constexpr int64_t kLastRecord = 4096;     // the last record of a shard goes on in the next one
  begin = std::max<int64_t>(begin - 1, 0);  // the reader may look back further, by a request more
  end = std::min(end + kLastRecord, raw_->info().length);
  raw_->WillRead(begin, end - begin);
}

std::unique_ptr<RecordReader> TextInput::Records(const spec::DataSpec& data, CsvRange range,
                                                 size_t columns, int64_t window_bytes,
                                                 bool sparse) const {
  const storage::ReadableFile& file = compressed() ? *text_ : *raw_;
  if (compressed()) range = {0, DecompressedFile::kLengthUnknown, range.skip_header};
  range.look_back = data.bad_rows.skip;
  if (spec::FormatOf(data, raw_->info().path) == spec::DataFormat::kLibsvm) {
    return std::make_unique<LibsvmReader>(file, range, columns, window_bytes, sparse,
                                          !data.label.empty());
  }
  return std::make_unique<CsvReader>(file, data.csv, range, window_bytes);
}

}  // namespace espalier::data
