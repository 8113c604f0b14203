#include "src/cli/coordinator_address.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "src/config/address.h"
#include "src/security/secret_file.h"

namespace espalier {
namespace {

constexpr int64_t kTokenFileBytesMax = 4096;

}  // namespace

Result<std::string> FindCoordinator(const std::string& where) {
  constexpr std::string_view kFile = "file:";
  std::string address = where;
  if (where.starts_with(kFile)) {
    const std::string path = where.substr(kFile.size());
    std::ifstream file(path);
    if (!file) {
      return Unavailable("cannot read the coordinator's address from " + path + ": " +
                         std::strerror(errno) + ". It is there while a coordinator runs that was " +
                         "told to write it");
    }
    address.clear();
    file >> address;
    if (address.empty()) return Unavailable(path + " is empty: expected host:port in it");
  }
  return address;
}

Result<ClientSecurity> SecurityOf(const CliOptions& options) {
  ClientSecurity out;
  if (options.tls.any()) {
    ESPALIER_ASSIGN_OR_RETURN(out.keychain, Keychain::Open(options.tls));
  }
  std::string token = options.token, where = "ESPALIER_TOKEN";
  if (!options.token_file.empty()) {
    where = "the token file " + options.token_file;
    ESPALIER_ASSIGN_OR_RETURN(
        token, ReadSmallFile(options.token_file, Secrecy::kSecret, kTokenFileBytesMax, "token"));
  } else if (token.empty()) {
    return out;
  }
  if (out.keychain == nullptr) {
    return InvalidArgument(
        "a token is only sent over TLS: give --tls-ca (ESPALIER_TLS_CA) with "
        "the authority of the coordinator's certificate");
  }
  ESPALIER_ASSIGN_OR_RETURN(out.token, CleanToken(token, where));
  return out;
}

Result<bool> IsPrivate(const CliOptions& options) {
  if (options.tls.any()) return true;
  ESPALIER_ASSIGN_OR_RETURN(const std::string address, FindCoordinator(options.coordinator));
  ESPALIER_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address));
  return IsLoopback(parsed);
}

Result<std::unique_ptr<ApiClient>> ConnectTo(const CliOptions& options) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string address, FindCoordinator(options.coordinator));
  ApiClientOptions client;
  ESPALIER_ASSIGN_OR_RETURN(client.security, SecurityOf(options));
  return ApiClient::Make(address, client);
}

}  // namespace espalier
