// Messages that wait to be written on a stream. gRPC takes one write at a time (a second one aborts
// the process), so this queue keeps the message being written until it is done. Private to rpc/.
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
  // Adds a message of `bytes` bytes. Returns the message to write now, or null while a write is in
  // progress.
  const Message* Push(Message message, int64_t bytes) {
    waiting_.push_back({std::move(message), bytes});
    bytes_ += bytes;
    return writing_ ? nullptr : Next();
  }
  // Ends the current write. If it failed, drops the waiting messages. Returns the next message to
  // write, or null.
  const Message* Written(bool ok) {
    if (!ok) waiting_.clear();
    bytes_ = ok ? bytes_ - current_.bytes : 0;
    current_ = {};
    writing_ = false;
    return waiting_.empty() ? nullptr : Next();
  }
  // Drops the waiting messages. A write in progress continues.
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
