// What a daemon tells the service manager that started it (systemd: Type=notify and WatchdogSec),
// as datagrams of NAME=VALUE lines to the socket that NOTIFY_SOCKET names; see sd_notify(3).
// Without a socket nothing is told. A datagram that cannot be sent is lost: the manager's limits
// see to it.
//
// Thread rule: one thread, the daemon's loop: that it still says "alive" is the proof.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace espalier {

// As the environment says; empty: not set.
struct ServiceEnvironment {
  std::string notify_socket;  // NOTIFY_SOCKET: an absolute path, or @ and an abstract name
  std::string watchdog_usec;  // WATCHDOG_USEC: the process is killed after such a silence
  std::string watchdog_pid;   // WATCHDOG_PID: which process that is said of
};

ServiceEnvironment ReadServiceEnvironment(
    const std::function<std::string(const char* name)>& variable);

class ServiceManager {
 public:
  // An address or a number that makes no sense counts as none.
  explicit ServiceManager(const ServiceEnvironment& environment);
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  void Ready() { Tell("READY=1"); }
  // Ready ends it. `now_us` is of CLOCK_MONOTONIC.
  void Reloading(int64_t now_us) { Tell("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now_us)); }
  void Stopping() { Tell("STOPPING=1"); }
  // While it stops: more time than the unit's TimeoutStopSec, which ends soon after nobody calls
  // this any more. Call it as often as Beat.
  void StillStopping(int64_t now_ms);
  // A line for people (`systemctl status`); told only when it differs from the last one.
  void Status(const std::string& line);
  // Says "alive" twice in the watchdog's time; call it more often than that.
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
