#include "src/rpc/open_calls.h"

#include <catch2/catch.hpp>
#include <memory>

namespace espalier::rpc {
namespace {

struct FakeCall final : OpenCall {
  void End(const Status& why) override { ended = why; }
  Status ended;  // OK: still open
};

TEST_CASE("a call whose caller was revoked before Add is ended") {
  OpenCalls calls({.caller_max = 10});
  bool revoked = true;
  const auto may = [&] { return revoked ? PermissionDenied("revoked") : Status::Ok(); };
  calls.Recheck();  // before the call is in the table
  const auto call = std::make_shared<FakeCall>();
  CHECK(calls.Add(call, "ann", may).code() == StatusCode::kPermissionDenied);
  CHECK(call->ended.code() == StatusCode::kPermissionDenied);
  calls.Remove(call.get());

  revoked = false;
  const auto other = std::make_shared<FakeCall>();
  CHECK(calls.Add(other, "ann", may).ok());
  CHECK(other->ended.ok());
  calls.Remove(other.get());
}

TEST_CASE("a call is in the table before it is checked") {
  OpenCalls calls({.caller_max = 10});
  bool revoked = false;
  int checks = 0;
  const auto call = std::make_shared<FakeCall>();
  const auto may = [&] {
    if (++checks == 1) {  // the caller is revoked just after the check of Add
      revoked = true;
      calls.Recheck();
      return Status::Ok();
    }
    return revoked ? PermissionDenied("revoked") : Status::Ok();
  };
  (void)calls.Add(call, "ann", may);
  CHECK(call->ended.code() == StatusCode::kPermissionDenied);
  calls.Remove(call.get());
}

}  // namespace
}  // namespace espalier::rpc
