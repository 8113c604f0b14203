#include "src/rpc/peer.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <future>
#include <random>
#include <thread>

#include "src/rpc/frame.h"
#include "src/rpc/frame_stream.h"
#include "tests/collective/link_suite.h"

namespace espalier::rpc {
namespace {

std::unique_ptr<PeerNetwork> MustListen(const PeerOptions& options = {}) {
  auto network = PeerNetwork::Make("127.0.0.1:0", options);
  REQUIRE(network.ok());
  return std::move(network).value();
}

LinksRequest RequestFor(const std::vector<std::unique_ptr<PeerNetwork>>& networks, uint32_t self,
                        Generation generation = collective::kLinkSuiteGeneration) {
  LinksRequest request{
      collective::kLinkSuiteIncarnation, collective::kLinkSuiteJob, generation, self, {}, {}};
  for (uint32_t m = 0; m < networks.size(); ++m) {
    request.addresses.push_back(networks[m]->address());
    if (m != self) request.partners.push_back(m);
  }
  return request;
}

// A network with one listener per member, as with one process per member.
class GrpcNetwork {
 public:
  explicit GrpcNetwork(const PeerOptions& options = {},
                       uint32_t members = collective::kLinkSuiteMembers) {
    for (uint32_t m = 0; m < members; ++m) networks.push_back(MustListen(options));
  }
  std::unique_ptr<collective::Links> Open(uint32_t self, collective::LinkListener* listener) {
    return networks[self]->Open(RequestFor(networks, self), listener);
  }
  void Break(uint32_t, uint32_t, std::unique_ptr<collective::Links>& links_of_a) {
    links_of_a.reset();
  }

  std::vector<std::unique_ptr<PeerNetwork>> networks;
};

PeerOptions Impatient() {
  PeerOptions options;
  options.connect_timeout_ms = 400;
  options.open_timeout_ms = 300;
  return options;
}

TEST_CASE("links over gRPC pass the conformance suite") { collective::RunLinkSuite<GrpcNetwork>(); }

TEST_CASE("a peer that never opens the generation breaks the link") {
  for (uint32_t self : {0u, 1u}) {
    GrpcNetwork network(Impatient(), 2);  // a generation can be opened only once
    collective::RecordingListener listener;
    const auto links = network.Open(self, &listener);
    REQUIRE(listener.WaitForBreak(1 - self));
    INFO(listener.why(1 - self).ToString());
    CHECK(listener.why(1 - self).code() == StatusCode::kDeadlineExceeded);
    CHECK_THAT(listener.why(1 - self).ToString(),
               Catch::Contains("the link to member " + std::to_string(1 - self)));
    CHECK(listener.breaks(1 - self) == 1);
  }
}

TEST_CASE("a connected peer has more time to open the generation") {
  for (uint32_t first : {0u, 1u}) {
    PeerOptions options;
    options.connect_timeout_ms = options.hello_timeout_ms = 1000;  // a busy machine needs 100
    GrpcNetwork network(options, 2);
    collective::RecordingListener early, late;
    const auto links = network.Open(first, &early);
    // Longer than the time limits, which must not end the link. No event marks that.
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    const auto others = network.Open(1 - first, &late);
    links->Send(collective::MakeLinkMessage(first, 1 - first, 1, 0, 100));
    REQUIRE(late.WaitForMessages(1));
    CHECK(early.breaks(1 - first) == 0);
    CHECK(late.breaks(first) == 0);
  }
}

TEST_CASE("an unreachable peer is reported with address and advice") {
  GrpcNetwork network(Impatient(), 2);
  LinksRequest request = RequestFor(network.networks, 0);
  network.networks[1].reset();
  collective::RecordingListener listener;
  const auto links = network.networks[0]->Open(request, &listener);
  REQUIRE(listener.WaitForBreak(1));
  CHECK(listener.why(1).code() == StatusCode::kDeadlineExceeded);
  CHECK_THAT(listener.why(1).ToString(),
             Catch::Contains(request.addresses[1]) && Catch::Contains("is the worker running"));
}

TEST_CASE("a stream for a generation that is over is refused") {
  GrpcNetwork network({}, 2);
  collective::RecordingListener late;
  collective::RecordingListener other;
  { const auto over = network.Open(1, &other); }
  const auto links = network.Open(0, &late);
  REQUIRE(late.WaitForBreak(1));
  CHECK(late.why(1).code() == StatusCode::kAborted);
  CHECK_THAT(late.why(1).ToString(), Catch::Contains("member 1 of generation 3 of job-7 is over"));
}

TEST_CASE("a hello of another incarnation is refused with both named") {
  GrpcNetwork network({}, 2);
  collective::RecordingListener a;
  collective::RecordingListener b;
  LinksRequest request = RequestFor(network.networks, 1);
  request.incarnation = {9};
  const auto one = network.networks[1]->Open(request, &b);
  const auto zero = network.Open(0, &a);
  REQUIRE(a.WaitForBreak(1));
  CHECK(a.why(1).code() == StatusCode::kFailedPrecondition);
  CHECK_THAT(a.why(1).ToString(), Catch::Contains("incarnation 1") && Catch::Contains(" 9"));
}

TEST_CASE("no more streams are held than allowed") {
  PeerOptions options = Impatient();
  options.held_streams_max = 0;
  GrpcNetwork network(options, 2);
  collective::RecordingListener a;
  const auto links = network.Open(0, &a);
  REQUIRE(a.WaitForBreak(1));
  CHECK(a.why(1).code() == StatusCode::kResourceExhausted);
}

TEST_CASE("a payload above the limit breaks the link") {
  PeerOptions options;
  options.payload_bytes_max = 1000;
  GrpcNetwork network(options, 2);
  collective::RecordingListener a;
  collective::RecordingListener b;
  const auto zero = network.Open(0, &a);
  const auto one = network.Open(1, &b);
  zero->Send(collective::MakeLinkMessage(0, 1, 1, 0, 1000));
  REQUIRE(b.WaitForMessages(1));
  zero->Send(collective::MakeLinkMessage(0, 1, 1, 1, 1001));
  REQUIRE(a.WaitForBreak(1));
  CHECK(a.why(1).code() == StatusCode::kResourceExhausted);
  REQUIRE(b.WaitForBreak(0));
}

TEST_CASE("a message of another generation breaks the link") {
  GrpcNetwork network({}, 2);
  collective::RecordingListener a;
  collective::RecordingListener b;
  const auto zero = network.Open(0, &a);
  const auto one = network.Open(1, &b);
  collective::ReduceMessage wrong = collective::MakeLinkMessage(0, 1, 1, 0, 8);
  wrong.generation = {99};
  zero->Send(wrong);
  REQUIRE(b.WaitForBreak(0));
  CHECK(b.why(0).code() == StatusCode::kInvalidArgument);
  CHECK(b.messages().empty());
  REQUIRE(a.WaitForBreak(1));
}

TEST_CASE("links of two generations can be open together") {
  GrpcNetwork network({}, 2);
  collective::RecordingListener listeners[4];
  const auto a = network.Open(0, &listeners[0]);
  const auto b = network.Open(1, &listeners[1]);
  const Generation next{4};
  const auto c = network.networks[0]->Open(RequestFor(network.networks, 0, next), &listeners[2]);
  const auto d = network.networks[1]->Open(RequestFor(network.networks, 1, next), &listeners[3]);
  collective::ReduceMessage message = collective::MakeLinkMessage(0, 1, 1, 0, 8);
  a->Send(message);
  message.generation = next;
  c->Send(message);
  REQUIRE(listeners[1].WaitForMessages(1));
  REQUIRE(listeners[3].WaitForMessages(1));
  CHECK(listeners[3].messages()[0].generation == next);
}

TEST_CASE("a port in use is named in the error") {
  const auto first = MustListen();
  const auto second = PeerNetwork::Make(first->address());
  REQUIRE(!second.ok());
  CHECK(second.status().code() == StatusCode::kAlreadyExists);
  CHECK_THAT(second.status().message(), Catch::Contains(std::to_string(first->port())) &&
                                            Catch::Contains("is taken by another program"));
}

TEST_CASE("the queue of a partner is bounded in messages and bytes") {
  for (const bool by_bytes : {true, false}) {
    for (uint32_t self : {0u, 1u}) {
      GrpcNetwork network({}, 2);
      collective::RecordingListener listener;
      LinksRequest request = RequestFor(network.networks, self);
      request.queue_bytes_max = by_bytes ? 10'000 : 1'000'000;
      request.queue_messages_max = by_bytes ? 1'000'000 : 10;
      const auto links = network.networks[self]->Open(request, &listener);
      // The other member never opens the generation. Except for what the transport takes, all
      // messages wait here.
      for (uint64_t i = 0; i < 20'000 && listener.why(1 - self).ok(); ++i) {
        links->Send(collective::MakeLinkMessage(self, 1 - self, i, 0, 1000));
      }
      REQUIRE(listener.WaitForBreak(1 - self));
      const Status why = listener.why(1 - self);
      CHECK(why.code() == StatusCode::kResourceExhausted);
      CHECK_THAT(why.ToString(), Catch::Contains("it does not read: ") &&
                                     Catch::Contains(by_bytes ? "of 10000 may" : "at most 10 of"));
    }
  }
}

class ClosedStream final : public rpc::FrameHandler {
 public:
  Status OnFrame(collective::ReduceMessage) override { return Status::Ok(); }
  void OnClosed(Status why) override { closed.set_value(std::move(why)); }
  std::promise<Status> closed;
};

TEST_CASE("a hello with a payload is refused") {
  GrpcNetwork network({}, 1);
  auto handler = std::make_shared<ClosedStream>();
  std::promise<void> done;
  collective::ReduceMessage hello = collective::MakeLinkMessage(1, 0, 0, 0, 1000);
  hello.kind = collective::MessageKind::kHello;
  const auto stream = rpc::Dial(network.networks[0]->address(), "", {}, hello, handler,
                                [&done] { done.set_value(); });
  const Status why = handler->closed.get_future().get();
  CHECK(why.code() == StatusCode::kInvalidArgument);
  CHECK(why.message() == "the hello of a stream has a payload");
  done.get_future().wait();
}

// ---- frames ----------------------------------------------------------------------------------

std::string Bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  REQUIRE(buffer.Dump(&slices).ok());
  std::string out;
  for (const grpc::Slice& s : slices)
    out.append(reinterpret_cast<const char*>(s.begin()), s.size());
  return out;
}

grpc::ByteBuffer Buffer(const std::string& bytes, size_t piece) {
  std::vector<grpc::Slice> slices;
  for (size_t i = 0; i < bytes.size(); i += piece) slices.emplace_back(bytes.substr(i, piece));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

TEST_CASE("a frame's header has the layout of peer.h") {
  collective::ReduceMessage m = collective::MakeLinkMessage(0, 2, 9, 4, 1 << 20);
  m.kind = collective::MessageKind::kDown;
  const std::string bytes = Bytes(rpc::ToFrame(m));
  REQUIRE(bytes.size() == 64 + (1 << 20));
  const std::string expected(
      "\x45\x53\x50\x4c\x01\x00\x03\x00\x01\x00\x00\x00\x00\x00\x00\x00"
      "\x07\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00"
      "\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00"
      "\x04\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00",
      60);
  CHECK(bytes.substr(0, 60) == expected);
}

TEST_CASE("a frame reads back the same however gRPC cuts it") {
  for (size_t size : {0, 1, 1000}) {
    const collective::ReduceMessage m = collective::MakeLinkMessage(1, 2, 5, 6, size);
    const std::string bytes = Bytes(rpc::ToFrame(m));
    for (size_t piece : {1, 7, 63, 64, 65, 5000}) {
      auto back = rpc::FromFrame(Buffer(bytes, piece), 1000);
      REQUIRE(back.ok());
      CHECK(collective::SameLinkMessage(back.value(), m));
      CHECK(reinterpret_cast<uintptr_t>(back->payload.data) % 64 == 0);
    }
  }
}

TEST_CASE("a frame that is damaged anywhere in its header is refused") {
  const std::string good = Bytes(rpc::ToFrame(collective::MakeLinkMessage(1, 2, 5, 6, 100)));
  for (size_t i = 0; i < 64; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      CHECK(!rpc::FromFrame(Buffer(bad, 4096), 1 << 20).ok());
    }
  }
  for (size_t n = 0; n < good.size(); ++n) {
    CHECK(!rpc::FromFrame(Buffer(good.substr(0, n), 4096), 1 << 20).ok());
  }
  CHECK(!rpc::FromFrame(Buffer(good + "x", 4096), 1 << 20).ok());
  CHECK(rpc::FromFrame(Buffer(good, 4096), 99).status().code() == StatusCode::kResourceExhausted);
}

TEST_CASE("random bytes are never a frame") {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 200, 0);
    for (char& c : bytes) c = static_cast<char>(random());
    CHECK(!rpc::FromFrame(Buffer(bytes, 1 + random() % 100), 1 << 20).ok());
  }
}

}  // namespace
}  // namespace espalier::rpc
