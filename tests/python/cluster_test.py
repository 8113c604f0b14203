"""The client with real daemons: submit, watch, cancel, and errors."""
import csv
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

import pytest

import espalier
from daemons import (Authority, Cluster, EspalierTest, SecureCluster, SocketCluster,
                     children_of, is_alive, wait_for)
from espalier import Limits, _connection

pytestmark = pytest.mark.covers("coordinator", "rpc")

TOKEN = "0123456789abcdef0123"

TRAIN = """
import espalier, sys
espalier.train(sys.argv[1], workers=1, progress=True)
"""
# From a thread, while the first one, and the one that began it, do other work or have ended.
TRAIN_IN_THREAD = """
import espalier, sys, threading
train = threading.Thread(target=espalier.train, args=(sys.argv[1],),
                         kwargs={"workers": 1, "progress": True})
starter = threading.Thread(target=train.start)
starter.start()
starter.join()
train.join()
print("trained")
"""


def of(events, kind):
    return [e for e in events if isinstance(e, kind)]


class ClusterTest(EspalierTest):
    def spec(self, name="small", **train):
        if not os.path.exists(self.path("rows.csv")):
            self.classes_csv("rows.csv", 2000)
        return dict(self.classes_spec(self.path("rows.csv"), **train), name=name,
                    output=self.path(name + ".bundle"))

    def endless(self, name="endless"):
        self.spec()
        return dict(self.long_spec(self.path("rows.csv")), name=name,
                    output=self.path(name + ".bundle"))

    def connect(self, cluster, **options):
        client = espalier.connect(cluster.address, **options)
        self.addCleanup(client.close)
        return client

    def test_a_model_is_applied_to_a_table_as_a_job(self):
        cluster = self.connect(Cluster(self, 1))
        bundle = cluster.submit(self.spec(epochs=1)).result(timeout=60).bundle
        data = self.path("rows.csv")
        job = cluster.submit({"predict": {"model": bundle, "data": data, "keep": "label"},
                              "output": self.path("scored")})
        result = job.result(timeout=60)
        self.assertEqual(job.info().kind, espalier.JobKind.PREDICT)
        self.assertEqual(result.bundle, self.path("scored"))
        self.assertEqual((result.scoring.rows, result.scoring.rejected, result.scoring.format),
                         (2000, 0, "csv"))
        self.assertEqual(len([n for n in os.listdir(self.path("scored")) if n.startswith("part-")]),
                         result.scoring.parts)
        self.assertTrue(os.path.exists(self.path("scored", "_SUCCESS")))
        with open(self.path("bad.csv"), "w") as f, open(data) as good:
            f.write(next(good) + "what\n" + next(good))
        for policy, rows in ((None, 2), ("reject", 1)):
            predict = {"model": bundle, "data": self.path("bad.csv")}
            if policy:
                predict["on_bad_row"] = policy
            output = self.path("scored-%s" % policy)
            scoring = cluster.submit({"predict": predict,
                                      "output": output}).result(timeout=60).scoring
            self.assertEqual((scoring.rows, scoring.rejected), (1, 1))
            with open(os.path.join(output, "part-00000.csv")) as f:
                self.assertEqual(len(f.readlines()), 1 + rows)
        measured = cluster.submit({"evaluate": {"model": bundle, "data": data}}).result(timeout=60)
        self.assertEqual(measured.test.rows, 2000)
        self.assertEqual((measured.scoring.rows, measured.bundle), (2000, ""))
        reported = cluster.submit({"evaluate": {"model": bundle, "data": data},
                                   "output": self.path("report.html")}).result(timeout=60)
        self.assertEqual((reported.test, reported.bundle),
                         (measured.test, self.path("report.html")))
        with open(reported.bundle, encoding="utf-8") as f:
            self.assertIn("Confusion matrix", f.read())

    def test_a_job_is_followed_to_its_result_and_its_history(self):
        cluster = self.connect(Cluster(self, 2))
        job = cluster.submit(self.spec(epochs=4))
        events = list(job.watch(timeout=60))
        states = [e.job.state for e in of(events, espalier.StateChanged)]
        self.assertEqual(states, sorted(set(states), key=states.index))
        self.assertEqual(states[-1], "SUCCEEDED")
        self.assertIsInstance(events[-1], espalier.Ended)
        evaluations = of(events, espalier.Evaluation)
        self.assertEqual([e.epoch for e in evaluations], [1, 2, 3, 4])
        self.assertEqual(job.evaluations(), evaluations)
        result = job.result()
        self.assertEqual((result.steps, result.epochs, result.classes),
                         (evaluations[-1].step, 4, ("0", "1", "2")))
        self.assertEqual(len(result.validation.confusion), 3)
        again = list(job.watch())
        self.assertEqual(of(again, espalier.Evaluation), evaluations)
        info = cluster.job(job.id).info()
        self.assertEqual((info.state, info.result), ("SUCCEEDED", result))
        self.assertLess(info.submitted, info.ended)
        self.assertEqual([j.id for j in cluster.jobs()], [job.id])
        self.assert_history_is_that_of_the_bundle(job.history(), result.bundle)

    def assert_history_is_that_of_the_bundle(self, frame, bundle):
        with open(os.path.join(bundle, "history.csv")) as f:
            rows = list(csv.DictReader(f))
        self.assertIn("val_f1", rows[0])
        self.assertEqual(list(frame.columns), list(rows[0]))
        for column in rows[0]:
            self.assertEqual(list(frame[column]), [float(row[column]) for row in rows], column)

    def test_workers_are_told_and_one_may_be_drained(self):
        cluster = self.connect(Cluster(self, 2, threads=2))
        workers = {w.name: w for w in cluster.workers()}
        self.assertEqual(sorted(workers), ["node-1", "node-2"])
        self.assertEqual((workers["node-1"].threads, workers["node-1"].job), (2, None))
        self.assertEqual(workers["node-1"].version, espalier.__version__)
        cluster.drain("node-2")
        wait_for("the worker to leave", lambda: len(cluster.workers()) == 1)
        with self.assertRaisesRegex(espalier.NotFoundError, "no worker 'node-2'"):
            cluster.drain("node-2")

    def test_a_cancelled_job_ends_for_everybody_and_leaves_nothing(self):
        cluster = self.connect(Cluster(self, 1))
        job = cluster.submit(self.endless())
        waiting = cluster.submit(self.endless("second"))
        for event in job.watch(timeout=60):
            if isinstance(event, espalier.Progress) and event.step:
                break
        self.assertTrue(waiting.info().waiting_because)
        cluster.cancel(waiting.id)
        threading.Timer(0.3, job.cancel).start()
        with self.assertRaisesRegex(espalier.JobCancelledError, job.id + " was cancelled") as told:
            job.result(timeout=60)
        self.assertEqual(told.exception.code, "CANCELLED")
        with self.assertRaises(espalier.JobCancelledError):
            waiting.result(timeout=60)
        with self.assertRaisesRegex(espalier.FailedPreconditionError, "already ended"):
            job.cancel()
        self.assertFalse(os.path.exists(self.path("endless.bundle")))

    def test_waiting_may_end_before_the_job_does(self):
        cluster = self.connect(Cluster(self, 1))
        job = cluster.submit(self.endless())
        began = time.monotonic()
        with self.assertRaisesRegex(TimeoutError, "was not over within 1 s") as told:
            job.result(timeout=1)
        self.assertIsInstance(told.exception, espalier.DeadlineExceededError)
        self.assertLess(time.monotonic() - began, 10)
        self.assertFalse(job.info().state.final)

    def test_a_wrong_job_is_refused_with_the_servers_words(self):
        cluster = self.connect(Cluster(self, 1))
        good = self.spec()
        path = self.write("wrong.yaml", "# the person's own lines\ndata:\n  train: rows.csv\n"
                          "  labl: label\noutput: o\n")
        output = self.path("there")
        os.makedirs(output)
        self.write("there/file", "")
        bad_rows = self.write("bad.csv", "label,f0\n0,1\n1,x\n")
        for job, error, words in (
                (path, espalier.InvalidArgumentError, r":4:\d+: unknown key 'labl'.*'label'"),
                (dict(good, train={"epochs": -1}), espalier.InvalidArgumentError, "epochs"),
                (dict(good, data=dict(good["data"], train="/none/x.csv")),
                 espalier.NotFoundError, "/none/x.csv"),
                (dict(good, data=dict(good["data"], label="labl")), espalier.EspalierError,
                 "labl"),
                (dict(good, output=output), espalier.AlreadyExistsError, "overwrite")):
            with self.assertRaisesRegex(error, words):
                cluster.submit(job)
        self.assertEqual(cluster.jobs(), [])
        job = cluster.submit(dict(good, data={"train": bad_rows, "label": "label"}))
        with self.assertRaises(espalier.JobFailedError) as told:
            job.result(timeout=60)
        self.assertEqual(told.exception.code, "BAD_INPUT")
        at = told.exception.position
        self.assertEqual((at.file, at.row, at.column, at.text), (bad_rows, 3, "f0", "x"))
        for number in (99, "job-99"):
            with self.assertRaisesRegex(espalier.NotFoundError, "job-99 does not exist"):
                cluster.job(number)
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "job: found 'jobs'"):
            cluster.cancel("jobs")

    def test_unix_sockets_are_addresses_too(self):
        daemons_ = SocketCluster(self, 2)
        cluster = self.connect(daemons_)
        self.assertTrue(daemons_.address.startswith("unix:/"), daemons_.address)
        self.assertEqual({w.address for w in cluster.workers()},
                         {daemons_.listen_on("node-1"), daemons_.listen_on("node-2")})
        result = cluster.submit(self.spec(epochs=2)).result(timeout=60)
        self.assertEqual(result.epochs, 2)
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "takes no certificates"):
            espalier.connect(daemons_.address,
                             ca=os.path.join(Authority(self).directory, "ca.crt"))
        daemons_.kill_coordinator()
        with self.assertRaisesRegex(espalier.UnavailableError,
                                    r"at unix:/\S+ cannot be reached: \w[^:]*\n"):
            cluster.jobs()
        daemons_.restart_coordinator()
        with espalier.connect("file:" + daemons_.address_file) as again:
            self.assertEqual(again.jobs(), [])

    def test_a_coordinator_that_is_not_there_is_named_at_once(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % free.getsockname()[1]
            began = time.monotonic()
            with self.assertRaisesRegex(ConnectionError, address + " cannot be reached.*refused") \
                    as told:
                espalier.connect(address)
        self.assertIn("espalier-coordinator", told.exception.hint)
        self.assertLess(time.monotonic() - began, 10)
        with self.assertRaisesRegex(espalier.UnavailableError, "cannot be reached"):
            espalier.connect("no-such-host.invalid:1")

    def test_a_restart_of_the_coordinator_is_bridged(self):
        daemons = Cluster(self, 1, state=self.path("state"))
        cluster = self.connect(daemons)
        job = cluster.submit(self.endless())
        told = []
        for event in job.watch(timeout=60):
            told.append(event)
            if isinstance(event, espalier.Evaluation) and not of(told, espalier.CoordinatorAway):
                daemons.kill_coordinator()
            elif isinstance(event, espalier.CoordinatorAway):
                daemons.restart_coordinator()
            elif of(told, espalier.CoordinatorAway) and isinstance(event, espalier.Evaluation):
                break
        steps = [e.step for e in of(told, espalier.Evaluation)]
        self.assertEqual(steps, sorted(set(steps)))
        self.assertEqual(len(of(told, espalier.CoordinatorAway)), 1)
        job.cancel()

    def test_threads_share_a_client_and_one_that_is_closed_says_so(self):
        cluster = self.connect(Cluster(self, 1))
        job = cluster.submit(self.endless())
        told = []

        def watch():
            try:
                for event in job.watch():
                    told.append(event)
            except espalier.EspalierError as error:
                told.append(error)
        thread = threading.Thread(target=watch)
        thread.start()
        wait_for("steps", lambda: any(p.step for p in of(told, espalier.Progress)), 60)
        self.assertEqual(cluster.jobs()[0].state, "TRAINING")
        job.cancel()
        thread.join(20)
        self.assertEqual(told[-1].job.state, "CANCELLED")
        thread = threading.Thread(target=watch)
        other = cluster.submit(self.endless("other"))
        job = other
        thread.start()
        wait_for("a step", lambda: other.info().progress.step > 0, 60)
        cluster.close()
        thread.join(20)
        self.assertIsInstance(told[-1], espalier.CancelledError)
        other.cancel()

    def test_a_coordinator_that_moved_is_found_by_the_file_with_its_address(self):
        daemons = Cluster(self, 1, state=self.path("state"))
        with espalier.connect("file:" + daemons.address_file) as cluster:
            job = cluster.submit(self.endless())
            before = cluster.address
            daemons.kill_coordinator()
            with self.assertRaises(espalier.UnavailableError):
                cluster.jobs()
            daemons.start_coordinator()
            self.assertNotEqual(daemons.address, before)
            self.assertEqual([j.id for j in cluster.jobs()], [job.id])
            job.cancel()

    def test_a_coordinator_that_stays_away_is_given_up(self):
        daemons = Cluster(self, 1)
        cluster = self.connect(daemons, limits=Limits(away=1.0))
        job = cluster.submit(self.endless())
        with self.assertRaisesRegex(espalier.UnavailableError, "has been unreachable for"):
            for event in job.watch(timeout=60):
                if isinstance(event, espalier.Progress) and daemons.coordinator.poll() is None:
                    daemons.kill_coordinator()

    def test_a_coordinator_that_is_not_there_yet_is_waited_for(self):
        daemons = Cluster(self, 1, state=self.path("state"))
        where = "file:" + daemons.address_file
        daemons.kill_coordinator()
        began = time.monotonic()
        with self.assertRaisesRegex(espalier.UnavailableError,
                                    r"no coordinator was reached in 1\.\d s"):
            espalier.connect(where, timeout=1)
        self.assertLess(time.monotonic() - began, 10)
        found, failed, call = [], threading.Event(), _connection.Connection.call

        def observed(*args, **kwargs):
            try:
                return call(*args, **kwargs)
            except espalier.UnavailableError:
                failed.set()
                raise

        def reach():
            with espalier.connect(where, timeout=60) as cluster:
                found.append(cluster.jobs())
        thread = threading.Thread(target=reach)
        with mock.patch.object(_connection.Connection, "call", observed):
            thread.start()
            self.assertTrue(failed.wait(60))
            # Here, because daemons end with the thread that started them.
            daemons.start_coordinator()
            thread.join(60)
        self.assertEqual(found, [[]])
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "from 0.1 to 86400"):
            espalier.connect(where, timeout=0)

    def test_a_coordinator_that_kept_nothing_is_told_from_one_that_is_away(self):
        daemons = Cluster(self, 1)
        cluster = self.connect(daemons)
        job = cluster.submit(self.endless())
        with self.assertRaisesRegex(espalier.AbortedError, "was lost"):
            for event in job.watch(timeout=60):
                if isinstance(event, espalier.Progress) and daemons.coordinator.poll() is None:
                    daemons.kill_coordinator()
                    daemons.restart_coordinator()

    def test_connecting_asks_for_no_list(self):
        from unittest import mock
        from espalier import _connection
        daemons = Cluster(self, 1)
        self.connect(daemons).submit(self.endless()).cancel()
        with mock.patch.object(_connection.Connection, "call", autospec=True,
                               side_effect=_connection.Connection.call) as call:
            self.connect(daemons)
        asked, = call.call_args_list
        self.assertEqual(asked.args[1], "GetJob")

    def test_a_client_of_another_version_is_told_both(self):
        cluster = Cluster(self, 1)
        from unittest import mock
        from espalier import _connection
        with mock.patch.object(_connection, "__version__", "9.9"), \
                self.assertRaisesRegex(espalier.FailedPreconditionError, "0.1.0.*9.9"):
            espalier.connect(cluster.address)


class SecureTest(EspalierTest):
    def connect(self, cluster, **options):
        client = espalier.connect(cluster.address, **options)
        self.addCleanup(client.close)
        return client

    def test_only_who_shows_the_right_papers_gets_in_and_is_told_what_is_wrong(self):
        tokens = self.path("tokens")
        with open(os.open(tokens, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            f.write("reader grafana %s\n" % TOKEN)
        authority, foreign = Authority(self), Authority(self, "foreign")
        cluster = SecureCluster(self, 1, authority, coordinator_flags=["--tokens", tokens])
        ann, stranger = authority.issue("operator", "bea"), foreign.issue("operator", "eve")
        ca = os.path.join(ann, "ca.crt")

        def papers(folder):
            return {"cert": os.path.join(folder, "tls.crt"), "key": os.path.join(folder, "tls.key")}
        spec = dict(self.classes_spec(self.classes_csv("rows.csv", 400), epochs=1), name="s",
                    output=self.path("s.bundle"))
        result = self.connect(cluster, ca=ca, **papers(ann)).submit(spec).result(timeout=60)
        self.assertEqual(result.epochs, 1)
        reader = self.connect(cluster, ca=ca, token=TOKEN)
        self.assertEqual(len(reader.jobs()), 1)
        for call in (lambda: reader.submit(spec), lambda: reader.cancel(1)):
            with self.assertRaisesRegex(espalier.PermissionDeniedError,
                                        "reader 'grafana' may not call"):
                call()
        self.assertEqual(reader.jobs()[0].owner, "bea")
        denied, mismatched = espalier.PermissionDeniedError, espalier.FailedPreconditionError
        for options, error, words in (
                ({"ca": os.path.join(stranger, "ca.crt")}, denied, "certificate is not trusted"),
                (dict(papers(stranger), ca=ca), denied, "the caller's certificate"),
                ({"ca": ca, "token": TOKEN + "x"}, denied, "the token that was shown"),
                ({"ca": ca}, denied, "neither a certificate"),
                ({}, mismatched, "this side speaks plain text"),
                ({"ca": ca, "token": TOKEN, "server_name": "elsewhere"}, denied,
                 "certificate is not trusted")):
            with self.assertRaisesRegex(error, words) as told:
                espalier.connect(cluster.address, **options)
            self.assertTrue(told.exception.hint, words)
        self.assertNotIn(TOKEN, str(told.exception))

    def test_a_worker_in_the_coordinators_place_and_plain_text_are_told(self):
        folder = Authority(self).issue("worker", "node-9", ["127.0.0.1"])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["h2"])
        context.load_cert_chain(os.path.join(folder, "tls.crt"), os.path.join(folder, "tls.key"))
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        heard = []

        def answer():
            with context.wrap_socket(listener.accept()[0], server_side=True) as caller:
                heard.append(caller.recv(1000))
        thread = threading.Thread(target=answer)
        thread.start()
        with self.assertRaisesRegex(espalier.PermissionDeniedError,
                                    "espalier://worker/node-9, which is not a coordinator's"):
            espalier.connect("127.0.0.1:%d" % listener.getsockname()[1],
                             ca=os.path.join(folder, "ca.crt"), token=TOKEN)
        thread.join()
        self.assertEqual(heard, [b""])
        plain = Cluster(self, 0)
        with self.assertRaisesRegex(espalier.FailedPreconditionError,
                                    "this side speaks TLS"):
            espalier.connect(plain.address, ca=os.path.join(folder, "ca.crt"), token=TOKEN)


class LocalTrainTest(EspalierTest):
    def setUp(self):
        super().setUp()
        os.environ["ESPALIER_HOME"] = os.path.join(os.path.dirname(os.path.dirname(
            os.path.dirname(os.path.abspath(__file__)))), "build")
        self.addCleanup(os.environ.pop, "ESPALIER_HOME")
        self.spec = dict(self.classes_spec(self.classes_csv("rows.csv", 800), epochs=2),
                         name="local", output=self.path("local.bundle"))

    def test_train_needs_no_cluster_and_gives_the_clusters_weights(self):
        result = espalier.train(self.spec, workers=2, threads=1)
        self.assertEqual((result.epochs, result.classes), (2, ("0", "1", "2")))
        self.assertEqual(result.load().weights_sha256, result.weights_sha256)
        daemons = Cluster(self, 1)
        with espalier.connect(daemons.address) as cluster:
            there = cluster.submit(dict(self.spec, output=self.path("there"))).result(timeout=60)
        self.assertEqual(there.weights_sha256, result.weights_sha256)
        self.assertEqual(there.validation, result.validation)

    def test_what_is_wrong_is_the_programs_own_error(self):
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "job:.*unknown key 'labl'"):
            espalier.train({"data": {"labl": 1}}, workers=1)
        with self.assertRaisesRegex(espalier.NotFoundError, "none.csv"):
            espalier.train(dict(self.spec, data={"train": self.path("none.csv"), "label": "label"}),
                           workers=1)
        with self.assertRaisesRegex(espalier.AlreadyExistsError, "already exists"):
            espalier.train(dict(self.spec, output=self.directory), workers=1)
        bad = self.write("bad.csv", "label,f0\n0,1\n1,x\n")
        with self.assertRaises(espalier.JobFailedError) as told:
            espalier.train(dict(self.spec, data={"train": bad, "label": "label"}), workers=1)
        self.assertEqual((told.exception.code, told.exception.position.row), ("BAD_INPUT", 3))

    def run_script(self, script, spec):
        """Starts a process that trains, from its own `script`. It handles interrupts, even if the
        tests run in the background with interrupts ignored."""
        process = subprocess.Popen(["env", "--default-signal=INT", sys.executable, "-c", script,
                                    self.job("started", spec)],
                                   env=dict(os.environ, TMPDIR=self.temporary),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def ends_all(self, script, number):
        """Checks that no process is left of an endless training whose process got this signal."""
        process = self.run_script(script, dict(self.long_spec(self.path("rows.csv")),
                                               output=self.path("endless")))

        def descendants():
            children = children_of(process.pid)
            return children + [g for c in children for g in children_of(c)]
        evaluation = next((line for line in process.stderr if line.startswith(b"epoch ")), None)
        self.assertIsNotNone(evaluation)
        found = descendants()
        self.assertGreaterEqual(len(found), 3)
        process.send_signal(number)
        process.wait(timeout=60)
        wait_for("their end", lambda: not any(is_alive(pid) for pid in found), 60)

    def test_ctrl_c_leaves_no_process_and_keeps_the_model(self):
        self.ends_all(TRAIN, signal.SIGINT)
        self.assertEqual(len(espalier.load(self.path("endless")).classes), 3)

    def test_killed_it_leaves_no_process_and_no_output(self):
        self.ends_all(TRAIN_IN_THREAD, signal.SIGKILL)
        self.assertFalse(os.path.exists(self.path("endless")))

    def test_a_thread_trains_whichever_others_end(self):
        process = self.run_script(TRAIN_IN_THREAD, self.spec)
        out, err = process.communicate(timeout=120)
        self.assertEqual((process.returncode, out), (0, b"trained\n"), err)
        self.assertTrue(os.path.exists(self.spec["output"]))


if __name__ == "__main__":
    unittest.main()
