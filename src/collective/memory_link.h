// Links in memory, for tests: every member of a job in one process. Each member's mail is delivered
// by a thread of its own; mail from one sender keeps its order, mail of different senders is mixed
// by a seed.
//
// Thread rule: Open and Cut from any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "src/collective/link.h"

namespace espalier::collective {

class MemoryNetwork : public std::enable_shared_from_this<MemoryNetwork> {
 public:
  static std::shared_ptr<MemoryNetwork> Make(uint32_t members, uint64_t seed);

  // The links of member `self`. What is sent to a member before it has opened is kept for it.
  // `listener` must outlive the links.
  std::unique_ptr<Links> Open(uint32_t self, Generation generation, LinkListener* listener);
  // Breaks the link between two members: both hear of it, nothing more is delivered.
  void Cut(uint32_t a, uint32_t b);

 private:
  class MemoryLinks;
  struct Mailbox {
    std::mutex mutex;  // guards all below
    std::condition_variable ready;
    std::map<uint32_t, std::deque<ReduceMessage>> from;
    std::map<uint32_t, bool> broken;  // sender -> reported
    bool closed = false;
  };

  MemoryNetwork(uint32_t members, uint64_t seed);
  void Post(ReduceMessage message);

  std::vector<std::unique_ptr<Mailbox>> boxes_;
  uint64_t seed_;
};

}  // namespace espalier::collective
