// What to do after a WebHDFS request: an error's meaning and whether another try helps. Hadoop
// sends most errors as 403, so the exception's name decides. Thread rule: pure functions.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/storage/http.h"

namespace espalier::storage {

enum class CallFate {
  kDone,           // the reply is the answer (of a status that `expected` allows)
  kFail,           // the error is final
  kAgain,          // wait, then the same again
  kOtherNameNode,  // this NameNode cannot now; another may
  kOtherDataNode,  // the data node that was redirected to cannot; another may
};

struct Verdict {
  CallFate fate = CallFate::kDone;
  StatusCode code = StatusCode::kUnavailable;  // of the error when it is (or becomes) final
  std::string why;                             // to stand after "cannot read 'x': "
  bool maybe_done = false;                     // the request may have taken effect all the same
};

// Who was asked.
struct Asked {
  bool data_node = false;
  std::string address;    // "host:port"
  std::string origin;     // of a NameNode: how its address was found
  std::string user;       // as whom; empty: as nobody
  bool proved = false;    // by Kerberos or a token, and not by that name
  bool kerberos = false;  // by Kerberos itself
  bool alone = false;     // a NameNode that is the only one known
};

// 200, 201 and 307 (with a Location) are kDone. Everything else as this room's file_system.h says.
Verdict Judge(const HttpReply& reply, const Asked& asked);

}  // namespace espalier::storage
