#include "src/data/text/text_file.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "src/base/text.h"
#include "src/data/text/decompressed_file.h"

namespace espalier::data {
namespace {

constexpr size_t kPieceBytes = 64 << 10;  // even

void AppendUtf8(uint32_t c, std::string* text) {
  const auto tail = [&](int shift) {
    text->push_back(static_cast<char>(0x80 | ((c >> shift) & 0x3F)));
  };
  if (c < 0x80) {
    text->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    text->push_back(static_cast<char>(0xC0 | (c >> 6)));
    tail(0);
  } else if (c < 0x10000) {
    text->push_back(static_cast<char>(0xE0 | (c >> 12)));
    tail(6);
    tail(0);
  } else {
    text->push_back(static_cast<char>(0xF0 | (c >> 18)));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

Result<TextForm> TextFile::FormOf(const storage::ReadableFile& inner) {
  std::vector<char> begin(4096);
  for (;;) {
    ESPALIER_ASSIGN_OR_RETURN(const size_t size, inner.ReadAt(0, begin));
    const std::string_view text(begin.data(), size);
    if (text.starts_with("\xFF\xFE")) return TextForm::kUtf16Little;
    if (text.starts_with("\xFE\xFF")) return TextForm::kUtf16Big;
    if (text.find('\n') != text.npos) return TextForm::kUsual;
    if (size < begin.size() || static_cast<int64_t>(size) >= kLookedAt) {
      return text.find('\r') == text.npos ? TextForm::kUsual : TextForm::kLoneCr;
    }
    begin.resize(static_cast<size_t>(kLookedAt));
  }
}

TextFile::TextFile(const storage::ReadableFile& inner, TextForm form)
    : inner_(inner), form_(form), info_(inner.info()) {
  if (is_utf16()) info_.length = DecompressedFile::kLengthUnknown;
}

Status TextFile::Broken(int64_t place, const char* what) const {
  return BadInput(QuotedPath(info_.path) + " is not whole text in UTF-16: it has " + what +
                  " at byte " + std::to_string(place) + ". Write the file again, best as UTF-8")
      .At({.file = info_.path});
}

Result<size_t> TextFile::Append(std::span<const char> units, bool last) const {
  const int high = form_ == TextForm::kUtf16Big ? 0 : 1;
  const auto unit = [&](size_t at) {
    return static_cast<uint32_t>(static_cast<uint8_t>(units[at + high]) << 8 |
                                 static_cast<uint8_t>(units[at + 1 - high]));
  };
  size_t at = 0;
  for (; at + 2 <= units.size(); at += 2) {
    const uint32_t first = unit(at);
    if (first < 0xD800 || first >= 0xE000) {
      AppendUtf8(first, &text_);
      continue;
    }
    if (at + 4 > units.size() && !last) return at;  // the other half is in the next piece
    const uint32_t second = at + 4 <= units.size() ? unit(at + 2) : 0;
    if (first >= 0xDC00 || second < 0xDC00 || second >= 0xE000) {
      return Broken(read_ + static_cast<int64_t>(at), "half a surrogate pair");
    }
    AppendUtf8(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00), &text_);
    at += 2;
  }
  if (last && at < units.size()) {
    return Broken(read_ + static_cast<int64_t>(at), "half a character");
  }
  return at;
}

Status TextFile::Transcode() const {
  text_begin_ += static_cast<int64_t>(text_.size());
  text_.clear();
  std::vector<char> units(kPieceBytes);
  ESPALIER_ASSIGN_OR_RETURN(const size_t size, inner_.ReadAt(read_, units));
  const bool last = size < units.size();
  const int64_t length = inner_.info().length;
  if (last && length != DecompressedFile::kLengthUnknown &&
      read_ + static_cast<int64_t>(size) < length) {
    return DataLoss(QuotedPath(info_.path) + " ends at byte " + std::to_string(read_ + size) +
                    " although it had " + std::to_string(length) +
                    " bytes when it was listed; it changed during the job");
  }
  ESPALIER_ASSIGN_OR_RETURN(const size_t taken, Append({units.data(), size}, last));
  read_ += static_cast<int64_t>(taken);
  return {};
}

Result<size_t> TextFile::ReadAt(int64_t offset, std::span<char> out) const {
  if (!is_utf16()) {
    ESPALIER_ASSIGN_OR_RETURN(const size_t size, inner_.ReadAt(offset, out));
    if (form_ == TextForm::kLoneCr) std::replace(out.begin(), out.begin() + size, '\r', '\n');
    return size;
  }
  if (offset < text_begin_) {
    read_ = 2;
    text_begin_ = 0;
    text_.clear();
  }
  size_t filled = 0;
  while (filled < out.size()) {
    const int64_t from = offset + static_cast<int64_t>(filled) - text_begin_;
    const auto held = static_cast<int64_t>(text_.size());
    if (from < held) {
      const size_t size = std::min(out.size() - filled, static_cast<size_t>(held - from));
      std::copy_n(text_.data() + from, size, out.data() + filled);
      filled += size;
      continue;
    }
    ESPALIER_RETURN_IF_ERROR(Transcode());
    if (text_.empty()) break;
  }
  return filled;
}

}  // namespace espalier::data
