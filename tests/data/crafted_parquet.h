// Handmade Parquet files that no writer would produce: Thrift structs in the compact protocol, with
// any false value. Format: https://parquet.apache.org/docs/file-format/
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace espalier::data {

// A struct of Thrift's compact protocol. Fields are added in ascending order.
class ThriftStruct {
 public:
  ThriftStruct& Int(int id, int64_t value, bool wide = false) {
    Head(id, wide ? 6 : 5);
    Varint((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
    return *this;
  }
  ThriftStruct& Long(int id, int64_t value) { return Int(id, value, true); }
  ThriftStruct& Text(int id, const std::string& text) {
    Head(id, 8);
    Varint(text.size());
    bytes_ += text;
    return *this;
  }
  ThriftStruct& Struct(int id, const ThriftStruct& value) {
    Head(id, 12);
    bytes_ += value.Bytes();
    return *this;
  }
  // Adds a list of structs.
  ThriftStruct& List(int id, const std::vector<ThriftStruct>& values) {
    Head(id, 9);
    bytes_ += '\xFC';
    Varint(values.size());
    for (const ThriftStruct& value : values) bytes_ += value.Bytes();
    return *this;
  }
  // Adds a list of one text.
  ThriftStruct& ListOfText(int id, const std::string& text) {
    Head(id, 9);
    bytes_ += '\x18';
    Varint(text.size());
    bytes_ += text;
    return *this;
  }
  // Adds a list of one number.
  ThriftStruct& ListOfInt(int id, int value) {
    Head(id, 9);
    bytes_ += '\x15';
    Varint(static_cast<uint64_t>(value) << 1);
    return *this;
  }
  std::string Bytes() const { return bytes_ + '\0'; }

 private:
  void Head(int id, int type) {
    bytes_ += static_cast<char>((id - last_) << 4 | type);
    last_ = id;
  }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
  int last_ = 0;
};

// Returns the footer's length that a whole file specifies.
inline uint32_t FooterBytes(const std::string& file) {
  uint32_t size = 0;
  std::memcpy(&size, file.data() + file.size() - 8, sizeof(size));
  return size;
}

inline std::string WithFooter(const std::string& pages, const std::string& footer) {
  const uint32_t size = static_cast<uint32_t>(footer.size());
  return pages + footer + std::string(reinterpret_cast<const char*>(&size), 4) + "PAR1";
}

// Values of a crafted file. The defaults are true: two rows of the doubles `a` and `y`.
struct Crafted {
  int64_t footer_rows = 2, group_rows = 2;
  int64_t chunk_values = 2, page_values = 2;
  int groups = 1;
  int type = 5;  // DOUBLE, for the schema and the chunks
  int codec = 0, encoding = 0, page_kind = 0;
  int64_t uncompressed = -1;  // bytes of a page; -1: the true value, also below
  int64_t compressed = -1;
  int64_t chunk_begin = -1, chunk_bytes = -1;
  std::string other_file;  // path of the chunks' file
};

inline std::string CraftedParquet(const Crafted& say) {
  const auto told = [](int64_t lie, int64_t truth) { return lie == -1 ? truth : lie; };
  std::string file = "PAR1";
  const double values[2] = {1, 2};
  const std::string body(reinterpret_cast<const char*>(values), sizeof(values));
  std::vector<ThriftStruct> groups;
  for (int g = 0; g < say.groups; ++g) {
    std::vector<ThriftStruct> chunks;
    for (const char* name : {"a", "y"}) {
      const int64_t begin = static_cast<int64_t>(file.size());
      ThriftStruct values_here, page;
      values_here.Int(1, say.page_values).Int(2, say.encoding).Int(3, 3).Int(4, 3);
      page.Int(1, say.page_kind)
          .Int(2, told(say.uncompressed, sizeof(values)))
          .Int(3, told(say.compressed, sizeof(values)))
          .Struct(5, values_here);
      file += page.Bytes() + body;
      const int64_t size = told(say.chunk_bytes, static_cast<int64_t>(file.size()) - begin);
      ThriftStruct meta, chunk;
      meta.Int(1, say.type).ListOfInt(2, say.encoding).ListOfText(3, name).Int(4, say.codec);
      meta.Long(5, say.chunk_values).Long(6, size).Long(7, size);
      meta.Long(9, told(say.chunk_begin, begin));
      if (!say.other_file.empty()) chunk.Text(1, say.other_file);
      chunks.push_back(chunk.Long(2, begin).Struct(3, meta));
    }
    groups.push_back(ThriftStruct().List(1, chunks).Long(2, 100).Long(3, say.group_rows));
  }
  const std::vector<ThriftStruct> schema = {
      ThriftStruct().Text(4, "table").Int(5, 2),
      ThriftStruct().Int(1, say.type).Int(3, 0).Text(4, "a"),
      ThriftStruct().Int(1, say.type).Int(3, 0).Text(4, "y"),
  };
  ThriftStruct footer;
  footer.Int(1, 1).List(2, schema).Long(3, say.footer_rows).List(4, groups);
  return WithFooter(file, footer.Bytes());
}

// Returns a file without rows. Its schema has one column within `depth` nested groups.
inline std::string NestedParquet(int depth) {
  std::vector<ThriftStruct> schema;
  for (int i = 0; i <= depth; ++i) {
    ThriftStruct element;
    if (i == depth) element.Int(1, 1);  // INT32
    element.Int(3, 0).Text(4, "g");
    if (i < depth) element.Int(5, 1);
    schema.push_back(element);
  }
  return WithFooter("PAR1",
                    ThriftStruct().Int(1, 1).List(2, schema).Long(3, 0).List(4, {}).Bytes());
}

}  // namespace espalier::data
