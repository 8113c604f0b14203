// Links in memory, for tests: every member of a job is in one process. A separate thread delivers
// each member's messages. Messages from one sender keep their order. A seed mixes those of
// different senders.
//
// Thread rule: Open and Cut are safe from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "src/base/mutex.h"
#include "src/collective/link.h"

namespace espalier::collective {

class MemoryNetwork : public std::enable_shared_from_this<MemoryNetwork> {
 public:
  static std::shared_ptr<MemoryNetwork> Make(uint32_t members, uint64_t seed);

  // Returns the links of member `self`. The network keeps messages to a member that has not opened
  // its links yet. `listener` must outlive the links.
  std::unique_ptr<Links> Open(uint32_t self, Generation generation, LinkListener* listener);
  // Breaks the link between two members. Both get OnBroken, and no further messages.
  void Cut(uint32_t a, uint32_t b);

 private:
  class MemoryLinks;
  struct Mailbox {
    Mutex mutex;
    CondVar ready;
    std::map<uint32_t, std::deque<ReduceMessage>> from GUARDED_BY(mutex);
    std::map<uint32_t, bool> broken GUARDED_BY(mutex);  // sender -> reported
    bool closed GUARDED_BY(mutex) = false;
  };

  MemoryNetwork(uint32_t members, uint64_t seed);
  void Post(ReduceMessage message);

  std::vector<std::unique_ptr<Mailbox>> boxes_;
  uint64_t seed_;
};

}  // namespace espalier::collective
