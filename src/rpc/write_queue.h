// What waits to be written on a stream. gRPC takes one write at a time (a second one aborts the
// process), so the message being written is kept here until it is done. Private to rpc/.
//
// Thread rule: guarded by the owner's mutex.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

namespace espalier::rpc {

template <typename Message>
class WriteQueue {
 public:
  // Adds a message of that many bytes. Returns the one to start writing now, if none is underway.
  const Message* Push(Message message, int64_t bytes) {
    waiting_.push_back({std::move(message), bytes});
    bytes_ += bytes;
    return writing_ ? nullptr : Next();
  }
  // The write underway ended; when it failed, what waits is forgotten. Returns the next to start,
  // if any.
  const Message* Written(bool ok) {
    if (!ok) waiting_.clear();
    bytes_ = ok ? bytes_ - current_.bytes : 0;
    current_ = {};
    writing_ = false;
    return waiting_.empty() ? nullptr : Next();
  }
  // Forgets what waits; a write underway goes on.
  void Drop() {
    waiting_.clear();
    bytes_ = writing_ ? current_.bytes : 0;
  }
  bool writing() const { return writing_; }
  int64_t bytes() const { return bytes_; }
  int64_t messages() const { return static_cast<int64_t>(waiting_.size()) + (writing_ ? 1 : 0); }

 private:
  struct Item {
    Message message;
    int64_t bytes = 0;
  };
  const Message* Next() {
    current_ = std::move(waiting_.front());
    waiting_.pop_front();
    writing_ = true;
    return &current_.message;
  }
  std::deque<Item> waiting_;
  Item current_;  // valid while writing_
  bool writing_ = false;
  int64_t bytes_ = 0;
};

}  // namespace espalier::rpc
