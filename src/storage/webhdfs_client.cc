#include "src/storage/webhdfs_client.h"

#include <algorithm>
#include <functional>

#include "src/base/log.h"
#include "src/base/text.h"

namespace espalier::storage {
namespace {

constexpr int kRedirectsMax = 3;
constexpr int kSuspectRequests = 256;  // number of requests that avoid a suspect DataNode
constexpr size_t kSuspectsMax = 64;
constexpr size_t kDataNodeMovesMax = 3;

Verdict TooManyRedirects(const std::string& who) {
  return {CallFate::kFail, StatusCode::kUnavailable,
          who + " redirects again and again; expected a data node after one redirect"};
}

}  // namespace

WebHdfsClient::WebHdfsClient(std::string prefix, std::vector<NameNode> name_nodes,
                             WebHdfsOptions options)
    : prefix_(std::move(prefix)),
      name_nodes_(std::move(name_nodes)),
      options_(std::move(options)),
      http_(options_.http),
      login_({options_.user, options_.kerberos, options_.tokens, options_.file_token}, prefix_,
             {options_.http.reply_ms, options_.http.cancelled}) {}

std::string WebHdfsClient::UrlOf(const Operation& operation, size_t name_node,
                                 const WebHdfsLogin::Proof& proof) const {
  Parameters parameters = operation.parameters;
  parameters.insert(parameters.end(), proof.parameters.begin(), proof.parameters.end());
  const NameNode& node = name_nodes_[name_node];
  return OperationUrl(node.http, node.secure, operation.path, operation.op, parameters);
}

Verdict WebHdfsClient::JudgeNameNode(const HttpReply& reply, size_t name_node,
                                     const WebHdfsLogin::Proof& proof) const {
  if (reply.status != 0 && reply.failure == HttpFailure::kNone) reached_ = true;
  const NameNode& node = name_nodes_[name_node];
  Verdict verdict = Judge(reply, {.address = ToString(node.http),
                                  .origin = node.why,
                                  .user = options_.user,
                                  .proved = proof.kind != WebHdfsLogin::Kind::kName,
                                  .kerberos = proof.kind == WebHdfsLogin::Kind::kKerberos,
                                  .alone = name_nodes_.size() == 1});
  if (verdict.fate != CallFate::kAgain || verdict.code != StatusCode::kPermissionDenied ||
      proof.token.empty() || login_.MayHaveAnother(proof)) {
    return verdict;
  }
  verdict.fate = CallFate::kFail;
  verdict.why += proof.kind == WebHdfsLogin::Kind::kFileToken
                     ? "; it is from the file that HADOOP_TOKEN_FILE_LOCATION names, which YARN "
                       "writes: the application must be started again"
                     : "; submit again with a new Kerberos ticket";
  return verdict;
}

Verdict WebHdfsClient::JudgeDataNode(const HttpReply& reply, const HostPort& address) const {
  return Judge(reply, {.data_node = true,
                       .address = ToString(address),
                       .user = options_.user,
                       .proved = options_.kerberos || options_.tokens != nullptr});
}

HttpReply WebHdfsClient::Call(const Operation& operation, size_t name_node, bool stop_at_content,
                              WebHdfsLogin::Proof* proof, Verdict* verdict) const {
  HttpReply reply;
  const HostPort& address = name_nodes_[name_node].http;
  Result<WebHdfsLogin::Proof> made = login_.Make(address.host, &reply.elapsed_ms);
  if (!made.ok()) {
    const StatusCode code = made.status().code();
    *verdict = {
        code == StatusCode::kUnavailable ? CallFate::kAgain : CallFate::kFail, code,
        "the NameNode " + ToString(address) + " asks for Kerberos: " + made.status().message()};
    return reply;
  }
  *proof = *std::move(made);
  reply = http_.Call({.method = operation.method,
                      .url = UrlOf(operation, name_node, *proof),
                      .stop_at_content = stop_at_content,
                      .authorization = proof->authorization});
  *verdict = JudgeNameNode(reply, name_node, *proof);
  return reply;
}

HttpReply WebHdfsClient::AskNameNode(const Operation& operation, size_t name_node, Verdict* verdict,
                                     bool stop_at_content) const {
  WebHdfsLogin::Proof proof;
  HttpReply reply = Call(operation, name_node, stop_at_content, &proof, verdict);
  if (reply.status != 401 || !reply.asks_negotiate || proof.kind != WebHdfsLogin::Kind::kName) {
    return reply;
  }
  login_.UseKerberos();  // the configuration did not contain it
  return Call(operation, name_node, stop_at_content, &proof, verdict);
}

Result<HostPort> WebHdfsClient::TargetOf(const std::string& location, size_t name_node) const {
  return RedirectTarget(location, name_nodes_[name_node].secure);
}

// Opens the bytes themselves, from the gateway at the NameNode's address.
std::unique_ptr<HttpBody> WebHdfsClient::Gateway(const Operation& operation, size_t name_node,
                                                 Verdict* verdict) const {
  int64_t waited_ms = 0;
  const auto proof = login_.Make(name_nodes_[name_node].http.host, &waited_ms);
  if (!proof.ok()) {
    *verdict = {CallFate::kFail, proof.status().code(), proof.status().message()};
    return nullptr;
  }
  return http_.Get(UrlOf(operation, name_node, *proof), proof->authorization);
}

WebHdfsClient::Answer WebHdfsClient::Ask(const Operation& operation) const {
  Attempts attempts(*this, operation.doing, operation.shown);
  Answer answer;
  for (;;) {
    Verdict verdict;
    HttpReply reply = AskNameNode(operation, attempts.name_node(), &verdict);
    if (verdict.fate == CallFate::kDone && reply.status != 200) {
      verdict = {CallFate::kFail, StatusCode::kUnavailable,
                 "the NameNode answers HTTP " + std::to_string(reply.status) + "; expected 200"};
    }
    if (verdict.fate == CallFate::kDone) {
      attempts.Succeeded();
      answer.body = std::move(reply.body);
      return answer;
    }
    answer.maybe_done |= verdict.maybe_done;
    answer.status = attempts.Next(verdict, reply.elapsed_ms);
    if (!answer.status.ok()) return answer;
  }
}

Result<bool> WebHdfsClient::AsksForKerberos() const {
  if (options_.kerberos) return true;
  const Operation look{
      .op = "GETFILESTATUS", .path = "/", .doing = "look up", .shown = prefix_ + "/"};
  Attempts attempts(*this, look.doing, look.shown);
  for (;;) {
    WebHdfsLogin::Proof proof;
    Verdict verdict;
    const HttpReply reply = Call(look, attempts.name_node(), false, &proof, &verdict);
    if (reply.status == 401) return reply.asks_negotiate;
    if (verdict.fate == CallFate::kDone || verdict.fate == CallFate::kFail) return false;
    ESPALIER_RETURN_IF_ERROR(attempts.Next(verdict, reply.elapsed_ms));
  }
}

Verdict WebHdfsClient::TryCreate(const Operation& operation, std::string_view content,
                                 size_t name_node, int64_t* elapsed_ms) const {
  Verdict verdict;
  HttpReply reply = AskNameNode(operation, name_node, &verdict);
  *elapsed_ms = reply.elapsed_ms;
  verdict.maybe_done = false;  // the first step creates nothing
  if (verdict.fate != CallFate::kDone) return verdict;
  const std::string who = "the NameNode " + ToString(name_nodes_[name_node].http);
  for (int i = 0; i < kRedirectsMax; ++i) {
    if (reply.status != 307) {
      return {CallFate::kFail, StatusCode::kUnavailable,
              who + " answers CREATE with HTTP " + std::to_string(reply.status) +
                  "; expected a redirect to a DataNode"};
    }
    const Result<HostPort> target = TargetOf(reply.location, name_node);
    if (!target.ok()) {
      return {CallFate::kFail, StatusCode::kUnavailable, who + ": " + target.status().message()};
    }
    reply = http_.Call({.method = HttpMethod::kPut,
                        .url = std::move(reply.location),
                        .content = content,
                        .is_upload = true});
    *elapsed_ms += reply.elapsed_ms;
    if (reply.status == 307 && reply.failure == HttpFailure::kNone) continue;
    verdict = JudgeDataNode(reply, *target);
    if (verdict.fate == CallFate::kDone && reply.status != 201) {
      return {
          CallFate::kFail, StatusCode::kUnavailable,
          "the DataNode answers HTTP " + std::to_string(reply.status) + "; expected 201 (created)",
          true};
    }
    // A node with this address may have several names. Its bare address excludes it if it is the
    // only one.
    if (verdict.fate == CallFate::kOtherDataNode && !reply.peer_ip.empty()) {
      MutexLock lock(mutex_);
      if (suspects_.size() < kSuspectsMax) suspects_.emplace_back(reply.peer_ip, 4);
    }
    return verdict;
  }
  return TooManyRedirects(who);
}

WebHdfsClient::Answer WebHdfsClient::Create(Operation operation, std::string_view content,
                                            bool exclusively) const {
  operation.op = "CREATE";
  operation.method = HttpMethod::kPut;
  operation.parameters = {{"overwrite", exclusively ? "false" : "true"}, {"createparent", "false"}};
  Attempts attempts(*this, operation.doing, operation.shown);
  Answer answer;
  for (;;) {
    Operation next = operation;
    if (std::string excluded = Excluded(); !excluded.empty()) {
      next.parameters.emplace_back("excludedatanodes", std::move(excluded));
    }
    int64_t elapsed_ms = 0;
    const Verdict verdict = TryCreate(next, content, attempts.name_node(), &elapsed_ms);
    if (verdict.fate == CallFate::kDone) {
      attempts.Succeeded();
      return answer;
    }
    // With all of its nodes excluded, the NameNode has none to offer.
    if (verdict.fate == CallFate::kAgain) {
      MutexLock lock(mutex_);
      suspects_.clear();
    }
    answer.maybe_done |= verdict.maybe_done;
    if (exclusively && verdict.maybe_done) {
      answer.status = FileProblem(verdict.code, operation.doing, operation.shown, verdict.why);
      return answer;
    }
    answer.status = attempts.Next(verdict, elapsed_ms);
    if (!answer.status.ok()) return answer;
  }
}

WebHdfsClient::Range WebHdfsClient::OpenRange(const std::string& path, int64_t offset,
                                              int64_t length, size_t name_node) const {
  Operation open{
      .op = "OPEN",
      .path = path,
      .parameters = {{"offset", std::to_string(offset)}, {"length", std::to_string(length)}}};
  if (std::string excluded = Excluded(); !excluded.empty()) {
    open.parameters.emplace_back("excludedatanodes", std::move(excluded));
  }
  Range range;
  HttpReply reply = AskNameNode(open, name_node, &range.verdict, true);
  range.elapsed_ms = reply.elapsed_ms;
  // A gateway (HttpFS) may send the bytes itself.
  if (reply.status == 200) {
    reached_ = true;
    range.verdict = {};
    range.body = Gateway(open, name_node, &range.verdict);
    if (range.body == nullptr) return range;
  } else {
    if (range.verdict.fate == CallFate::kAgain) {
      MutexLock lock(mutex_);
      suspects_.clear();  // with all nodes excluded, none is left
    }
    if (range.verdict.fate != CallFate::kDone) return range;
  }
  std::string location = std::move(reply.location);
  const std::string who = "the NameNode " + ToString(name_nodes_[name_node].http);
  for (int i = 0; range.body == nullptr || range.body->head().status == 307; ++i) {
    if (range.body != nullptr) location = range.body->head().location;
    const Result<HostPort> target = TargetOf(location, name_node);
    if (i >= kRedirectsMax || !target.ok()) {
      range.body = nullptr;
      range.verdict = TooManyRedirects(who);
      if (!target.ok()) range.verdict.why = who + ": " + target.status().message();
      return range;
    }
    range.source = *target;
    range.body = http_.Get(location);
  }
  const HttpReply& head = range.body->head();
  range.verdict = range.source.port == 0 ? JudgeNameNode(head, name_node, {})
                                         : JudgeDataNode(head, range.source);
  if (range.verdict.fate == CallFate::kDone && head.status == 200) return range;
  if (range.verdict.fate == CallFate::kDone) {
    range.verdict = {CallFate::kFail, StatusCode::kUnavailable,
                     "HTTP " + std::to_string(head.status) + " came; expected 200"};
  }
  range.elapsed_ms += head.elapsed_ms;
  range.body = nullptr;
  return range;
}

void WebHdfsClient::Suspect(const std::string& path, int64_t offset,
                            const HostPort& data_node) const {
  if (data_node.port == 0) return;
  const Operation operation{.op = "GET_BLOCK_LOCATIONS",
                            .path = path,
                            .parameters = {{"offset", std::to_string(offset)}, {"length", "1"}}};
  // One attempt. Without an answer the NameNode chooses.
  Verdict verdict;
  const HttpReply reply = AskNameNode(operation, active_, &verdict);
  if (verdict.fate != CallFate::kDone) return;
  const auto blocks = ParseBlockLocations(reply.body);
  const std::string name = blocks.ok() ? DataNodeName(*blocks, data_node) : "";
  if (name.empty()) return;
  LogWarning(prefix_ + ": the DataNode " + ToString(data_node) +
             " failed while it was read from; others are asked for");
  MutexLock lock(mutex_);
  for (auto& [known, left] : suspects_) {
    if (known == name) return void(left = kSuspectRequests);
  }
  if (suspects_.size() < kSuspectsMax) suspects_.emplace_back(name, kSuspectRequests);
}

std::string WebHdfsClient::Excluded() const {
  MutexLock lock(mutex_);
  std::string names;
  for (auto& [name, left] : suspects_) {
    --left;
    (names += names.empty() ? "" : ",") += name;
  }
  std::erase_if(suspects_, [](const auto& suspect) { return suspect.second <= 0; });
  return names;
}

void WebHdfsClient::TellTrouble(Trouble trouble, const std::string& why) const {
  Trouble told = warned_;
  while (told < trouble && !warned_.compare_exchange_weak(told, trouble)) {
  }
  if (told >= trouble) return;
  LogWarning(why + "; trying again");
  if (options_.on_trouble) options_.on_trouble(why);
}

void WebHdfsClient::TellEnd() const {
  if (warned_ == Trouble::kNone || warned_.exchange(Trouble::kNone) == Trouble::kNone) return;
  LogInfo(prefix_ + " answers again");
  if (options_.on_trouble) options_.on_trouble("");
}

Attempts::Attempts(const WebHdfsClient& client, std::string doing, std::string shown)
    : client_(client),
      doing_(std::move(doing)),
      shown_(std::move(shown)),
      budget_(client.options_.retry, std::hash<std::string>()(shown_)),
      name_node_(client.active_) {}

Status Attempts::Fail(const Verdict& verdict, const std::string& more) const {
  return FileProblem(verdict.code, doing_, shown_, verdict.why + more);
}

Status Attempts::Next(const Verdict& verdict, int64_t elapsed_ms) {
  budget_.Spend(elapsed_ms);
  if (verdict.fate == CallFate::kFail) return Fail(verdict, "");
  bool at_once = false;
  if (verdict.fate == CallFate::kOtherNameNode) {
    const size_t count = client_.name_nodes_.size();
    size_t expected = name_node_;
    name_node_ = (name_node_ + 1) % count;
    client_.active_.compare_exchange_strong(expected, name_node_);
    at_once = ++moves_ < count;
  } else if (verdict.fate == CallFate::kOtherDataNode) {
    at_once = ++moves_ <= kDataNodeMovesMax;
  }
  const auto wait = budget_.NextWait(client_.reached_, at_once);
  if (!wait) {
    return Fail(verdict, "; given up after " + std::to_string(budget_.attempts()) + " tries in " +
                             HumanDuration(budget_.spent_ms()));
  }
  if (at_once) return {};
  moves_ = 0;
  const Trouble trouble =
      verdict.fate == CallFate::kOtherNameNode ? Trouble::kNameNode : Trouble::kCall;
  client_.TellTrouble(
      trouble, "cannot " + doing_ + " '" + Printable(shown_, 1024) + "' yet: " + verdict.why);
  if (client_.http_.Wait(*wait)) return {};
  return Fail({CallFate::kFail, StatusCode::kCancelled, "it was cancelled"}, "");
}

void Attempts::Succeeded() {
  budget_.Restart();
  moves_ = 0;
  client_.TellEnd();
}

}  // namespace espalier::storage
