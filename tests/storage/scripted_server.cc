#include "tests/storage/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

namespace espalier::storage {
namespace {

int Listen(int* port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(bind(fd, any, size) == 0);
  REQUIRE(getsockname(fd, any, &size) == 0);
  *port = ntohs(address.sin_port);
  return fd;
}

std::string Decoded(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::strtol(text.substr(i + 1, 2).c_str(), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

ServedRequest Parse(const std::string& head) {
  ServedRequest request;
  const size_t space = head.find(' ');
  request.method = head.substr(0, space);
  request.target = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
  const size_t question = std::min(request.target.find('?'), request.target.size());
  request.path = Decoded(request.target.substr(0, question));
  if (request.path.starts_with("/webhdfs/v1")) request.path = request.path.substr(11);
  for (size_t i = question; i < request.target.size();) {
    const size_t end = std::min(request.target.find('&', i + 1), request.target.size());
    const std::string pair = request.target.substr(i + 1, end - i - 1);
    const size_t equals = std::min(pair.find('='), pair.size());
    request.query[pair.substr(0, equals)] =
        Decoded(equals < pair.size() ? pair.substr(equals + 1) : "");
    i = end;
  }
  return request;
}

size_t ContentLength(const std::string& head) {
  const size_t at = head.find("Content-Length: ");
  return at == std::string::npos ? 0 : std::strtoul(head.c_str() + at + 16, nullptr, 10);
}

bool Send(int fd, const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n <= 0) return false;
    done += n;
  }
  return true;
}

}  // namespace

ServedReply Reply(int status, const std::string& body, const std::string& headers) {
  return {"HTTP/1.1 " + std::to_string(status) + " Words\r\nContent-Length: " +
          std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body};
}

ServedReply Exception(int status, const std::string& name, const std::string& message) {
  return Reply(status, R"({"RemoteException":{"exception":")" + name + R"(","javaClassName":"x.)" +
                           name + R"(","message":")" + message + R"("}})");
}

int ClosedPort() {
  int port = 0;
  close(Listen(&port));
  return port;
}

ScriptedServer::ScriptedServer(Script script) : script_(std::move(script)) {
  listener_ = Listen(&port_);
  REQUIRE(listen(listener_, 64) == 0);
  acceptor_ = std::thread([this] { Accept(); });
}

ScriptedServer::~ScriptedServer() {
  stop_ = true;
  acceptor_.join();
  close(listener_);
  for (std::thread& thread : threads_) thread.join();
}

void ScriptedServer::Accept() {
  while (!stop_) {
    pollfd waiting{listener_, POLLIN, 0};
    if (poll(&waiting, 1, 20) <= 0) continue;
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    ++connections_;
    std::lock_guard lock(threads_mutex_);
    threads_.emplace_back([this, fd] {
      Serve(fd);
      close(fd);
    });
  }
}

void ScriptedServer::Serve(int fd) {
  std::string in;
  bool told_to_go_on = false;
  while (!stop_) {
    const size_t end = in.find("\r\n\r\n");
    const std::string head = in.substr(0, end);
    if (end != std::string::npos && !told_to_go_on &&
        head.find("Expect: 100-continue") != std::string::npos) {
      if (!Send(fd, "HTTP/1.1 100 Continue\r\n\r\n")) return;
      told_to_go_on = true;
    }
    if (end != std::string::npos && in.size() >= end + 4 + ContentLength(head)) {
      ServedRequest request = Parse(head);
      request.content = in.substr(end + 4, ContentLength(head));
      in.erase(0, end + 4 + ContentLength(head));
      told_to_go_on = false;
      ServedReply reply;
      {
        std::lock_guard lock(mutex_);
        log_.push_back(request.method + " " + request.op());
        reply = script_(request);
      }
      if (!Answer(fd, reply)) return;
      continue;
    }
    pollfd waiting{fd, POLLIN, 0};
    if (poll(&waiting, 1, 20) == 0) continue;
    char buffer[65536];
    const ssize_t n = recv(fd, buffer, sizeof(buffer), 0);
    if (n <= 0) return;
    in.append(buffer, n);
  }
}

// Returns false if the connection ends.
bool ScriptedServer::Answer(int fd, const ServedReply& reply) {
  if (!Send(fd, reply.bytes)) return false;
  if (reply.then == ServedReply::Then::kKeep) return true;
  while (reply.then == ServedReply::Then::kRepeat && !stop_) {
    if (!Send(fd, reply.repeated)) return false;
  }
  while (reply.then == ServedReply::Then::kStall && !stop_) {
    pollfd waiting{fd, POLLIN, 0};
    char c;
    if (poll(&waiting, 1, 20) > 0 && recv(fd, &c, 1, 0) <= 0) return false;
  }
  return false;
}

std::vector<std::string> ScriptedServer::log() const {
  std::lock_guard lock(mutex_);
  return log_;
}

int ScriptedServer::Count(const std::string& op) const {
  std::lock_guard lock(mutex_);
  return static_cast<int>(std::count_if(
      log_.begin(), log_.end(), [&](const std::string& line) { return line.ends_with(" " + op); }));
}

}  // namespace espalier::storage
