#include "src/data/text/text_file.h"

#include <map>

#include "src/base/text.h"
#include "tests/data/compress.h"
#include "tests/data/fixture.h"

namespace espalier::data {
namespace {

// Encodes UTF-8 as UTF-16 with a byte order mark. Supports up to three bytes a character, and
// U+1F600.
std::string Utf16(const std::string& text, bool big) {
  std::string out;
  const auto add = [&](uint32_t unit) {
    const char high = static_cast<char>(unit >> 8), low = static_cast<char>(unit & 0xFF);
    out += big ? std::string{high, low} : std::string{low, high};
  };
  add(0xFEFF);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
    if (byte(i) < 0x80) {
      add(byte(i));
    } else if (byte(i) < 0xE0) {
      add((byte(i) & 0x1F) << 6 | (byte(i + 1) & 0x3F));
      i += 1;
    } else if (byte(i) < 0xF0) {
      add((byte(i) & 0x0F) << 12 | (byte(i + 1) & 0x3F) << 6 | (byte(i + 2) & 0x3F));
      i += 2;
    } else {
      add(0xD83D);
      add(0xDE00);
      i += 3;
    }
  }
  return out;
}

std::string Table(const std::string& end = "\n") {
  std::string text = "a,stadt,y" + end;
  for (int i = 0; i < 3000; ++i) {
    text += std::to_string(i * 7 % 1000) +
            (i % 3   ? ",Köln,"
             : i % 2 ? ",東京,"
                     : ",\U0001F600,") +
            (i % 5 ? "no" : "yes") + end;
  }
  return text;
}

spec::FeatureGroup Towns() {
  spec::FeatureGroup group;
  group.columns = {std::string("stadt")};
  group.type = spec::FeatureType::kCategorical;
  return group;
}

TEST_CASE("text in UTF-16 or with lone CRs gives the rows of UTF-8") {
  DataFixture f;
  f.job.data.features.groups = {Towns()};
  f.job.data.shard_bytes = 1 << 10;
  f.Train(Table());
  const Gathered expected = f.AllRows();
  CHECK(f.plan.shards.size() > 10);
  const std::map<std::string, std::string> contents = {
      {"little.csv", Utf16(Table(), false)},
      {"big.csv", Utf16(Table(), true)},
      {"windows.csv", Utf16(Table("\r\n"), false)},
      {"packed.csv.gz", Gzip(Utf16(Table(), true))},
      {"mac.csv", Table("\r")},
      {"mac.csv.zst", Zstd(Table("\r"))},
  };
  for (const auto& [name, content] : contents) {
    INFO(name);
    f.Train(content, name);
    CHECK(f.AllRows() == expected);
    CHECK(f.plan.shards.size() == 1);
  }
}

TEST_CASE("a text is read in pieces of any size, forwards and back") {
  DataFixture f;
  const std::string text = Table();
  const auto raw = f.files->Open(f.dir.Put("x.csv", Utf16(text, false)));
  REQUIRE(raw.ok());
  const auto form = TextFile::FormOf(**raw);
  CHECK(form.value() == TextForm::kUtf16Little);
  const TextFile file(**raw, *form);
  for (const size_t piece : {1u, 7u, 1000u, 1u << 20}) {
    std::string whole, part(piece, '\0');
    for (size_t size = piece; size == piece;) {
      const auto read = file.ReadAt(static_cast<int64_t>(whole.size()), part);
      REQUIRE(read.ok());
      size = *read;
      whole.append(part, 0, size);
    }
    CHECK((whole == text));
  }
  std::string part(20, '\0');
  for (const size_t offset : {30'000u, 3u, 20'000u}) {
    REQUIRE(file.ReadAt(static_cast<int64_t>(offset), part).value() == 20);
    CHECK(part == text.substr(offset, 20));
  }
}

TEST_CASE("the encoding of a text follows from its first bytes") {
  DataFixture f;
  const std::map<std::string, TextForm> forms = {
      {"a,b\r\n1,2\r\n", TextForm::kUsual},
      {"a,b", TextForm::kUsual},
      {"", TextForm::kUsual},
      {"a,b\r1,2\r", TextForm::kLoneCr},
      {std::string(70'000, 'a') + "\r", TextForm::kUsual},
      {std::string(60'000, 'a') + "\r1", TextForm::kLoneCr},
      {"a\r" + std::string(60'000, 'a') + "\n", TextForm::kUsual},
      {"a\r" + std::string(70'000, 'a') + "\n", TextForm::kLoneCr},
      {"\xFF\xFE", TextForm::kUtf16Little},
      {"\xFE\xFF", TextForm::kUtf16Big},
  };
  for (const auto& [text, form] : forms) {
    INFO(Printable(text));
    const auto raw = f.files->Open(f.dir.Put("x.csv", text));
    CHECK(TextFile::FormOf(**raw).value() == form);
  }
}

TEST_CASE("truncated or invalid UTF-16 is refused with its position") {
  DataFixture f;
  const std::string good = Utf16("a,y\n1,2\n", false);
  const std::map<std::string, std::string> contents = {
      {good + "x", "it has half a character at byte 18"},
      {good + std::string("\x3D\xD8", 2), "it has half a surrogate pair at byte 18"},
      {good + std::string("\x3D\xD8x\0", 4), "it has half a surrogate pair at byte 18"},
      {good + std::string("\x00\xDCx\0", 4), "it has half a surrogate pair at byte 18"},
  };
  for (const auto& [content, message] : contents) {
    f.Train(content);
    const Status status = f.Profile().status();
    INFO(status.ToString());
    CHECK(status.code() == StatusCode::kBadInput);
    CHECK(status.message().find(message) != std::string::npos);
  }
}

}  // namespace
}  // namespace espalier::data
