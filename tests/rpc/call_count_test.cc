#include "src/rpc/call_count.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <catch2/catch.hpp>
#include <string>

#include "src/rpc/endpoint.h"
#include "src/rpc/leaky_bucket.h"

namespace espalier::rpc {
namespace {

std::string EndpointOf4(const char* host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(port));
  inet_pton(AF_INET, host, &address.sin_addr);
  return EndpointOf(reinterpret_cast<const sockaddr*>(&address));
}

std::string EndpointOf6(const char* host, int port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(static_cast<in_port_t>(port));
  inet_pton(AF_INET6, host, &address.sin6_addr);
  return EndpointOf(reinterpret_cast<const sockaddr*>(&address));
}

TEST_CASE("a connection with many open calls pauses for a while") {
  CallCount count;
  for (int64_t i = 0; i < CallCount::kOpenMax; ++i) count.Begin();
  CHECK(!count.MustPause(false));
  count.Begin();
  CHECK(count.MustPause(false));
  while (count.open() > CallCount::kFairMax) {
    CHECK(count.MustPause(false));
    REQUIRE(count.End(false, 5, 0).empty());
  }
  CHECK(!count.MustPause(false));
}

TEST_CASE("a legal number of open calls never pauses") {
  CallCount count;
  for (int64_t i = 0; i < CallCount::kFairMax; ++i) count.Begin();
  CHECK(!count.MustPause(true));
  count.Begin();
  CHECK(count.MustPause(true));
}

TEST_CASE("a connection that cancels calls at once must close") {
  CallCount count;
  int64_t calls = 0;
  for (std::string why; why.empty(); ++calls) {
    count.Begin();
    why = count.End(true, CallCount::kEarlyMs - 1, 0);
  }
  CHECK(calls == CallCount::kEarlyCancelsMax + 1);
}

TEST_CASE("calls cancelled late or among answered ones are legal") {
  CallCount count;
  for (int64_t i = 0; i < 100'000; ++i) {
    count.Begin();
    REQUIRE(count.End(true, CallCount::kEarlyMs, 0).empty());
  }
  for (int64_t i = 0; i < 100'000; ++i) {  // every second call is cancelled
    count.Begin();
    REQUIRE(count.End(i % 2 == 0, 1, 0).empty());
  }
  for (int64_t i = 0; i < 100'000; ++i) {  // ten cancelled calls a second
    count.Begin();
    REQUIRE(count.End(true, 1, 100 * i).empty());
  }
  CHECK(count.open() == 0);
}

TEST_CASE("a long wait allows no more bytes without a call") {
  LeakyBucket bucket;
  bucket.Reset(1000);
  bucket.Add(100, 10, 1000);
  CHECK(bucket.bytes() == 100);
  bucket.Add(1, 10, 1004);
  CHECK(bucket.bytes() == 61);
  bucket.Add(500, 10, 1'000'000);  // the level never falls below 0
  CHECK(bucket.bytes() == 500);
  for (int64_t s = 1; s <= 100; ++s) bucket.Add(10, 10, 1'000'000 + s);  // at the drain rate
  CHECK(bucket.bytes() == 500);
  bucket.Reset(2'000'000);
  CHECK(bucket.bytes() == 0);
}

TEST_CASE("gRPC's name of a peer equals its socket's") {
  CHECK(EndpointOf4("192.0.2.7", 7700) == "192.0.2.7:7700");
  CHECK(EndpointOf(std::string("ipv4:192.0.2.7:7700")) == EndpointOf4("192.0.2.7", 7700));
  CHECK(EndpointOf6("::ffff:192.0.2.7", 7700) == EndpointOf4("192.0.2.7", 7700));
  for (const std::string peer : {"ipv6:%5B2001:db8::7%5D:7700", "ipv6:[2001:db8::7]:7700",
                                 "ipv6:%5B2001:db8::7%25eth0%5D:7700"}) {
    CHECK(EndpointOf(peer) == EndpointOf6("2001:db8::7", 7700));
  }
  CHECK(EndpointOf(std::string("unix:/tmp/socket")).empty());
}

}  // namespace
}  // namespace espalier::rpc
