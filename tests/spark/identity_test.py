"""Tests which Spark sessions are accepted and the Kerberos identity of Spark. Runs neither Spark
nor Kerberos."""
import contextlib
import importlib.util
import io
import logging
import os
import threading
import unittest
from unittest import mock

from py4j import clientserver, java_gateway

import sparks  # makes `daemons` and what it needs importable

import espalier
from espalier import _job_tokens
from espalier.spark import EspalierClassifier, EspalierModel, files, identity, launch_on_spark
from espalier.spark import estimator as estimators


class ConnectSession:
    """A session that shows only its class. Spark Connect's real session rejects the other
    attributes, too."""

    def __getattr__(self, name):
        raise AttributeError("[JVM_ATTRIBUTE_NOT_SUPPORTED] Attribute `%s`" % name)


ConnectSession.__module__ = "pyspark.sql.connect.session"


class OfOthers(ConnectSession):
    """A session class of a product that builds on Spark Connect."""


class ConnectTest(unittest.TestCase):
    def refused(self):
        return self.assertRaisesRegex(espalier.UnimplementedError,
                                      r"(?s)Spark Connect, .* by spark-submit.*SPARK_REMOTE")

    def test_sessions_without_a_driver_here_are_refused_with_what_to_do(self):
        for session in (ConnectSession(), OfOthers()):
            frame = mock.Mock(sparkSession=session, spec=["sparkSession"])
            with self.refused():
                EspalierClassifier(hiddenLayers=[4]).fit(frame)
            with self.refused():
                EspalierModel().transform(frame)
            with self.refused():
                launch_on_spark(session, 2)
            with self.refused():
                files.read(session, "hdfs:///bundle/model.json", 1)
            with mock.patch.object(estimators, "SparkSession") as made, self.refused():
                made.builder.getOrCreate.return_value = session
                EspalierClassifier(hiddenLayers=[4]).fit_on_parquet("hdfs:///rows")

    def test_submit_refuses_one_as_wrong_usage(self):
        spec = importlib.util.spec_from_file_location(
            "submit", os.path.join(sparks.DEPLOY, "submit.py"))
        submit = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(submit)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual(submit.outcome(ConnectSession(), submit.parse(["job.yaml"])), 2)
        self.assertIn("Spark Connect", said.getvalue())


class Java(Exception):
    """The error that Py4J raises for a Java exception."""


class DelegationTest(unittest.TestCase):
    """Tests delegation tokens with mocks of Spark's JVM. kerberos_test.py uses a real one."""

    def setUp(self):
        self.user = mock.Mock(**{"getUserName.return_value": "ann@R",
                                 "getRealUser.return_value": None,
                                 "hasKerberosCredentials.return_value": True})
        self.users = mock.Mock(**{"getCurrentUser.return_value": self.user,
                                  "isSecurityEnabled.return_value": True})
        self.there = mock.Mock()
        self.there.getDelegationToken.return_value.encodeToUrlString.return_value = "token"
        for name, value in (("_users", lambda _: self.users), ("SparkSession", mock.Mock()),
                            ("_file_system_of", lambda _, user, __: self.there),
                            ("_without_tokens", lambda _, user: user),
                            ("Py4JJavaError", Java)):
            patch = mock.patch.object(identity, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        patch = mock.patch.object(files, "file_system", return_value=self.there)
        self.found = patch.start()
        self.addCleanup(patch.stop)

    def proxied_by(self, ticket):
        """Makes Spark's user a proxy user whose real user has a ticket or not."""
        self.user.hasKerberosCredentials.return_value = False
        self.user.getRealUser.return_value = mock.Mock(**{
            "getUserName.return_value": "svc@R", "hasKerberosCredentials.return_value": ticket})

    def token(self):
        return identity.delegation_token("hdfs://ns", lambda own: "renewer of " + own)

    def test_a_token_is_of_sparks_user_and_the_coordinator_renews_it(self):
        self.assertEqual(self.token(), "token")
        self.there.getDelegationToken.assert_called_once_with("renewer of ann@R")
        self.found.assert_called_once_with(mock.ANY, "hdfs://ns/")

    def test_nothing_is_said_of_what_is_not_secured_or_not_known_to_spark(self):
        self.there.getDelegationToken.return_value = None
        self.assertIsNone(self.token())
        self.found.side_effect = Java
        self.assertIsNone(self.token())
        self.users.isSecurityEnabled.return_value = False
        self.assertIsNone(self.token())
        self.assertIn("Without Kerberos", identity.who_writes(None))

    def test_a_user_for_whom_another_one_has_the_ticket_is_not_replaced_by_that_one(self):
        self.user.hasKerberosCredentials.return_value = False
        with self.assertRaisesRegex(espalier.PermissionDeniedError, "cannot create another"):
            self.token()
        self.proxied_by(True)
        self.assertEqual(self.token(), "token")
        self.there.getDelegationToken.side_effect = Java("why")
        with self.assertRaisesRegex(espalier.UnavailableError, "token of hdfs://ns: why"):
            self.token()
        self.user.getRealUser.return_value = None
        self.user.hasKerberosCredentials.return_value = True
        with self.assertRaisesRegex(espalier.PermissionDeniedError, "token of hdfs://ns: why"):
            self.token()

    def test_a_proxied_users_job_never_goes_as_the_real_one(self):
        def assert_goes_without(why):
            with mock.patch.object(_job_tokens, "is_secured", return_value=True), \
                    mock.patch.object(_job_tokens, "own_principal", return_value="svc@R"), \
                    mock.patch.object(_job_tokens, "fetch_token", return_value="of svc"):
                self.assertEqual(_job_tokens.fetch_job_tokens(
                    ["hdfs://ns/x"], lambda: "espalier/host", identity.delegation_token), ([], [
                        "no delegation token of hdfs://ns goes with the job, so the daemons "
                        "must have a keytab: %s (a job of ann@R does not go as "
                        "svc@R)" % why]))
        self.proxied_by(ticket=False)
        assert_goes_without("Spark's JVM has no ticket of the real user, which a token requires; "
                            "get one (kinit)")
        self.proxied_by(ticket=True)
        self.found.side_effect = Java("no such host")
        assert_goes_without("Spark does not know it: no such host")
        self.found.side_effect = None
        self.there.getDelegationToken.return_value = None
        assert_goes_without("Spark requested a token and got none")

    def test_a_token_comes_into_no_log_of_py4js(self):
        handler = logging.StreamHandler()
        log = logging.getLogger("py4j")
        self.addCleanup(log.setLevel, log.level)
        self.addCleanup(log.removeHandler, handler)
        log.setLevel(logging.DEBUG)
        log.addHandler(handler)
        old = java_gateway.GatewayConnection(java_gateway.GatewayParameters())
        old.socket.close()
        new = clientserver.ClientServerConnection(*[mock.Mock()] * 5)
        for line in (old, new):
            said = io.StringIO()
            handler.setStream(said)

            def answer(words, line=line):
                line.socket, line.stream = mock.Mock(), io.BytesIO(words.encode() + b"\n")
                return line.send_command("c\n")

            def encode():
                other = threading.Thread(target=answer, args=("!ysof another thread",))
                other.start()  # its answer is logged
                other.join()
                return answer("!ysSECRET")
            self.there.getDelegationToken.return_value.encodeToUrlString.side_effect = encode
            self.assertIn("SECRET", self.token())
            self.assertNotIn("SECRET", said.getvalue())
            self.assertIn("of another thread", said.getvalue())
            self.there.getDelegationToken.return_value.encodeToUrlString.side_effect = Java("why")
            with self.assertRaises(espalier.PermissionDeniedError):
                self.token()
            answer("!ysafter it")
            self.assertIn("after it", said.getvalue())


if __name__ == "__main__":
    unittest.main()
