// Security settings of connections. Daemons and clients create them from their options and pass
// them to the servers and links of this room. Without a keychain a connection is plain text and
// callers are not identified.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/security/keychain.h"
#include "src/security/roles.h"

namespace espalier::rpc {

struct ServerSecurity {
  std::shared_ptr<security::Keychain> keychain;  // null: plain text
  std::shared_ptr<security::TokenFile> tokens;   // null: none
  std::vector<security::RoleRule> roles;         // for certificates that do not state a role
  // Treats a certificate without a role as a worker's. For a worker's server, where the coordinator
  // provides the callers' names.
  bool workers_without_role = false;
};

struct ClientSecurity {
  std::shared_ptr<security::Keychain>
      keychain;       // null: plain text; without certificate: the token identifies
  std::string token;  // sent with each call; empty: none. Requires a keychain
};

}  // namespace espalier::rpc
