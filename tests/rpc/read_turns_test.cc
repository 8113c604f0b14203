#include "src/rpc/read_turns.h"

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <string>

namespace espalier::rpc {
namespace {

// Reads twice kBytesWithoutCallMax as gRPC does. Returns false if the connection ends earlier.
bool ReadsMuch(int writer, int reader) {
  const std::string piece(16 << 10, 'x');
  std::string buffer(piece.size(), '\0');
  for (int64_t bytes = 0; bytes < 2 * kBytesWithoutCallMax; bytes += 16 << 10) {
    REQUIRE(write(writer, piece.data(), piece.size()) == static_cast<ssize_t>(piece.size()));
    for (size_t left = piece.size(); left > 0;) {
      iovec part{buffer.data(), left};
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      const ssize_t got = recvmsg(reader, &message, 0);
      if (got < 0 && errno == EAGAIN) continue;
      if (got <= 0) return false;
      left -= static_cast<size_t>(got);
    }
  }
  return true;
}

TEST_CASE("a read limit ends with its socket") {
  int served[2], dialled[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, served) == 0);
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, dialled) == 0);
  ReadInTurns(served[0]);
  CHECK_FALSE(ReadsMuch(served[1], served[0]));
  REQUIRE(dup2(dialled[0], served[0]) == served[0]);  // reuses the descriptor number
  CHECK(ReadsMuch(dialled[1], served[0]));
  for (const int fd : {served[0], served[1], dialled[0], dialled[1]}) close(fd);
}

}  // namespace
}  // namespace espalier::rpc
