"""The client's identity, without a cluster: Hadoop's tokens, Kerberos' messages, possible answers
of a NameNode, and the files kept for a cluster on YARN."""
import base64
import ctypes
import json
import os
import random
import re
import socketserver
import struct
import subprocess
import tempfile
import threading
import time
import unittest
from unittest import mock

import pytest

import daemons
import espalier
from espalier import _connection, _hadoop_conf, _hadoop_token, _kerberos, _webhdfs, _yarn
from espalier._security import make_security

pytestmark = pytest.mark.covers("security", "storage", "yarn")

# Answer of a NameNode of Hadoop 3.4.2 to GETDELEGATIONTOKEN&renewer=espalier from alice.
TOKEN = ("IQAFYWxpY2UIZXNwYWxpZXIAigGiAWj3p4oBogFpRccCAhSMoFZ5VbMwj66JufmUPh0tTVLUchJXRUJIREZTIGRl"
         "bGVnYXRpb24PMTI3LjAuMC4xOjI5MzYw")
RAW = base64.urlsafe_b64decode(TOKEN)


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


class TokenTest(unittest.TestCase):
    token = _hadoop_token.Token(b"identifier", b"p" * 300, b"HDFS_DELEGATION_TOKEN", b"ha-hdfs:ns")

    def files(self):
        """A token in both forms, with a secret key next to it."""
        t = self.token
        # 300 in Hadoop's numbers is a byte that means "two bytes follow", then these two.
        raw = (b"\x0a" + t.identifier + struct.pack(">bh", -114, 300) + t.password + b"\x15" +
               t.kind + b"\x0a" + t.service)
        self.assertEqual(base64.urlsafe_b64decode(t.text() + "=" * (-len(t.text()) % 4)), raw)
        yield b"HDTS\0\1\5alias" + raw + b"\1\1k\2vv", 6
        inner = b"".join(field(i + 1, part) for i, part in enumerate(t))
        message = (varint(3 << 3) + b"\7" + varint(4 << 3 | 5) + b"four" + varint(5 << 3 | 1) +
                   b"8 bytes." + field(1, field(1, b"alias") + field(2, inner)) +
                   field(2, field(1, b"k") + field(3, b"vv")))
        yield b"HDTS\1" + varint(len(message)) + message, 0

    def test_a_token_of_hadoops_is_read_and_written_as_it_was(self):
        found, = _hadoop_token.parse(b"HDTS\0\1\0" + RAW + b"\0")
        self.assertEqual((found.kind, found.service), (b"WEBHDFS delegation", b"127.0.0.1:29360"))
        self.assertEqual(found.text(), TOKEN)

    def test_files_are_read_in_both_forms_and_refused_when_they_are_cut_off_or_changed(self):
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        for raw, unread in self.files():
            self.assertEqual(_hadoop_token.parse(raw), [self.token])
            for end in range(len(raw) - unread):
                with self.assertRaisesRegex(espalier.InvalidArgumentError, "is damaged, or"):
                    _hadoop_token.parse(raw[:end])
            for _ in range(2000):
                changed = bytearray(raw)
                for _ in range(chance.randrange(1, 4)):
                    changed[chance.randrange(len(changed))] = chance.randrange(256)
                with self.subTest(seed=seed, changed=bytes(changed)):
                    try:
                        _hadoop_token.parse(bytes(changed))
                    except espalier.InvalidArgumentError as error:
                        self.assertNotIn("ppp", str(error))
        with self.assertRaises(espalier.InvalidArgumentError):
            _hadoop_token.parse(b"HDTS\2\0")
        with self.assertRaises(espalier.InvalidArgumentError):
            _hadoop_token.parse(b"HDTS\0" + b"\x8c\x7f\xff\xff\xff\xff")  # number of tokens

    def test_the_token_is_the_one_for_that_hdfs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tokens")
            raw = b""
            for kind, service in ((b"YARN_AM_RM_TOKEN", b"10.0.0.1:8020"),
                                  (b"HDFS_DELEGATION_TOKEN", b"10.0.0.2:8020"),
                                  (b"HDFS_DELEGATION_TOKEN", b"10.0.0.1:8020")):
                raw += b"\0\0\0" + bytes([len(kind)]) + kind + bytes([len(service)]) + service
            with open(path, "wb") as f:
                f.write(b"HDTS\0\3" + raw)
            found = _hadoop_token.token_in_file(path, ["nn:8020", "10.0.0.1:8020"])
            self.assertEqual((found.kind, found.service),
                             (b"HDFS_DELEGATION_TOKEN", b"10.0.0.1:8020"))
            self.assertIsNone(_hadoop_token.token_in_file(path, ["10.0.0.3:8020"]))

    def test_an_hdfs_goes_by_its_name_service_and_by_the_addresses_of_its_name_nodes(self):
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.dict(os.environ, {"HADOOP_CONF_DIR": folder}):
            with open(os.path.join(folder, "hdfs-site.xml"), "w") as f:
                f.write("<configuration>%s</configuration>" % "".join(
                    "<property><name>%s</name><value>%s</value></property>" % pair for pair in (
                        ("hadoop.security.authentication", "kerberos"),
                        ("dfs.nameservices", "ns"),
                        ("dfs.namenode.rpc-address.ns", "localhost:8020"),
                        ("dfs.namenode.http-address.ns", "localhost:9870"))))
            for uri, first in (("hdfs://ns/p", "ha-hdfs:ns"),
                               ("hdfs://localhost:8020/p", "localhost:8020"),
                               ("webhdfs://localhost:9870/p", "localhost:8020")):
                place = _hadoop_conf.find(uri)
                found = _hadoop_conf.token_services(place)
                self.assertTrue(place.kerberos)
                self.assertEqual(found[0], first)
                self.assertLessEqual({"127.0.0.1:8020", "127.0.0.1:9870"}, set(found), uri)


class SecretTest(unittest.TestCase):
    def test_a_secret_may_have_the_modes_that_the_programs_take(self):
        with tempfile.TemporaryDirectory() as folder:
            key = os.path.join(folder, "key")
            with open(key, "w") as f:
                f.write("-----BEGIN PRIVATE KEY-----\n")
            for mode in (0o600, 0o640, 0o400, 0o440, 0o620, 0o660, 0o604, 0o602, 0o601):
                os.chmod(key, mode)
                done = subprocess.run([daemons.program("espalier"), "workers", "--coordinator",
                                       "127.0.0.1:1", "--token-file", key],
                                      capture_output=True, text=True)
                theirs = re.search(r"is a secret that .*`chmod 600 .*`", done.stderr)
                with self.assertRaises(espalier.EspalierError) as ours:
                    make_security(key, key, key, "", "", "")
                found = re.search(r"is a secret that .*`chmod 600 .*`", str(ours.exception))
                self.assertEqual(theirs and theirs[0], found and found[0], oct(mode))
                self.assertEqual(bool(found), mode & 0o027 != 0, oct(mode))


class KerberosTest(unittest.TestCase):
    def test_each_failure_is_told_apart(self):
        for words, kind, why in (
                ("Server HTTP/x@R not found in Kerberos database", espalier.PermissionDeniedError,
                 "knows no service"),
                ("Client a@R not found in Kerberos database", espalier.PermissionDeniedError,
                 "not know the principal"),
                ("Ticket expired", espalier.PermissionDeniedError, "ticket has expired"),
                ("Cannot contact any KDC for realm 'R'", espalier.UnavailableError,
                 "no KDC answers"),
                ("something else", espalier.PermissionDeniedError, "^cannot be heard: something")):
            error = _kerberos.problem("be heard", words)
            self.assertIs(type(error), kind)
            self.assertRegex(str(error), why)
            self.assertIn(words, str(error))

    def test_a_kdc_that_does_not_answer_holds_nobody_up(self):
        release = threading.Event()
        self.addCleanup(release.set)
        began = time.monotonic()
        with self.assertRaisesRegex(espalier.UnavailableError, "cannot wait: no KDC answers within "
                                    "0.1 s; is it up"):
            _kerberos._limited("wait", 0.1, lambda library: release.wait(30))
        self.assertLess(time.monotonic() - began, 25)
        self.assertEqual(_kerberos._limited("wait", 30, lambda library: 7), 7)

    def test_structures_are_those_of_the_library(self):
        """RFC 2744 on 64 bits: a wrong size would read past the values."""
        self.assertEqual((ctypes.sizeof(_kerberos._Buffer), ctypes.sizeof(_kerberos._Oid),
                          ctypes.sizeof(_kerberos._OidSet)), (16, 16, 16))


class NameNodeTest(daemons.EspalierTest):
    """Answers that no HDFS of the other tests gives."""

    def setUp(self):
        super().setUp()
        asked = self.asked = []
        answers = self.answers = []

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += self.rfile.readline()
                asked.append(head.decode())
                self.wfile.write(answers[min(len(asked), len(answers)) - 1])
        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.at = "localhost:%d" % server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        for end in (thread.join, server.server_close, server.shutdown):
            self.addCleanup(end)
        patch = mock.patch.dict(os.environ, {
            "HADOOP_CONF_DIR": "", "HADOOP_HOME": "", "HADOOP_USER_NAME": "ann",
            "HADOOP_TOKEN_FILE_LOCATION": "", "KRB5_CONFIG": "/dev/null",
            "KRB5CCNAME": "FILE:" + self.path("no.cache"), "KRB5_CLIENT_KTNAME": self.path("none")})
        patch.start()
        self.addCleanup(patch.stop)

    def refused(self, kind, words, *answers):
        del self.asked[:]
        self.answers[:] = [text.encode() for text in answers]
        with self.assertRaisesRegex(kind, words) as caught:
            _webhdfs.read_file("webhdfs://%s/f" % self.at, 100)
        self.assertNotIn("SECRET", str(caught.exception))
        return list(self.asked)

    def test_what_is_no_answer_of_webhdfs_is_told_and_shows_no_token(self):
        away, other = espalier.UnavailableError, espalier.FailedPreconditionError
        self.refused(away, "it ended 7 bytes before the end",
                     "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        self.refused(away, "it does not speak HTTP", "SSH-2.0-OpenSSH\r\n")
        self.refused(away, "cannot be read", "")
        self.refused(espalier.BadInputError, "expected at most 100 bytes",
                     "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n" + "a" * 101)
        for where, words in (("ftp://h/f", "sends to ftp://h/f, which is not HTTP$"),
                             ("file:///etc/passwd", "HTTP 307$")):
            self.refused(other, words,
                         "HTTP/1.1 307 T\r\nLocation: %s?delegation=SECRET\r\n\r\n" % where)
        asked = self.refused(other, "HTTP 307", "HTTP/1.1 307 T\r\nLocation: http://%s/webhdfs/v1/"
                             "f?delegation=SECRET\r\n\r\n" % self.at)
        self.assertLess(len(asked), 12)

    def test_who_asks_for_a_proof_is_given_none_that_there_is_not(self):
        denied = espalier.PermissionDeniedError
        asked = self.refused(denied, "asks for Kerberos: .*neither a Kerberos ticket nor a keytab",
                             "HTTP/1.1 401 U\r\nWWW-Authenticate: Negotiate\r\n\r\n")
        self.assertEqual(len(asked), 1)
        self.refused(denied, "answers HTTP 401: it requires authentication",
                     "HTTP/1.1 401 U\r\nWWW-Authenticate: Basic\r\n\r\n")

    def test_a_proof_goes_to_the_name_node_alone_and_again_when_it_seemed_repeated(self):
        replay = ("HTTP/1.1 403 GSSException: x\r\n\r\n<p>GSSException: Failure unspecified at "
                  "GSS-API level (Mechanism level: %s)</p>")
        good = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n!"
        asks = "HTTP/1.1 401 U\r\nWWW-Authenticate: Negotiate\r\n\r\n"
        moved = "HTTP/1.1 307 T\r\nLocation: http://%s/data?delegation=SECRET\r\n\r\n" % self.at
        with mock.patch.object(_webhdfs, "negotiate_header", return_value="Negotiate cHJvb2Y="):
            self.answers[:] = [text.encode() for text in (
                asks, replay % "Request is a replay (34)", moved, good)]
            self.assertEqual(_webhdfs.read_file("webhdfs://%s/f" % self.at, 100), b"!")
            self.assertEqual(["Negotiate cHJvb2Y=" in text for text in self.asked],
                             [False, True, True, False])
            self.assertEqual(["user.name=ann" in text for text in self.asked],
                             [True, False, False, False])
            self.refused(espalier.UnavailableError, "proof as a repeated one", asks,
                         replay % "Request is a replay (34)")
            self.refused(espalier.PermissionDeniedError, "its keytab does not have the key",
                         asks, replay % "Checksum failed")
            self.refused(espalier.PermissionDeniedError, "the clocks of this host",
                         asks, replay % "Clock skew too great (37)")
            self.refused(espalier.PermissionDeniedError, "a realm that HDFS trusts", asks)

    def test_a_token_of_the_file_is_shown_and_told_of_when_it_is_refused(self):
        token = b"\0\0\x15HDFS_DELEGATION_TOKEN"
        name = self.at.encode()
        with open(self.path("tokens"), "wb") as f:
            f.write(b"HDTS\0\1\0" + token + bytes([len(name)]) + name)
        os.environ["HADOOP_TOKEN_FILE_LOCATION"] = self.path("tokens")
        for exception, message, words in (
                ("InvalidToken", "token (x) is expired", "its delegation token has expired"),
                ("InvalidToken", "token (x) can't be found in cache", "does not know its"),
                ("InvalidToken", "whatever", "its delegation token is refused")):
            body = json.dumps({"RemoteException": {"exception": exception, "message": message}})
            asked = self.refused(espalier.PermissionDeniedError, words + ".*must be started again",
                                 "HTTP/1.1 403 F\r\nContent-Length: %d\r\n\r\n%s" %
                                 (len(body), body))
            self.assertEqual(len(asked), 1)
            self.assertIn("delegation=AAAVSERGU19ERUxFR0FUSU9OX1RPS0VO", asked[0])
            self.assertNotIn("user.name", asked[0])


class YarnTest(daemons.EspalierTest):
    def test_a_name_that_is_none_and_a_service_that_was_not_started_here(self):
        with mock.patch.dict(os.environ, {"HOME": self.directory}):
            for name in ("", "Mnist", "7up", "a/../b", "a_b", "a" * 41, "\u00e4", "a\n"):
                with self.assertRaisesRegex(espalier.InvalidArgumentError, "expected at most 40 "
                                            "lower-case letters"):
                    espalier.connect("yarn:" + name)
            with self.assertRaisesRegex(espalier.NotFoundError, "no service mnist was started here:"
                                        " '%s/.espalier/yarn/mnist/coordinator' is missing" %
                                        self.directory) as caught:
                espalier.connect("yarn:mnist")
            self.assertIn("user of `espalier yarn up mnist`", caught.exception.hint)
            kept = _yarn.Kept("mnist", self.path(".espalier", "yarn", "mnist"))
            os.makedirs(kept.folder)
            with open(kept.coordinator, "w") as f:
                f.write("yarn:mnist\n")  # does not form a circle
            self.assertEqual(_connection.find_coordinator("yarn:mnist"), "yarn:mnist")
            with self.assertRaisesRegex(espalier.NotFoundError, "ca=: cannot read .*mnist/ca.crt"):
                espalier.connect("yarn:mnist")


if __name__ == "__main__":
    unittest.main()
