// What convert_from_worker.cc and convert_to_worker.cc share. Private to rpc/.
#pragma once

#include "src/rpc/convert.h"
#include "src/rpc/fields.h"

namespace espalier::rpc {

// Job and generation, which most messages name.
template <typename P, typename T>
void SetPoint(const T& in, P* out) {
  out->set_job(in.job.value);
  out->set_generation(in.generation.value);
}

template <typename P, typename T>
void GetPoint(const P& in, Fields& f, T* out) {
  out->job = {f.Id("job", in.job())};
  out->generation = {f.Id("generation", in.generation())};
}

// An error that a message is about: it must not be OK.
inline Status RequiredError(const pb::ErrorDetail& in, Fields& f) {
  Status error;
  if (Status bad = ErrorFromProto(in, &error); !bad.ok()) {
    f.Take("error", bad);
  } else if (error.ok()) {
    f.Fail("error", "is missing");
  }
  return error;
}

}  // namespace espalier::rpc
