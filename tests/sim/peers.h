// Simulated links between members, as in rpc/peer.h. The member with the lower index dials. A
// stream that arrives before its member has opened the generation is held. A stream for a
// generation that is over is refused. Messages flow in order. Each side learns of a break once, at
// a different time. Members also fetch job states from each other here.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "src/base/status.h"
#include "src/collective/link.h"
#include "src/member/place.h"
#include "tests/sim/net.h"

namespace espalier::sim {

class SimWorker;
class World;

// A member of one generation of a job.
struct MemberPoint {
  Incarnation incarnation;
  JobId job;
  Generation generation;
  uint32_t member = 0;
  auto operator<=>(const MemberPoint&) const = default;
};

// Returns the place's member.
MemberPoint PointOf(const member::Place& place);

class Peers {
 public:
  explicit Peers(World& world) : world_(world) {}

  // Opens the links of one member to its partners.
  void Open(SimWorker& worker, const member::Place& place, collective::LinkListener* listener);
  void Send(const MemberPoint& self, collective::ReduceMessage message);
  void Close(const MemberPoint& self);

  using Fetched = std::function<void(Result<std::string>)>;
  void Offer(const MemberPoint& self, std::string state);
  void Withdraw(const MemberPoint& self) { offers_.erase(self); }
  // Fetches the state that this member of the generation offers.
  void Fetch(SimWorker& from, const member::Place& place, int32_t holder, Fetched done);

  // A process died. `noticed`: its host resets the connections.
  void Died(SimWorker& worker, bool noticed);
  // Some directions between the hosts were blocked, or a process was paused. Breaks the links that
  // are still silent after the keepalive time.
  void Watch(int host_a, int host_b);
  void WatchPaused(SimWorker& worker);
  // Breaks one link. Returns false if no link is up.
  bool BreakOne();
  // Returns whether there is a reason for a broken link: a fault, or another generation at the
  // other end.
  bool IsFounded(const MemberPoint& self, uint32_t other) const;
  // Returns whether a fault affected the link or the process at its other end.
  bool Harmed(const MemberPoint& self, uint32_t other) const;
  // Returns the process at the other end, or null if the link does not exist.
  const SimWorker* OtherEnd(const MemberPoint& self, uint32_t other) const;
  // Will flip a bit of a total of that generation on its way down the tree, in that round or the
  // next one.
  void CorruptLater(const MemberPoint& about, uint64_t round) { corrupt_ = {about, round}; }
  // Returns an earlier reduce message to inject, or null.
  const collective::ReduceMessage* Recorded() const;

 private:
  enum class State : uint8_t { kDialling, kHeld, kUp, kDown };
  struct Side {
    SimWorker* worker = nullptr;
    collective::LinkListener* listener = nullptr;
    MemberPoint point;
    bool opened = false, closed = false;
    std::deque<collective::ReduceMessage> waiting;
    std::shared_ptr<Pipe> out;
  };
  struct Conn {
    State state = State::kDialling;
    Side side[2];
    int64_t dial_until_us = 0;
    bool harmed = false;
  };
  using ConnRef = std::shared_ptr<Conn>;
  using ConnKey = std::tuple<uint64_t, uint64_t, uint64_t, uint32_t, uint32_t>;

  void Dial(const ConnRef& conn);
  void Arrive(const ConnRef& conn);
  void Establish(const ConnRef& conn);
  void Transmit(const ConnRef& conn, int from, collective::ReduceMessage message);
  void Broken(const ConnRef& conn, int side, const std::string& why);
  void Break(const ConnRef& conn, const std::string& why);
  void BreakLater(const ConnRef& conn, int side, int64_t us, const std::string& why);
  bool Mute(const Conn& conn) const;
  void WatchConn(const ConnRef& conn);
  int64_t KeepaliveUs();

  World& world_;
  std::map<ConnKey, ConnRef> conns_;
  std::map<MemberPoint, std::vector<std::pair<ConnRef, int>>> open_;
  std::set<MemberPoint> ever_open_;
  std::map<std::pair<SimWorker*, std::tuple<uint64_t, uint64_t, uint32_t>>, uint64_t> newest_;
  std::map<MemberPoint, std::string> offers_;
  const Conn* Find(const MemberPoint& self, uint32_t other) const;
  void MaybeCorrupt(collective::ReduceMessage& message);
  collective::ReduceMessage recorded_;
  std::optional<std::pair<MemberPoint, uint64_t>> corrupt_;
  int64_t sent_ = 0;
};

}  // namespace espalier::sim
