#include "tests/sim/peers.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/sim/worker.h"
#include "tests/sim/world.h"

namespace espalier::sim {
namespace {

constexpr int64_t kConnectUs = 10'000'000, kPeerRetryUs = 50'000, kHoldUs = 10'000'000;
constexpr int64_t kFetchUs = 60'000'000;

}  // namespace

MemberPoint PointOf(const member::Place& place) {
  return {place.start().incarnation, place.at().job, place.at().generation,
          static_cast<uint32_t>(place.self())};
}

int64_t Peers::KeepaliveUs() { return 3'000'000 + world_.dice.Below(10'000'000); }

void Peers::Open(SimWorker& worker, const member::Place& place,
                 collective::LinkListener* listener) {
  const MemberPoint self = PointOf(place);
  std::vector<SimWorker*> workers;  // at the members' addresses
  for (const cluster::Member& m : place.start().members) {
    workers.push_back(&world_.AtAddress(m.address));
  }
  auto& newest = newest_[{&worker, {self.incarnation.value, self.job.value, self.member}}];
  newest = std::max(newest, self.generation.value);
  ever_open_.insert(self);
  auto& mine = open_[self];
  mine.clear();
  std::vector<ConnRef> dialled;
  for (const uint32_t partner : member::PartnersOf(place)) {
    const int at = self.member < partner ? 0 : 1;
    const ConnKey key{self.incarnation.value, self.job.value, self.generation.value,
                      std::min(self.member, partner), std::max(self.member, partner)};
    ConnRef& conn = conns_[key];
    if (!conn) {
      conn = std::make_shared<Conn>();
      for (int s = 0; s < 2; ++s) {
        MemberPoint point = self;
        point.member = s == at ? self.member : partner;
        conn->side[s].worker = workers[point.member];
        conn->side[s].point = point;
      }
      for (int s = 0; s < 2; ++s) {
        conn->side[s].out = std::make_shared<Pipe>(world_.net, conn->side[s].worker->host(),
                                                   conn->side[1 - s].worker->host());
      }
    }
    conn->harmed = conn->harmed || Mute(*conn);
    Side& side = conn->side[at];
    side.opened = true;
    side.listener = listener;
    mine.emplace_back(conn, at);
    if (at == 0) dialled.push_back(conn);
    if (at == 1 && conn->state == State::kHeld) Establish(conn);
    if (at == 1 && conn->state == State::kDialling) {
      world_.queue.After(kConnectUs, [this, conn] {
        if (conn->state == State::kDialling) Broken(conn, 1, "it did not connect");
      });
    }
  }
  for (const ConnRef& conn : dialled) {
    conn->dial_until_us = world_.queue.now_us() + kConnectUs;
    Dial(conn);
  }
}

void Peers::Dial(const ConnRef& conn) {
  conn->side[0].out->Send(
      [this, conn] { conn->side[1].worker->DoAlways([=, this] { Arrive(conn); }); });
}

void Peers::Arrive(const ConnRef& conn) {
  Side& hi = conn->side[1];
  if (conn->state != State::kDialling || conn->side[0].closed) return;
  if (!hi.worker->alive()) {
    if (world_.queue.now_us() >= conn->dial_until_us) return Broken(conn, 0, "nobody listens");
    world_.queue.After(kPeerRetryUs, [this, conn] { Dial(conn); });
    return;
  }
  if (hi.opened) return Establish(conn);
  const auto newest =
      newest_.find({hi.worker, {hi.point.incarnation.value, hi.point.job.value, hi.point.member}});
  if (newest != newest_.end() && hi.point.generation.value <= newest->second) {
    conn->state = State::kDown;
    hi.out->Send([this, conn] { Broken(conn, 0, "the generation is over there"); });
    return;
  }
  world_.fired(Fault::kEarlyStream);
  if (world_.bugs(Bug::kRefuseEarlyStreams)) {
    conn->state = State::kDown;
    hi.out->Send([this, conn] { Broken(conn, 0, "the generation is not open there"); });
    return;
  }
  conn->state = State::kHeld;
  world_.queue.After(kHoldUs, [this, conn] {
    if (conn->state != State::kHeld) return;
    conn->state = State::kDown;
    conn->harmed = true;
    Broken(conn, 0, "the generation was not opened there in time");
  });
}

void Peers::Establish(const ConnRef& conn) {
  if (conn->side[0].closed || conn->side[1].closed) return;
  conn->state = State::kUp;
  for (int s = 0; s < 2; ++s) {
    for (collective::ReduceMessage& m : std::exchange(conn->side[s].waiting, {})) {
      Transmit(conn, s, std::move(m));
    }
  }
  if (Mute(*conn)) WatchConn(conn);
}

void Peers::Send(const MemberPoint& self, collective::ReduceMessage message) {
  const auto mine = open_.find(self);
  if (mine == open_.end()) return;
  if (++sent_ % 16 == 0) recorded_ = message;
  MaybeCorrupt(message);
  for (const auto& [conn, at] : mine->second) {
    if (conn->side[1 - at].point.member != message.to || conn->side[at].closed) continue;
    if (conn->state == State::kUp) return Transmit(conn, at, std::move(message));
    conn->side[at].waiting.push_back(std::move(message));
    return;
  }
}

// Payloads have no checksum. The comparison of states finds the corruption (worker/trainer.h).
void Peers::MaybeCorrupt(collective::ReduceMessage& message) {
  if (!corrupt_ || message.kind != collective::MessageKind::kDown || message.bucket != 0) return;
  const auto& [about, round] = *corrupt_;
  if (message.job != about.job || message.generation != about.generation) return;
  if (message.round < round) return;
  if (message.round > round + 1) return corrupt_.reset();
  collective::MutablePayload copy = collective::AllocatePayload(message.payload.size);
  std::memcpy(copy.data, message.payload.data, message.payload.size);
  copy.data[2] ^= std::byte{32};
  message.payload = std::move(copy).Freeze();
  corrupt_.reset();
  world_.fired(Fault::kChunkCorrupted);
}

const collective::ReduceMessage* Peers::Recorded() const {
  return recorded_.job ? &recorded_ : nullptr;
}

void Peers::Transmit(const ConnRef& conn, int from, collective::ReduceMessage message) {
  const int to = 1 - from;
  conn->side[from].out->Send([this, conn, to, m = std::move(message)] {
    conn->side[to].worker->Do([this, conn, to, m] {
      const Side& side = conn->side[to];
      if (!side.closed && side.listener != nullptr) side.listener->OnMessage(m);
    });
  });
}

// Reports the break to this side. The other side learns of it over the wire.
void Peers::Broken(const ConnRef& conn, int at, const std::string& why) {
  Side& side = conn->side[at];
  if (std::exchange(side.closed, true)) return;
  conn->harmed = conn->harmed || Mute(*conn);
  conn->state = State::kDown;
  if (side.listener != nullptr && side.worker->alive()) {
    side.worker->Do([this, conn, at, why] {
      const Side& told = conn->side[at];
      if (told.listener == nullptr) return;
      told.listener->OnBroken(told.point.generation, conn->side[1 - at].point.member,
                              Unavailable(why));
    });
  }
  side.out->Send([this, conn, at] { Broken(conn, 1 - at, "the other side broke it"); });
}

void Peers::BreakLater(const ConnRef& conn, int side, int64_t us, const std::string& why) {
  world_.queue.After(us, [this, conn, side, why] { Broken(conn, side, why); });
}

// Breaks a link. Each side notices at a different time. Messages in transit may still arrive.
void Peers::Break(const ConnRef& conn, const std::string& why) {
  conn->harmed = true;
  for (int s = 0; s < 2; ++s) {
    if (world_.dice.Once(2)) conn->side[s].out->Cut();
    BreakLater(conn, s, world_.dice.Below(world_.dice.Once(4) ? 3'000'000 : 20'000), why);
  }
}

void Peers::Close(const MemberPoint& self) {
  const auto mine = open_.extract(self);
  if (mine.empty()) return;
  for (const auto& [conn, at] : mine.mapped()) {
    conn->side[at].listener = nullptr;
    if (world_.dice.Once(2)) conn->side[at].out->Cut();  // unread messages are lost
    Broken(conn, at, "closed");
  }
}

// The host of a dead process resets its connections, unless the host itself is lost.
void Peers::Died(SimWorker& worker, bool noticed) {
  std::erase_if(offers_, [&](const auto& offer) {
    return std::any_of(open_.begin(), open_.end(), [&](const auto& entry) {
      return entry.first == offer.first && !entry.second.empty() &&
             entry.second[0].first->side[entry.second[0].second].worker == &worker;
    });
  });
  for (const auto& [key, conn] : conns_) {
    for (int s = 0; s < 2; ++s) {
      if (conn->side[s].worker != &worker) continue;
      conn->harmed = true;
      if (conn->side[s].closed || !conn->side[s].opened) continue;
      conn->side[s].listener = nullptr;
      conn->side[s].closed = true;
      conn->state = State::kDown;
      if (world_.dice.Once(2)) conn->side[s].out->Cut();
      if (noticed) {
        conn->side[s].out->Send([this, conn, s] { Broken(conn, 1 - s, "connection reset"); });
      }
      BreakLater(conn, 1 - s, KeepaliveUs(), "no answer to keepalive");
    }
  }
}

bool Peers::Mute(const Conn& conn) const {
  const int a = conn.side[0].worker->host(), b = conn.side[1].worker->host();
  return !world_.net.Passes(a, b) || !world_.net.Passes(b, a) || conn.side[0].worker->paused() ||
         conn.side[1].worker->paused();
}

void Peers::WatchConn(const ConnRef& conn) {
  for (int s = 0; s < 2; ++s) {
    world_.queue.After(KeepaliveUs(), [this, conn, s] {
      if (conn->side[s].closed || !Mute(*conn)) return;
      conn->harmed = true;
      Broken(conn, s, "no answer to keepalive");
    });
  }
}

void Peers::Watch(int host_a, int host_b) {
  for (const auto& [key, conn] : conns_) {
    const int a = conn->side[0].worker->host(), b = conn->side[1].worker->host();
    if (std::minmax(a, b) != std::minmax(host_a, host_b)) continue;
    conn->harmed = true;
    if (conn->state != State::kDown) WatchConn(conn);
  }
}

void Peers::WatchPaused(SimWorker& worker) {
  for (const auto& [key, conn] : conns_) {
    if (conn->side[0].worker != &worker && conn->side[1].worker != &worker) continue;
    conn->harmed = true;
    if (conn->state != State::kDown) WatchConn(conn);
  }
}

bool Peers::BreakOne() {
  std::vector<ConnRef> up;
  for (const auto& [key, conn] : conns_) {
    if (conn->state == State::kUp) up.push_back(conn);
  }
  if (up.empty()) return false;
  Break(up[static_cast<size_t>(world_.dice.Below(static_cast<int64_t>(up.size())))], "reset");
  return true;
}

const Peers::Conn* Peers::Find(const MemberPoint& self, uint32_t other) const {
  const auto it = conns_.find({self.incarnation.value, self.job.value, self.generation.value,
                               std::min(self.member, other), std::max(self.member, other)});
  return it == conns_.end() ? nullptr : it->second.get();
}

const SimWorker* Peers::OtherEnd(const MemberPoint& self, uint32_t other) const {
  const Conn* conn = Find(self, other);
  return conn == nullptr ? nullptr : conn->side[self.member < other ? 1 : 0].worker;
}

bool Peers::Harmed(const MemberPoint& self, uint32_t other) const {
  const Conn* conn = Find(self, other);
  if (conn == nullptr) return true;
  const SimWorker& there = *OtherEnd(self, other);
  return conn->harmed || !there.alive() || there.paused() || there.disturbed();
}

bool Peers::IsFounded(const MemberPoint& self, uint32_t other) const {
  if (Harmed(self, other)) return true;
  const SimWorker& there = *OtherEnd(self, other);
  const cluster::JobPoint at = there.at();
  if (at.job != self.job || at.generation != self.generation) return true;
  // The other member opened its links for another incarnation of the coordinator.
  MemberPoint point = self;
  point.member = other;
  return !ever_open_.contains(point);
}

// ---- the job state ---------------------------------------------------------------------------

void Peers::Offer(const MemberPoint& self, std::string state) { offers_[self] = std::move(state); }

void Peers::Fetch(SimWorker& from, const member::Place& place, int32_t index, Fetched done) {
  SimWorker& holder = world_.AtAddress(place.start().members[static_cast<size_t>(index)].address);
  MemberPoint point = PointOf(place);
  point.member = static_cast<uint32_t>(index);
  auto once = std::make_shared<Fetched>(std::move(done));
  const auto answer = [once, &from](Result<std::string> result) {
    from.Do([once, result = std::move(result)] {
      if (*once) std::exchange(*once, nullptr)(result);
    });
  };
  const auto there = std::make_shared<Pipe>(world_.net, from.host(), holder.host());
  const auto back = std::make_shared<Pipe>(world_.net, holder.host(), from.host());
  there->Send([this, &holder, point, answer, back] {
    if (!holder.alive()) return back->Send([answer] { answer(Unavailable("nobody listens")); });
    holder.Do([this, point, answer, back] {
      const auto it = offers_.find(point);
      Result<std::string> result = NotFound("it offers none");
      if (it != offers_.end()) result = it->second;
      back->Send([answer, result] { answer(result); });
    });
  });
  const int64_t limit = world_.dice.Once(4) ? kFetchUs : KeepaliveUs();
  world_.queue.After(limit, [answer] { answer(Unavailable("no answer")); });
}

}  // namespace espalier::sim
