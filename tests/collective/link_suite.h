// The conformance suite of Links. Every implementation passes it.
//
// An implementation provides a default-constructible network for members 0..kLinkSuiteMembers-1 of
// one job, which are all partners of each other:
//
//   // Opens the links of member `self`.
//   std::unique_ptr<Links> Open(uint32_t self, LinkListener*);
//   // Breaks at least this link, so that b receives OnBroken. May destroy links_of_a.
//   void Break(uint32_t a, uint32_t b, std::unique_ptr<Links>& links_of_a);
//
// Its test calls RunLinkSuite<MyNetwork>() in a TEST_CASE. The parts of the suite are SECTIONs.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/collective/link.h"

namespace espalier::collective {

inline constexpr uint32_t kLinkSuiteMembers = 3;
inline constexpr JobId kLinkSuiteJob{7};
inline constexpr Generation kLinkSuiteGeneration{3};
inline constexpr Incarnation kLinkSuiteIncarnation{1};

// A listener that keeps the messages and breaks that it receives. Thread rule: any thread.
class RecordingListener : public LinkListener {
 public:
  void OnMessage(ReduceMessage message) override {
    std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
    changed_.notify_all();
  }
  void OnBroken(Generation generation, uint32_t member, Status why) override {
    std::lock_guard lock(mutex_);
    sound_ = sound_ && generation == kLinkSuiteGeneration;  // Catch is not thread-safe
    broken_[member].push_back(std::move(why));
    changed_.notify_all();
  }
  // Returns false if fewer messages arrive within the limit of Wait. Prints why, as a broken link
  // loses messages.
  bool WaitForMessages(size_t count) {
    if (Wait([&] { return messages_.size() >= count; })) return true;
    std::lock_guard lock(mutex_);
    UNSCOPED_INFO(messages_.size() << " of " << count << " messages arrived");
    for (const auto& [member, reasons] : broken_) {
      for (const Status& why : reasons)
        UNSCOPED_INFO("member " << member << ": " << why.ToString());
    }
    return false;
  }
  bool WaitForBreak(uint32_t member) {
    return Wait([&] { return !broken_[member].empty(); });
  }
  std::vector<ReduceMessage> messages() {
    std::lock_guard lock(mutex_);
    return messages_;
  }
  size_t breaks(uint32_t member) {
    std::lock_guard lock(mutex_);
    return broken_[member].size();
  }
  Status why(uint32_t member) {
    std::lock_guard lock(mutex_);
    return broken_[member].empty() ? Status() : broken_[member].front();
  }
  bool sound() {
    std::lock_guard lock(mutex_);
    return sound_;
  }

 private:
  template <typename Condition>
  bool Wait(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), condition);
  }
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::vector<ReduceMessage> messages_;
  std::map<uint32_t, std::vector<Status>> broken_;
  bool sound_ = true;
};

// Returns a message with a payload of `bytes` that depends on sender, round and bucket.
inline ReduceMessage MakeLinkMessage(uint32_t from, uint32_t to, uint64_t round, uint32_t bucket,
                                     size_t bytes) {
  AlignedVector<unsigned char> payload(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    payload[i] = static_cast<unsigned char>(i * 31 + round * 7 + bucket * 13 + from);
  }
  ReduceMessage m{kLinkSuiteIncarnation,
                  kLinkSuiteJob,
                  kLinkSuiteGeneration,
                  round,
                  MessageKind::kLeafUp,
                  from,
                  to,
                  bucket,
                  {}};
  if (bytes > 0) m.payload = MakePayload(std::move(payload));
  return m;
}

inline bool SameLinkMessage(const ReduceMessage& a, const ReduceMessage& b) {
  return a.incarnation == b.incarnation && a.job == b.job && a.generation == b.generation &&
         a.round == b.round && a.kind == b.kind && a.from == b.from && a.to == b.to &&
         a.bucket == b.bucket && a.payload.size == b.payload.size &&
         (a.payload.size == 0 || std::memcmp(a.payload.data, b.payload.data, a.payload.size) == 0);
}

// The opened links of all members of a network.
template <typename Network>
struct LinkSuiteGroup {
  LinkSuiteGroup() {
    for (uint32_t m = 0; m < kLinkSuiteMembers; ++m) links[m] = network.Open(m, &listeners[m]);
  }
  Network network;
  RecordingListener listeners[kLinkSuiteMembers];
  std::unique_ptr<Links> links[kLinkSuiteMembers];
};

template <typename Network>
void LinksKeepTheOrderOfEachSender() {
  constexpr uint32_t kCount = 300;
  LinkSuiteGroup<Network> g;
  std::vector<std::thread> senders;
  for (uint32_t from = 0; from < kLinkSuiteMembers; ++from) {
    senders.emplace_back([&g, from] {
      for (uint32_t i = 0; i < kCount; ++i) {
        for (uint32_t to = 0; to < kLinkSuiteMembers; ++to) {
          if (to != from) g.links[from]->Send(MakeLinkMessage(from, to, 1 + i / 8, i, i * 37));
        }
      }
    });
  }
  for (std::thread& t : senders) t.join();
  for (uint32_t self = 0; self < kLinkSuiteMembers; ++self) {
    REQUIRE(g.listeners[self].WaitForMessages(kCount * (kLinkSuiteMembers - 1)));
    std::map<uint32_t, uint32_t> next;
    const std::vector<ReduceMessage> messages = g.listeners[self].messages();
    CHECK(messages.size() == kCount * (kLinkSuiteMembers - 1));
    bool right = true;
    for (const ReduceMessage& m : messages) {
      const uint32_t i = next[m.from]++;
      right = right && SameLinkMessage(m, MakeLinkMessage(m.from, self, 1 + i / 8, i, i * 37)) &&
              reinterpret_cast<uintptr_t>(m.payload.data) % 16 == 0;
    }
    CHECK(right);
    CHECK(g.listeners[self].sound());
  }
}

template <typename Network>
void LinksCarryLargePayloadsBothWays() {
  LinkSuiteGroup<Network> g;
  const std::vector<size_t> sizes = {0, 1, 63, 64, 65, 65'536, 1 << 20, (4 << 20) + 3};
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    g.links[0]->Send(MakeLinkMessage(0, 1, 2, i, sizes[i]));
    g.links[1]->Send(MakeLinkMessage(1, 0, 2, i, sizes[i]));
  }
  for (uint32_t self : {0, 1}) {
    REQUIRE(g.listeners[self].WaitForMessages(sizes.size()));
    const std::vector<ReduceMessage> messages = g.listeners[self].messages();
    for (uint32_t i = 0; i < sizes.size(); ++i) {
      CHECK(SameLinkMessage(messages[i], MakeLinkMessage(1 - self, self, 2, i, sizes[i])));
    }
  }
}

template <typename Network>
void LinksDeliverWhatWasSentBeforeTheOtherSideOpened(uint32_t early, uint32_t late) {
  Network network;
  RecordingListener early_listener;
  RecordingListener late_listener;
  std::unique_ptr<Links> a = network.Open(early, &early_listener);
  for (uint32_t i = 0; i < 5; ++i) a->Send(MakeLinkMessage(early, late, 1, i, 200'000));
  // Gives the first connection attempts time to fail. The result does not depend on it.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::unique_ptr<Links> b = network.Open(late, &late_listener);
  b->Send(MakeLinkMessage(late, early, 1, 9, 10));
  REQUIRE(late_listener.WaitForMessages(5));
  REQUIRE(early_listener.WaitForMessages(1));
  CHECK(late_listener.messages().back().bucket == 4);
}

template <typename Network>
void LinksTellOnceOfABreak() {
  LinkSuiteGroup<Network> g;
  g.links[0]->Send(MakeLinkMessage(0, 1, 1, 0, 100));
  REQUIRE(g.listeners[1].WaitForMessages(1));
  g.network.Break(0, 1, g.links[0]);
  REQUIRE(g.listeners[1].WaitForBreak(0));
  CHECK(g.listeners[1].why(0).code() != StatusCode::kOk);
  for (uint32_t i = 0; i < 3; ++i) g.links[1]->Send(MakeLinkMessage(1, 0, 1, i, 100));
  g.links[1]->Send(MakeLinkMessage(1, 2, 1, 0, 100));  // the other link stays up
  REQUIRE(g.listeners[2].WaitForMessages(1));
  CHECK(g.listeners[1].breaks(0) == 1);
  CHECK(g.listeners[1].sound());
}

template <typename Network>
void LinksMayBeDestroyedWhileMessagesArrive() {
  for (int turn = 0; turn < 5; ++turn) {
    Network network;
    RecordingListener receiver;
    RecordingListener sender;
    std::unique_ptr<Links> to = network.Open(1, &receiver);
    std::unique_ptr<Links> from = network.Open(0, &sender);
    std::thread flood([&from] {
      for (uint32_t i = 0; i < 200; ++i) from->Send(MakeLinkMessage(0, 1, 1, i, 50'000));
    });
    REQUIRE(receiver.WaitForMessages(1 + turn));
    to.reset();
    const size_t heard = receiver.messages().size();
    flood.join();
    // No event marks the absence of a call. Gives a wrong call time to happen.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(receiver.messages().size() == heard);  // no call after the destructor
    from.reset();
  }
}

template <typename Network>
void RunLinkSuite() {
  SECTION("messages of each sender arrive in order, each once") {
    LinksKeepTheOrderOfEachSender<Network>();
  }
  SECTION("large payloads pass whole in both directions") {
    LinksCarryLargePayloadsBothWays<Network>();
  }
  SECTION("what was sent before the other side opened is delivered") {
    LinksDeliverWhatWasSentBeforeTheOtherSideOpened<Network>(0, 1);
    LinksDeliverWhatWasSentBeforeTheOtherSideOpened<Network>(1, 0);
  }
  SECTION("a break is reported once, and other links stay up") { LinksTellOnceOfABreak<Network>(); }
  SECTION("links may be destroyed while messages arrive") {
    LinksMayBeDestroyedWhileMessagesArrive<Network>();
  }
}

}  // namespace espalier::collective
