// A file of text, opened: plain or compressed, CSV or LIBSVM. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>

#include "src/base/status.h"
#include "src/data/table/record_reader.h"
#include "src/data/text/csv_reader.h"
#include "src/data/text/decompressed_file.h"
#include "src/spec/input.h"
#include "src/spec/job_spec.h"
#include "src/storage/file_system.h"

namespace espalier::data {

class TextInput {
 public:
  // Opens a file of the plan, unchanged since it was listed. `whole`: the shard to be read is all
  // of it; only then it may be compressed. Errors: those of OpenUnchanged and CompressionOf.
  static Result<std::unique_ptr<TextInput>> Open(const storage::FileSystem& files,
                                                 const spec::InputFile& file, bool whole);

  // Open for reading the shard [begin, end), which the file is told of before its first byte is
  // read: what looks at the content then costs no request of its own.
  static Result<std::unique_ptr<TextInput>> OpenShard(const storage::FileSystem& files,
                                                      const spec::InputFile& file, int64_t begin,
                                                      int64_t end);

  bool compressed() const { return text_ != nullptr; }

  // Further views of the text, for counting lines while a reader is in the middle of it: of its
  // records, and of former ones.
  const storage::ReadableFile& lines() const { return compressed() ? *lines_ : *raw_; }
  const storage::ReadableFile& places() const { return compressed() ? *places_ : *raw_; }

  // Reads the records of the range, all when the file is compressed, in the job's format. `columns`
  // and `sparse` are of LIBSVM text. The input must outlive the reader.
  std::unique_ptr<RecordReader> Records(const spec::DataSpec& data, CsvRange range, size_t columns,
                                        int64_t window_bytes = CsvReader::kWindowBytes,
                                        bool sparse = false) const;

 private:
  void WillRead(int64_t begin, int64_t end) const;
  Status LookForCompression();

  std::unique_ptr<storage::ReadableFile> raw_;
  std::unique_ptr<DecompressedFile> text_, lines_, places_;  // null when the file is plain
};

}  // namespace espalier::data
