#include "src/cli/coordinator_address.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace espalier {

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

Result<std::unique_ptr<ApiClient>> ConnectTo(const std::string& where) {
  ESPALIER_ASSIGN_OR_RETURN(const std::string address, FindCoordinator(where));
  return ApiClient::Make(address);
}

}  // namespace espalier
