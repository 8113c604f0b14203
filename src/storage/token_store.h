// The delegation tokens of a job's HDFS calls: the newest token for each file system. The job's
// file systems and the code that fetches new tokens share it.
//
// Thread rule: safe from any thread.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "src/base/mutex.h"

namespace espalier::storage {

class TokenStore {
 public:
  // `ask`, if set, requests another token for a file system after a NameNode refused its token. The
  // thread of the refused call runs it, so it must not block. Without `ask`, tokens are not
  // replaced.
  explicit TokenStore(std::function<void(const std::string& prefix)> ask = {})
      : ask_(std::move(ask)) {}

  // `prefix` is the start of the file system's paths (uri.h), for example "hdfs://ns". `text` is
  // SECRET.
  void Put(const std::string& prefix, std::string text);
  // Returns the token, or "".
  std::string Find(const std::string& prefix) const;
  // Reports that a NameNode refused `text`. Returns true if another attempt may help: another token
  // is available, or one was requested now.
  bool Refused(const std::string& prefix, const std::string& text) const;

 private:
  const std::function<void(const std::string& prefix)> ask_;
  mutable Mutex mutex_;
  std::map<std::string, std::string> texts_ GUARDED_BY(mutex_);  // by prefix
};

}  // namespace espalier::storage
