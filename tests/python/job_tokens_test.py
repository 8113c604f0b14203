"""Delegation tokens that a job gets, and the identity that gets them. None travels in the clear."""
import contextlib
import io
import unittest
from unittest import mock

import pytest

import espalier
from espalier import _connection, _job_tokens, _jobtext, _kerberos
from espalier._proto import api_pb2
from espalier._security import Security

pytestmark = pytest.mark.covers("rpc", "storage")


def without(names, why):
    """Returns the notes for these."""
    return ["no delegation token of hdfs://%s goes with the job, so the daemons must have a "
            "keytab: %s" % (name, why) for name in names]


class JobTokensTest(unittest.TestCase):
    def test_the_file_systems_of_a_job_are_those_of_its_paths_each_once(self):
        text = """
data: {train: [hdfs://ns/a, /local], test: hdfs:///b, validation: {files: "webhdfs://h:1/c?d"}}
train: {initial: {from: swebhdfs://h:2/e}}
output: hdfs://ns/f
resume: hdfs://other
"""
        with mock.patch.object(_job_tokens, "is_secured", return_value=False) as asked:
            self.assertEqual(_job_tokens.fetch_job_tokens(_jobtext.paths_of(text), None),
                             ([], []))
        self.assertEqual([call.args[0] for call in asked.call_args_list],
                         ["hdfs://", "hdfs://ns", "swebhdfs://h:2", "webhdfs://h:1"])

    def fetch(self, delegate, own=None, secured=False, renewer=lambda: "espalier/host"):
        """Returns the tokens of a job whose submitter is `own` by this process's ticket."""
        nobody = espalier.PermissionDeniedError("no ticket")
        with mock.patch.object(_job_tokens, "is_secured", side_effect=2 * [secured]), \
                mock.patch.object(_job_tokens, "own_principal", side_effect=[own or nobody]), \
                mock.patch.object(_job_tokens, "fetch_token",
                                  side_effect=lambda where, by: "own of %s by %s" % (where, by)):
            return _job_tokens.fetch_job_tokens(["hdfs://b/x", "hdfs://a/x"], renewer, delegate)

    def test_another_identity_counts_before_the_own_one(self):
        def delegate(where, renewer):
            return "%s of %s" % (where, renewer("ann@R"))

        def both_by(who):
            return [(where, "%s of %s" % (where, who)) for where in ("hdfs://a", "hdfs://b")]
        for own in (None, "bob@R"):
            self.assertEqual(self.fetch(delegate, own, secured=True),
                             (both_by("espalier/host"), []))
        tokens, notes = self.fetch(delegate, renewer=mock.Mock(
            side_effect=espalier.FailedPreconditionError("nobody renews")))
        self.assertEqual(tokens, both_by("ann@R"))
        self.assertEqual(len(notes), 1)
        self.assertIn("nobody renews", notes[0])

    def test_where_another_identity_has_none_the_own_one_counts_and_else_each_is_told(self):
        def refuses(*_):
            raise espalier.PermissionDeniedError("tokens alone")
        own = [("hdfs://%s" % n, "own of hdfs://%s by espalier/host" % n) for n in "ab"]
        for delegate in (refuses, lambda *_: None, None):
            self.assertEqual(self.fetch(delegate, "bob@R", secured=True), (own, []))
            self.assertEqual(self.fetch(delegate, "bob@R", secured=False), ([], []))
        for secured in (False, True):
            tokens, notes = self.fetch(refuses, secured=secured)
            self.assertEqual(tokens, [])
            self.assertEqual(notes, without("ab", "tokens alone"))
        self.assertEqual(self.fetch(lambda *_: None, secured=False), ([], []))
        self.assertEqual(self.fetch(lambda *_: None, secured=True),
                         ([], without("ab", "no ticket")))
        self.assertEqual(self.fetch(None, secured=True), ([], without("a", "no ticket")))
        unknown = espalier.UnavailableError("no NameNode of it answers")
        self.assertEqual(self.fetch(refuses, "bob@R", secured=unknown),
                         ([], without("ab", "tokens alone")))
        away = mock.Mock(side_effect=espalier.UnavailableError("away"))
        with self.assertRaisesRegex(espalier.UnavailableError, "away"):
            self.fetch(away, "bob@R", secured=True)

    def test_another_identitys_token_goes_along_though_a_file_system_before_has_none(self):
        for refused, kind in (("tokens alone", espalier.PermissionDeniedError),
                              ("no ticket", None)):
            def delegate(where, _, refused=refused, kind=kind):
                if where == "hdfs://a" and kind:
                    raise kind(refused)
                return "ann's" if where == "hdfs://b" else None
            self.assertEqual(self.fetch(delegate, secured=True), (
                [("hdfs://b", "ann's")], without("a", refused)))

    def test_where_another_identity_forbids_it_the_own_one_does_not_count(self):
        def forbids(where, _):
            if where == "hdfs://a":
                raise espalier.FailedPreconditionError("as ann", hint="or not.")
            return None
        self.assertEqual(self.fetch(forbids, "bob@R", secured=True), (
            [("hdfs://b", "own of hdfs://b by espalier/host")], without("a", "as ann or not.")))

    def test_without_kerberos_library_a_job_goes_without_a_token_and_is_told_what_to_install(self):
        self.addCleanup(_kerberos._load.cache_clear)
        _kerberos._load.cache_clear()
        with mock.patch.object(_job_tokens, "is_secured", return_value=True), \
                mock.patch.object(_kerberos, "_LIBRARY", "libgssapi_none.so.2"):
            tokens, notes = _job_tokens.fetch_job_tokens(["hdfs://ns/a", "hdfs://other/b"], None)
        self.assertEqual((tokens, len(notes)), ([], 1))
        self.assertRegex(notes[0], "^no delegation token of hdfs://ns .* a keytab: "
                         "Kerberos' library is missing: .* apt-get install libgssapi-krb5-2")

    def test_no_token_is_sent_in_the_clear_to_another_machine(self):
        request = api_pb2.SubmitRequest()
        request.tokens.add(file_system=b"hdfs://ns", text=b"secret")
        for host, private in (("127.0.0.1", True), ("127.8.0.1", True), ("localhost", True),
                              ("::1", True), ("unix:/a.socket", True),
                              ("192.0.2.1", False), ("head", False),
                              ("127.0.0.1.example", False)):
            self.assertEqual(_connection.is_loopback(host), private, host)
        with _connection.Connection("192.0.2.1:7700", Security(), espalier.Limits()) as connection:
            client = espalier.Client(connection)
            with self.assertRaisesRegex(espalier.FailedPreconditionError, "a delegation token of "
                                        "hdfs://ns .* unencrypted .* at 192.0.2.1:7700") as caught:
                client._submit_once(request)
            self.assertNotIn("secret", str(caught.exception))

    def test_another_identity_is_asked_for_no_token_that_would_travel_in_the_clear(self):
        def delegate(where, renewer):
            return "%s of %s" % (where, renewer("ann@R"))
        clear = without(["ns"], "it would travel unencrypted to the coordinator at "
                                "192.0.2.1:7700. Use TLS")
        for address, security, notes in (
                ("127.0.0.1:7700", Security(), []),
                ("192.0.2.1:7700", Security(ca="ca.crt"), []),
                ("192.0.2.1:7700", Security(), clear)):
            connection = _connection.Connection(address, security, espalier.Limits())
            client = espalier.Client(connection, delegate)
            said = io.StringIO()
            with mock.patch.object(connection, "_stub", return_value=(None, address)), \
                    mock.patch.object(client, "_renewer", return_value="espalier/host"), \
                    mock.patch.object(client, "_submit_once", return_value=1) as submitted, \
                    contextlib.redirect_stderr(said):
                client.submit({"data": {"train": "hdfs://ns/x"}})
            self.assertEqual([t.text for t in submitted.call_args.args[0].tokens],
                             [] if notes else [b"hdfs://ns of espalier/host"])
            self.assertEqual(said.getvalue(), "".join("note: %s\n" % note for note in notes))


if __name__ == "__main__":
    unittest.main()
