"""A secured HDFS: jobs read and write it by keytab, by ticket and by delegation tokens that end and
are replaced in the middle of a job. Also tests the messages about each part that is missing or
wrong.

Its delegation tokens last seconds instead of days.
"""
import base64
import contextlib
import glob
import os
import re
import stat
import time
import unittest

import pytest

from certificates import SecureCluster
from espalier import Cluster, EspalierTest, wait_for
from hdfs_jobs import BUNDLE, csv_text, table

import hadoop_conf  # in tools/lib, which `espalier` puts on the path
import hadoop_kdc
from hadoop import Hdfs

pytestmark = pytest.mark.covers("storage")

MIB = 1 << 20
RENEW_MS, LIFE_MS = 4000, 9000
# Base64 of "alice", which occurs in each of her tokens.
IN_TOKEN_OF_ALICE = "QAFYWxpY2U"


def setUpModule():
    Kerberos.hdfs = Hdfs.start(kerberos=True, datanodes=1, block_size=MIB, settings={
        "dfs.namenode.delegation.token.renew-interval": RENEW_MS,
        "dfs.namenode.delegation.token.max-lifetime": LIFE_MS,
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": 5})
    unittest.addModuleCleanup(Kerberos.hdfs.stop)


class DaemonsOf:
    """Settings for a Cluster with daemons that are another principal than the test's commands."""

    principal = "espalier"

    def start_daemon(self, name, arguments):
        person = dict(self.test.environment)
        try:
            self.test.environment.update(self.test.hdfs.env(self.principal or "alice"))
            if self.principal is None:
                self.test.environment.update(self.test.nobody())
            return super().start_daemon(name, arguments)
        finally:
            self.test.environment.clear()
            self.test.environment.update(person)


class TokenCluster(DaemonsOf, SecureCluster):
    pass


class PlainCluster(DaemonsOf, Cluster):
    pass


class Kerberos(EspalierTest):
    hdfs = None

    def setUp(self):
        super().setUp()
        self.environment.update(self.hdfs.env("alice"))
        self.home = "/user/alice/" + self.id().rpartition(".")[2][5:45]
        self.rows = csv_text(table(900))

    def put(self):
        """Writes the table in a directory that all users may write in. Returns its URI."""
        files = self.hdfs.files
        files.mkdirs(self.home, "777")
        files.call("PUT", "SETPERMISSION", self.home, permission="777")
        self.hdfs.put(self.home + "/t.csv", self.rows.encode())
        return self.uri("t.csv")

    def uri(self, name):
        return "%s%s/%s" % (self.hdfs.uri, self.home, name)

    def spec(self, source, **train):
        return {"data": {"train": source, "label": "label", "validation": {"column": "flag"},
                         "shard_bytes": 4096},
                "model": {"task": "classification", "hidden": [16, 8]},
                "train": dict({"batch": 100, "leaves": 16, "epochs": 2, "seed": 7}, **train)}

    def local_weights(self, **train):
        done = self.result("train", self.job("local", self.spec(self.write("t.csv", self.rows),
                                                                **train)), "--workers", 1)
        return done["weights_sha256"]

    def remote_job(self, name, source, output=None, **train):
        return self.job(name, dict(self.spec(source, **train), output=output or self.uri(name)))

    def nobody(self):
        """Returns an environment with neither ticket nor keytab."""
        return hadoop_kdc.nobody_env(self.directory)

    def ticket(self, name, *options):
        return hadoop_kdc.ticket_env(self.hdfs.state, name, self.directory, *options)

    def assert_bundle(self, name, owner):
        files = self.hdfs.files
        self.assertEqual(sorted(files.names(self.home + "/" + name)), BUNDLE)
        self.assertEqual(files.status("%s/%s/model.json" % (self.home, name))["owner"], owner)


class WordsTest(Kerberos):
    """`espalier check` is rejected with the reason."""

    def said(self, *words, uri=None, **environment):
        self.environment.update(environment)
        uri = uri or self.uri("t.csv")
        _, err = self.espalier("check", self.job("words", self.spec(uri)), code=None)
        for word in words:
            self.assertIn(word, err)
        self.assertNotIn("delegation=", err)
        self.assertNotIn(IN_TOKEN_OF_ALICE, err)

    def https(self, host="localhost"):
        port = self.hdfs.daemon("nn1")["https"].partition(":")[2]
        return "swebhdfs://%s:%s%s/t.csv" % (host, port, self.home)

    def test_neither_ticket_nor_keytab(self):
        self.said("neither a Kerberos ticket nor a keytab", "KRB5_CLIENT_KTNAME", "no.cache",
                  "no.keytab, which is missing", **self.nobody())

    def test_a_ticket_that_has_expired(self):
        ticket = self.ticket("alice", "-l", "1s")
        wait_for("its end", lambda: self.has_ended(ticket))
        time.sleep(2)  # the KDC counts whole seconds
        self.said("the Kerberos ticket has expired", "kinit", **ticket)

    def has_ended(self, ticket):
        try:
            hadoop_kdc.run(self.hdfs.state, "klist", "-s", env=dict(
                os.environ, **hadoop_kdc.client_env(self.hdfs.state), **ticket))
            return False
        except hadoop_kdc.HadoopError:
            return True

    def test_a_host_name_that_no_principal_has(self):
        port = self.hdfs.daemon("nn1")["http"].partition(":")[2]
        self.said("the KDC knows no service", "the host name in its principal",
                  uri="webhdfs://127.0.0.1:%s/t.csv" % port)

    def test_reverse_dns_does_not_choose_the_service(self):
        """127.0.0.1 is localhost to a reverse lookup, and HTTP/localhost is a service."""
        with open(os.path.join(self.hdfs.dir, "kdc", "krb5.conf")) as f:
            lookups = f.read().replace("rdns = false", "rdns = true").replace(
                "dns_canonicalize_hostname = false", "dns_canonicalize_hostname = true")
        self.environment["KRB5_CONFIG"] = self.write("krb5.conf", lookups)
        self.test_a_host_name_that_no_principal_has()

    def test_clocks_that_differ(self):
        self.command_prefix = ["faketime", "+20 min"]
        self.said("the clocks of this host", "differ by more", "set them by NTP",
                  **self.ticket("alice"))

    @pytest.mark.long
    def test_a_kdc_that_is_away(self):
        with open(os.path.join(self.hdfs.dir, "kdc", "krb5.conf")) as f:
            away = re.sub(r"kdc = .*", "kdc = 127.0.0.1:1", f.read())
        self.said("no KDC answers", "krb5.conf (KRB5_CONFIG)",
                  KRB5_CONFIG=self.write("krb5.conf", away))

    def test_an_authority_that_is_not_known(self):
        self.said("is not believed", "certificate is of an authority",
                  "hadoop_ca (ESPALIER_HADOOP_CA)", "ssl-client.xml", uri=self.https())

    def test_a_file_of_authorities_that_is_none(self):
        self.said("no certificate in PEM form", uri=self.https(),
                  ESPALIER_HADOOP_CA=self.write("ca.pem", "nothing\n"))

    def test_a_certificate_of_another_host_name(self):
        self.said("the KDC knows no service", uri=self.https("127.0.0.1"),
                  ESPALIER_HADOOP_CA=hadoop_kdc.ca_file(self.hdfs.state))
        self.said("its certificate is of another host",
                  HADOOP_TOKEN_FILE_LOCATION=self.token_file(), **self.https_only("127.0.0.1"))

    def test_a_certificate_that_has_expired(self):
        self.command_prefix = ["faketime", "+25 days"]
        self.said("is not believed: its certificate has expired",
                  ESPALIER_HADOOP_CA=hadoop_kdc.ca_file(self.hdfs.state),
                  HADOOP_TOKEN_FILE_LOCATION=self.token_file(), **self.https_only("localhost"))

    def https_only(self, host):
        """Writes a configuration with HTTPS for hdfs://, to a NameNode of that name."""
        conf = self.path("conf-" + host)
        os.makedirs(conf)
        namenode = self.hdfs.daemon("nn1")
        hadoop_conf.write_xml(os.path.join(conf, "hdfs-site.xml"), {
            "hadoop.security.authentication": "kerberos", "dfs.http.policy": "HTTPS_ONLY",
            "dfs.namenode.rpc-address": namenode["rpc"],
            "dfs.namenode.https-address": host + ":" + namenode["https"].partition(":")[2]})
        return {"HADOOP_CONF_DIR": conf}

    def token_file(self):
        """Writes a token of Alice's, by Hadoop."""
        path = self.path("alice.token")
        cache = "FILE:" + self.path("alice.cache")
        hadoop_kdc.kinit(self.hdfs.state, "alice", cache)
        done = self.hdfs.run("fetchdt", "--renewer", "espalier", path, env={"KRB5CCNAME": cache})
        self.assertTrue(os.path.exists(path), done.stdout + done.stderr)
        return path

    def test_a_file_of_tokens_that_have_expired(self):
        job = self.job("words", self.spec(self.put()))
        self.environment.update(self.nobody(), HADOOP_TOKEN_FILE_LOCATION=self.token_file())
        err = wait_for("its end", lambda: self.espalier("check", job, code=None)[1], 60)
        self.assertIn("its delegation token has expired", err)
        self.assertIn("HADOOP_TOKEN_FILE_LOCATION names", err)

    def test_a_file_of_tokens_that_is_damaged(self):
        self.said("the file of credentials is damaged",
                  HADOOP_TOKEN_FILE_LOCATION=self.write("broken", "HDTS nothing"))


class OwnIdentityTest(Kerberos):
    def test_a_keytab_a_ticket_and_https_give_the_weights_of_the_local_file(self):
        weights = self.local_weights()
        source = self.put()
        https = "swebhdfs://%s%s" % (self.hdfs.daemon("nn1")["https"], self.home)
        ca = {"ESPALIER_HADOOP_CA": hadoop_kdc.ca_file(self.hdfs.state)}
        for name, environment, train, output in (
                ("keytab", {}, source, self.uri("keytab")),
                ("https", ca, https + "/t.csv", https + "/https"),
                ("ticket", self.ticket("alice"), source, self.uri("ticket"))):
            self.environment.update(environment)
            done = self.result("train", self.remote_job(name, train, output), "--workers", 2)
            self.assertEqual(done["weights_sha256"], weights, name)
            self.assert_bundle(name, "alice")

    def test_without_a_ticket_of_their_submitter_daemons_use_their_own_keytab(self):
        source = self.put()
        cluster = PlainCluster(self, 1)
        self.environment.update(self.nobody())
        _, err = cluster.espalier("submit", self.remote_job("own", source))
        self.assertIn("note: no delegation token of " + self.hdfs.uri + " goes with the job", err)
        self.assert_bundle("own", "espalier")


class TokensTest(Kerberos):
    def assert_secret(self, cluster, *texts):
        """Checks that no log and no answer contains a token."""
        logs = [cluster.log(name) for name in ["coordinator"] + list(cluster.workers)]
        for text in logs + list(texts):
            self.assertNotIn(IN_TOKEN_OF_ALICE, text)
            self.assertNotIn("delegation=", text)

    def tokens_in(self, state):
        """Returns the tokens in the journal. No other user may read it."""
        found = set()
        for path in glob.glob(os.path.join(state, "**"), recursive=True):
            if os.path.isfile(path):
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode) & 0o077, 0, path)
                with open(path, "rb") as f:
                    found.update(re.findall(rb"\w" + IN_TOKEN_OF_ALICE.encode() + rb"[\w-]{60,}",
                                            f.read()))
        return {self.whole(token.decode()) for token in found}

    def whole(self, text):
        """Returns a token up to the end of its service's address, without the data after it in a
        file."""
        for end in range(len(text) + 1):
            with contextlib.suppress(ValueError):
                bytes_ = base64.urlsafe_b64decode(text[:end] + "=" * (-end % 4))
                if bytes_.endswith(self.hdfs.daemon("nn1")["rpc"].encode()):
                    return text[:end]
        raise AssertionError("no token in %d bytes" % len(text))

    @pytest.mark.long
    def test_tokens_that_end_are_replaced_in_the_middle_of_a_job(self):
        train = {"epochs": 4000, "checkpoint": {"every_steps": 200}}
        weights = self.local_weights(**train)
        source, state = self.put(), self.path("state")
        cluster = TokenCluster(self, 2, state=state)
        job = cluster.submit(self.remote_job("model", source, **train))
        cluster.wait_for_training(job)
        tokens = self.tokens_in(state)
        self.assertTrue(tokens)
        words = job + ": the delegation token of %s was replaced" % self.hdfs.uri
        wait_for("another token", lambda: words in cluster.log("coordinator"), 60)
        cluster.kill_coordinator()
        cluster.restart_coordinator()
        before = cluster.log("coordinator").count(words)
        wait_for("one of the next life", lambda: cluster.log("coordinator").count(words) > before,
                 60)
        status, _ = cluster.espalier("status", job, "--json")
        wait_for("its end", lambda: cluster.status(job)["state"] not in ("TRAINING", "LOADING",
                                                                         "RECOVERING"), 300)
        done = cluster.result("watch", job)
        self.assertEqual(done["status"], "SUCCEEDED", done)
        self.assertEqual(done["weights_sha256"], weights)
        self.assert_bundle("model", "alice")
        self.assert_secret(cluster, status, str(done))

    @pytest.mark.long
    def test_a_worker_that_joins_reads_with_the_jobs_tokens(self):
        train = {"epochs": 8000}
        weights = self.local_weights(**train)
        source = self.put()
        cluster = TokenCluster(self, 1, coordinator_flags=["--rebalance-interval-ms", "100"])
        job = cluster.submit(self.remote_job("grown", source, **train))
        cluster.wait_for_training(job)
        cluster.principal = None  # of the joiner: it has neither ticket nor keytab
        cluster.start_worker("node-2")
        wait_for("two members", lambda: job + " generation 2: 2 workers" in
                 cluster.log("coordinator"), 60)
        done = cluster.result("watch", job)
        self.assertEqual(done["status"], "SUCCEEDED", done)
        self.assertEqual(done["weights_sha256"], weights)
        self.assertEqual(cluster.lost(), [])

    def test_the_tokens_of_a_job_that_has_ended_are_worth_nothing(self):
        source, state = self.put(), self.path("state")
        cluster = TokenCluster(self, 1, state=state)
        job = cluster.submit(self.remote_job("long", source, epochs=10_000_000))
        cluster.wait_for_training(job)
        token = sorted(self.tokens_in(state))[0]
        cluster.espalier("cancel", job)

        def refused():
            told = hadoop_kdc.run(self.hdfs.state, "curl", "--silent", "--noproxy", "*",
                                  "http://%s/webhdfs/v1/?op=GETFILESTATUS&delegation=%s" %
                                  (self.hdfs.daemon("nn1")["http"], token))
            return "can't be found in cache" in told
        wait_for("its end", refused, 60)
        self.assert_secret(cluster)

    def test_where_nobody_may_act_for_the_owner_the_log_says_when_the_token_ends(self):
        self.environment.update(self.hdfs.env("bob"))
        source = self.put()
        cluster = TokenCluster(self, 1)
        job = cluster.submit(self.remote_job("of bob", source, epochs=10_000_000))
        words = "act for another; its hadoop.proxyuser"
        wait_for("the warning", lambda: words in cluster.log("coordinator"), 60)
        self.assertRegex(cluster.log("coordinator"),
                         job + ": its delegation token of \\S+ ends at \\d{4}-")
        cluster.espalier("cancel", job, code=None)  # it may have failed by now

    def test_tokens_do_not_travel_in_the_clear(self):
        source = self.put()
        cluster = PlainCluster(self, 0, flags=["--insecure"])
        cluster.kill_coordinator()
        cluster.start_coordinator(listen="0.0.0.0:0")
        port = cluster.address.rpartition(":")[2]
        for host, words in (
                ("127.0.0.1", "delegation tokens came over"),
                # Also this machine, but not by an address that is known to be its own.
                ("0.0.0.0", "unencrypted to the coordinator at 0.0.0.0")):
            cluster.address = "%s:%s" % (host, port)
            _, err = cluster.espalier("submit", self.remote_job("clear", source), code=None)
            self.assertIn(words, err)
            self.assert_secret(cluster, err)

    def test_a_coordinator_that_is_nobody_says_that_it_cannot_renew(self):
        source = self.put()
        cluster = PlainCluster(self, 0)
        cluster.kill_coordinator()
        cluster.principal = None
        cluster.restart_coordinator()
        _, err = cluster.espalier("submit", self.remote_job("short", source), "--detach", code=None)
        self.assertIn("delegation tokens cannot be renewed", err)
        self.assertIn("neither a Kerberos ticket nor a keytab", err)


if __name__ == "__main__":
    unittest.main()
