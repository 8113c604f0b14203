// A TLS client that starts one call over HTTP/2 and controls what it reads. A gRPC client that does
// not read a call still reads its socket, and reports the end of the call only after the data.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier::rpc {

// Thread rule: one thread.
class RawClient {
 public:
  // Connects to this port of 127.0.0.1. Has no certificate and accepts every server.
  explicit RawClient(int port) : tls_(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<in_port_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    REQUIRE(SSL_CTX_set_alpn_protos(tls_.get(), reinterpret_cast<const uint8_t*>("\2h2"), 3) == 0);
    ssl_.reset(SSL_new(tls_.get()));
    REQUIRE(SSL_set_fd(ssl_.get(), socket_) == 1);
    REQUIRE(SSL_connect(ssl_.get()) == 1);
  }
  ~RawClient() { close(socket_); }
  RawClient(const RawClient&) = delete;

  // Calls `path` with this encoded request. `window` is the number of bytes that the server may
  // send before the client grants more: 65,535 or 2 GiB.
  enum class Window { kFirst, kLargest };
  void Call(const std::string& path, const std::string& token, const std::string& request,
            Window window) {
    const std::string largest("\x7f\xff\xff\xff", 4), more("\x7f\xff\0\0", 4);
    std::string fields;
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, std::string>>{{":method", "POST"},
                                                          {":scheme", "https"},
                                                          {":path", path},
                                                          {":authority", "x"},
                                                          {"te", "trailers"},
                                                          {"content-type", "application/grpc"},
                                                          {"authorization", "Bearer " + token}}) {
      fields += '\0' + Byte(name.size()) + name + Byte(value.size()) + value;
    }
    std::string frames = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    if (window == Window::kLargest) {
      frames += Frame(kSettings, 0, 0, std::string("\0\4", 2) + largest);
      frames += Frame(kWindowUpdate, 0, 0, more);
    } else {
      frames += Frame(kSettings, 0, 0, "");
    }
    frames += Frame(kHeaders, kEndHeaders, 1, fields);
    frames += Frame(kData, kEndStream, 1, std::string(4, '\0') + Byte(request.size()) + request);
    REQUIRE(SSL_write(ssl_.get(), frames.data(), static_cast<int>(frames.size())) > 0);
  }
  // Returns whether the server ends the connection in time. Reads nothing.
  bool ConnectionEnds(std::chrono::milliseconds limit) {
    pollfd wait{socket_, 0, 0};  // reports only errors
    return poll(&wait, 1, static_cast<int>(limit.count())) == 1;
  }
  // Reads until the server resets the call, without a window for more data. Returns whether that
  // happens in time.
  bool CallEnds(std::chrono::seconds limit) {
    const timeval wait{limit.count(), 0};
    REQUIRE(setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) == 0);
    for (std::string head; Read(9, &head);) {
      if (head[3] == kReset) return true;
      const auto at = [&](int i) { return static_cast<unsigned char>(head[i]); };
      std::string content;
      if (!Read(at(0) << 16 | at(1) << 8 | at(2), &content)) break;
    }
    return false;
  }

 private:
  enum Kind : char { kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kWindowUpdate = 8 };
  static constexpr char kEndStream = 1, kEndHeaders = 4;

  static std::string Byte(size_t value) { return {static_cast<char>(value)}; }
  bool Read(size_t size, std::string* out) {
    out->resize(size);
    for (size_t got = 0; got < size;) {
      const int more = SSL_read(ssl_.get(), out->data() + got, static_cast<int>(size - got));
      if (more <= 0) return false;
      got += static_cast<size_t>(more);
    }
    return true;
  }
  static std::string Frame(char kind, char flags, char stream, const std::string& content) {
    const auto size = static_cast<unsigned>(content.size());
    const std::string head = {
        '\0',  static_cast<char>(size >> 8), static_cast<char>(size), kind, flags, '\0', '\0', '\0',
        stream};
    return head + content;
  }

  const int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> tls_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, &SSL_free};
};

}  // namespace espalier::rpc
