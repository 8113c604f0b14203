// The decision after a WebHDFS request: the meaning of an error, and whether a retry helps. Hadoop
// sends most errors as 403, so the exception's name decides.
//
// Thread rule: pure functions.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/storage/http.h"

namespace espalier::storage {

enum class CallFate {
  kDone,           // the reply is the answer (with an allowed status)
  kFail,           // the error is final
  kAgain,          // wait, then repeat the request
  kOtherNameNode,  // this NameNode is not usable now; another may be
  kOtherDataNode,  // the DataNode of the redirect is not usable; another may be
};

struct Verdict {
  CallFate fate = CallFate::kDone;
  StatusCode code = StatusCode::kUnavailable;  // of the error if it is (or becomes) final
  std::string why;                             // text after "cannot read 'x': "
  bool maybe_done = false;                     // the request may have taken effect anyway
};

// The server that received the request.
struct Asked {
  bool data_node = false;
  std::string address;    // "host:port"
  std::string origin;     // NameNode: source of its address
  std::string user;       // user name of the request; empty: none
  bool proved = false;    // authenticated by Kerberos or a token, not by name
  bool kerberos = false;  // authenticated by Kerberos itself
  bool alone = false;     // the only known NameNode
};

// Returns kDone for 200, 201 and 307 (with a Location). All other errors follow file_system.h.
Verdict Judge(const HttpReply& reply, const Asked& asked);

}  // namespace espalier::storage
