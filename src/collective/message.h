// Messages that the members of a job exchange along the physical tree.
//
// Thread rule: values. Payload bytes are immutable once a message exists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "src/base/aligned.h"
#include "src/base/ids.h"

namespace espalier::collective {

// Immutable bytes that share their owner; `data` is aligned to at least 16 bytes.
struct Payload {
  std::shared_ptr<const void> owner;
  const std::byte* data = nullptr;
  size_t size = 0;  // bytes
};

// Memory for writing, which Freeze turns into a Payload. 64-byte aligned, not initialised.
struct MutablePayload {
  std::shared_ptr<void> owner;
  std::byte* data = nullptr;
  size_t size = 0;  // bytes
  Payload Freeze() && { return {std::move(owner), data, size}; }
};
MutablePayload AllocatePayload(size_t bytes);

// Makes a payload that owns the vector, without a copy.
template <typename T>
Payload MakePayload(AlignedVector<T> values) {
  auto owner = std::make_shared<const AlignedVector<T>>(std::move(values));
  const auto* data = reinterpret_cast<const std::byte*>(owner->data());
  const size_t size = owner->size() * sizeof(T);
  return {std::move(owner), data, size};
}

// kLeafUp: partial sums of the sender's own leaves. kJoinUp: partial sums of the subtree that the
// sender joins. kDown: the total. kAcross: partial sums of one holder's part, for the other holder
// of the top. kHello: first message on a link; names the sender.
enum class MessageKind : uint8_t { kHello = 0, kLeafUp = 1, kJoinUp = 2, kDown = 3, kAcross = 4 };

struct ReduceMessage {
  Incarnation incarnation;
  JobId job;
  Generation generation;
  uint64_t round = 0;  // counts the reductions of the job: gradients of steps, and evaluations
  MessageKind kind = MessageKind::kHello;
  uint32_t from = 0;    // member index
  uint32_t to = 0;      // member index
  uint32_t bucket = 0;  // index into the round's bucket table
  Payload payload;      // kDown: one vector; otherwise the vectors of the edge's canonical nodes,
                        // one after another
};

}  // namespace espalier::collective
