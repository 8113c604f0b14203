#include "src/rpc/state_transfer.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "src/rpc/peer.h"

namespace espalier::rpc {
namespace {

constexpr MemberKey kKey{{1}, {7}, {3}, 2};

std::unique_ptr<PeerNetwork> MustListen() {
  auto network = PeerNetwork::Make("127.0.0.1:0");
  REQUIRE(network.ok());
  return std::move(network).value();
}

std::string Bytes(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

// Returns an offer to all members on a plain network.
StateOffer Offer(std::function<std::string()> bytes) {
  return {{}, [bytes] { return std::make_shared<const std::string>(bytes()); }};
}

TEST_CASE("a state of any size arrives whole") {
  const auto holder = MustListen(), asker = MustListen();
  const StateFetch fetch{.bytes_max = 64 << 20};
  for (size_t size : {size_t{1}, rpc::kStatePartBytes, 2 * rpc::kStatePartBytes + 3}) {
    holder->OfferState(kKey, Offer([size] { return Bytes(size); }));
    const auto state = asker->FetchState(holder->address(), kKey, fetch);
    REQUIRE(state.status().ToString() == "OK");
    CHECK(*state == Bytes(size));
  }
  holder->WithdrawState(kKey);
}

TEST_CASE("a state that is withdrawn or not offered is not found") {
  const auto holder = MustListen(), asker = MustListen();
  holder->OfferState(kKey, Offer([] { return std::string("state"); }));
  MemberKey other = kKey;
  other.generation = {4};
  CHECK(asker->FetchState(holder->address(), other, {.bytes_max = 100}).status().code() ==
        StatusCode::kNotFound);
  holder->WithdrawState(kKey);
  const Status gone = asker->FetchState(holder->address(), kKey, {.bytes_max = 100}).status();
  CHECK(gone.code() == StatusCode::kNotFound);
  CHECK_THAT(gone.message(), Catch::Contains("member 2 of generation 3 of job-7"));
}

TEST_CASE("an oversized state is refused, a dead holder is an error") {
  auto holder = MustListen();
  const auto asker = MustListen();
  holder->OfferState(kKey, Offer([] { return Bytes(5000); }));
  CHECK(asker->FetchState(holder->address(), kKey, {.bytes_max = 4999}).status().code() ==
        StatusCode::kResourceExhausted);
  const std::string address = holder->address();
  holder.reset();
  CHECK_FALSE(asker->FetchState(address, kKey, {.bytes_max = 100, .timeout_ms = 2000}).ok());
}

TEST_CASE("a fetch times out only between two parts") {
  const auto holder = MustListen(), asker = MustListen();
  const std::string state = Bytes(5 * rpc::kStatePartBytes);  // made before the fetch
  holder->OfferState(kKey, Offer([&] { return state; }));
  // The client calls this between two parts. Together the parts take longer than timeout_ms, but
  // each takes much less. Only time that really passes can reach this limit, so the client sleeps.
#if defined(__SANITIZE_THREAD__)
  static constexpr int64_t kPauseMs = 4'000;  // a part takes seconds
#else
  static constexpr int64_t kPauseMs = 1'000;
#endif
  const auto slow = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMs));
    return false;
  };
  const auto whole =
      asker->FetchState(holder->address(), kKey,
                        {.bytes_max = 8 << 20, .timeout_ms = 4 * kPauseMs, .cancelled = slow});
  CHECK(whole.status().ToString() == "OK");
  std::atomic<bool> leave{false};
  holder->OfferState(kKey, Offer([&] {
                       while (!leave) std::this_thread::yield();
                       return std::string("state");
                     }));
  const Status silent =
      asker->FetchState(holder->address(), kKey, {.bytes_max = 100, .timeout_ms = 300}).status();
  leave = true;
  CHECK(silent.code() == StatusCode::kDeadlineExceeded);
  CHECK_THAT(silent.ToString(), Catch::Contains("nothing came for 300 ms"));
  holder->WithdrawState(kKey);
}

TEST_CASE("withdrawing waits for a running encoder") {
  const auto holder = MustListen(), asker = MustListen();
  std::atomic<bool> entered{false}, leave{false}, withdrawn{false}, early{false};
  holder->OfferState(kKey, Offer([&] {
                       entered = true;
                       while (!leave) std::this_thread::yield();
                       early = withdrawn.load();
                       return std::string("state");
                     }));
  Status fetched = Internal("not yet");
  std::thread fetching(
      [&] { fetched = asker->FetchState(holder->address(), kKey, {.bytes_max = 100}).status(); });
  while (!entered) std::this_thread::yield();
  std::thread withdrawing([&] {
    holder->WithdrawState(kKey);
    withdrawn = true;
  });
  leave = true;
  withdrawing.join();
  fetching.join();
  CHECK(fetched.ok());
  CHECK_FALSE(early);
}

}  // namespace
}  // namespace espalier::rpc
