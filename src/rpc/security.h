// How connections are secured: values that daemons and clients make from their options and hand to
// the servers and links of this room. Without a keychain a connection is plain text and nobody says
// who they are.
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
  std::vector<security::RoleRule> roles;         // for certificates that do not say their role
  // A certificate that does not say its role is a worker's: of a worker's server, whose callers the
  // coordinator names.
  bool workers_without_role = false;
};

struct ClientSecurity {
  std::shared_ptr<security::Keychain>
      keychain;       // null: plain text; without a certificate: a token says who
  std::string token;  // sent with each call; "": none. Needs a keychain
};

}  // namespace espalier::rpc
