#include "src/base/text.h"

#include <catch2/catch.hpp>
#include <iterator>
#include <vector>

#include "src/base/checksum.h"

namespace espalier {
namespace {

TEST_CASE("the nearest word is suggested only if it is close") {
  const std::vector<std::string> words = {"epochs", "batch", "hidden"};
  CHECK(Nearest("epoch", words) == "epochs");
  CHECK(Nearest("hiden", words) == "hidden");
  CHECK(Nearest("zzzzzz", words) == std::nullopt);
  const std::vector<std::string> columns = {"x", " c", "label"};
  CHECK(Nearest("zz", columns) == std::nullopt);
  CHECK(Nearest("y", columns) == std::nullopt);
  CHECK(Nearest("", columns) == std::nullopt);
  CHECK(Nearest("c", columns) == " c");
  CHECK(Nearest("label  ", columns) == "label");
  CHECK(Nearest("lavel", columns) == "label");
  CHECK(Nearest("lavl", columns) == std::nullopt);
  CHECK(Nearest("X", columns) == "x");
  CHECK(Nearest("LABEL", columns) == "label");
  CHECK(Nearest("LAVEL", columns) == "label");
}

TEST_CASE("one thing is singular, other counts are plural") {
  CHECK(Counted(1, "thread") == "1 thread");
  CHECK(Counted(0, "bad row") == "0 bad rows");
  CHECK(Counted(1234, "shard") == "1,234 shards");
  CHECK(Counted(2, "class") == "2 classes");
}

TEST_CASE("text is made printable and short") {
  CHECK(Printable("a\tb\xff") == "a\\x09b\\xff");
  CHECK(Printable("abcdef", 3) == "abc...");
  CHECK(Printable("abc", 3) == "abc");
}

TEST_CASE("visible UTF-8 is printed unchanged") {
  for (const char* text :
       {"Größe", "naïve", "цена", "価格", "مرحبا", "नमस्ते", "€ 5", "🙂", "a\u0301"}) {
    CHECK(Printable(text) == text);
  }
}

TEST_CASE("invalid UTF-8 and invisible characters are escaped") {
  CHECK(Printable("\xc3") == "\\xc3");                                      // truncated
  CHECK(Printable("\xc3(") == "\\xc3(");                                    // no continuation byte
  CHECK(Printable("\xc0\xaf\xe0\x80\xaf") == "\\xc0\\xaf\\xe0\\x80\\xaf");  // overlong
  CHECK(Printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");                    // a surrogate
  CHECK(Printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");           // beyond U+10FFFF
  CHECK(Printable("\x80\xbf\xfe") == "\\x80\\xbf\\xfe");
  CHECK(Printable("a\x1b[31mb\x7f\n\r") == "a\\x1b[31mb\\x7f\\x0a\\x0d");
  CHECK(Printable("\xc2\x85") == "\\xc2\\x85");
  // Direction controls, invisible characters, noncharacters and private use.
  for (const char* text :
       {"\u200b", "\u200e", "\u202a", "\u202e", "\u2060", "\u2066", "\u2069", "\u2028", "\ufeff",
        "\u00ad", "\ufdd0", "\uffff", "\U000e0041", "\U0001ffff", "\ue000"}) {
    const std::string shown = Printable(text);
    INFO(shown);
    CHECK(shown.size() == 4 * std::string(text).size());
    CHECK(shown.starts_with("\\x"));
  }
}

TEST_CASE("bytes that are not UTF-8 are found and replaced") {
  CHECK(FindInvalidUtf8("caf\xc3\xa9") == std::string_view::npos);
  CHECK(FindInvalidUtf8("") == std::string_view::npos);
  CHECK(FindInvalidUtf8("\u00e9caf\xe9") == 5);
  CHECK(ValidUtf8("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(ValidUtf8("\xe9t\xe9") == "\uFFFDt\uFFFD");
  CHECK(ValidUtf8("\xc3") == "\uFFFD");
}

TEST_CASE("no limit cuts a character in two") {
  const std::string text = "aé€🙂z";  // 1 + 2 + 3 + 4 + 1 bytes
  const char* const cut[] = {"...",    "a...",   "a...",          "aé...",
                             "aé...",  "aé...",  "aé€...",        "aé€...",
                             "aé€...", "aé€...", "aé€🙂...", "aé€🙂z"};
  for (size_t bytes = 0; bytes < std::size(cut); ++bytes)
    CHECK(Printable(text, bytes) == cut[bytes]);
}

TEST_CASE("columns of a terminal are counted, not bytes") {
  CHECK(DisplayColumns("") == 0);
  CHECK(DisplayColumns("abc") == 3);
  CHECK(DisplayColumns("Größe") == 5);
  CHECK(DisplayColumns("a\u0301b") == 2);
  CHECK(DisplayColumns("価格🙂") == 6);
  CHECK(FirstColumns("Größe", 3) == "Grö");
  CHECK(FirstColumns("価格", 3) == "価");
  CHECK(FirstColumns("a\u0301b", 1) == "a\u0301");
  CHECK(FirstColumns("ab", 9) == "ab");
}

TEST_CASE("colors take no columns") {
  CHECK(DisplayColumns("\x1b[1;31merror:\x1b[0m x") == 8);
  CHECK(DisplayColumns("\x1b[K") == 3);
}

TEST_CASE("words are wrapped, and long ones are kept whole") {
  CHECK(WrapWords("- ", "one two three", "  ", 9) ==
        std::vector<std::string>{"- one two", "  three"});
  CHECK(WrapWords("", "a extraordinarily b", "", 5) ==
        std::vector<std::string>{"a", "extraordinarily", "b"});
  CHECK(WrapWords("", "Größe Größe", "", 11).size() == 1);
  CHECK(WrapWords("", "", "", 5) == std::vector<std::string>{""});
}

TEST_CASE("long lines continue below their last column") {
  CHECK(WrapLines("short\n\n", 80) == "short\n\n");
  CHECK(WrapLines("error: a b c", 9) == "error: a\n  b c");
  CHECK(WrapLines("  indented text here\nnext\n", 15) == "  indented text\n    here\nnext\n");
  CHECK(WrapLines("model   one two three four five six\n", 24) ==
        "model   one two three\n        four five six\n");
  CHECK(WrapLines("a  b  one two three four", 20) == "a  b  one two three\n      four");
  // A column in the last third of the width would have no room.
  CHECK(WrapLines("a   much too far     one two", 24) == "a   much too far     one\n    two");
}

TEST_CASE("numbers are written for people") {
  CHECK(HumanBytes(1536) == "1.5 KiB");
  CHECK(HumanCount(-1234567) == "-1,234,567");
  CHECK(HumanCount(-123) == "-123");
  CHECK(HumanDuration(245'000) == "4 min 5 s");
  CHECK(ShortestDouble(0.1) == "0.1");
}

TEST_CASE("checksums match published values") {
  CHECK(Crc32c("123456789", 9) == 0xE3069283);
  CHECK(Crc32c("6789", 4, Crc32c("12345", 5)) == 0xE3069283);
  CHECK(Sha256Hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace espalier
