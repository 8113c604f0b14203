// One member's links of one generation, and the messages on them.
//
// Thread rule: Start before any message is sent. The others are safe from any thread.
#pragma once

#include <memory>

#include "src/base/status.h"
#include "src/collective/link.h"

namespace espalier::worker {

class Exchange : public collective::LinkListener {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Takes the links, whose listener is this object. A job with only one member needs no links.
  virtual void Start(std::unique_ptr<collective::Links> links) = 0;
  // Ends every wait with this error.
  virtual void Abort(Status why) = 0;
  // Returns whether a link broke. It stays broken for this generation.
  virtual bool broken() const = 0;
};

}  // namespace espalier::worker
