#include "src/base/text.h"

#include <catch2/catch.hpp>
#include <vector>

#include "src/base/checksum.h"

namespace espalier {
namespace {

TEST_CASE("the nearest word is offered only when it is near") {
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
}

TEST_CASE("text is made printable and short") {
  CHECK(Printable("a\tb\xff") == "a\\x09b\\xff");
  CHECK(Printable("abcdef", 3) == "abc...");
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
