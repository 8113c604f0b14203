// The text of a TCP connection's other end, alike for a socket and for gRPC's name of a peer.
// Private to rpc/.
#pragma once

#include <string>

struct sockaddr;

namespace espalier::rpc {

// Returns "host:port" of a socket address, or "" if it is not an IP address.
std::string EndpointOf(const sockaddr* address);
// Returns the same for the text that gRPC gives for a peer, such as "ipv6:%5B::1%5D:7700".
std::string EndpointOf(const std::string& grpc_peer);
// Returns the same for the other end of a connected socket.
std::string EndpointOfPeer(int descriptor);

}  // namespace espalier::rpc
