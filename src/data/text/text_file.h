// The text of a whole file, as UTF-8 with lines that end in LF or CRLF:
//   UTF-16 with a byte order mark, little- or big-endian, is transcoded
//   lone CRs that end all lines become LFs, if the first kLookedAt bytes contain a CR and no LF
//   other text is unchanged
// The decision needs the beginning of the file, so text of the first two kinds is one shard.
// Positions refer to the UTF-8 without the byte order mark.
//
// Errors in UTF-16 (an odd length, half a surrogate pair) are kBadInput, with the file. Thread
// rule: one thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "src/base/status.h"
#include "src/storage/file_system.h"

namespace espalier::data {

enum class TextForm : uint8_t { kUsual, kUtf16Little, kUtf16Big, kLoneCr };

class TextFile final : public storage::ReadableFile {
 public:
  static constexpr int64_t kLookedAt = 64 << 10;

  // Detects the form from the beginning of `inner`, which must outlive this.
  static Result<TextForm> FormOf(const storage::ReadableFile& inner);

  TextFile(const storage::ReadableFile& inner, TextForm form);

  // For UTF-16, the length is DecompressedFile::kLengthUnknown. Otherwise it is the length of
  // `inner`, which may be unknown too.
  const storage::FileInfo& info() const override { return info_; }
  // Returns text from `offset`. In UTF-16, a read that continues where the last call ended is fast.
  // A read further ahead skips text, and a read further back starts again at the beginning.
  Result<size_t> ReadAt(int64_t offset, std::span<char> out) const override;
  void WillRead(int64_t, int64_t) const override {}

 private:
  bool is_utf16() const { return form_ == TextForm::kUtf16Little || form_ == TextForm::kUtf16Big; }
  // Fills text_ with the next piece. At the end of the text, text_ is empty.
  Status Transcode() const;
  // Appends the characters of `units` to text_ and returns the number of bytes consumed.
  Result<size_t> Append(std::span<const char> units, bool last) const;
  Status Broken(int64_t place, const char* what) const;

  const storage::ReadableFile& inner_;
  const TextForm form_;
  storage::FileInfo info_;
  mutable int64_t read_ = 2;        // bytes of `inner` that are transcoded, and the mark
  mutable int64_t text_begin_ = 0;  // position of text_ in the text
  mutable std::string text_;
};

}  // namespace espalier::data
