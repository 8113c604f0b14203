// HTTP client on libcurl, limited to the needs of WebHDFS and YARN: small calls, and bodies that
// the reader pulls.
//
// The other side is not trusted. Every length is bounded. Redirects are reported and never followed
// automatically. Only http and https are supported, without proxies and cookies. A URL may contain
// a token, so messages never contain URLs. libcurl measures time, and each wait has a limit in
// HttpOptions.
//
// Thread rule: HttpClient's calls are const and safe from any thread. An HttpBody is for one thread
// at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::storage {

struct HttpOptions {
  int64_t connect_ms = 10'000;  // time to connect
  int64_t reply_ms = 60'000;    // time of a whole call with a small reply
  // Time (rounded up to seconds) that a transfer may stay below stall_bytes_per_s. Applies to a
  // body, the wait for its head, and the wait for the reply after an upload.
  int64_t stall_ms = 30'000;
  int64_t stall_bytes_per_s = 256;
  size_t header_bytes_max = 64 << 10;  // all header lines of one transfer together
  size_t reply_bytes_max = 64 << 20;   // the body of a call
  // PEM file of trusted authorities for https; empty: the system's.
  std::string ca_file;
  std::string java_trust_store;  // Java key store in Hadoop's configuration, for messages
  // The waiting thread calls it about every 100 ms to 1 s. true ends the wait. May be empty. Must
  // be safe from any thread.
  std::function<bool()> cancelled;
};

enum class HttpFailure {
  kNone,
  kCancelled,
  kResolve,   // unknown host name
  kConnect,   // connection refused, no route, or connection timeout
  kTrust,     // https: the server is not trusted or does not speak TLS
  kTimeout,   // connected, then too slow
  kBroken,    // the connection ended early
  kNotHttp,   // the reply is not HTTP
  kTooLong,   // headers or reply exceed their limit
  kInternal,  // libcurl failed (memory, an invalid URL)
};

struct HttpReply {
  HttpFailure failure = HttpFailure::kNone;
  std::string reason;    // libcurl's text for the failure, without the URL
  bool sent = false;     // (part of) the request was sent and may have taken effect
  int status = 0;        // of the last response; 0: no response
  std::string location;  // SECRET: may contain a token
  std::string content_type;
  bool asks_negotiate = false;  // server requires Kerberos: WWW-Authenticate: Negotiate
  std::optional<int64_t> content_length;
  std::string body;
  std::string peer_ip;     // of the connection, if there was one
  int64_t elapsed_ms = 0;  // measured by libcurl
};

enum class HttpMethod { kGet, kPut, kPost, kDelete };

struct HttpRequest {
  HttpMethod method = HttpMethod::kGet;
  std::string url;           // SECRET: may contain a token
  std::string_view content;  // body of a PUT or POST; must outlive the call
  const char* content_type = "application/octet-stream";
  bool stop_at_content = false;  // fails with kTooLong at the body of a reply with status 200
  bool is_upload = false;        // limited by stall_ms instead of reply_ms
  std::string authorization;     // SECRET: value of the header; empty: none
};

// A response whose body the reader pulls. The connection's buffers hold the remaining bytes, so the
// sender is at most a few MB ahead.
class HttpBody {
 public:
  ~HttpBody();
  HttpBody(const HttpBody&) = delete;
  HttpBody& operator=(const HttpBody&) = delete;

  // Returns status and headers. For a status other than 200 also the body, up to 64 KiB.
  const HttpReply& head() const;
  // Fills `out`. Returns fewer bytes only if the body ends or breaks, and result() then contains
  // the reason.
  size_t Read(std::span<char> out);
  // Returns the final result. kNone: the body ended regularly. REQUIRES: the last Read returned
  // fewer bytes than requested.
  const HttpReply& result() const;

 private:
  friend class HttpClient;
  struct State;
  explicit HttpBody(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

class HttpClient {
 public:
  explicit HttpClient(HttpOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Sends one request and returns the whole reply. A GET reuses a connection. Other methods use a
  // new one, because libcurl automatically repeats a request that was lost on an old connection.
  HttpReply Call(const HttpRequest& request) const;
  // Starts a GET and returns after the head or a failure. The reader pulls the body.
  // `authorization` is as in HttpRequest.
  std::unique_ptr<HttpBody> Get(const std::string& url,
                                const std::string& authorization = {}) const;
  // Waits. Returns false if cancelled during the wait.
  bool Wait(int64_t ms) const;

  const HttpOptions& options() const { return options_; }

 private:
  struct Handles;
  const HttpOptions options_;
  const std::unique_ptr<Handles> handles_;
};

}  // namespace espalier::storage
