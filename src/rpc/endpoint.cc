#include "src/rpc/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace espalier::rpc {
namespace {

std::string TextOf(int family, const void* address, in_port_t port) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(family, address, text, sizeof text);
  return std::string(text) + ":" + std::to_string(ntohs(port));
}

}  // namespace

std::string EndpointOf(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(address);
    return TextOf(AF_INET, &in->sin_addr, in->sin_port);
  }
  if (address->sa_family != AF_INET6) return "";
  const auto* in = reinterpret_cast<const sockaddr_in6*>(address);
  if (IN6_IS_ADDR_V4MAPPED(&in->sin6_addr)) {
    return TextOf(AF_INET, &in->sin6_addr.s6_addr[12], in->sin6_port);
  }
  return TextOf(AF_INET6, &in->sin6_addr, in->sin6_port);
}

std::string EndpointOf(const std::string& grpc_peer) {
  if (!grpc_peer.starts_with("ipv4:") && !grpc_peer.starts_with("ipv6:")) return "";
  std::string text = grpc_peer.substr(5);
  for (const char* bracket : {"%5B", "%5D", "[", "]"}) {
    if (const size_t at = text.find(bracket); at != std::string::npos) {
      text.erase(at, std::string(bracket).size());
    }
  }
  // Removes the scope of a link-local address, which the socket's text does not contain.
  if (const size_t scope = text.find('%'); scope != std::string::npos) {
    text.erase(scope, text.rfind(':') - scope);
  }
  return text;
}

std::string EndpointOfPeer(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const peer = reinterpret_cast<sockaddr*>(&address);
  return getpeername(descriptor, peer, &size) == 0 ? EndpointOf(peer) : "";
}

}  // namespace espalier::rpc
