// The safetensors format (https://github.com/huggingface/safetensors), version 0.x:
//
//   8 bytes     N, the length of the header, unsigned, little-endian
//   N bytes     JSON: {"layers.0.weight": {"data_offsets": [begin, end], "dtype": "F32",
//               "shape": [256, 784]}, ...}; offsets count bytes from the end of the header
//   the rest    the tensors, row-major, little-endian, without holes
//
// Files from this encoder have sorted keys, no metadata, the tensors in the order of the network,
// and a header padded with spaces so that the data starts on a multiple of 8. The same weights
// therefore give the same bytes.
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

// Returns the bytes of an element: 4 or 8.
size_t ElementSize(ElementType type);

// Encodes tensors. `flat` contains elements of `type`, with each tensor at its offset. REQUIRES:
// sizes match their shapes, as TensorList promises.
std::string EncodeSafetensors(const spec::TensorList& tensors, const void* flat, ElementType type);

// Contents of a file. `data` points into the decoded bytes and is not aligned.
struct SafetensorsView {
  ElementType type = ElementType::kFloat32;
  spec::TensorList tensors;  // in the order of their data; offsets count elements of `data`
  std::string_view data;     // all elements, without holes
};

// Decodes a file and validates everything: sizes, shapes, one element type, no holes or overlaps.
// kBadInput for anything invalid, kUnimplemented for element types other than F32 and F64.
Result<SafetensorsView> DecodeSafetensors(std::string_view bytes);

}  // namespace espalier::bundle
