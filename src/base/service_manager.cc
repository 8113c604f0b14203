#include "src/base/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>

namespace espalier {
namespace {

constexpr int64_t kWatchdogUsecMax = int64_t{86'400} * 1'000'000;
constexpr int64_t kExtensionMs = 15'000;  // also covers the end of the process itself

// Returns a socket connected to `name`, or -1.
int ConnectTo(const std::string& name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const bool sound = name.size() > 1 && (name[0] == '/' || name[0] == '@');
  if (!sound || name.size() >= sizeof address.sun_path) return -1;
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

// Parses a positive number of at most `limit`. Returns 0 if `text` is not one.
int64_t Number(const std::string& text, int64_t limit) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value > 0 && value <= limit ? value : 0;
}

}  // namespace

ServiceEnvironment ReadServiceEnvironment(
    const std::function<std::string(const char* name)>& variable) {
  return {variable("NOTIFY_SOCKET"), variable("WATCHDOG_USEC"), variable("WATCHDOG_PID")};
}

ServiceManager::ServiceManager(const ServiceEnvironment& environment)
    : socket_(ConnectTo(environment.notify_socket)) {
  const int64_t watchdog_us = Number(environment.watchdog_usec, kWatchdogUsecMax);
  const bool ours =
      environment.watchdog_pid.empty() || environment.watchdog_pid == std::to_string(getpid());
  if (watchdog_us > 0 && ours) beat_interval_ms_ = std::max<int64_t>(1, watchdog_us / 2000);
}

ServiceManager::~ServiceManager() {
  if (socket_ >= 0) close(socket_);
}

void ServiceManager::Status(const std::string& line) {
  if (socket_ < 0 || line == status_) return;
  status_ = line;
  std::string text = "STATUS=" + line;
  std::replace(text.begin(), text.end(), '\n', ' ');
  Tell(text);
}

void ServiceManager::Beat(int64_t now_ms) {
  if (beat_interval_ms_ == 0 || now_ms < next_beat_ms_) return;
  next_beat_ms_ = now_ms + beat_interval_ms_;
  Tell("WATCHDOG=1");
}

void ServiceManager::StillStopping(int64_t now_ms) {
  if (now_ms < next_extension_ms_) return;
  next_extension_ms_ = now_ms + kExtensionMs / 3;
  Tell("EXTEND_TIMEOUT_USEC=" + std::to_string(kExtensionMs * 1000));
}

void ServiceManager::Tell(const std::string& text) {
  if (socket_ >= 0) (void)!send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
}

}  // namespace espalier
