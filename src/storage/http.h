// HTTP by libcurl, as much of it as WebHDFS and YARN need: small calls, and bodies that are pulled.
//
// The other side is not trusted: every length is bounded, redirects are reported and never followed
// by themselves, only http and https are spoken, no proxy or cookie is used. An address may carry a
// token, so no message holds one. Time is libcurl's: each wait has a limit in HttpOptions.
// Thread rule: HttpClient's calls are const and safe from any thread; an HttpBody is for one thread
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
  int64_t connect_ms = 10'000;  // until a connection stands
  int64_t reply_ms = 60'000;    // a whole call with a small reply
  // A body, or the wait for its head or for the reply after an upload, must not stay below
  // stall_bytes_per_s for this long (rounded up to seconds).
  int64_t stall_ms = 30'000;
  int64_t stall_bytes_per_s = 256;
  size_t header_bytes_max = 64 << 10;  // all header lines of one transfer together
  size_t reply_bytes_max = 64 << 20;   // the body of a call
  // PEM file of the authorities that https is believed by; empty: those that the system trusts.
  std::string ca_file;
  std::string java_trust_store;  // that Hadoop's configuration names instead, for words
  // Asked about every 100 ms to a second by whichever thread waits; true ends the wait. May be
  // empty. Must be safe from any thread.
  std::function<bool()> cancelled;
};

enum class HttpFailure {
  kNone,
  kCancelled,
  kResolve,   // the host's name is not known
  kConnect,   // refused, no route, no answer while connecting
  kTrust,     // https: who answers cannot be believed, or does not speak TLS
  kTimeout,   // connected, then too slow
  kBroken,    // the connection ended early
  kNotHttp,   // what came is not HTTP
  kTooLong,   // headers or reply beyond their limit
  kInternal,  // libcurl could not work (memory, a bad address)
};

struct HttpReply {
  HttpFailure failure = HttpFailure::kNone;
  std::string reason;    // libcurl's words for the failure; no address in it
  bool sent = false;     // the request, or part of it, left us: it may have taken effect
  int status = 0;        // of the last response; 0: none came
  std::string location;  // SECRET: may carry a token
  std::string content_type;
  bool asks_negotiate = false;  // it wants Kerberos: WWW-Authenticate: Negotiate
  std::optional<int64_t> content_length;
  std::string body;
  std::string peer_ip;     // of the connection, when there was one
  int64_t elapsed_ms = 0;  // as libcurl measured
};

enum class HttpMethod { kGet, kPut, kPost, kDelete };

struct HttpRequest {
  HttpMethod method = HttpMethod::kGet;
  std::string url;           // SECRET: may carry a token
  std::string_view content;  // of a PUT or POST; must outlive the call
  const char* content_type = "application/octet-stream";
  bool stop_at_content = false;  // of a reply with status 200: it then fails with kTooLong
  bool is_upload = false;        // limited by stall_ms instead of reply_ms
  std::string authorization;     // SECRET: the header's value; empty: none
};

// A response whose body is pulled by the reader. The connection's own buffers hold what was not
// pulled yet, so the sender is some MB ahead at most.
class HttpBody {
 public:
  ~HttpBody();
  HttpBody(const HttpBody&) = delete;
  HttpBody& operator=(const HttpBody&) = delete;

  // Status, headers; and for a status other than 200 the body, up to 64 KiB.
  const HttpReply& head() const;
  // Fills `out`; fewer bytes only where the body ends or breaks: result() then says which.
  size_t Read(std::span<char> out);
  // REQUIRES: the last Read came short. kNone: the body ended as its sender meant it to.
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

  // One request and its whole reply. A GET uses a connection again; others take a new one,
  // since libcurl repeats by itself what an old connection swallowed.
  HttpReply Call(const HttpRequest& request) const;
  // A GET whose body is pulled. Returns when the head is there, or a failure. `authorization`: as
  // in a request.
  std::unique_ptr<HttpBody> Get(const std::string& url,
                                const std::string& authorization = {}) const;
  // Waits; false when cancelled meanwhile.
  bool Wait(int64_t ms) const;

  const HttpOptions& options() const { return options_; }

 private:
  struct Handles;
  const HttpOptions options_;
  const std::unique_ptr<Handles> handles_;
};

}  // namespace espalier::storage
