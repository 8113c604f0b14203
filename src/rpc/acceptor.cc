#include "src/rpc/acceptor.h"

#include <fcntl.h>
#include <grpc/support/time.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "src/base/log.h"

namespace espalier::rpc {
namespace {

constexpr int kBacklog = 1024;
constexpr rlim_t kDescriptorsMax = 1 << 20;
// For files, links to others and the journal; a quarter of a small limit.
constexpr int kReserved = 256;

std::string BindHost(const std::string& host) { return host == "localhost" ? "127.0.0.1" : host; }

Status WhyNot(const Address& address, int error) {
  const std::string where = "cannot listen on " + ToString(address) + ": ";
  if (error == EADDRINUSE) {
    return AlreadyExists(where + "port " + std::to_string(address.port) +
                         " is taken by another program; stop that one or choose another port "
                         "(0 lets the system pick)");
  }
  if (error == EACCES) return PermissionDenied(where + "ports below 1024 are for root");
  return InvalidArgument(where + std::strerror(error));
}

int DescriptorMax() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 768;
  limit.rlim_cur = std::min(limit.rlim_max, std::max(limit.rlim_cur, kDescriptorsMax));
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  const int most = static_cast<int>(std::min(limit.rlim_cur, kDescriptorsMax));
  return most - std::min(kReserved, most / 4);
}

// Accepted connections have the options of the socket they came by.
bool Prepare(int fd, int family, int64_t silence_ms) {
  const int on = 1, off = 0;
  const auto silence = static_cast<unsigned>(silence_ms);
  return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
         (family != AF_INET6 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0) &&
         setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0 &&
         setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, sizeof silence) == 0;
}

int PortOf(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return bound.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port)
                                     : ntohs(reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

int Spare() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

Result<std::unique_ptr<Acceptor>> Acceptor::Listen(const Address& address, int64_t silence_ms) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string host = BindHost(address.host), port = std::to_string(address.port);
  if (int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); code != 0) {
    return InvalidArgument("cannot listen on " + ToString(address) + ": no such host (" +
                           gai_strerror(code) + ")");
  }
  const int fd = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                        found->ai_protocol);
  const bool listens = fd >= 0 && Prepare(fd, found->ai_family, silence_ms) &&
                       bind(fd, found->ai_addr, found->ai_addrlen) == 0 &&
                       listen(fd, kBacklog) == 0;
  const int wake = listens ? eventfd(0, EFD_CLOEXEC) : -1;
  const int error = errno;
  freeaddrinfo(found);
  if (wake >= 0) {
    std::unique_ptr<Acceptor> out(new Acceptor(fd, wake, PortOf(fd), DescriptorMax()));
    out->spare_ = Spare();
    return out;
  }
  if (fd >= 0) close(fd);
  return WhyNot(address, error);
}

Acceptor::~Acceptor() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    while (write(wake_, &one, sizeof one) < 0 && errno == EINTR) continue;
    thread_.join();
  }
  close(socket_);
  close(wake_);
  if (spare_ >= 0) close(spare_);
}

void Acceptor::Start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> to) {
  to_ = std::move(to);
  thread_ = std::thread([this] { Run(); });
}

void Acceptor::Run() {
  for (;;) {
    pollfd waits[] = {{socket_, POLLIN, 0}, {wake_, POLLIN, 0}};
    if (poll(waits, 2, -1) < 0 && errno != EINTR) break;
    if (waits[1].revents != 0) break;
    if (waits[0].revents == 0) continue;
    while (AcceptOne()) continue;
  }
}

bool Acceptor::AcceptOne() {
  const int fd = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0 && fd < descriptor_max_) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = socket_;
    connection.fd = fd;
    to_->HandleNewConnection(&connection);
    return true;
  }
  if (fd >= 0) {
    TurnAway(fd);
    return true;
  }
  if (errno == EMFILE || errno == ENFILE) {
    if (spare_ >= 0) close(std::exchange(spare_, -1));
    const int last = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (last >= 0) TurnAway(last);
    spare_ = Spare();
    return last >= 0;
  }
  // The other side gave up meanwhile: the next one may wait.
  return errno == ECONNABORTED || errno == EINTR || errno == EPROTO;
}

void Acceptor::TurnAway(int descriptor) {
  close(descriptor);
  const int64_t now_s = gpr_now(GPR_CLOCK_MONOTONIC).tv_sec;
  if (std::exchange(told_s_, now_s) == now_s) return;
  LogWarning("connections are turned away: this process may have " +
             std::to_string(descriptor_max_) +
             " files and connections open; raise its limit of "
             "open files (ulimit -n, LimitNOFILE) when they are wanted");
}

}  // namespace espalier::rpc
