#include "src/bundle/safetensors.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "src/base/random.h"
#include "tests/testing/says.h"

namespace espalier::bundle {
namespace {

// Returns two tensors with a gap between them in the flat vector, like padding.
spec::TensorList SomeTensors() {
  return {{"layers.0.weight", {2, 3}, 0, 6}, {"layers.0.bias", {2}, 8, 2}};
}

// Returns the length, the header padded to a multiple of 8, and the data.
std::string File(std::string header, const std::string& data) {
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t length = header.size();
  std::string out(reinterpret_cast<const char*>(&length), 8);
  return out + header + data;
}

TEST_CASE("a file is its length, sorted header and aligned data") {
  const std::vector<float> flat = {1, 2, 3, 4, 5, 6, -1, -1, 7, 8};
  const std::vector<float> packed = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::string expected =
      File(R"({"layers.0.bias":{"data_offsets":[24,32],"dtype":"F32","shape":[2]},)"
           R"("layers.0.weight":{"data_offsets":[0,24],"dtype":"F32","shape":[2,3]}})",
           std::string(reinterpret_cast<const char*>(packed.data()), 32));
  const std::string bytes = EncodeSafetensors(SomeTensors(), flat.data(), ElementType::kFloat32);
  CHECK(bytes == expected);
  CHECK((bytes.size() - 32) % 8 == 0);
}

TEST_CASE("both element types read back as written") {
  const std::vector<double> flat = {1, 2, 3, 4, 5, 6, 0, 0, 7, 1e-300};
  const std::string bytes = EncodeSafetensors(SomeTensors(), flat.data(), ElementType::kFloat64);
  const auto view = DecodeSafetensors(bytes);
  REQUIRE(view.ok());
  CHECK(view->type == ElementType::kFloat64);
  spec::TensorList expected = SomeTensors();
  expected[1].offset = 6;
  CHECK(view->tensors == expected);
  REQUIRE(view->data.size() == 64);
  double last = 0;
  std::memcpy(&last, view->data.data() + 56, 8);
  CHECK(last == 1e-300);
  const auto empty = DecodeSafetensors(EncodeSafetensors({}, nullptr, ElementType::kFloat32));
  REQUIRE(empty.ok());
  CHECK(empty->tensors.empty());
}

TEST_CASE("a broken file is refused with its reason") {
  struct Row {
    std::string bytes;
    std::string message;
  };
  const std::string four(4, '\0');
  const Row rows[] = {
      {"abc", "safetensors: shorter than its 8-byte length"},
      {std::string(8, '\xff'),
       "safetensors: a header of 18446744073709551615 bytes in a file of 0"},
      {File("nonsense", ""), "safetensors: the header ... JSON object"},
      {File("[1]", ""), "safetensors: the header ... JSON object"},
      {File(R"({"a":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}", ""),
       "safetensors: the header ... nested"},
      {File(R"({"a":{"dtype":"F32"}})", ""),
       "safetensors: tensor 'a' is missing dtype, shape or data_offsets"},
      {File(R"({"a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}})", "ab"),
       "safetensors: tensor 'a' has element type BF16, expected F32 or F64"},
      {File(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", four),
       "safetensors: tensor 'a' has a wrong dimension"},
      {File(R"({"a":{"dtype":"F32","shape":[100000000000,100000000000],"data_offsets":[0,4]}})",
            four),
       "safetensors: tensor 'a' is too large"},
      {File(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", four),
       "safetensors: tensor 'a' has bytes 0 to 4 of 4, but its shape needs 8"},
      {File(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", four + four),
       "safetensors: a hole ... before tensor 'a'"},
      {File(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", four + four),
       "safetensors: bytes behind the last tensor"},
      {File(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
            R"("b":{"dtype":"F64","shape":[1],"data_offsets":[4,12]}})",
            four + four + four),
       "safetensors: tensors of different element types"},
  };
  for (const Row& row : rows) {
    const auto view = DecodeSafetensors(row.bytes);
    REQUIRE_FALSE(view.ok());
    CHECK_THAT(view.status().message(), Says(row.message));
  }
}

TEST_CASE("foreign metadata is skipped") {
  const auto view = DecodeSafetensors(File(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
      std::string(4, '\0')));
  REQUIRE(view.ok());
  REQUIRE(view->tensors.size() == 1);
  CHECK(view->tensors[0].size == 1);
}

TEST_CASE("mutated files never crash the reader") {
  const std::vector<float> flat(10, 1.0f);
  const std::string good = EncodeSafetensors(SomeTensors(), flat.data(), ElementType::kFloat32);
  for (uint64_t round = 0; round < 20'000; ++round) {
    std::string bytes = good;
    for (uint64_t e = 0; e <= round % 3; ++e) {
      const uint64_t bits = RandomBits({1, 2}, round, e);
      bytes[bits % bytes.size()] = static_cast<char>(bits >> 32);
    }
    if (round % 5 == 0) bytes.resize(RandomBits({3, 4}, round, 0) % bytes.size());
    const auto view = DecodeSafetensors(bytes);
    if (!view.ok()) continue;
    int64_t elements = 0;
    for (const spec::TensorInfo& t : view->tensors) elements += t.size;
    CHECK(static_cast<size_t>(elements) * ElementSize(view->type) == view->data.size());
  }
}

}  // namespace
}  // namespace espalier::bundle
