// The text of a whole file as UTF-8 whose lines end in LF or CRLF:
//   UTF-16 with a byte order mark, little- or big-endian, is transcoded
//   lone CRs that end all lines become LFs: the first kLookedAt bytes have one, and no LF
//   other text is as it is
// The decision needs the file's begin, so text of the first two kinds is one shard. Positions are
// those of the UTF-8, without the mark.
//
// Errors of UTF-16 are kBadInput, with the file: an odd length, half a surrogate pair.
// Thread rule: one thread.
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

  // Looks at the begin of `inner`, which must outlive this.
  static Result<TextForm> FormOf(const storage::ReadableFile& inner);

  TextFile(const storage::ReadableFile& inner, TextForm form);

  // The length is unknown (DecompressedFile::kLengthUnknown) of UTF-16, and where that of `inner`
  // is.
  const storage::FileInfo& info() const override { return info_; }
  // Of UTF-16: reading on where the last call ended is fast; further on skips; back starts again.
  Result<size_t> ReadAt(int64_t offset, std::span<char> out) const override;
  void WillRead(int64_t, int64_t) const override {}

 private:
  bool is_utf16() const { return form_ == TextForm::kUtf16Little || form_ == TextForm::kUtf16Big; }
  // Fills text_ with the next piece; empty at the end.
  Status Transcode() const;
  // Appends the characters of `units` to text_; returns how many bytes it took.
  Result<size_t> Append(std::span<const char> units, bool last) const;
  Status Broken(int64_t place, const char* what) const;

  const storage::ReadableFile& inner_;
  const TextForm form_;
  storage::FileInfo info_;
  mutable int64_t read_ = 2;        // bytes of `inner` that are transcoded
  mutable int64_t text_begin_ = 0;  // position of text_
  mutable std::string text_;
};

}  // namespace espalier::data
