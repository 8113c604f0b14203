// The safetensors format (https://github.com/huggingface/safetensors), version 0.x:
//
//   8 bytes     N, the length of the header, unsigned, little-endian
//   N bytes     JSON: {"layers.0.weight": {"data_offsets": [begin, end], "dtype": "F32",
//               "shape": [256, 784]}, ...}; offsets count bytes from the end of the header
//   the rest    the tensors, row-major, little-endian, without holes
//
// Ours have sorted keys, no metadata, the tensors in the order of the network, and a header padded
// with spaces so that the data starts on a multiple of 8: the same weights are the same bytes.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/spec/tensors.h"

namespace espalier::bundle {

inline constexpr uint64_t kSafetensorsHeaderBytesMax = 16 << 20;
inline constexpr int64_t kTensorsMax = 65'536;

enum class ElementType { kFloat32, kFloat64 };

// Bytes of an element: 4 or 8.
size_t ElementSize(ElementType type);

// `flat` holds elements of `type`; each tensor lies at its offset there. REQUIRES: sizes that fit
// their shapes, as TensorList promises.
std::string EncodeSafetensors(const spec::TensorList& tensors, const void* flat, ElementType type);

// What a file holds. `data` points into the decoded bytes and has no alignment.
struct SafetensorsView {
  ElementType type = ElementType::kFloat32;
  spec::TensorList tensors;  // in the order of their data; offsets count elements of `data`
  std::string_view data;     // all elements, without holes
};

// Validates everything: sizes, shapes, one element type, no holes or overlaps. kBadInput for
// anything else, kUnimplemented for element types other than F32 and F64.
Result<SafetensorsView> DecodeSafetensors(std::string_view bytes);

}  // namespace espalier::bundle
