"""Clusters with certificates train to the same bits, and accept no other clients. Each fault is one
clear error."""

import os
import shutil
import ssl
import subprocess
import time
import unittest

import pytest

from certificates import (Authority, CompanyAuthority, SecureCluster, Secured, tls_environment,
                          tls_flags)
from espalier import Cluster, EspalierTest, await_step, program, wait_for
from hosts_test import HostCluster

import hosts  # in tools/lib, which `espalier` puts on the path

pytestmark = [pytest.mark.covers("cli", "rpc", "security"), pytest.mark.attack]

TOKEN = "0123456789abcdef0123"


class SecureHostCluster(Secured, HostCluster):
    """Cluster with each daemon on its own host, without the flag insecure."""

    consent = []

    def __init__(self, test, workers, **options):
        self.secure(test, Authority(test), ["10.77.0.1"])
        super().__init__(test, workers, **options)


class SecurityTest(EspalierTest):
    def spec(self, **train):
        train.setdefault("epochs", 250)
        if not os.path.exists(self.path("rows.csv")):
            self.classes_csv("rows.csv", 4000)
        spec = self.classes_spec(self.path("rows.csv"), **train)
        return dict(spec, model={"task": "classification", "hidden": [64, 64], "dropout": 0.2})

    def start_job(self, cluster, workers):
        job = cluster.submit(self.job("disturbed", dict(self.spec(),
                                                        workers={"min": 1, "max": workers})))
        cluster.wait_for_training(job)
        return job

    def quiet_weights(self):
        done = self.result("train", self.job("quiet", self.spec()), "--workers", 1)
        return done["weights_sha256"]

    def assert_right(self, cluster, job, weights):
        done = cluster.result("watch", job)
        self.assertEqual(done["status"], "SUCCEEDED", done)
        self.assertEqual(done["weights_sha256"], weights)

    def run_worker(self, cluster, *flags, code=77):
        """Starts a worker that is expected to end by itself. Returns its log."""
        process = Cluster.start_daemon(cluster, "stray", [
            program("espalier-worker"), "--coordinator", cluster.address, "--listen", "127.0.0.1:0",
            "--threads", "1", "--spill-directory", self.path("spill-stray")] + list(flags))
        self.addCleanup(process.kill)
        self.assertEqual(process.wait(timeout=60), code)
        return cluster.log("stray")

    def test_three_hosts_train_to_the_same_bits_and_one_may_die(self):
        self.assertEqual(hosts.why_not(), "")
        weights = self.quiet_weights()
        cluster = SecureHostCluster(self, 3)
        job = self.start_job(cluster, 3)
        cluster.workers["node-2"].kill()
        self.assert_right(cluster, job, weights)

    @pytest.mark.long
    def test_certificates_that_are_replaced_are_used_for_new_connections_and_the_job_goes_on(self):
        weights = self.quiet_weights()
        cluster = SecureCluster(self, 2)
        job = self.start_job(cluster, 3)
        renewed = cluster.renew("coordinator")
        cluster.renew("node-1")
        with open(os.path.join(renewed, "tls.crt")) as f:
            expected = ssl.PEM_cert_to_DER_cert(f.read())
        host, port = cluster.address.split(":")

        def shown():
            pem = ssl.get_server_certificate((host, int(port)))
            return ssl.PEM_cert_to_DER_cert(pem) == expected
        wait_for("the new certificate", shown)
        cluster.start_worker("node-3")
        cluster.wait_for_workers(3)
        self.assert_right(cluster, job, weights)

    def test_an_estates_own_authority_is_enough(self):
        roles = ["{name: ann@example.org, role: operator}", "{name: node-1, role: worker}",
                 "{name: node-2, role: worker}"]
        tls = ["%s: %s" % (key, self.path("links/coordinator/" + name)) for key, name in (
            ("ca", "ca.crt"), ("certificate", "tls.crt"), ("key", "tls.key"))]
        config = self.write("roles.yaml", "tls: {%s}\nroles: [%s]\n" % (
            ", ".join(tls), ", ".join(roles)))
        company = CompanyAuthority(self)
        cluster = SecureCluster(self, 2, company, operator="ann@example.org",
                                coordinator_flags=["--config", config])
        done = cluster.result("watch", cluster.submit(self.job("job", self.spec(epochs=2))))
        self.assertEqual(done["status"], "SUCCEEDED", done)
        cluster.start_worker("node-3")  # of the same authority, without a role
        wait_for("the refusal", lambda: "has no role here" in cluster.log("node-3"))
        self.environment.update(tls_environment(company.issue("", "bob@example.org")))
        _, err = cluster.espalier("list", code=2)
        self.assertIn("has no role here", err)

    def test_each_order_is_logged_with_caller_and_result(self):
        cluster = SecureCluster(self, 1)
        cluster.submit(self.job("one", self.spec(epochs=1)))
        cluster.espalier("cancel", "99", code=2)
        log = cluster.log("coordinator")
        self.assertRegex(log, r"audit: operator 'ann' at ipv4:127\.0\.0\.1:\d+: submit .*: done, "
                              r"job-1")
        self.assertRegex(log, r"audit: operator 'ann' at .*: cancel job-99: refused: ")

    def test_orders_are_logged_with_the_caller_at_every_level(self):
        authority = Authority(self)
        cluster = SecureCluster(self, 1, authority, coordinator_flags=["--log-level", "error"])
        cluster.submit(self.job("one", self.spec(epochs=1)))
        self.environment.update(tls_environment(authority.issue("reader", "bob")))
        cluster.espalier("cancel", "1", code=2)
        log = cluster.log("coordinator")
        self.assertRegex(log, r" notice \S+ audit: operator 'ann' at .*: submit .*: done, job-1")
        self.assertRegex(log, r" notice \S+ audit: refused /espalier.v1.Espalier/Cancel: "
                              r"reader 'bob' may not call")

    def test_a_submission_that_is_refused_ends_at_once_with_2(self):
        job = self.job("refused", self.spec(epochs=1))
        self.trained_here("model", self.spec(epochs=1))
        authority = Authority(self)
        cluster = SecureCluster(self, 1, authority)
        stranger = Authority(self, "elsewhere").issue("operator", "ann")
        shutil.copy(os.path.join(authority.directory, "ca.crt"), stranger)
        for made in (authority.issue("reader", "bob"), stranger):
            self.environment.update(tls_environment(made))
            for command in (["submit", job],
                            ["evaluate", self.path("model.bundle"), self.path("rows.csv")],
                            ["predict", self.path("model.bundle"), self.path("rows.csv"),
                             "--output", self.path("scored")]):
                _, err = cluster.espalier(*command, code=2)
                self.assertRegex(err, r"the call was refused: (reader 'bob' may not call|"
                                      r"the caller's certificate)")
                self.assertNotIn("asking again", err)

    def test_a_token_replaces_a_certificate_and_can_be_revoked(self):
        tokens = self.tokens_file("reader grafana " + TOKEN)
        cluster = SecureCluster(self, 1, coordinator_flags=["--tokens", tokens])
        for name in ("ESPALIER_TLS_CERTIFICATE", "ESPALIER_TLS_KEY"):
            del self.environment[name]
        _, err = cluster.espalier("list", code=2)
        self.assertIn("neither a certificate", err)
        self.environment["ESPALIER_TOKEN"] = TOKEN
        cluster.espalier("list")
        _, err = cluster.espalier("cancel", "1", code=2)
        self.assertIn("reader 'grafana' may not call", err)
        self.environment["ESPALIER_TOKEN"] = TOKEN + "x"
        _, err = cluster.espalier("list", code=2)
        self.assertIn("the token that was shown", err)
        del self.environment["ESPALIER_TOKEN"]
        mine = self.write("token", TOKEN + "\n")
        _, err = cluster.espalier("list", "--token-file", mine, code=2)
        self.assertIn("chmod 600 " + mine, err)
        os.chmod(mine, 0o600)
        cluster.espalier("list", "--token-file", mine)
        with open(tokens, "w") as f:
            f.write("# nobody\n")
        cluster.espalier("list", "--token-file", mine, code=2)
        self.assertNotIn(TOKEN, cluster.log("coordinator"))

    def tokens_file(self, *lines):
        path = self.path("tokens")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            f.write("".join(line + "\n" for line in lines))
        return path

    def become(self, papers):
        """Makes this person the user of the test's commands from now on."""
        for name in ("ESPALIER_TLS_CERTIFICATE", "ESPALIER_TLS_KEY", "ESPALIER_TOKEN"):
            self.environment.pop(name, None)
        self.environment.update(papers)

    def test_a_job_belongs_to_its_submitter_and_an_admin_may_end_it(self):
        authority = Authority(self)
        tokens = self.tokens_file("operator carl " + TOKEN)
        cluster = SecureCluster(self, 1, authority, coordinator_flags=["--tokens", tokens])
        job = cluster.submit(self.job("anns", self.spec(epochs=100_000)))
        cluster.wait_for_training(job)
        carl = {"ESPALIER_TOKEN": TOKEN}
        for other in (tls_environment(authority.issue("operator", "bob")), carl):
            self.become(other)
            out, _ = cluster.espalier("list")
            self.assertRegex(out, r"JOB +KIND +NAME +OWNER .*\njob-1 +train +\S+ +ann ")
            self.assertEqual(cluster.status(job)["owner"], "ann")
            _, err = cluster.espalier("cancel", job, code=2)
            self.assertIn("job-1 belongs to 'ann'; ask ann or an admin", err)
            _, err = cluster.espalier("drain", "node-1", code=2)
            self.assertIn("the role admin is needed", err)
        second = cluster.submit(self.job("carls", self.spec(epochs=100_000)))
        self.assertEqual(cluster.status(second)["owner"], "carl")
        cluster.espalier("cancel", second)
        self.assertEqual(cluster.status(job)["state"], "TRAINING")
        self.become(tls_environment(authority.issue("admin", "root")))
        cluster.espalier("cancel", job)
        ended = cluster.status(job)
        self.assertEqual((ended["state"], ended["owner"]), ("CANCELLED", "ann"))
        self.assertIn("cancelled by 'root'", ended["outcome"]["error"]["message"])
        cluster.espalier("drain", "node-1")
        log = cluster.log("coordinator")
        self.assertRegex(log, r"audit: operator 'bob' at .*: cancel job-1: refused: job-1 belongs")
        self.assertRegex(log, r"audit: admin 'root' at .*: cancel job-1: done, job-1")

    def test_an_owner_survives_a_restart_of_the_coordinator(self):
        authority = Authority(self)
        cluster = SecureCluster(self, 0, authority, state=self.path("state"))
        job = cluster.submit(self.job("anns", self.spec(epochs=1)))
        cluster.kill_coordinator()
        cluster.restart_coordinator()
        ann = dict(self.environment)
        self.become(tls_environment(authority.issue("operator", "bob")))
        _, err = cluster.espalier("cancel", job, code=2)
        self.assertIn("belongs to 'ann'", err)
        self.become(ann)
        cluster.espalier("cancel", job)

    def test_quotas_bound_one_owner_and_others_pass(self):
        authority = Authority(self)
        cluster = SecureCluster(self, 2, authority, coordinator_flags=[
            "--owner-waiting-jobs-max", "1", "--owner-running-jobs-max", "1"])
        spec = dict(self.spec(epochs=100_000), workers={"min": 1, "max": 1})
        first = cluster.submit(self.job("first", spec))
        cluster.wait_for_training(first)
        second = cluster.submit(self.job("second", spec))
        self.assertRegex(cluster.waits(second), "'ann' has 1 running job, the limit .*is 1")
        _, err = cluster.espalier("submit", self.job("third", spec), "--detach", code=1)
        self.assertRegex(err, "'ann' has 1 waiting job, the limit .*is 1")
        ann = dict(self.environment)
        self.become(tls_environment(authority.issue("operator", "bob")))
        cluster.wait_for_training(cluster.submit(self.job("bobs", spec)))
        self.become(ann)
        cluster.espalier("cancel", first)
        cluster.wait_for_training(second)

    def test_what_is_issued_after_a_revocation_comes_with_the_list(self):
        authority = Authority(self)
        before = authority.issue("worker", "a")
        self.espalier("certs", "revoke", os.path.join(before, "tls.crt"),
                      "--directory", authority.directory)
        trust = os.path.join(authority.directory, "trust.pem")
        with open(trust) as f:
            text = f.read()
        after = authority.issue("worker", "b")
        with open(os.path.join(after, "ca.crt")) as f:
            self.assertEqual(f.read(), text)
        self.assertIn("BEGIN X509 CRL", text)
        old, new = (os.path.join(folder, "ca.crt") for folder in (before, after))
        out, _ = self.espalier("certs", "compare", old, new)
        self.assertIn("may take the place of", out)
        _, err = self.espalier("certs", "compare", new, old, code=2)
        self.assertIn("would admit certificates", err)
        with open(trust, "w") as f:
            f.write(text[:-40])
        _, err = self.espalier("certs", "issue", "worker", "c", "--directory", authority.directory,
                               code=2)
        self.assertIn(trust, err)
        self.assertIn("cut off or damaged", err)
        self.assertFalse(os.path.exists(os.path.join(authority.directory, "worker-c")))

    def test_a_revoked_certificate_is_refused_at_once(self):
        authority = Authority(self)
        cluster = SecureCluster(self, 1, authority)
        cluster.espalier("list")
        revoke = ["certs", "revoke", self.environment["ESPALIER_TLS_CERTIFICATE"],
                  "--directory", authority.directory]
        out, _ = self.espalier(*revoke)
        trust = os.path.join(authority.directory, "trust.pem")
        self.assertIn(trust, out)
        os.rename(trust, os.path.join(cluster.links, "coordinator", "ca.crt"))

        def refused():
            return "was revoked" in cluster.espalier("list", code=None)[1]
        wait_for("the refusal", refused)
        cluster.espalier("list", code=2)
        self.environment.update(tls_environment(authority.issue("operator", "bob")))
        cluster.espalier("list")

    def test_a_worker_leaves_a_coordinator_whose_certificate_was_revoked(self):
        authority = Authority(self)
        cluster = SecureCluster(self, 1, authority)
        self.espalier("certs", "revoke", os.path.join(cluster.links, "coordinator", "tls.crt"),
                      "--directory", authority.directory)
        os.rename(os.path.join(authority.directory, "trust.pem"),
                  os.path.join(cluster.links, "node-1", "ca.crt"))
        wait_for("its judgement", lambda: "was revoked" in cluster.log("node-1"))
        self.assertIn("the certificates were replaced", cluster.log("node-1"))

    def test_who_watches_is_ended_when_the_certificate_is_revoked_and_the_job_goes_on(self):
        authority = Authority(self)
        cluster = SecureCluster(self, 1, authority)
        operator = dict(self.environment)
        self.environment.update(tls_environment(authority.issue("reader", "bob")))
        bobs = self.environment["ESPALIER_TLS_CERTIFICATE"]
        reader = dict(self.environment)
        self.environment.update(operator)
        job = cluster.submit(self.job("watched", self.spec(epochs=100_000)))
        self.environment.update(reader)
        watcher = cluster.start("watch", job, "--json")
        await_step(watcher)
        self.environment.update(operator)
        self.espalier("certs", "revoke", bobs, "--directory", authority.directory)
        began = time.monotonic()
        os.rename(os.path.join(authority.directory, "trust.pem"),
                  os.path.join(cluster.links, "coordinator", "ca.crt"))
        _, err = watcher.communicate(timeout=30)
        self.assertLess(time.monotonic() - began, 15)
        self.assertEqual(watcher.returncode, 2, err)
        self.assertIn("this was ended", err)
        self.assertIn("was revoked", err)
        self.assertRegex(cluster.log("coordinator"),
                         r"audit: ended watch job-1 of reader 'bob' at ipv4:127\.0\.0\.1:\d+: ")
        self.assertEqual(cluster.status(job)["state"], "TRAINING")
        cluster.espalier("cancel", job)

    def test_a_worker_that_is_not_believed_ends_with_one_error(self):
        authority = Authority(self)
        cluster = SecureCluster(self, 1, authority)
        foreign = Authority(self, "foreign")
        mixed = foreign.issue("worker", "stray")
        os.remove(os.path.join(mixed, "ca.crt"))
        os.symlink(os.path.join(authority.directory, "ca.crt"), os.path.join(mixed, "ca.crt"))
        for flags, text in (
                ([], "this side speaks plain text"),
                (tls_flags(foreign.issue("worker", "stray")), "the coordinator's certificate"),
                (tls_flags(mixed), "the caller's certificate"),
                (tls_flags(authority.issue("worker", "other")) + ["--name", "stray"],
                 "its certificate is that of worker 'other'"),
                (tls_flags(authority.issue("operator", "bob")) + ["--name", "bob"],
                 "the role worker is needed")):
            log = self.run_worker(cluster, *flags, code=77)
            self.assertIn(text, log)
            self.assertIn(cluster.address, log)
            self.assertNotIn("trying again", log)
        self.assertRegex(cluster.log("coordinator"),
                         r"audit: refused attach: the worker calls itself 'stray'")
        cluster.wait_for_workers(1)

    def test_what_is_wrong_on_this_machine_is_no_refusal(self):
        authority = Authority(self)
        cluster = SecureCluster(self, 0, authority)
        flags = tls_flags(authority.issue("worker", "stray"))
        with open(flags[1]) as f:
            half = self.write("half.crt", f.read()[:-30])
        self.assertIn("cut off or damaged", self.run_worker(
            cluster, "--tls-ca", half, *flags[2:], code=2))
        os.chmod(flags[5], 0o644)
        self.assertIn("chmod 600", self.run_worker(cluster, *flags, code=2))

    def test_a_key_that_others_can_read_is_refused_with_the_fix(self):
        made = Authority(self).issue("coordinator", "head", ["127.0.0.1"])
        key = os.path.join(made, "tls.key")
        self.assertEqual(os.stat(key).st_mode & 0o777, 0o600)
        os.chmod(key, 0o644)
        _, err = self.espalier("list", *tls_flags(made), code=2)
        self.assertIn("chmod 600 " + key, err)

    def test_nothing_is_overwritten(self):
        authority = Authority(self)
        with open(os.path.join(authority.directory, "ca.key")) as f:
            before = f.read()
        _, err = self.espalier("certs", "init", "--directory", authority.directory, code=2)
        self.assertIn("not overwritten", err)
        with open(os.path.join(authority.directory, "ca.key")) as f:
            self.assertEqual(f.read(), before)
        self.espalier("certs", "issue", "worker", "a", "--directory", authority.directory)
        _, err = self.espalier("certs", "issue", "worker", "a", "--directory", authority.directory,
                               code=2)
        self.assertIn("not overwritten", err)

    def test_without_certificates_only_loopback_is_served(self):
        process = self.start_coordinator("--listen", "0.0.0.0:0")
        self.assertEqual(process.wait(timeout=60), 2)
        made = Authority(self).issue("coordinator", "head", ["127.0.0.1"])
        address = self.path("address")
        self.start_coordinator("--listen", "0.0.0.0:0", "--address-file", address, *tls_flags(made))
        wait_for("the address", lambda: os.path.exists(address) and os.path.getsize(address))

    def start_coordinator(self, *flags):
        process = subprocess.Popen([program("espalier-coordinator")] + list(flags),
                                   env=self.environment, stderr=subprocess.DEVNULL)

        def end():
            process.kill()
            process.wait()
        self.addCleanup(end)
        return process


if __name__ == "__main__":
    unittest.main()
