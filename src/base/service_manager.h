// Notifications from a daemon to the service manager that started it (systemd: Type=notify and
// WatchdogSec). They are datagrams of NAME=VALUE lines to the socket in NOTIFY_SOCKET; see
// sd_notify(3). Without a socket, nothing is sent. A datagram that cannot be sent is lost. The
// manager's limits handle that case.
//
// Thread rule: one thread, the daemon's loop. Its calls prove that the loop is alive.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace espalier {

// Settings from the environment; empty: not set.
struct ServiceEnvironment {
  std::string notify_socket;  // NOTIFY_SOCKET: an absolute path, or @ and an abstract name
  std::string watchdog_usec;  // WATCHDOG_USEC: the manager kills the process after this silence
  std::string watchdog_pid;   // WATCHDOG_PID: process that the watchdog applies to
};

ServiceEnvironment ReadServiceEnvironment(
    const std::function<std::string(const char* name)>& variable);

class ServiceManager {
 public:
  // Treats an invalid address or number as absent.
  explicit ServiceManager(const ServiceEnvironment& environment);
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  void Ready() { Tell("READY=1"); }
  // Reports the start of a reload, which Ready ends. `now_us` is from CLOCK_MONOTONIC.
  void Reloading(int64_t now_us) { Tell("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now_us)); }
  void Stopping() { Tell("STOPPING=1"); }
  // Asks for more time than the unit's TimeoutStopSec. Call it during a stop, as often as Beat. The
  // extended time ends soon after the last call.
  void StillStopping(int64_t now_ms);
  // Sends a line for `systemctl status`, if it differs from the last one.
  void Status(const std::string& line);
  // Sends a keep-alive twice in the watchdog's time. Call it more often than that.
  void Beat(int64_t now_ms);
  bool listens() const { return socket_ >= 0; }

 private:
  void Tell(const std::string& text);

  int socket_ = -1;  // connected
  int64_t beat_interval_ms_ = 0;
  int64_t next_beat_ms_ = 0;
  int64_t next_extension_ms_ = 0;
  std::string status_;
};

}  // namespace espalier
