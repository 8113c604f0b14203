#include "src/base/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace espalier {
namespace {

// The service manager's end of the notify socket.
class Manager {
 public:
  explicit Manager(const std::string& name) {
    fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    REQUIRE(bind(fd_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  }
  ~Manager() { close(fd_); }

  std::vector<std::string> Heard() {
    std::vector<std::string> heard;
    char buffer[512];
    for (ssize_t n; (n = recv(fd_, buffer, sizeof buffer, 0)) >= 0;) heard.emplace_back(buffer, n);
    return heard;
  }

 private:
  int fd_;
};

std::string SocketPath() {
  const std::string path = "/tmp/espalier-notify-" + std::to_string(getpid());
  unlink(path.c_str());
  return path;
}

TEST_CASE("the service manager receives ready, reload, status and stop") {
  const std::string path = GENERATE(SocketPath(), "@espalier-notify-" + std::to_string(getpid()));
  Manager manager(path);
  ServiceManager service({.notify_socket = path, .watchdog_usec = "", .watchdog_pid = ""});
  CHECK(service.listens());
  service.Ready();
  service.Status("3 workers\nand more");
  service.Status("3 workers\nand more");
  service.Status("2 workers");
  service.Reloading(77);
  service.Beat(1);
  service.Stopping();
  CHECK(manager.Heard() ==
        std::vector<std::string>{"READY=1", "STATUS=3 workers and more", "STATUS=2 workers",
                                 "RELOADING=1\nMONOTONIC_USEC=77", "STOPPING=1"});
  unlink(path.c_str());
}

TEST_CASE("the watchdog is fed twice per period") {
  const std::string path = "@espalier-watchdog-" + std::to_string(getpid());
  Manager manager(path);
  ServiceManager service({path, "10000000", std::to_string(getpid())});
  for (int64_t ms = 1000; ms <= 21'000; ms += 50) service.Beat(ms);
  CHECK(manager.Heard() == std::vector<std::string>(5, "WATCHDOG=1"));
}

TEST_CASE("a stopping daemon requests more time well before the limit") {
  const std::string path = "@espalier-stopping-" + std::to_string(getpid());
  Manager manager(path);
  ServiceManager service({path, "", ""});
  for (int64_t ms = 1000; ms <= 21'000; ms += 50) service.StillStopping(ms);
  CHECK(manager.Heard() == std::vector<std::string>(5, "EXTEND_TIMEOUT_USEC=15000000"));
}

TEST_CASE("a watchdog of another process or a bad period is not fed") {
  const std::string path = "@espalier-nobody-" + std::to_string(getpid());
  Manager manager(path);
  ServiceManager({path, "10000000", "1"}).Beat(1'000'000);
  for (const char* time : {"", "0", "-5", "10s", "99999999999999999999"}) {
    ServiceManager({path, time, ""}).Beat(1'000'000);
  }
  CHECK(manager.Heard().empty());
}

TEST_CASE("a missing or impossible notify socket is ignored") {
  const std::string path = GENERATE(std::string(), std::string("@"), std::string("relative"),
                                    std::string("/no/such"), "/" + std::string(200, 'x'));
  ServiceManager service({path, "10000000", ""});
  CHECK_FALSE(service.listens());
  service.Ready();
  service.Beat(1'000'000);
  service.Stopping();
}

TEST_CASE("a service manager that exits causes no failure") {
  const std::string path = "@espalier-gone-" + std::to_string(getpid());
  auto manager = std::make_unique<Manager>(path);
  ServiceManager service({path, "", ""});
  manager.reset();
  service.Ready();
  CHECK(service.listens());
}

}  // namespace
}  // namespace espalier
