#include "src/collective/message.h"

#include <new>

namespace espalier::collective {

MutablePayload AllocatePayload(size_t bytes) {
  void* memory = ::operator new (bytes, std::align_val_t{kBufferAlignment});
  std::shared_ptr<void> owner(
      memory, [](void* p) { ::operator delete (p, std::align_val_t{kBufferAlignment}); });
  return {std::move(owner), static_cast<std::byte*>(memory), bytes};
}

}  // namespace espalier::collective
