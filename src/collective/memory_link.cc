#include "src/collective/memory_link.h"

#include <iterator>
#include <string>
#include <utility>

#include "src/base/check.h"
#include "src/base/random.h"

namespace espalier::collective {

class MemoryNetwork::MemoryLinks : public Links {
 public:
  MemoryLinks(std::shared_ptr<MemoryNetwork> network, uint32_t self, Generation generation,
              LinkListener* listener)
      : network_(std::move(network)), self_(self), generation_(generation), listener_(listener) {
    thread_ = std::thread([this] { Deliver(); });
  }
  ~MemoryLinks() override {
    Mailbox& box = *network_->boxes_[self_];
    {
      MutexLock lock(box.mutex);
      box.closed = true;
    }
    box.ready.NotifyAll();
    thread_.join();
  }
  void Send(ReduceMessage message) override { network_->Post(std::move(message)); }

 private:
  void Deliver() {
    Mailbox& box = *network_->boxes_[self_];
    ReleasableMutexLock lock(box.mutex);
    for (uint64_t turn = 0;; ++turn) {
      while (!box.closed && !HasNews(box)) box.ready.Wait(box.mutex);
      if (box.closed) return;
      if (DeliverBreak(box) || !HasNews(box)) continue;
      // Any sender with messages may be next.
      std::vector<uint32_t> senders;
      for (const auto& [sender, mail] : box.from) {
        if (!mail.empty()) senders.push_back(sender);
      }
      if (senders.empty()) continue;
      auto& mail = box.from[senders[Mix64(network_->seed_ ^ (turn * 64 + self_)) % senders.size()]];
      ReduceMessage message = std::move(mail.front());
      mail.pop_front();
      lock.Unlock();
      listener_->OnMessage(std::move(message));
      lock.Lock();
    }
  }

  static bool HasNews(const Mailbox& box) REQUIRES(box.mutex) {
    for (const auto& [sender, mail] : box.from) {
      if (!mail.empty()) return true;
    }
    for (const auto& [sender, reported] : box.broken) {
      if (!reported) return true;
    }
    return false;
  }

  bool DeliverBreak(Mailbox& box) REQUIRES(box.mutex) {
    for (auto& [sender, reported] : box.broken) {
      if (reported) continue;
      reported = true;
      const uint32_t member = sender;
      box.mutex.Unlock();
      listener_->OnBroken(generation_, member, Unavailable("the link was cut"));
      box.mutex.Lock();
      return true;
    }
    return false;
  }

  std::shared_ptr<MemoryNetwork> network_;
  uint32_t self_;
  Generation generation_;
  LinkListener* listener_;
  std::thread thread_;
};

std::shared_ptr<MemoryNetwork> MemoryNetwork::Make(uint32_t members, uint64_t seed) {
  return std::shared_ptr<MemoryNetwork>(new MemoryNetwork(members, seed));
}

MemoryNetwork::MemoryNetwork(uint32_t members, uint64_t seed) : seed_(seed) {
  for (uint32_t i = 0; i < members; ++i) boxes_.push_back(std::make_unique<Mailbox>());
}

std::unique_ptr<Links> MemoryNetwork::Open(uint32_t self, Generation generation,
                                           LinkListener* listener) {
  return std::make_unique<MemoryLinks>(shared_from_this(), self, generation, listener);
}

void MemoryNetwork::Post(ReduceMessage message) {
  ESPALIER_CHECK(message.to < boxes_.size(), std::to_string(message.to));
  Mailbox& box = *boxes_[message.to];
  {
    MutexLock lock(box.mutex);
    if (box.broken.count(message.from) > 0) return;
    box.from[message.from].push_back(std::move(message));
  }
  box.ready.NotifyAll();
}

void MemoryNetwork::Cut(uint32_t a, uint32_t b) {
  for (const auto& [to, from] : {std::pair(a, b), std::pair(b, a)}) {
    Mailbox& box = *boxes_[to];
    {
      MutexLock lock(box.mutex);
      box.from.erase(from);
      box.broken.emplace(from, false);
    }
    box.ready.NotifyAll();
  }
}

}  // namespace espalier::collective
