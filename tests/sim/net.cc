#include "tests/sim/net.h"

#include <algorithm>
#include <utility>

namespace espalier::sim {

void Net::Free(int from, int to) {
  const auto it = blocked_.find({from, to});
  if (it == blocked_.end() || --it->second > 0) return;
  blocked_.erase(it);
  for (const auto& pipe : std::exchange(stalled_[{from, to}], {})) pipe->Arm();
}

void Net::FreeAll() {
  blocked_.clear();
  slow_.clear();
  for (auto& [pair, pipes] : std::exchange(stalled_, {})) {
    for (const auto& pipe : pipes) pipe->Arm();
  }
}

void Net::Forget() {
  std::vector<std::deque<Pipe::Item>> underway;
  for (Pipe* pipe : pipes_) underway.push_back(std::exchange(pipe->underway_, {}));
  const auto stalled = std::exchange(stalled_, {});
}

int64_t Net::Latency(int from, int to) {
  const int64_t us = 100 + dice_.Below(dice_.Once(20) ? 20'000 : 1'500);
  if (slow_.empty()) return us;
  const auto slow = slow_.find({from, to});
  return slow == slow_.end() ? us : us * slow->second;
}

void Pipe::Send(std::function<void()> deliver) {
  if (broken_) return;
  int64_t us = net_.queue_.now_us() + net_.Latency(from_, to_);
  if (!underway_.empty()) us = std::max(us, underway_.back().us);
  underway_.push_back({us, std::move(deliver)});
  if (!armed_) Arm();
}

void Pipe::Arm() {
  armed_ = !underway_.empty();
  if (!armed_) return;
  net_.queue_.At(underway_.front().us, [self = shared_from_this()] { self->Arrive(); });
}

void Pipe::Arrive() {
  if (underway_.empty()) {
    armed_ = false;
    return;
  }
  if (!net_.Passes(from_, to_)) {
    net_.stalled_[{from_, to_}].push_back(shared_from_this());
    return;  // stays armed until the pair is free
  }
  const auto deliver = std::move(underway_.front().deliver);
  underway_.pop_front();
  Arm();
  deliver();
}

}  // namespace espalier::sim
