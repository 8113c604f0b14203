#include "src/data/parquet/footer.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "src/base/text.h"
#include "src/data/text/decompressed_file.h"

namespace espalier::data {
namespace {

constexpr std::string_view kMagic = "PAR1", kEncryptedMagic = "PARE";
constexpr int64_t kEndBytes = 8;          // length of the footer and the magic number
constexpr int64_t kFirstRead = 64 << 10;  // most footers fit in it
// Maximum depth of nested structs, lists and maps. FileMetaData itself uses about eight levels.
constexpr int kThriftDepthMax = 24;

// Reads Thrift's compact protocol. After a fault, ok() is false and all other results are invalid.
class Thrift {
 public:
  enum Type : uint8_t {
    kStop = 0,
    kTrue = 1,
    kFalse = 2,
    kByte = 3,
    kI16 = 4,
    kI32 = 5,
    kI64 = 6,
    kDouble = 7,
    kBinary = 8,
    kList = 9,
    kSet = 10,
    kMap = 11,
    kStruct = 12,
    kUuid = 13,
  };

  explicit Thrift(std::string_view bytes) : left_(bytes) {}
  bool ok() const { return ok_; }
  void Fail() { ok_ = false; }

  // Calls `take(id, type)` for each field of a struct. Skips fields that `take` does not read
  // (false).
  template <typename Take>
  void Fields(int depth, Take&& take) {
    int64_t id = 0;
    for (Type type = Field(&id); ok_ && type != kStop; type = Field(&id)) {
      if (!take(id, type)) Skip(type, depth + 1);
    }
  }

  // Calls `read()` for each element of a list, all of which must be structs.
  template <typename Read>
  void Structs(Read&& read) {
    Type element = kStop;
    const uint64_t size = List(&element);
    if (size > 0 && element != kStruct) ok_ = false;
    for (uint64_t i = 0; ok_ && i < size; ++i) read();
  }

  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const uint8_t byte = Byte();
      if (!ok_) return 0;
      value |= uint64_t{byte & 0x7Fu} << std::min(shift, 63);
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  int64_t Zigzag() {
    const uint64_t n = Varint();
    return static_cast<int64_t>(n >> 1) ^ -static_cast<int64_t>(n & 1);
  }

  // Returns the type of the next field, or kStop at the end of the struct. Updates *id, which is
  // relative to the last field.
  Type Field(int64_t* id) {
    const uint8_t head = Byte();
    if (!ok_ || head == 0) return kStop;
    *id = (head >> 4) != 0 ? *id + (head >> 4) : Zigzag();
    const uint8_t type = head & 0xF;
    if (type == kStop || type > kUuid) ok_ = false;
    return ok_ ? static_cast<Type>(type) : kStop;
  }

  // Returns the number of elements in a list. Each element has at least one byte.
  uint64_t List(Type* element) {
    const uint8_t head = Byte();
    const uint64_t size = (head >> 4) == 15 ? Varint() : head >> 4;
    *element = static_cast<Type>(head & 0xF);
    if (size > left_.size()) ok_ = false;
    return ok_ ? size : 0;
  }

  void Skip(Type type, int depth, bool in_list = false) {
    if (depth > kThriftDepthMax) ok_ = false;
    if (!ok_) return;
    switch (type) {
      case kTrue:
      case kFalse:
        return in_list ? Bytes(1) : void();
      case kByte:
        return Bytes(1);
      case kI16:
      case kI32:
      case kI64:
        return void(Varint());
      case kDouble:
        return Bytes(8);
      case kBinary:
        return Bytes(Varint());
      case kUuid:
        return Bytes(16);
      case kList:
      case kSet:
        return SkipList(depth);
      case kMap:
        return SkipMap(depth);
      case kStruct:
        return SkipStruct(depth);
      case kStop:
        break;
    }
    ok_ = false;
  }

 private:
  uint8_t Byte() {
    if (left_.empty()) ok_ = false;
    if (!ok_) return 0;
    const uint8_t byte = static_cast<uint8_t>(left_[0]);
    left_.remove_prefix(1);
    return byte;
  }
  void Bytes(uint64_t count) {
    if (count > left_.size()) ok_ = false;
    if (ok_) left_.remove_prefix(count);
  }
  void SkipList(int depth) {
    Type element = kStop;
    const uint64_t size = List(&element);
    for (uint64_t i = 0; ok_ && i < size; ++i) Skip(element, depth + 1, true);
  }
  void SkipMap(int depth) {
    const uint64_t size = Varint();
    if (!ok_ || size == 0) return;
    const uint8_t types = Byte();
    if (size > left_.size()) ok_ = false;
    for (uint64_t i = 0; ok_ && i < size; ++i) {
      Skip(static_cast<Type>(types >> 4), depth + 1, true);
      Skip(static_cast<Type>(types & 0xF), depth + 1, true);
    }
  }
  void SkipStruct(int depth) {
    Fields(depth, [](int64_t, Type) { return false; });
  }

  std::string_view left_;
  bool ok_ = true;
};

// Returns field 5 of SchemaElement, num_children. -1: a fault.
int64_t ReadChildren(Thrift& in) {
  int64_t children = 0;
  in.Fields(1, [&](int64_t id, Thrift::Type type) {
    if (id != 5 || type != Thrift::kI32) return false;
    children = in.Zigzag();
    return true;
  });
  return in.ok() && children >= 0 ? children : -1;
}

// Reads the codecs of all row groups: field 1 of a RowGroup is its columns, field 3 of a
// ColumnChunk is meta_data, and field 4 of ColumnMetaData is the codec.
struct RowGroups {
  std::optional<int64_t> unknown_codec;
  int64_t chunks = 0, most = 0;  // in all groups, and the most in one group
};
RowGroups ReadRowGroups(Thrift& in) {
  constexpr int64_t kCodecs = 8;
  RowGroups out;
  const auto meta = [&](int64_t id, Thrift::Type type) {
    if (id != 4 || type != Thrift::kI32) return false;
    const int64_t codec = in.Zigzag();
    if (codec < 0 || codec >= kCodecs) out.unknown_codec = codec;
    return true;
  };
  const auto chunk = [&](int64_t id, Thrift::Type type) {
    if (id != 3 || type != Thrift::kStruct) return false;
    in.Fields(4, meta);
    return true;
  };
  const auto group = [&](int64_t id, Thrift::Type type) {
    if (id != 1 || type != Thrift::kList) return false;
    const int64_t before = out.chunks;
    in.Structs([&] {
      in.Fields(3, chunk);
      if (++out.chunks > kParquetChunksMax) in.Fail();
    });
    out.most = std::max(out.most, out.chunks - before);
    return true;
  };
  in.Structs([&] { in.Fields(2, group); });
  return out;
}

enum class SchemaForm { kGood, kDamaged, kDeep };

// Checks the schema, which is its tree in depth-first order. Each element has the number of its
// children. `columns`: receives the number of elements without children.
SchemaForm ReadSchema(Thrift& in, int64_t* columns) {
  Thrift::Type element = Thrift::kStop;
  const uint64_t size = in.List(&element);
  if (!in.ok() || element != Thrift::kStruct || size == 0) return SchemaForm::kDamaged;
  std::vector<int64_t> open;  // remaining children of each open group
  for (uint64_t i = 0; i < size; ++i) {
    const int64_t children = ReadChildren(in);
    if (children < 0 || (i > 0 && open.empty())) return SchemaForm::kDamaged;
    if (!open.empty()) --open.back();
    if (children == 0) ++*columns;
    if (children > 0) open.push_back(children);
    if (open.size() > kParquetNestingMax) return SchemaForm::kDeep;
    while (!open.empty() && open.back() == 0) open.pop_back();
  }
  return open.empty() ? SchemaForm::kGood : SchemaForm::kDamaged;
}

Status ReadExactly(const storage::ReadableFile& file, int64_t offset, std::span<char> out) {
  ESPALIER_ASSIGN_OR_RETURN(const size_t size, file.ReadAt(offset, out));
  if (size == out.size()) return {};
  return DataLoss(QuotedPath(file.info().path) + " became shorter while it was read")
      .At({.file = file.info().path, .offset = offset});
}

Status Encrypted(const std::string& path) {
  return Unimplemented(QuotedPath(path) +
                       " is encrypted (expected a plain Parquet file). "
                       "Write it again without encryption")
      .At({.file = path});
}

// Returns the length of the footer from the last eight bytes.
Result<int64_t> FooterLength(std::string_view end, int64_t file_length, const std::string& path) {
  const std::string_view magic = end.substr(4);
  if (magic == kEncryptedMagic) return Encrypted(path);
  if (magic != kMagic) {
    return DamagedParquet(path, "it ends in '" + Printable(magic) +
                                    "', expected 'PAR1'; it is cut short or is not a Parquet file");
  }
  uint32_t length = 0;
  std::memcpy(&length, end.data(), sizeof(length));
  const int64_t room = file_length - kEndBytes - static_cast<int64_t>(kMagic.size());
  if (length == 0 || static_cast<int64_t>(length) > room) {
    return DamagedParquet(path, "it says that its footer has " + std::to_string(length) +
                                    " bytes, expected 1 to " + std::to_string(room));
  }
  if (length > kParquetFooterBytesMax) {
    return ResourceExhausted("the footer of " + QuotedPath(path) + " has " + HumanBytes(length) +
                             ", expected at most " + HumanBytes(kParquetFooterBytesMax) +
                             ". Write the file with fewer columns or larger row groups")
        .At({.file = path});
  }
  return static_cast<int64_t>(length);
}

}  // namespace

Status DamagedParquet(const std::string& path, const std::string& why) {
  return BadInput(QuotedPath(path) + " is not a whole Parquet file: " + why +
                  ". Write or copy the file again, or leave it out of the patterns")
      .At({.file = path});
}

Status CheckParquetHead(const storage::ReadableFile& file) {
  const std::string& path = file.info().path;
  char head[kKindBytes] = {};
  ESPALIER_ASSIGN_OR_RETURN(const size_t size, file.ReadAt(0, head));
  const std::string_view first(head, size), magic = first.substr(0, kMagic.size());
  if (magic == kMagic || magic == kEncryptedMagic) return {};
  if (size == 0) return DamagedParquet(path, "it has 0 bytes");
  const char* kind = KindOf(first);
  return DamagedParquet(path, (kind == nullptr ? "" : "it is " + std::string(kind) + ": ") +
                                  "it starts with '" + Printable(magic) + "', expected 'PAR1'");
}

Result<ParquetFooter> ReadParquetFooter(const storage::ReadableFile& file) {
  const std::string& path = file.info().path;
  const int64_t length = file.info().length;
  constexpr int64_t kLeast = kEndBytes + static_cast<int64_t>(kMagic.size()) + 1;
  if (length < kLeast) {
    return DamagedParquet(path, "it has " + std::to_string(length) + " bytes, expected at least " +
                                    std::to_string(kLeast));
  }
  std::string tail(std::min(length, kFirstRead), '\0');
  ESPALIER_RETURN_IF_ERROR(ReadExactly(file, length - static_cast<int64_t>(tail.size()), tail));
  const std::string_view end = std::string_view(tail).substr(tail.size() - kEndBytes);
  ESPALIER_ASSIGN_OR_RETURN(const int64_t size, FooterLength(end, length, path));
  ParquetFooter footer;
  footer.begin = length - kEndBytes - size;
  const int64_t had = static_cast<int64_t>(tail.size()) - kEndBytes;
  if (size <= had) {
    footer.bytes = tail.substr(had - size, size);
  } else {
    footer.bytes.resize(size);
    ESPALIER_RETURN_IF_ERROR(
        ReadExactly(file, footer.begin, {footer.bytes.data(), footer.bytes.size()}));
  }
  ESPALIER_RETURN_IF_ERROR(CheckParquetMetadata(footer.bytes, path));
  return footer;
}

Status CheckParquetMetadata(std::string_view bytes, const std::string& path) {
  Thrift in(bytes);
  std::optional<SchemaForm> form;
  RowGroups groups;
  int64_t columns = 0;
  bool encrypted = false;
  in.Fields(0, [&](int64_t id, Thrift::Type type) {
    encrypted = encrypted || id == 8;  // algorithm, in encrypted files with a plain footer
    if (type != Thrift::kList || (id != 2 && id != 4)) return false;
    if (id == 4) {
      groups = ReadRowGroups(in);
      return true;
    }
    form = ReadSchema(in, &columns);
    if (form != SchemaForm::kGood) in.Fail();
    return true;
  });
  if (form == SchemaForm::kDeep) {
    return BadInput("the columns of " + QuotedPath(path) + " are nested more than " +
                    std::to_string(kParquetNestingMax) +
                    " levels deep. Write a flat table (numbers, text, lists of numbers)")
        .At({.file = path});
  }
  if (form == SchemaForm::kDamaged) return DamagedParquet(path, "the schema is damaged");
  if (groups.chunks > kParquetChunksMax) {
    return ResourceExhausted("the row groups of " + QuotedPath(path) + " have more than " +
                             std::to_string(kParquetChunksMax) +
                             " column chunks. Write the file with fewer columns or larger row "
                             "groups")
        .At({.file = path});
  }
  if (!in.ok() || !form) return DamagedParquet(path, "its footer is damaged");
  if (encrypted) return Encrypted(path);
  if (groups.most > columns) {
    return DamagedParquet(path, "a row group has " + std::to_string(groups.most) +
                                    " columns, the schema " + std::to_string(columns));
  }
  if (!groups.unknown_codec) return {};
  return Unimplemented(QuotedPath(path) + " is compressed in a way that is not known here (codec " +
                       std::to_string(*groups.unknown_codec) +
                       "). Write the file with snappy, zstd, gzip or no compression")
      .At({.file = path});
}

bool PageHasChecksum(std::string_view bytes) {
  // Fields of PageHeader: type, uncompressed size, compressed size, and 4: crc.
  Thrift in(bytes);
  int64_t id = 0;
  for (Thrift::Type type = in.Field(&id); in.ok() && type != Thrift::kStop && id <= 4;
       type = in.Field(&id)) {
    if (id == 4) return type == Thrift::kI32;
    in.Skip(type, 1);
  }
  return false;
}

}  // namespace espalier::data
