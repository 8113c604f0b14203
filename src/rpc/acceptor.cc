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
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "src/base/log.h"
#include "src/rpc/read_turns.h"

namespace espalier::rpc {
namespace {

constexpr int kBacklog = 1024;
// Descriptors kept for files, links to other members and the journal; a quarter of a small limit.
constexpr int kReserved = 256;
// Pause before the next attempt when a waiting connection cannot be accepted.
constexpr int kStuckMs = 100;

std::string BindHost(const std::string& host) { return host == "localhost" ? "127.0.0.1" : host; }

Status WhyNot(const config::Address& address, int error) {
  const std::string where = "cannot listen on " + config::ToString(address) + ": ";
  if (!address.path.empty()) {
    if (error == EADDRINUSE) return AlreadyExists(where + "the path is taken; choose another one");
    return InvalidArgument(where + std::strerror(error));
  }
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
  limit.rlim_cur = std::min(limit.rlim_max, std::max<rlim_t>(limit.rlim_cur, kDescriptorsMax));
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  const int most = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, kDescriptorsMax));
  return most - std::min(kReserved, most / 4);
}

// Sets the socket options that accepted connections inherit.
bool Prepare(int fd, int family, int64_t silence_ms) {
  const int on = 1, off = 0;
  const auto silence = static_cast<unsigned>(silence_ms);
  return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
         (family != AF_INET6 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0) &&
         setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0 &&
         setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, sizeof silence) == 0;
}

// Returns the port of an address of either family, in network order.
in_port_t* PortIn(sockaddr* address) {
  return address->sa_family == AF_INET6 ? &reinterpret_cast<sockaddr_in6*>(address)->sin6_port
                                        : &reinterpret_cast<sockaddr_in*>(address)->sin_port;
}

int PortOf(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  auto* address = reinterpret_cast<sockaddr*>(&bound);
  return getsockname(fd, address, &size) == 0 ? ntohs(*PortIn(address)) : 0;
}

// Returns a socket that listens on this address, or -1 with errno set.
int ListenOn(const addrinfo& at, int64_t silence_ms) {
  const int fd =
      socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at.ai_protocol);
  if (fd < 0) return -1;
  if (Prepare(fd, at.ai_family, silence_ms) && bind(fd, at.ai_addr, at.ai_addrlen) == 0 &&
      listen(fd, kBacklog) == 0) {
    return fd;
  }
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

sockaddr_un PathAddress(const std::string& path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  path.copy(out.sun_path, sizeof out.sun_path - 1);
  return out;
}

// Returns the inode of a path, or 0 if the path does not exist.
ino_t InodeOf(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

// Returns whether the socket belongs to a program that has ended.
bool IsAbandoned(const sockaddr_un& at) {
  struct stat info;
  if (lstat(at.sun_path, &info) != 0 || !S_ISSOCK(info.st_mode)) return false;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const bool refused =
      connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 && errno == ECONNREFUSED;
  close(fd);
  return refused;
}

int Spare() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

Result<std::unique_ptr<Acceptor>> Acceptor::Listen(const config::Address& address,
                                                   int64_t silence_ms) {
  std::unique_ptr<Acceptor> out(new Acceptor(eventfd(0, EFD_CLOEXEC), DescriptorMax()));
  if (out->wake_ < 0) return WhyNot(address, errno);
  if (!address.path.empty()) {
    if (const int error = out->ListenOnPath(address.path); error != 0) {
      return WhyNot(address, error);
    }
    out->spare_ = Spare();
    return out;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string host = BindHost(address.host), port = std::to_string(address.port);
  if (int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); code != 0) {
    return InvalidArgument("cannot listen on " + config::ToString(address) +
                           ": the host is unknown (" + gai_strerror(code) + ")");
  }
  const int error = out->ListenOnAll(found, address.port, silence_ms);
  freeaddrinfo(found);
  if (error != 0) return WhyNot(address, error);
  out->spare_ = Spare();
  return out;
}

int Acceptor::ListenOnAll(addrinfo* first, int port, int64_t silence_ms) {
  std::set<std::string> tried;
  int error = 0;
  for (addrinfo* at = first; at != nullptr; at = at->ai_next) {
    if (!tried.emplace(reinterpret_cast<const char*>(at->ai_addr), at->ai_addrlen).second) continue;
    if (!sockets_.empty()) *PortIn(at->ai_addr) = htons(static_cast<in_port_t>(port_));
    const int fd = ListenOn(*at, silence_ms);
    if (fd < 0) {
      error = errno;
      if (error == EADDRINUSE && port != 0) return error;
      continue;
    }
    sockets_.push_back(fd);
    port_ = PortOf(fd);
  }
  return sockets_.empty() ? error : 0;
}

int Acceptor::ListenOnPath(const std::string& path) {
  const sockaddr_un at = PathAddress(path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  sockets_.push_back(fd);
  // Restrict the mode before the file exists, so that no other user can ever open it.
  if (fchmod(fd, 0600) != 0) return errno;
  const auto* where = reinterpret_cast<const sockaddr*>(&at);
  if (bind(fd, where, sizeof at) != 0) {
    if (errno != EADDRINUSE) return errno;
    if (!IsAbandoned(at)) return EADDRINUSE;
    if (unlink(at.sun_path) != 0 || bind(fd, where, sizeof at) != 0) return errno;
  }
  path_ = path;
  inode_ = InodeOf(path);
  return listen(fd, kBacklog) == 0 ? 0 : errno;
}

Acceptor::~Acceptor() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    while (write(wake_, &one, sizeof one) < 0 && errno == EINTR) continue;
    thread_.join();
  }
  if (!path_.empty() && InodeOf(path_) == inode_) unlink(path_.c_str());
  for (const int socket : sockets_) close(socket);
  if (wake_ >= 0) close(wake_);
  if (spare_ >= 0) close(spare_);
}

void Acceptor::Start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> to,
                     std::shared_ptr<Connections> connections) {
  to_ = std::move(to);
  connections_ = std::move(connections);
  thread_ = std::thread([this] { Run(); });
}

void Acceptor::Run() {
  std::vector<pollfd> waits = {{wake_, POLLIN, 0}};
  for (const int socket : sockets_) waits.push_back({socket, POLLIN, 0});
  for (bool stuck = false;;) {
    // A connection that cannot be accepted would end each poll at once.
    const int ready = poll(waits.data(), stuck ? 1 : waits.size(), stuck ? kStuckMs : -1);
    if (ready < 0 && errno != EINTR) break;
    if (ready > 0 && waits[0].revents != 0) break;
    stuck = false;
    for (const int socket : sockets_) {
      Accepted accepted = Accepted::kOne;
      for (int n = 0; n < kBacklog && accepted == Accepted::kOne; ++n) accepted = AcceptOne(socket);
      stuck = stuck || accepted == Accepted::kStuck;
    }
  }
}

Acceptor::Accepted Acceptor::AcceptOne(int socket) {
  const int fd = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0 && fd < descriptor_max_) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = socket;
    connection.fd = fd;
    connections_->OnAccepted(fd);
    to_->HandleNewConnection(&connection);
    return Accepted::kOne;
  }
  if (fd >= 0) {
    TurnAway(fd);
    return Accepted::kOne;
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK) return Accepted::kNone;
  if (errno == EMFILE || errno == ENFILE) {
    if (spare_ >= 0) close(std::exchange(spare_, -1));
    const int last = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
    if (last >= 0) TurnAway(last);
    spare_ = Spare();
    return last >= 0 ? Accepted::kOne : Accepted::kStuck;
  }
  // The other side gave up in the meantime. Another connection may be waiting.
  const bool gone = errno == ECONNABORTED || errno == EINTR || errno == EPROTO;
  return gone ? Accepted::kOne : Accepted::kStuck;
}

void Acceptor::TurnAway(int descriptor) {
  close(descriptor);
  const int64_t now_s = gpr_now(GPR_CLOCK_MONOTONIC).tv_sec;
  if (std::exchange(told_s_, now_s) == now_s) return;
  LogWarning("connections are rejected: this process can have at most " +
             std::to_string(descriptor_max_) +
             " open files and connections; to accept more, raise its limit "
             "of open files (ulimit -n, LimitNOFILE)");
}

}  // namespace espalier::rpc
