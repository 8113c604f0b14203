// Tests that workers link and fetch states only with workers that the coordinator named.
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "src/rpc/peer.h"
#include "tests/collective/link_suite.h"
#include "tests/rpc/certificates.h"

namespace espalier::rpc {
namespace {

using Catch::Contains;

struct Peers {
  std::unique_ptr<PeerNetwork> Listen(const std::string& name, int64_t connect_timeout_ms = 3'000) {
    PeerOptions options;
    options.held_streams_caller_max = 2;
    options.security.keychain = MustOpen(mine.Issue({security::Role::kWorker, name}));
    options.security.workers_without_role = true;
    options.dialling.keychain = options.security.keychain;
    options.connect_timeout_ms = options.open_timeout_ms = connect_timeout_ms;
    auto network = PeerNetwork::Make("127.0.0.1:0", options);
    REQUIRE(network.status().ToString() == "OK");
    return *std::move(network);
  }
  LinksRequest Request(uint32_t self, const std::vector<std::string>& names) const {
    return {collective::kLinkSuiteIncarnation,
            collective::kLinkSuiteJob,
            collective::kLinkSuiteGeneration,
            self,
            {a->address(), b->address()},
            names,
            {1 - self}};
  }
  Certificates mine;
  std::unique_ptr<PeerNetwork> a = Listen("node-1"), b = Listen("node-2");
};

TEST_CASE("workers that the coordinator named exchange messages") {
  Peers peers;
  collective::RecordingListener heard_a, heard_b;
  const std::vector<std::string> names = {"node-1:5", "node-2"};
  const auto links_a = peers.a->Open(peers.Request(0, names), &heard_a);
  const auto links_b = peers.b->Open(peers.Request(1, names), &heard_b);
  links_a->Send(collective::MakeLinkMessage(0, 1, 1, 0, 1000));
  CHECK(heard_b.WaitForMessages(1));
}

TEST_CASE("a worker that the coordinator did not name gets no link") {
  Peers peers;
  collective::RecordingListener heard_a, heard_b;
  // Worker a expects node-3, but node-2 answers.
  const auto links_a = peers.a->Open(peers.Request(0, {"node-1", "node-3"}), &heard_a);
  REQUIRE(heard_a.WaitForBreak(1));
  CHECK_THAT(heard_a.why(1).ToString(), Contains("expected worker node-3") && Contains("'node-2'"));
  // Worker a dials node-2 correctly, but node-2 expects node-3 and refuses the stream.
  Peers others;
  collective::RecordingListener dialling;
  const auto links_b = others.b->Open(others.Request(1, {"node-3", "node-2"}), &heard_b);
  const auto dialled = others.a->Open(others.Request(0, {"node-1", "node-2"}), &dialling);
  REQUIRE(dialling.WaitForBreak(1));
  CHECK_THAT(dialling.why(1).ToString(), Contains("worker node-3") && Contains("worker 'node-1'"));
  REQUIRE(heard_b.WaitForBreak(0));
}

TEST_CASE("greetings for unknown generations take no room of others") {
  Peers peers;
  const auto other = peers.Listen("node-3", 30'000);
  const auto greedy = peers.Listen("node-2", 30'000);
  const auto dial = [&](PeerNetwork& from, const std::string& name, uint64_t generation,
                        collective::LinkListener* listener) {
    LinksRequest request = peers.Request(0, {name, "node-1"});
    request.addresses = {from.address(), peers.a->address()};
    request.generation = {generation};
    return from.Open(request, listener);
  };
  collective::RecordingListener first, second, third, others;
  const auto one = dial(*greedy, "node-2", 101, &first);
  const auto two = dial(*greedy, "node-2", 102, &second);
  // The server refuses the last of the three to arrive and holds the other two.
  const auto three = dial(*greedy, "node-2", 103, &third);
  const auto refused = [](collective::RecordingListener& l) {
    return l.why(1).ToString().find("2 streams of worker 'node-2'") != std::string::npos;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  int count = 0;
  while (count == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    count = int{refused(first)} + int{refused(second)} + int{refused(third)};
  }
  CHECK(count == 1);
  collective::RecordingListener heard;
  const auto links = dial(*other, "node-3", 104, &others);
  LinksRequest request = peers.Request(1, {"node-3", "node-1"});
  request.addresses = {other->address(), peers.a->address()};
  request.generation = {104};
  const auto own = peers.a->Open(request, &heard);
  links->Send([&] {
    collective::ReduceMessage message = collective::MakeLinkMessage(0, 1, 1, 0, 1000);
    message.generation = {104};
    return message;
  }());
  CHECK(heard.WaitForMessages(1));
}

TEST_CASE("only members of the generation receive the state") {
  Peers peers;
  const auto outsider = peers.Listen("node-3");
  const MemberKey key{{1}, {7}, {3}, 0};
  peers.a->OfferState(
      key, {{"node-1", "node-2"}, [] { return std::make_shared<const std::string>("state"); }});
  const StateFetch fetch{.holder = "node-1", .bytes_max = 100};
  CHECK(*peers.b->FetchState(peers.a->address(), key, fetch) == "state");
  const Status refused = outsider->FetchState(peers.a->address(), key, fetch).status();
  CHECK(refused.code() == StatusCode::kPermissionDenied);
  CHECK_THAT(refused.ToString(), Contains("'node-3'") && Contains("takes no part"));
  StateFetch other = fetch;
  other.holder = "node-2";
  CHECK_THAT(peers.b->FetchState(peers.a->address(), key, other).status().ToString(),
             Contains("expected worker node-2"));
  peers.a->WithdrawState(key);
}

}  // namespace
}  // namespace espalier::rpc
