// The delegation tokens that a job's calls to HDFS show, by file system: the newest of each. Shared
// by the job's file systems and by those who fetch new tokens.
//
// Thread rule: safe from any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace espalier::storage {

class TokenStore {
 public:
  // `ask`, if any, asks for another token of a file system whose token a NameNode has refused; it
  // is called on the thread whose call was refused, and must not block. Without it tokens are not
  // replaced.
  explicit TokenStore(std::function<void(const std::string& prefix)> ask = {})
      : ask_(std::move(ask)) {}

  // `prefix`: what paths of the file system begin with (uri.h), "hdfs://ns". `text` is SECRET.
  void Put(const std::string& prefix, std::string text);
  // Empty: there is none.
  std::string Find(const std::string& prefix) const;
  // A NameNode has refused `text`. True: another try may help, for another token is there, or was
  // asked for now.
  bool Refused(const std::string& prefix, const std::string& text) const;

 private:
  const std::function<void(const std::string& prefix)> ask_;
  mutable std::mutex mutex_;                  // guards texts_
  std::map<std::string, std::string> texts_;  // by prefix
};

}  // namespace espalier::storage
