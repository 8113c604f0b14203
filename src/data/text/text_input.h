// A file of text, opened: plain or compressed, UTF-8 or UTF-16, CSV or LIBSVM. Thread rule: one
// thread.
#pragma once

#include <cstdint>
#include <memory>

#include "src/base/status.h"
#include "src/data/table/record_reader.h"
#include "src/data/text/csv_reader.h"
#include "src/data/text/decompressed_file.h"
#include "src/data/text/text_file.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

class TextInput {
 public:
  // Opens a file of the plan, unchanged since it was listed. `whole`: the shard to be read is all
  // of it; only then it may be compressed, or of another form than usual (text_file.h). Errors:
  // those of OpenUnchanged, CompressionOf and decompressed_file.h.
  static Result<std::unique_ptr<TextInput>> Open(const storage::FileSystem& files,
                                                 const spec::InputFile& file, bool whole);

  // Open for reading the shard [begin, end), which the file is told of before its first byte is
  // read: what looks at the content then costs no request of its own.
  static Result<std::unique_ptr<TextInput>> OpenShard(const storage::FileSystem& files,
                                                      const spec::InputFile& file, int64_t begin,
                                                      int64_t end);

  // Whether the file can be read only from its begin, so that it is one shard.
  bool is_one_shard() const {
    return compression_ != Compression::kNone || form_ != TextForm::kUsual;
  }
  // Whether the length of the text is not that of the file.
  bool has_other_length() const { return text().info().length == DecompressedFile::kLengthUnknown; }

  // Further views of the text, for counting lines while a reader is in the middle of it: of its
  // records, and of former ones.
  const storage::ReadableFile& lines() const { return *lines_.top; }
  const storage::ReadableFile& places() const { return *places_.top; }

  // Reads the records of the range, all of a file of one shard, in the job's format. `columns`
  // and `sparse` are of LIBSVM text. The input must outlive the reader.
  std::unique_ptr<RecordReader> Records(const spec::DataSpec& data, CsvRange range, size_t columns,
                                        int64_t window_bytes = CsvReader::kWindowBytes,
                                        bool sparse = false) const;

 private:
  // What is between the file and its text.
  struct View {
    std::unique_ptr<DecompressedFile> decompressed;
    std::unique_ptr<TextFile> text;
    const storage::ReadableFile* top = nullptr;
  };

  const storage::ReadableFile& text() const { return *text_.top; }
  void WillRead(int64_t begin, int64_t end) const;
  // Finds out how the content is written.
  Status LookAtContent();
  void MakeView(View* view) const;

  std::unique_ptr<storage::ReadableFile> raw_;
  Compression compression_ = Compression::kNone;
  TextForm form_ = TextForm::kUsual;
  View text_, lines_, places_;
};

}  // namespace espalier::data
