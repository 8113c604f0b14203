// A small HTTP server on loopback. The test writes its answers, valid or hostile.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace espalier::storage {

struct ServedRequest {
  std::string method, target;                // `target`: path and query as sent
  std::string path;                          // decoded, without /webhdfs/v1
  std::map<std::string, std::string> query;  // decoded
  std::string content;
  std::string op() const {
    const auto found = query.find("op");
    return found == query.end() ? "" : found->second;
  }
};

struct ServedReply {
  enum class Then { kKeep, kClose, kStall, kRepeat };
  std::string bytes;  // as sent
  Then then = Then::kKeep;
  // kStall: the server sends no more bytes. kRepeat: it sends `repeated` until the client closes.
  std::string repeated;
};

// Returns "HTTP/1.1 STATUS ..." with a Content-Length.
ServedReply Reply(int status, const std::string& body, const std::string& headers = "");
// Returns what Hadoop sends for an exception.
ServedReply Exception(int status, const std::string& name, const std::string& message);

class ScriptedServer {
 public:
  using Script = std::function<ServedReply(const ServedRequest&)>;
  // Starts the server. It calls `script` on the connections' threads, one call at a time.
  explicit ScriptedServer(Script script);
  ~ScriptedServer();

  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int connections() const { return connections_; }
  // Returns "METHOD OP" of all requests so far.
  std::vector<std::string> log() const;
  // Returns the number of requests with `op`.
  int Count(const std::string& op) const;

 private:
  void Accept();
  void Serve(int fd);
  bool Answer(int fd, const ServedReply& reply);

  const Script script_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<int> connections_{0};
  mutable std::mutex mutex_;  // guards log_, and calls of script_
  std::vector<std::string> log_;
  std::mutex threads_mutex_;  // guards threads_
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// Returns a port on loopback without a listener.
int ClosedPort();

}  // namespace espalier::storage
