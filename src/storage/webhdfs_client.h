// Client of one HDFS over WebHDFS. It selects a NameNode, retries calls and follows redirects.
//
// A call tries the NameNodes in turn, starting with the one that answered last. It waits between
// rounds and gives up within the limits of RetryOptions. Errors that a retry cannot fix end it at
// once. Redirect URLs may contain tokens, so they are never shown.
//
// Thread rule: const calls from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/storage/http.h"
#include "src/storage/name_nodes.h"
#include "src/storage/retry.h"
#include "src/storage/token_store.h"
#include "src/storage/webhdfs_login.h"
#include "src/storage/webhdfs_protocol.h"
#include "src/storage/webhdfs_verdict.h"

namespace espalier::storage {

struct WebHdfsOptions {
  std::string user;  // sent as user.name; empty: none, HDFS uses its default
  // Other ways to identify the caller, which take precedence over a name (webhdfs_login.h).
  bool kerberos = false;
  std::shared_ptr<const TokenStore> tokens;  // tokens of a job; may be null
  std::string file_token;                    // SECRET; empty: none
  HttpOptions http;
  RetryOptions retry;
  // Receives the reason why a call waits, each time it is worse than before, and "" when HDFS
  // answers again. The waiting threads call it. May be empty.
  std::function<void(const std::string& why)> on_trouble;
  // Size of the pieces of a file that is read in order. Each piece costs a request to the NameNode
  // and a new connection.
  int64_t stream_bytes = int64_t{64} << 20;
  // Size of the block that a small random read fetches. The block also serves reads nearby.
  int64_t block_bytes = int64_t{256} << 10;
};

// A WebHDFS operation on a path, and its description in an error: "cannot DOING 'SHOWN'".
struct Operation {
  HttpMethod method = HttpMethod::kGet;
  const char* op = "";
  std::string path;
  Parameters parameters;
  std::string doing;
  std::string shown;
};

// Reasons for waiting, in order of severity. A more severe reason is reported even after a less
// severe one.
enum class Trouble : uint8_t { kNone, kCall, kNameNode };

class WebHdfsClient {
 public:
  // REQUIRES: name_nodes is not empty.
  WebHdfsClient(std::string prefix, std::vector<NameNode> name_nodes, WebHdfsOptions options);

  struct Answer {
    Status status;
    std::string body;
    bool maybe_done = false;  // an earlier attempt without an answer may have succeeded
  };
  // Runs an operation that a NameNode answers itself.
  Answer Ask(const Operation& operation) const;

  // Returns whether calls use Kerberos, or the NameNode requires it. Makes one request for "/".
  Result<bool> AsksForKerberos() const;

  // Runs both steps of CREATE. Sets op and method. With `exclusively` the file must not exist, and
  // the first attempt with an unknown effect ends the call (maybe_done). OK means that the DataNode
  // returned 201: the file is closed.
  Answer Create(Operation operation, std::string_view content, bool exclusively) const;

  // Result of one attempt to open bytes [offset, offset + length) of a file.
  struct Range {
    std::unique_ptr<HttpBody> body;  // null: `verdict` contains the reason
    Verdict verdict;
    HostPort source;  // DataNode; no port: the NameNode or a gateway
    int64_t elapsed_ms = 0;
  };
  Range OpenRange(const std::string& path, int64_t offset, int64_t length, size_t name_node) const;

  // Makes later requests ask the NameNode for another DataNode. `path` and `offset` identify a
  // block on this DataNode.
  void Suspect(const std::string& path, int64_t offset, const HostPort& data_node) const;

  const WebHdfsOptions& options() const { return options_; }
  const HttpClient& http() const { return http_; }
  const std::string& prefix() const { return prefix_; }

 private:
  friend class Attempts;
  std::string UrlOf(const Operation& operation, size_t name_node,
                    const WebHdfsLogin::Proof& proof) const;
  HttpReply AskNameNode(const Operation& operation, size_t name_node, Verdict* verdict,
                        bool stop_at_content = false) const;
  HttpReply Call(const Operation& operation, size_t name_node, bool stop_at_content,
                 WebHdfsLogin::Proof* proof, Verdict* verdict) const;
  Verdict JudgeNameNode(const HttpReply& reply, size_t name_node,
                        const WebHdfsLogin::Proof& proof) const;
  Verdict JudgeDataNode(const HttpReply& reply, const HostPort& address) const;
  Result<HostPort> TargetOf(const std::string& location, size_t name_node) const;
  std::unique_ptr<HttpBody> Gateway(const Operation& operation, size_t name_node,
                                    Verdict* verdict) const;
  Verdict TryCreate(const Operation& operation, std::string_view content, size_t name_node,
                    int64_t* elapsed_ms) const;
  // Returns "IP:port,IP:port" of the suspects and decrements their counters.
  std::string Excluded() const;
  // Logs an outage or its end and calls on_trouble.
  void TellTrouble(Trouble trouble, const std::string& why) const;
  void TellEnd() const;

  const std::string prefix_;
  const std::vector<NameNode> name_nodes_;
  const WebHdfsOptions options_;
  const HttpClient http_;
  const WebHdfsLogin login_;
  mutable std::atomic<size_t> active_{0};  // NameNode that answered last
  mutable std::atomic<bool> reached_{false};
  mutable std::atomic<Trouble> warned_{Trouble::kNone};  // reported and still active
  mutable Mutex mutex_;
  // Names of DataNodes, and the number of requests left that avoid each.
  mutable std::vector<std::pair<std::string, int>> suspects_ GUARDED_BY(mutex_);
};

// The attempts of one call: next NameNode, next wait, end.
// Thread rule: one thread.
class Attempts {
 public:
  Attempts(const WebHdfsClient& client, std::string doing, std::string shown);
  size_t name_node() const { return name_node_; }
  // Call after a failed attempt that took `elapsed_ms`. Waits, and returns OK for another attempt.
  Status Next(const Verdict& verdict, int64_t elapsed_ms);
  // Call after a success or sufficient progress.
  void Succeeded();

 private:
  Status Fail(const Verdict& verdict, const std::string& more) const;
  const WebHdfsClient& client_;
  const std::string doing_, shown_;
  RetryBudget budget_;
  size_t name_node_;
  size_t moves_ = 0;  // changes of node since the last wait
};

}  // namespace espalier::storage
