// Where the coordinator is: host:port as it stands, or file:PATH of a file that holds it (written
// by whoever started the coordinator).
#pragma once

#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/cli/options.h"
#include "src/rpc/api_client.h"

namespace espalier {

// The host:port behind `where`; a file is read again at each call, because a coordinator that was
// started anew may be elsewhere. kUnavailable when the file cannot be read or is empty: there is no
// coordinator (yet). What the text names is not looked at.
Result<std::string> FindCoordinator(const std::string& where);

// How the options say that connections are secured; reads their files. A token comes from its file,
// else from the environment.
Result<ClientSecurity> SecurityOf(const CliOptions& options);

// A client of the coordinator that the options name; does not connect yet. kInvalidArgument for
// what is no address, and the errors of SecurityOf.
Result<std::unique_ptr<ApiClient>> ConnectTo(const CliOptions& options);

// Whether what is sent there stays secret: it is encrypted, or does not leave this machine.
Result<bool> IsPrivate(const CliOptions& options);

}  // namespace espalier
