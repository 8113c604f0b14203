// A benchmark of round trips between two processes over gRPC links on loopback. It sends one
// message at a time to member 1 and back, and then four buckets at once. It prints p50 and p99 in
// microseconds.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "src/base/queue.h"
#include "src/rpc/peer.h"

namespace espalier::rpc {
namespace {

class Inbox : public collective::LinkListener {
 public:
  void OnMessage(collective::ReduceMessage message) override { messages.Push(std::move(message)); }
  void OnBroken(Generation, uint32_t, Status) override { messages.Close(); }
  Queue<collective::ReduceMessage> messages;
};

// Exchanges addresses with the other process. Returns them by member index.
std::vector<std::string> Exchange(int self, int in, int out, const std::string& address) {
  char theirs[64] = {};
  char ours[64] = {};
  std::strncpy(ours, address.c_str(), sizeof ours - 1);
  if (write(out, ours, sizeof ours) != sizeof ours || read(in, theirs, sizeof theirs) <= 0) {
    std::perror("pipe");
    _exit(1);
  }
  return self == 0 ? std::vector<std::string>{ours, theirs}
                   : std::vector<std::string>{theirs, ours};
}

// Sends every message back.
void Echo(collective::Links& links, Inbox& inbox) {
  while (auto message = inbox.messages.Pop()) {
    std::swap(message->from, message->to);
    message->kind = collective::MessageKind::kDown;
    links.Send(*std::move(message));
  }
}

void Measure(collective::Links& links, Inbox& inbox, size_t bytes, int buckets, int rounds) {
  const collective::Payload payload = collective::MakePayload(AlignedVector<char>(bytes, 'x'));
  std::vector<double> us;
  for (int round = 0; round < rounds + 50; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int c = 0; c < buckets; ++c) {
      links.Send({{1},
                  {1},
                  {1},
                  static_cast<uint64_t>(round),
                  collective::MessageKind::kLeafUp,
                  0,
                  1,
                  static_cast<uint32_t>(c),
                  payload});
    }
    for (int c = 0; c < buckets; ++c) {
      if (!inbox.messages.Pop()) {
        std::fprintf(stderr, "the link broke\n");
        return;
      }
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    if (round >= 50) us.push_back(took.count());
  }
  std::sort(us.begin(), us.end());
  std::printf("%9zu bytes x %d: p50 %8.0f us, p99 %8.0f us\n", bytes, buckets, us[us.size() / 2],
              us[us.size() * 99 / 100]);
  std::fflush(stdout);
}

int Run(int self, int in, int out) {
  auto network = PeerNetwork::Make("127.0.0.1:0");
  if (!network.ok()) {
    std::fprintf(stderr, "%s\n", network.status().ToString().c_str());
    return 1;
  }
  LinksRequest request{{1}, {1}, {1}, static_cast<uint32_t>(self), {}, {}};
  request.addresses = Exchange(self, in, out, (*network)->address());
  request.partners = {static_cast<uint32_t>(1 - self)};
  Inbox inbox;
  const auto links = (*network)->Open(request, &inbox);
  if (self == 1) {
    Echo(*links, inbox);
    return 0;
  }
  Measure(*links, inbox, 64, 1, 2000);
  Measure(*links, inbox, 64 << 10, 1, 2000);
  Measure(*links, inbox, 256 << 10, 1, 1000);
  Measure(*links, inbox, 1 << 20, 1, 1000);
  Measure(*links, inbox, 256 << 10, 4, 1000);
  return 0;
}

}  // namespace
}  // namespace espalier::rpc

int main() {
  int up[2], down[2];
  if (pipe(up) != 0 || pipe(down) != 0) return 1;
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return espalier::rpc::Run(1, up[0], down[1]);
  }
  const int code = espalier::rpc::Run(0, down[0], up[1]);
  wait(nullptr);
  return code;
}
