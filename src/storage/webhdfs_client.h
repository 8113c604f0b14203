// One HDFS through WebHDFS: which NameNode to ask, when to ask again, how to follow a redirect.
//
// A call tries the NameNodes in turn, starting with the one that answered last; waits between
// rounds; gives up within RetryOptions' limits. Errors that another try cannot mend end it at once.
// Redirect addresses may carry tokens: they are used and never shown.
// Thread rule: const calls from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  std::string user;  // sent as user.name; empty: none, and HDFS takes its own default
  // Other ways to say who calls, which come before a name (webhdfs_login.h).
  bool kerberos = false;
  std::shared_ptr<const TokenStore> tokens;  // of a job; may be null
  std::string file_token;                    // SECRET; empty: none
  HttpOptions http;
  RetryOptions retry;
  // Told what a call waits for, each time it is worse than before, and "" when HDFS answers again.
  // Called on the waiting threads; may be empty.
  std::function<void(const std::string& why)> on_trouble;
  // A file that is read in order is asked for in pieces of this size; each piece costs a request to
  // the NameNode and a new connection.
  int64_t stream_bytes = int64_t{64} << 20;
  // A small read elsewhere fetches this much, which answers its neighbours.
  int64_t block_bytes = int64_t{256} << 10;
};

// An operation of WebHDFS on a path, and how it is told of in an error: "cannot DOING 'SHOWN'".
struct Operation {
  HttpMethod method = HttpMethod::kGet;
  const char* op = "";
  std::string path;
  Parameters parameters;
  std::string doing;
  std::string shown;
};

// What calls have to wait for, the worse the later: worse news are told though better ones were.
enum class Trouble : uint8_t { kNone, kCall, kNameNode };

class WebHdfsClient {
 public:
  // REQUIRES: name_nodes is not empty.
  WebHdfsClient(std::string prefix, std::vector<NameNode> name_nodes, WebHdfsOptions options);

  struct Answer {
    Status status;
    std::string body;
    bool maybe_done = false;  // an earlier try without an answer may have done it
  };
  // An operation that a NameNode answers itself.
  Answer Ask(const Operation& operation) const;

  // Whether calls say who makes them by Kerberos, or the NameNode asks for it. One look at "/".
  Result<bool> AsksForKerberos() const;

  // CREATE, both steps; op and method are set here. With `exclusively` the file must not exist, and
  // the first try whose effect is unknown ends the call (maybe_done). OK means that the data node
  // said 201: the file is closed.
  Answer Create(Operation operation, std::string_view content, bool exclusively) const;

  // One try to get bytes [offset, offset + length) of a file.
  struct Range {
    std::unique_ptr<HttpBody> body;  // nullptr: `verdict` says why
    Verdict verdict;
    HostPort source;  // the data node; no port: the NameNode, or whoever serves its address
    int64_t elapsed_ms = 0;
  };
  Range OpenRange(const std::string& path, int64_t offset, int64_t length, size_t name_node) const;

  // Later requests ask the NameNode for another data node than this one. `path` and `offset` tell
  // of a block that it has.
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
  // "IP:port,IP:port" of the suspects; counts their time down.
  std::string Excluded() const;
  // Log lines and on_trouble.
  void TellTrouble(Trouble trouble, const std::string& why) const;
  void TellEnd() const;

  const std::string prefix_;
  const std::vector<NameNode> name_nodes_;
  const WebHdfsOptions options_;
  const HttpClient http_;
  const WebHdfsLogin login_;
  mutable std::atomic<size_t> active_{0};  // the NameNode that answered last
  mutable std::atomic<bool> reached_{false};
  mutable std::atomic<Trouble> warned_{Trouble::kNone};        // of, and not taken back
  mutable std::mutex mutex_;                                   // guards suspects_
  mutable std::vector<std::pair<std::string, int>> suspects_;  // with requests left to avoid them
};

// The tries of one call: the next NameNode, the next wait, the end. For one thread.
class Attempts {
 public:
  Attempts(const WebHdfsClient& client, std::string doing, std::string shown);
  size_t name_node() const { return name_node_; }
  // After a try that failed and took `elapsed_ms`: OK when it is time for another one.
  Status Next(const Verdict& verdict, int64_t elapsed_ms);
  // After a success, or enough of one.
  void Succeeded();

 private:
  Status Fail(const Verdict& verdict, const std::string& more) const;
  const WebHdfsClient& client_;
  const std::string doing_, shown_;
  RetryBudget budget_;
  size_t name_node_;
  size_t moves_ = 0;  // to another node, since the last wait
};

}  // namespace espalier::storage
