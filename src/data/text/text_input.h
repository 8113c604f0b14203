// An open text file: plain or compressed, UTF-8 or UTF-16, CSV, LIBSVM or JSON. Thread rule: one
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "src/base/status.h"
#include "src/data/table/record_reader.h"
#include "src/data/text/csv_reader.h"
#include "src/data/text/decompressed_file.h"
#include "src/data/text/json_reader.h"
#include "src/data/text/text_file.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

class TextInput {
 public:
  // Opens a file of the plan that is unchanged since it was listed. `whole`: the shard to be read
  // is the whole file. Only then may it be compressed or of an unusual form (text_file.h). Errors:
  // as OpenUnchanged, CompressionOf and decompressed_file.h.
  static Result<std::unique_ptr<TextInput>> Open(const storage::FileSystem& files,
                                                 const spec::InputFile& file, bool whole);

  // Opens a file to read the shard [begin, end). Announces that range to the file before the first
  // byte is read, so that the look at the content costs no separate request.
  static Result<std::unique_ptr<TextInput>> OpenShard(const storage::FileSystem& files,
                                                      const spec::InputFile& file, int64_t begin,
                                                      int64_t end);

  // Returns whether the file can be read only from its beginning and is therefore one shard.
  bool is_one_shard() const {
    return compression_ != Compression::kNone || form_ != TextForm::kUsual;
  }
  // Returns whether the length of the text differs from that of the file.
  bool has_other_length() const { return text().info().length == DecompressedFile::kLengthUnknown; }

  // Further views of the text, which count lines while a reader is in the middle of it. lines() is
  // for records as they are read, places() for earlier records.
  const storage::ReadableFile& lines() const { return *lines_.top; }
  const storage::ReadableFile& places() const { return *places_.top; }

  // Returns a reader for the records of the range, in the job's format. If the file is one shard,
  // the range is all of it. `names`: the columns in the order of the file, for JSON; LIBSVM text
  // has as many. `sparse` is for LIBSVM text. The input must outlive the reader.
  std::unique_ptr<RecordReader> Records(const spec::DataSpec& data, CsvRange range,
                                        std::span<const std::string> names,
                                        int64_t window_bytes = CsvReader::kWindowBytes,
                                        bool sparse = false) const;
  // Returns a reader that adds the keys of a JSON file to `keys`, which must outlive it.
  std::unique_ptr<RecordReader> KeyRecords(JsonKeys* keys, int64_t window_bytes) const;

 private:
  // Layers between the file and its text.
  struct View {
    std::unique_ptr<DecompressedFile> decompressed;
    std::unique_ptr<TextFile> text;
    const storage::ReadableFile* top = nullptr;
  };

  const storage::ReadableFile& text() const { return *text_.top; }
  void WillRead(int64_t begin, int64_t end) const;
  // Detects the compression and the form of the content.
  Status LookAtContent();
  void MakeView(View* view) const;

  std::unique_ptr<storage::ReadableFile> raw_;
  Compression compression_ = Compression::kNone;
  TextForm form_ = TextForm::kUsual;
  View text_, lines_, places_;
};

}  // namespace espalier::data
