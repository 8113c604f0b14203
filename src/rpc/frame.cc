#include "src/rpc/frame.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "src/base/aligned.h"
#include "src/base/checksum.h"

namespace espalier::rpc {

namespace {

static_assert(std::endian::native == std::endian::little, "frames are written as memory has them");

constexpr uint32_t kMagic = 0x4c505345;  // "ESPL"
constexpr uint16_t kLayout = 1;

// Layout on the wire. Every field is naturally aligned.
struct Header {
  uint32_t magic = kMagic;
  uint16_t layout = kLayout;
  uint8_t kind = 0;
  uint8_t zero8 = 0;
  uint64_t incarnation = 0, job = 0, generation = 0, round = 0;
  uint32_t from = 0, to = 0, bucket = 0, payload_bytes = 0;
  uint32_t zero32 = 0;
  uint32_t crc = 0;  // of all bytes before it
};
static_assert(sizeof(Header) == kFrameHeaderBytes);

uint32_t CrcOf(const Header& header) { return Crc32c(&header, offsetof(Header, crc)); }

Status Malformed(const std::string& what) {
  return InvalidArgument("malformed frame from a peer: " + what);
}

Status Check(const Header& h, size_t frame_bytes, int64_t payload_bytes_max) {
  if (h.magic != kMagic) return Malformed("it does not start with ESPL; is that a worker's port?");
  if (h.layout != kLayout) {
    return Malformed("layout " + std::to_string(h.layout) + ", expected " +
                     std::to_string(kLayout) + "; run the same version on all workers");
  }
  if (h.crc != CrcOf(h)) return Malformed("the header's checksum differs");
  if (h.kind > static_cast<uint8_t>(collective::MessageKind::kAcross)) {
    return Malformed("kind " + std::to_string(h.kind) + ", expected 0 to 4");
  }
  if (h.payload_bytes > payload_bytes_max) {
    return ResourceExhausted("a peer sent a payload of " + std::to_string(h.payload_bytes) +
                             " bytes, expected at most " + std::to_string(payload_bytes_max));
  }
  if (frame_bytes != kFrameHeaderBytes + h.payload_bytes) {
    return Malformed("it has " + std::to_string(frame_bytes) + " bytes, expected " +
                     std::to_string(kFrameHeaderBytes) + " and " + std::to_string(h.payload_bytes));
  }
  return Status::Ok();
}

// Copies `size` bytes, starting at `offset`. REQUIRES: the slices contain them.
void CopyOut(const std::vector<grpc::Slice>& slices, size_t offset, size_t size, void* out) {
  auto* to = static_cast<std::byte*>(out);
  for (const grpc::Slice& slice : slices) {
    if (size == 0) return;
    if (offset >= slice.size()) {
      offset -= slice.size();
      continue;
    }
    const size_t n = std::min(size, slice.size() - offset);
    std::memcpy(to, slice.begin() + offset, n);
    to += n;
    size -= n;
    offset = 0;
  }
}

std::shared_ptr<std::byte> NewAligned(size_t size) {
  constexpr std::align_val_t kAlign{kBufferAlignment};
  return {static_cast<std::byte*>(::operator new(size, kAlign)),
          [](std::byte* p) { ::operator delete(p, kAlign); }};
}

void ReleaseOwner(void* owner) { delete static_cast<std::shared_ptr<const void>*>(owner); }

}  // namespace

grpc::ByteBuffer ToFrame(const collective::ReduceMessage& m) {
  ESPALIER_CHECK(m.payload.size <= std::numeric_limits<uint32_t>::max(),
                 std::to_string(m.payload.size));
  Header h;
  h.kind = static_cast<uint8_t>(m.kind);
  h.incarnation = m.incarnation.value;
  h.job = m.job.value;
  h.generation = m.generation.value;
  h.round = m.round;
  h.from = m.from;
  h.to = m.to;
  h.bucket = m.bucket;
  h.payload_bytes = static_cast<uint32_t>(m.payload.size);
  h.crc = CrcOf(h);
  const grpc::Slice header(&h, sizeof h);
  if (m.payload.size == 0) return grpc::ByteBuffer(&header, 1);
  auto* owner = new std::shared_ptr<const void>(m.payload.owner);
  // gRPC only reads the bytes of a slice.
  const grpc::Slice slices[] = {header, grpc::Slice(const_cast<std::byte*>(m.payload.data),
                                                    m.payload.size, &ReleaseOwner, owner)};
  return grpc::ByteBuffer(slices, 2);
}

Result<collective::ReduceMessage> FromFrame(const grpc::ByteBuffer& frame,
                                            int64_t payload_bytes_max) {
  const size_t frame_bytes = frame.Length();
  if (frame_bytes < kFrameHeaderBytes) {
    return Malformed("it has " + std::to_string(frame_bytes) + " bytes, fewer than a header");
  }
  std::vector<grpc::Slice> slices;
  if (!frame.Dump(&slices).ok()) return Malformed("its compression is unknown");
  Header h;
  CopyOut(slices, 0, sizeof h, &h);
  ESPALIER_RETURN_IF_ERROR(Check(h, frame_bytes, payload_bytes_max));
  collective::ReduceMessage m;
  m.incarnation = {h.incarnation};
  m.job = {h.job};
  m.generation = {h.generation};
  m.round = h.round;
  m.kind = static_cast<collective::MessageKind>(h.kind);
  m.from = h.from;
  m.to = h.to;
  m.bucket = h.bucket;
  if (h.payload_bytes > 0) {
    std::shared_ptr<std::byte> bytes = NewAligned(h.payload_bytes);
    CopyOut(slices, kFrameHeaderBytes, h.payload_bytes, bytes.get());
    m.payload = {bytes, bytes.get(), h.payload_bytes};
  }
  return m;
}

}  // namespace espalier::rpc
