#include "src/storage/token_store.h"

#include <utility>

namespace espalier::storage {

void TokenStore::Put(const std::string& prefix, std::string text) {
  MutexLock lock(mutex_);
  texts_[prefix] = std::move(text);
}

std::string TokenStore::Find(const std::string& prefix) const {
  MutexLock lock(mutex_);
  const auto found = texts_.find(prefix);
  return found == texts_.end() ? "" : found->second;
}

bool TokenStore::Refused(const std::string& prefix, const std::string& text) const {
  if (Find(prefix) != text) return true;
  if (ask_) ask_(prefix);
  return ask_ != nullptr;
}

}  // namespace espalier::storage
