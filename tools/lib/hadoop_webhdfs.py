"""Provides a small WebHDFS client for tests and tools, independent of the client in Espalier."""
import contextlib
import http.client
import json
import os
import string
import time
import urllib.parse

TIMEOUT_S = 60
# Errors of a DataNode with a connection to the NameNode from before a restart.
STALE, STALE_ATTEMPTS = {"ConnectException", "EOFException"}, 4


class WebHdfsError(Exception):
    """Unexpected answer. `exception` is the class that HDFS reports."""

    def __init__(self, call, status, body):
        self.status, self.exception, words = status, None, body[:300].decode(errors="replace")
        try:
            remote = json.loads(body)["RemoteException"]
            self.exception, words = remote["exception"], remote["message"].splitlines()[0]
        except (ValueError, KeyError, TypeError, IndexError):
            pass
        super().__init__("%s: HTTP %d, %s: %s" %
                         (call, status, self.exception or "no class", words))


class WebHdfs:
    """Client of the NameNode at `namenode()` (http://host:port), which is called for each request.

    Calls are made as `user`, or, on a secured HDFS, with the delegation token that `token()`
    returns.
    """

    def __init__(self, namenode, user, timeout_s=TIMEOUT_S, token=None):
        self.namenode, self.user, self.timeout_s, self.token = namenode, user, timeout_s, token

    def _send(self, method, url, body=None):
        parts = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=self.timeout_s)
        headers = {} if body is None else {"Content-Type": "application/octet-stream"}
        connection.request(method, parts._replace(scheme="", netloc="").geturl(), body, headers)
        return connection, connection.getresponse()

    def url(self, op, path, **params):
        who = {"delegation": self.token()} if self.token else {"user.name": self.user}
        params = dict({"op": op}, **who, **params)
        return "%s/webhdfs/v1%s?%s" % (self.namenode(), urllib.parse.quote(path),
                                       urllib.parse.urlencode(params))

    def call(self, method, op, path, **params):
        """Makes one call without data. Returns the answer as parsed JSON, or None if it is empty.
        """
        connection, reply = self._send(method, self.url(op, path, **params))
        with contextlib.closing(connection):
            body = reply.read()
        if reply.status != 200:
            raise WebHdfsError("%s %s" % (op, path), reply.status, body)
        return json.loads(body) if body else None

    def _location(self, method, op, path, params):
        location = self.call(method, op, path, noredirect="true", **params)["Location"]
        # In the JSON form, letters beyond ASCII are unescaped.
        return urllib.parse.quote(location, safe=string.punctuation)

    def _transfer(self, method, op, path, params, body, wanted):
        """Makes the second request, to a DataNode. Returns the answer."""
        for attempt in range(STALE_ATTEMPTS):
            if hasattr(body, "seek"):
                body.seek(0)
            connection, reply = self._send(method, self._location(method, op, path, params), body)
            with contextlib.closing(connection):
                answer = reply.read()  # raises IncompleteRead if the DataNode stops early
            if reply.status == wanted:
                return answer
            error = WebHdfsError("%s %s" % (op, path), reply.status, answer)
            if error.exception not in STALE:
                break
            time.sleep(0.1 * attempt)
        raise error

    def put(self, path, data, **params):
        """Writes bytes or the content of an open binary file. `params`: overwrite, blocksize, ...
        """
        self._transfer("PUT", "CREATE", path, params, data, 201)

    def put_file(self, path, local, **params):
        with open(local, "rb") as f:
            self.put(path, f, **params)

    def put_folder(self, path, local, **params):
        """Uploads every file below a local folder, under the same names."""
        for folder, _, names in os.walk(local):
            below = os.path.relpath(folder, local)
            for name in sorted(names):
                target = os.path.normpath(os.path.join(path, below, name))
                self.put_file(target, os.path.join(folder, name), **params)

    def get(self, path, **params):
        """Returns the bytes of a file, or those of a range given by offset and length."""
        return self._transfer("GET", "OPEN", path, params, None, 200)

    def mkdirs(self, path, permission="755"):
        self.call("PUT", "MKDIRS", path, permission=permission)

    def names(self, path):
        found = self.call("GET", "LISTSTATUS", path)["FileStatuses"]["FileStatus"]
        return [entry["pathSuffix"] for entry in found]

    def status(self, path):
        return self.call("GET", "GETFILESTATUS", path)["FileStatus"]

    def delete(self, path, recursive=True):
        """Deletes a path. Returns False if there was nothing to delete."""
        answer = self.call("DELETE", "DELETE", path, recursive=str(recursive).lower())
        return answer["boolean"]

    def blocks(self, path):
        """Returns [{"hosts": [name], "names": ["ip:port"], "offset": bytes, "length": bytes, ...}]
        """
        answer = self.call("GET", "GETFILEBLOCKLOCATIONS", path)
        return answer["BlockLocations"]["BlockLocation"]
