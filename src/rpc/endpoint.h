// Text form of the remote end of a TCP connection, the same for a socket and for gRPC's name of a
// peer. Private to rpc/.
#pragma once

#include <string>

struct sockaddr;

namespace espalier::rpc {

// Returns "host:port" of a socket address, or "" if it is not an IP address.
std::string EndpointOf(const sockaddr* address);
// Returns the same for gRPC's name of a peer, for example "ipv6:%5B::1%5D:7700".
std::string EndpointOf(const std::string& grpc_peer);
// Returns the same for the remote end of a connected socket.
std::string EndpointOfPeer(int descriptor);

}  // namespace espalier::rpc
