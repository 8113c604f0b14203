// From what the command line says of the coordinator to a client of it.
#pragma once

#include <memory>

#include "src/base/status.h"
#include "src/cli/commands.h"
#include "src/rpc/api_client.h"

namespace espalier {

// How the options say that connections are secured; reads their files. A token comes from its file,
// else from the environment.
Result<ClientSecurity> SecurityOf(const CliOptions& options);

// A client of the coordinator that the options name; does not connect yet. A file that holds its
// address is read again at each call (rpc/coordinator_address.h). kInvalidArgument for what is no
// address, and the errors of SecurityOf.
Result<std::unique_ptr<ApiClient>> ConnectTo(const CommandContext& context);

// Whether what is sent there stays secret: it is encrypted, or does not leave this machine.
Result<bool> IsPrivate(const CommandContext& context);

}  // namespace espalier
