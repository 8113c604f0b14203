// One member's links of one generation, and what goes over them.
//
// Thread rule: Start before anything goes out; the others from any thread.
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

  // Takes the links, whose listener is this object. Not needed alone in a job.
  virtual void Start(std::unique_ptr<collective::Links> links) = 0;
  // Ends every wait with this error.
  virtual void Abort(Status why) = 0;
  // Whether a link broke; there is no cure within this generation.
  virtual bool broken() const = 0;
};

}  // namespace espalier::worker
