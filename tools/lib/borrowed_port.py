"""Makes a port of this machine's loopback available in the loopback of a container, at the same
address."""
import ctypes
import os
import select
import socket
import threading

CLONE_NEWNET = 0x40000000
HOST = "127.0.0.1"


def listen_there(pid, port):
    """Returns a listening socket in the network namespace of a process."""
    found = []

    def listen():  # in a separate thread, which stays in that namespace
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/%d/ns/net" % pid) as space:
            if libc.setns(space.fileno(), CLONE_NEWNET) != 0:
                found.append(OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno())))
                return
        try:
            found.append(socket.create_server((HOST, port)))
        except OSError as e:
            found.append(e)
    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    if isinstance(found[0], OSError):
        raise found[0]
    return found[0]


def carry(*ends):
    """Copies all data from either end to the other, until both have ended."""
    across = dict(zip(ends, reversed(ends)))
    speaking = set(ends)
    with ends[0], ends[1]:
        while speaking:
            for end in select.select(speaking, [], [])[0]:
                try:
                    data = end.recv(1 << 16)
                    across[end].sendall(data)
                    if not data:
                        speaking.remove(end)
                        across[end].shutdown(socket.SHUT_WR)
                except OSError:  # one of the programs has ended
                    return


class BorrowedPort:
    """Forwards a port of the container of process `pid` to the same port of this machine."""

    def __init__(self, pid, port):
        self.port = port
        self.server = listen_there(pid, port)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                there, _ = self.server.accept()
                here = socket.create_connection((HOST, self.port))
            except OSError:
                if self.server.fileno() < 0:
                    return
                there.close()  # no program listens here now
                continue
            threading.Thread(target=carry, args=(there, here), daemon=True).start()

    def stop(self):
        self.server.shutdown(socket.SHUT_RDWR)  # ends a waiting accept
        self.server.close()
