#include "src/storage/webhdfs_verdict.h"

#include <algorithm>
#include <array>

#include "src/base/text.h"
#include "src/storage/kerberos.h"
#include "src/storage/webhdfs_protocol.h"

namespace espalier::storage {
namespace {

struct WebHdfsMeaning {
  std::string_view exception;
  std::string_view text;  // text that the message must contain
  CallFate fate;
  StatusCode code;
  const char* why;          // null: the exception's own message
  bool with_words = false;  // appends the exception's message to `why`
};

using enum CallFate;
using enum StatusCode;

constexpr const char* kTokenExpired = "its delegation token has expired";
constexpr const char* kTokenUnknown =
    "the NameNode does not know its delegation token: it was cancelled, has expired long ago, or "
    "is "
    "of another HDFS";
constexpr const char* kTokenRefused = "its delegation token is refused";

// The first match is used. An empty name matches every exception.
constexpr std::array kWebHdfsMeanings = {
    WebHdfsMeaning{"StandbyException", "", kOtherNameNode, kUnavailable,
                   "the NameNode is in standby"},
    WebHdfsMeaning{"ObserverRetryOnActiveException", "", kOtherNameNode, kUnavailable,
                   "the NameNode is an observer"},
    WebHdfsMeaning{"SafeModeException", "", kAgain, kUnavailable, "the NameNode is in safe mode",
                   true},
    WebHdfsMeaning{"", "Name node is in safe mode", kAgain, kUnavailable,
                   "the NameNode is in safe mode"},
    WebHdfsMeaning{"RetriableException", "", kAgain, kUnavailable, "the NameNode is not ready",
                   true},
    WebHdfsMeaning{"", "Failed to find datanode", kAgain, kUnavailable,
                   "the NameNode knows no live DataNode for it", true},
    WebHdfsMeaning{"", "No active nodes contain this block", kAgain, kUnavailable,
                   "the NameNode knows no live DataNode for it", true},
    WebHdfsMeaning{"", "could only be written to 0", kAgain, kUnavailable,
                   "no DataNode takes the block (are they full, or down?)", true},
    WebHdfsMeaning{"", "is not a file", kFail, kFailedPrecondition, "it is a directory"},
    WebHdfsMeaning{"FileNotFoundException", "Parent directory", kFail, kNotFound,
                   "the directory it would be in does not exist"},
    WebHdfsMeaning{"FileNotFoundException", "", kFail, kNotFound, "it does not exist"},
    WebHdfsMeaning{"ParentNotDirectoryException", "", kFail, kFailedPrecondition,
                   "a part of it is a file, not a directory"},
    WebHdfsMeaning{"FileAlreadyExistsException", "", kFail, kAlreadyExists, "it exists"},
    WebHdfsMeaning{"AlreadyBeingCreatedException", "", kFail, kAlreadyExists,
                   "it is being written"},
    WebHdfsMeaning{"RecoveryInProgressException", "", kFail, kAlreadyExists, "it is being written"},
    WebHdfsMeaning{"PathIsNotEmptyDirectoryException", "", kFail, kFailedPrecondition,
                   "it is a directory that is not empty"},
    WebHdfsMeaning{"AccessControlException", "is not a directory", kFail, kFailedPrecondition,
                   "a part of it is a file, not a directory"},
    WebHdfsMeaning{"", "InvalidToken: Token  has expired", kAgain, kPermissionDenied,
                   kTokenExpired},
    WebHdfsMeaning{"", "can't be found in cache", kAgain, kPermissionDenied, kTokenUnknown},
    WebHdfsMeaning{"InvalidToken", "expired", kAgain, kPermissionDenied, kTokenExpired},
    WebHdfsMeaning{"SecretManager$InvalidToken", "", kAgain, kPermissionDenied, kTokenExpired},
    WebHdfsMeaning{"InvalidToken", "", kAgain, kPermissionDenied, kTokenRefused, true},
    WebHdfsMeaning{"", "InvalidToken", kAgain, kPermissionDenied, kTokenRefused, true},
    WebHdfsMeaning{"SecurityException", "user group information: java.io.EOFException", kAgain,
                   kPermissionDenied, kTokenRefused, true},
    WebHdfsMeaning{
        "SecurityException", "user group information: java.io.IOException: Security enabled", kFail,
        kPermissionDenied,
        "HDFS asks for Kerberos, but its web server does not: hadoop.http.authentication.type "
        "must be kerberos there"},
    WebHdfsMeaning{
        "", "is not allowed to impersonate", kFail, kPermissionDenied,
        "the NameNode does not let us act for another; its hadoop.proxyuser.OURS.hosts and "
        ".users (or .groups) must allow it",
        true},
    WebHdfsMeaning{"NSQuotaExceededException", "", kFail, kResourceExhausted,
                   "the quota of names is used up", true},
    WebHdfsMeaning{"DSQuotaExceededException", "", kFail, kResourceExhausted,
                   "the quota of space is used up", true},
    WebHdfsMeaning{"QuotaExceededException", "", kFail, kResourceExhausted, "the quota is used up",
                   true},
    WebHdfsMeaning{"PathComponentTooLongException", "", kFail, kInvalidArgument,
                   "its name is too long"},
    WebHdfsMeaning{"MaxDirectoryItemsExceededException", "", kFail, kResourceExhausted,
                   "its directory is full"},
    WebHdfsMeaning{"", "out of the range [", kFail, kDataLoss,
                   "it became shorter while it was being read"},
    WebHdfsMeaning{"IllegalArgumentException", "", kFail, kInvalidArgument, nullptr},
    WebHdfsMeaning{"InvalidPathException", "", kFail, kInvalidArgument, nullptr},
    WebHdfsMeaning{"UnsupportedOperationException", "", kFail, kInvalidArgument, nullptr},
};

// Exceptions of a DataNode that could not reach the rest of HDFS.
constexpr std::array<std::string_view, 8> kNetwork = {
    "ConnectException",        "SocketTimeoutException", "NoRouteToHostException",
    "ConnectTimeoutException", "SocketException",        "EOFException",
    "BlockMissingException",   "UnknownHostException"};

std::string WhoOf(const Asked& asked) {
  const std::string who = asked.data_node ? "the DataNode " : "the NameNode ";
  return who + Printable(asked.address, 300);
}

// Returns advice for errors that a wrong address may cause.
std::string PortAdvice(const Asked& asked, bool wrong_port = false) {
  constexpr const char* kSetPort = "; set it to the NameNode's HTTP port, 9870 by default";
  if (asked.data_node) return "";
  const std::string from = " (its address is from " + asked.origin + ")";
  // A configured address is right, unless the server is not a NameNode.
  if (asked.origin.starts_with("dfs.")) return from + (wrong_port ? kSetPort : "");
  return from +
         "; name the NameNode's HTTP port, 9870 by default, as webhdfs://HOST:PORT/PATH, or give "
         "its Hadoop configuration by HADOOP_CONF_DIR";
}

// Returns the error for an address where another Hadoop server listens.
Verdict WrongPort(const Asked& asked, const char* how) {
  return {kFail, kInvalidArgument, WhoOf(asked) + how + PortAdvice(asked, true)};
}

Verdict JudgeFailure(const HttpReply& reply, const Asked& asked) {
  const std::string who = WhoOf(asked);
  const CallFate other = asked.data_node ? kOtherDataNode : kOtherNameNode;
  switch (reply.failure) {
    case HttpFailure::kCancelled:
      return {kFail, kCancelled, "it was cancelled", reply.sent};
    case HttpFailure::kResolve:
      return {other, kUnavailable,
              who + " cannot be reached: its name is not known" + PortAdvice(asked)};
    case HttpFailure::kConnect:
      return {other, kUnavailable,
              who + " cannot be reached: " + reply.reason +
                  (asked.data_node ? "" : "; is HDFS running there?") + PortAdvice(asked)};
    case HttpFailure::kTrust:
      return {kFail, kPermissionDenied, who + " is not believed: " + reply.reason};
    case HttpFailure::kTimeout:
      return {other, kUnavailable, who + " does not answer: " + reply.reason, reply.sent};
    case HttpFailure::kNotHttp:
      return {kFail, kInvalidArgument, who + " does not speak HTTP" + PortAdvice(asked, true),
              reply.sent};
    case HttpFailure::kTooLong:
      return {kFail, kUnavailable, who + ": " + reply.reason, reply.sent};
    default:
      // The port for block transfers between DataNodes closes a connection without a reply.
      return {other, kUnavailable,
              who + " broke off: " + reply.reason + (reply.status == 0 ? PortAdvice(asked) : ""),
              reply.sent};
  }
}

Verdict JudgeException(const RemoteException& remote, const HttpReply& reply, const Asked& asked) {
  const std::string words = remote.name + (remote.message.empty() ? "" : ": " + remote.message);
  if (!asked.data_node && remote.message.starts_with("Invalid operation ")) {
    return WrongPort(asked,
                     " answers as a DataNode (by default at port 9864), which does not know the "
                     "names of files");
  }
  for (const WebHdfsMeaning& m : kWebHdfsMeanings) {
    if (!m.exception.empty() && m.exception != remote.name) continue;
    if (remote.message.find(m.text) == std::string::npos) continue;
    std::string why = m.why == nullptr ? words : m.why;
    if (m.with_words) why += " (" + remote.message + ")";
    if (m.fate == kOtherNameNode && asked.alone) {
      why += ", and no other one is known; name the name service, hdfs://NAMESERVICE/PATH";
    }
    return {m.fate, m.code, std::move(why)};
  }
  for (const std::string_view name : kNetwork) {
    if (remote.name != name) continue;
    return {asked.data_node ? kOtherDataNode : kAgain, kUnavailable,
            WhoOf(asked) + " says " + words, true};
  }
  if (remote.name == "AccessControlException" || remote.name == "SecurityException" ||
      remote.name == "AuthorizationException") {
    const std::string as = asked.user.empty() ? "without a user's name"
                                              : "as the user '" + Printable(asked.user) + "'";
    if (asked.proved) {
      return {kFail, kPermissionDenied, "permission denied (" + remote.message + ")"};
    }
    return {
        kFail, kPermissionDenied,
        "permission denied " + as + " (" + remote.message + "); HADOOP_USER_NAME sets the user"};
  }
  const bool again = reply.status >= 500;
  // A DataNode that cannot read its blocks may report any exception.
  const CallFate fate = asked.data_node ? kOtherDataNode : again ? kAgain : kFail;
  return {fate, kUnavailable, WhoOf(asked) + " says " + words, again};
}

Verdict JudgeGss(const std::string& words, const Asked& asked) {
  // Two proofs were created at the same moment. The next one differs.
  if (words.find("replay") != words.npos) {
    return {kAgain, kPermissionDenied, WhoOf(asked) + " took our proof for a repeated one"};
  }
  const Status problem = RefusedProof(WhoOf(asked), words);
  return {kFail, problem.code(), problem.message()};
}

Verdict JudgeUnauthorized(const HttpReply& reply, const Asked& asked, const std::string& says) {
  if (asked.kerberos) {
    return {kFail, kPermissionDenied,
            says + ": it does not take our Kerberos identity; is it of a realm that HDFS trusts?"};
  }
  return {kFail, kPermissionDenied,
          says + (reply.asks_negotiate
                      ? ": it asks for Kerberos"
                      : ": it asks for authentication of a kind that is not spoken here; Kerberos "
                        "(SPNEGO) and delegation tokens are")};
}

}  // namespace

Verdict Judge(const HttpReply& reply, const Asked& asked) {
  if (reply.body.find("HTTP request to a Hadoop IPC port") != std::string::npos) {
    return WrongPort(asked,
                     " answers as an RPC port (by default 8020 or 9000), which does not serve "
                     "WebHDFS");
  }
  if (reply.failure != HttpFailure::kNone) return JudgeFailure(reply, asked);
  const int status = reply.status;
  if (status == 200 || status == 201 || (status == 307 && !reply.location.empty())) return {};
  const RemoteException remote = ParseRemoteException(reply.body);
  if (!remote.name.empty()) return JudgeException(remote, reply, asked);
  const std::string says = WhoOf(asked) + " answers HTTP " + std::to_string(status);
  if (const std::string words = GssWords(reply.body); !words.empty()) {
    return JudgeGss(words, asked);
  }
  if (status == 401) return JudgeUnauthorized(reply, asked, says);
  if (status >= 500 || status == 429 || status == 408) {
    const CallFate other = asked.data_node ? kOtherDataNode : kOtherNameNode;
    return {other, kUnavailable, says, true};
  }
  if (status == 403) return {kFail, kPermissionDenied, says + " without saying why"};
  return {kFail, kInvalidArgument, says + " and nothing of WebHDFS" + PortAdvice(asked, true)};
}

}  // namespace espalier::storage
