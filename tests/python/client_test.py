"""The client without a cluster: jobs to text, addresses, errors, display of progress."""
import dataclasses
import datetime
import enum
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import yaml

import espalier
from daemons import wait_for
from espalier import _connection, _hadoop_conf, _jobtext, local, progress
from espalier._convert import clean, error_of
from espalier._proto import types_pb2
from espalier._security import Security
from espalier.client import Client

pytestmark = pytest.mark.covers("config", "rpc")


def evaluation(epoch, loss, val_loss=None):
    def metrics(value):
        return espalier.Metrics(rows=10, weight=10, loss=value, accuracy=0.5)
    return espalier.Evaluation(job="job-1", epoch=epoch, step=int(10 * epoch), learning_rate=0.1,
                               train=metrics(loss),
                               validation=None if val_loss is None else metrics(val_loss))


def name_nodes(uri):
    place = _hadoop_conf.find(uri)
    return [_hadoop_conf.shown(node.http) for node in place.name_nodes], place.path


class JobTextTest(unittest.TestCase):
    def text(self, job):
        return _jobtext.job_text(job, "/here")

    def test_relative_paths_become_absolute_in_place_and_all_else_stays(self):
        text = """# a comment
data:
  train: [a/*.csv, "/abs/b.csv", hdfs://ns/c, ../up.csv]   # two are relative
  test: 't st.csv'
  label: a/b
  validation: {files: v/}
model: {task: regression}
train: {initial: {from: old}, epochs: 3}
output: {path: out, overwrite: true}
resume: earlier
"""
        found = self.text(text)
        self.assertEqual(found, text.replace("a/*.csv", '"/here/a/*.csv"')
                         .replace("../up.csv", '"/up.csv"')
                         .replace("'t st.csv'", '"/here/t st.csv"')
                         .replace("v/}", '"/here/v/"}').replace("from: old", 'from: "/here/old"')
                         .replace("path: out", 'path: "/here/out"')
                         .replace("resume: earlier", 'resume: "/here/earlier"'))
        self.assertEqual(self.text(found), found)

    def test_a_job_that_scores_has_its_model_and_data_made_absolute(self):
        text = self.text("predict: {model: m, data: [a.csv, 'hdfs:///b']}\noutput: o\n")
        self.assertEqual(text, 'predict: {model: "/here/m", data: ["/here/a.csv", \'hdfs:///b\']}\n'
                         'output: "/here/o"\n')

    def test_first_weights_of_another_programs_words_are_a_path_or_numbers(self):
        for compat, made in (("{spark-mlp: {layers: [2, 2], initialWeights: start.txt}}",
                              '{spark-mlp: {layers: [2, 2], initialWeights: "/here/start.txt"}}'),
                             ("{spark-mlp: {initialWeights: hdfs://ns/s}}", None),
                             ("{spark-mlp: {initialWeights: [0.5, 1, -2e-3]}}", None),
                             ("{sparktorch: {initialWeights: start.txt}}", None)):
            self.assertEqual(self.text("name: a\ncompat: %s\n" % compat),
                             "name: a\ncompat: %s\n" % (made or compat))

    def test_a_dict_keeps_its_types(self):
        job = {"data": {"train": pathlib.Path("t.csv"), "label": "5", "weight": 5,
                        "features": {"columns": ["1..7", "yes"]}},
               "train": {"epochs": np.float32(2), "seed": np.int64(3), "steps": None},
               "output": "/o"}
        found = yaml.safe_load(self.text(job))
        self.assertEqual(found["data"], {"train": "/here/t.csv", "label": "5", "weight": 5,
                                         "features": {"columns": ["1..7", "yes"]}})
        self.assertEqual(found["train"], {"epochs": 2.0, "seed": 3, "steps": None})
        numbers = {"train": {"learning_rate": np.float64(0.1), "on": np.bool_(True)},
                   "model": {"hidden": np.array([8, 4])}, "name": np.str_("a b")}
        self.assertEqual(yaml.safe_load(self.text(numbers)),
                         {"train": {"learning_rate": 0.1, "on": True},
                          "model": {"hidden": [8, 4]}, "name": "a b"})
        for value, kind in (({1}, "set"), (b"3", "bytes"), (pd.NaT, "NaTType"), (pd.NA, "NAType"),
                            (np.datetime64("NaT"), "datetime64"), (1j, "complex"),
                            (np.timedelta64(1, "s"), "timedelta64"), (np.bytes_(b"3"), "bytes_")):
            with self.assertRaisesRegex(espalier.InvalidArgumentError,
                                        r"train\.epochs: found a %s, expected" % kind):
                self.text({"train": {"epochs": value}})
        with self.assertRaisesRegex(espalier.InvalidArgumentError, r"train\.steps\[1\]: found a "):
            self.text({"train": {"steps": np.array(["2024-02-29", "NaT"], "M8[s]")}})

    def test_members_of_enums_are_their_values(self):
        class Word(str, enum.Enum):
            TANH = "tanh"

        class Count(enum.IntEnum):
            TWO = 2

        class Rate(enum.Enum):
            SMALL = np.float64(0.1)
        job = {"model": {"activation": [Word.TANH], "hidden": (Count.TWO,)},
               "train": {"rate": Rate.SMALL, "class_weight": {Count.TWO: 5, np.str_("a b"): 1}}}
        self.assertEqual(yaml.safe_load(self.text(job)),
                         {"model": {"activation": ["tanh"], "hidden": [2]},
                          "train": {"rate": 0.1, "class_weight": {"2": 5, "a b": 1}}})

    def test_moments_are_texts_as_the_workers_write_them(self):
        found = yaml.safe_load(self.text({"null_values": [
            datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 23, 59, 58, 500_000),
            pd.Timestamp("2024-02-29 00:00:01.000000007"), np.datetime64("2024-02-29"),
            pd.Timestamp("2024-02-29 01:00", tz="Europe/Paris")]}))
        self.assertEqual(found["null_values"], [
            "2024-02-29", "2024-02-29 23:59:58.5", "2024-02-29 00:00:01.000000007", "2024-02-29",
            "2024-02-29 00:00:00"])

    def test_columns_of_pandas_are_lists(self):
        frame = pd.DataFrame({"units": [8, 4], "word": pd.Categorical(["b", "a"])})
        self.assertEqual(yaml.safe_load(self.text({"hidden": frame.units, "words": frame.word,
                                                   "columns": frame.columns})),
                         {"hidden": [8, 4], "words": ["b", "a"], "columns": ["units", "word"]})

    def test_keys_of_a_dict_become_texts_once(self):
        for key, words in ((None, "train.class_weight: found a key of type NoneType"),
                           ((1, 2), "train.class_weight: found a key of type tuple"),
                           ("1", "train.class_weight: found the key '1' twice")):
            with self.assertRaisesRegex(espalier.InvalidArgumentError, words):
                self.text({"train": {"class_weight": {1: 2, key: 3}}})

    def test_texts_in_a_dict_stay_texts_for_the_cluster(self):
        # The cluster reads some texts as numbers that are not numbers in YAML 1.1.
        names = ["08", "09", "018", "-3", "+3", "", "0x1", "1e3", "yes", "a b", "\u00e4", "_",
                 "null"]
        text = self.text({"data": {"label": "09", "features": {"columns": names}, "weight": 8},
                          "model": {"task": "auto"}})

        def scalars(node):
            if isinstance(node, yaml.ScalarNode):
                return [node]
            children = node.value if isinstance(node, yaml.SequenceNode) else [
                value for _, value in node.value]
            return [s for child in children for s in scalars(child)]
        found = [(s.value, s.style is not None) for s in scalars(yaml.compose(text))]
        quoted = {name: name not in ("a b", "\u00e4") for name in names}
        self.assertEqual(found, [("09", True)] + list(quoted.items()) +
                         [("8", False), ("auto", False)])

    def test_paths_and_text_are_told_apart(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "job.yaml")
            with open(path, "w") as f:
                f.write("output: o\n")
            for job in (path, pathlib.Path(path), "output: o\n"):
                self.assertEqual(self.text(job), 'output: "/here/o"\n')
            with open(path, "wb") as f:
                f.write(b"a: \xff\n")
            with self.assertRaisesRegex(espalier.InvalidArgumentError, "not UTF-8 text: byte 3"):
                self.text(path)
        with self.assertRaisesRegex(espalier.NotFoundError, "cannot read the job file none.yaml"):
            self.text("none.yaml")
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "line 2, column 1"):
            self.text("a: [1\n}")
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "longer than the 1 MiB"):
            self.text("a:\n" + "#" * (1 << 20))
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "found a int"):
            self.text(5)
        with self.assertRaisesRegex(espalier.InvalidArgumentError, "is not valid YAML"):
            self.text("a:\n" + "[" * 20000)


class ErrorTest(unittest.TestCase):
    def test_an_error_of_the_cluster_keeps_code_causes_position_and_gets_its_class(self):
        detail = types_pb2.ErrorDetail(code=5, messages=["outer", "inner \x1b[2J"])
        detail.position.file = b"/d/\xff.csv"
        detail.position.row = 7
        detail.position.column = b"age"
        detail.position.text = "x"
        error = error_of(detail)
        self.assertIsInstance(error, espalier.BadInputError)
        self.assertIsInstance(error, ValueError)
        self.assertEqual((error.code, error.message, error.causes, error.position.row),
                         ("BAD_INPUT", "outer", ("inner ?[2J",), 7))
        self.assertIn("outer <- inner ?[2J (/d/", str(error))
        self.assertIn("row 7, column 'age', found 'x'", str(error))
        self.assertEqual(error_of(types_pb2.ErrorDetail(code=2, messages=["m"])).hint, "")
        self.assertIn("token=", error_of(types_pb2.ErrorDetail(code=4, messages=["m"])).hint)

    def test_each_code_of_the_service_has_a_class(self):
        for name, number in types_pb2.ErrorCode.items():
            if number:
                error = error_of(types_pb2.ErrorDetail(code=number, messages=["m"]))
                self.assertEqual("ERROR_CODE_" + error.code, name)
        self.assertEqual(error_of(types_pb2.ErrorDetail(code=99)).code, "INTERNAL")

    def test_job_errors_carry_the_cause(self):
        cause = espalier.BadInputError("bad row", causes=("no number",))
        error = espalier.JobFailedError("job-3", cause)
        self.assertEqual((error.code, error.job, error.causes),
                         ("BAD_INPUT", "job-3", ("bad row", "no number")))
        self.assertEqual(str(error), "job-3 failed <- bad row <- no number")


class AddressTest(unittest.TestCase):
    def test_addresses_are_host_and_port_or_a_file_that_holds_them(self):
        self.assertEqual(_connection.parse_address("head:7700"), ("head", 7700))
        self.assertEqual(_connection.parse_address("[::1]:1"), ("::1", 1))
        self.assertEqual(_connection.parse_address("unix:/a/b.socket"), ("unix:/a/b.socket", 0))
        for bad in ("head", "head:", ":1", "head:0", "head:65536", "head:x", "::1:7", "a/b:1",
                    "unix:", "unix:a", "unix://a/b", "unix:/a,b", "unix:/a%20b"):
            with self.assertRaisesRegex(espalier.InvalidArgumentError, "coordinator: found"):
                _connection.parse_address(bad)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "address")
            with self.assertRaisesRegex(espalier.UnavailableError, "no coordinator's address"):
                _connection.find_coordinator("file:" + path)
            for text, words in (("", "found no text"), ("  \n", "found no text")):
                with open(path, "w") as f:
                    f.write(text)
                with self.assertRaisesRegex(espalier.UnavailableError, words):
                    _connection.find_coordinator("file:" + path)
            with open(path, "w") as f:
                f.write("head:7\nmore\n")
            self.assertEqual(_connection.find_coordinator("file:" + path), "head:7")

    def test_a_token_is_not_shown(self):
        self.assertNotIn("secret", repr(Security(ca="/ca", token="secret")))

    def test_security_that_does_not_fit_together_is_said_before_anybody_is_called(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, clear=True):
            key = os.path.join(folder, "key")
            with open(key, "w") as f:
                f.write("-----BEGIN PRIVATE KEY-----\n")
            os.chmod(key, 0o644)
            for options, error, words in (
                    ({"token": "t"}, espalier.InvalidArgumentError, "requires TLS"),
                    ({"ca": key, "cert": key}, espalier.InvalidArgumentError, "only cert="),
                    ({"ca": folder + "/no"}, espalier.NotFoundError, "ca=: cannot read"),
                    ({"ca": key}, espalier.InvalidArgumentError, "do not fit together"),
                    ({"ca": key, "cert": key, "key": key}, espalier.PermissionDeniedError,
                     "^key=: '.*/key' is a secret .*read or write.*`chmod 600 .*/key`"),
                    ({"ca": key, "token_file": key}, espalier.PermissionDeniedError,
                     "^token_file=: '.*/key' is a secret .*`chmod 600")):
                with self.assertRaisesRegex(error, words):
                    espalier.connect("127.0.0.1:1", **options)

    def test_name_nodes_are_found_by_hadoops_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            def site(name, **values):
                with open(os.path.join(folder, name), "w") as f:
                    f.write("<configuration>%s</configuration>" % "".join(
                        "<property><name>%s</name><value>%s</value></property>" %
                        (k.replace("_", "."), v) for k, v in values.items()))
            site("core-site.xml", fs_defaultFS="hdfs://ns")
            site("hdfs-site.xml", dfs_ha_namenodes_ns="a,b",
                 **{"dfs_namenode_http-address_ns_a": "h1:1", "dfs_namenode_http-address_ns_b":
                    "h2:2"})
            with mock.patch.dict(os.environ, {"HADOOP_CONF_DIR": folder}):
                self.assertEqual(name_nodes("hdfs:///p/q"), (["h1:1", "h2:2"], "/p/q"))
                self.assertEqual(name_nodes("webhdfs://x:5/p"), (["x:5"], "/p"))
                self.assertEqual(name_nodes("hdfs://other:8020/p"),
                                 (["other:9870"], "/p"))
                self.assertEqual(name_nodes("hdfs://[::1]:8020/p"),
                                 (["[::1]:9870"], "/p"))
                with self.assertRaisesRegex(espalier.InvalidArgumentError, "expected an address"):
                    name_nodes("hdfs://host:x/p")
                site("core-site.xml", fs_defaultFS="hdfs://nn1")
                for http, ours in (("nn1:5", "nn1:5"), ("0.0.0.0:5", "nn1:5"), (":5", "nn1:5"),
                                   ("web:5", "web:5"), ("web", "web:9870")):
                    site("hdfs-site.xml", **{"dfs_namenode_http-address": http})
                    for uri, where in (("hdfs:///p", ours), ("hdfs://nn1/p", ours),
                                       ("hdfs://nn1:8020/p", ours),
                                       ("hdfs://nn1:8021/p", "nn1:9870"),
                                       ("hdfs://other:8020/p", "other:9870"),
                                       ("webhdfs://other/p", "other:9870"),
                                       ("webhdfs://nn1/p", "nn1:9870")):
                        self.assertEqual(name_nodes(uri), ([where], "/p"), (http, uri))
                site("hdfs-site.xml", dfs_nameservices="ns", dfs_ha_namenodes_ns="a,b", **{
                    "dfs_namenode_rpc-address_ns_a": "h1:1", "dfs_namenode_rpc-address_ns_b":
                    "h2:2", "dfs_namenode_http-address_ns_b": "0.0.0.0:7"})
                for uri, where in (("hdfs://ns/p", ["h1:9870", "h2:7"]),
                                   ("webhdfs://ns/p", ["h1:9870", "h2:7"]),
                                   ("hdfs://h2:2/p", ["h2:7"]), ("hdfs://h1:1/p", ["h1:9870"]),
                                   ("hdfs://h2:3/p", ["h2:9870"])):
                    self.assertEqual(name_nodes(uri), (where, "/p"), uri)
                site("hdfs-site.xml", dfs_nameservices="ns", dfs_ha_namenodes_ns="a")
                with self.assertRaisesRegex(espalier.FailedPreconditionError,
                                            "neither .*http-address.ns.a nor .*is set"):
                    name_nodes("hdfs://ns/p")
                with open(os.path.join(folder, "core-site.xml"), "w") as f:
                    f.write('<!DOCTYPE a [<!ENTITY e "x">]><configuration/>')
                with self.assertRaisesRegex(espalier.FailedPreconditionError,
                                            "line 1: a DOCTYPE"):
                    name_nodes("hdfs:///p")

    def test_https_has_addresses_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.dict(os.environ, {"HADOOP_CONF_DIR": folder}):
            def site(**values):
                with open(os.path.join(folder, "hdfs-site.xml"), "w") as f:
                    f.write("<configuration>%s</configuration>" % "".join(
                        "<property><name>%s</name><value>%s</value></property>" %
                        (k.replace("_", "."), v) for k, v in values.items()))
            both = {"dfs_namenode_rpc-address_ns": "h1:8020", "dfs_namenode_http-address_ns":
                    "h1:1", "dfs_namenode_https-address_ns": "h1:2"}
            site(dfs_nameservices="ns", **both)
            for uri, where in (("swebhdfs://ns/p", ["h1:2"]), ("webhdfs://ns/p", ["h1:1"]),
                               ("hdfs://h1:8020/p", ["h1:1"]), ("swebhdfs://x/p", ["x:9871"]),
                               ("swebhdfs://x:5/p", ["x:5"])):
                self.assertEqual(name_nodes(uri), (where, "/p"), uri)
            site(dfs_nameservices="ns", dfs_http_policy="HTTPS_ONLY", **both)
            for uri, where in (("hdfs://ns/p", ["h1:2"]), ("hdfs://h1:8020/p", ["h1:2"]),
                               ("hdfs://other/p", ["other:9871"])):
                self.assertEqual(name_nodes(uri), (where, "/p"), uri)
            with self.assertRaisesRegex(espalier.InvalidArgumentError, "is HTTPS_ONLY"):
                name_nodes("webhdfs://ns/p")


class ProgressTest(unittest.TestCase):
    def events(self):
        job = espalier.JobInfo("job-1", state=espalier.JobState.TRAINING, workers=("a", "b"),
                               leaves=4)
        yield espalier.StateChanged(job)
        yield espalier.Progress("job-1", step=5, steps_total=20, epoch=0.5, epochs_total=2,
                                loss=1.25, rows_per_second=1234.5, phase="training")
        yield evaluation(1, 0.9, 0.95)
        yield espalier.CoordinatorAway("job-1", 0)
        yield evaluation(2, 0.5, 0.55)
        yield espalier.Ended(espalier.JobInfo("job-1", state=espalier.JobState.SUCCEEDED))

    def test_plain_lines_tell_states_and_evaluations_once(self):
        out = io.StringIO()
        view = progress.PlainView(out)
        for event in self.events():
            view.show(event)
            view.show(event)
        lines = out.getvalue().splitlines()
        self.assertEqual(lines[0], "job-1 training: 4 leaves on 2 workers (a, b)")
        self.assertEqual(lines[1], "epoch 1/2  loss 0.9000 acc 50.00 %  "
                                   "val_loss 0.9500 val_acc 50.00 %")
        self.assertEqual(len(lines), 5)

    def test_a_lost_worker_is_named(self):
        out = io.StringIO()
        view = progress.PlainView(out)
        for state, workers in (("TRAINING", ("a", "b")), ("RECOVERING", ("b",)),
                               ("TRAINING", ("b",))):
            view.show(espalier.StateChanged(espalier.JobInfo(
                "job-1", state=espalier.JobState(state), workers=workers)))
        self.assertEqual(out.getvalue().splitlines()[1:3],
                         ["job-1 lost the worker a", "job-1 recovering: 1 worker (b)"])

    def test_lines_have_the_epoch_of_the_fit(self):
        now = espalier.Progress("job-1", epoch=25.5, epochs_total=120, fit=2, fits=5, fit_epoch=1.5,
                                loss=1.25)
        done = dataclasses.replace(evaluation(25, 0.9, 0.95), fit=2, fit_epoch=1.0)
        self.assertEqual(progress.evaluation_line(done, now),
                         "fit 2/5 epoch 1/24  loss 0.9000 acc 50.00 %  "
                         "val_loss 0.9500 val_acc 50.00 %")
        line = progress.live_line(now, espalier.JobState.TRAINING, None, 80)
        self.assertTrue(line.startswith("fit 2/5 epoch 2/24  ["), line)

    def test_a_terminals_line_fits_and_is_removed_before_anything_else(self):
        out = io.StringIO()
        view = progress.TerminalView(out)
        for event in self.events():
            view.show(event)
        view.close()
        self.assertIn("\repoch 1/2  [=====>", out.getvalue())
        self.assertEqual(out.getvalue().count("\x1b[K"), 2)
        event = espalier.Progress("job-1", step=5, steps_total=20, epoch=0.5, epochs_total=2)
        for width in (1, 10, 30, 60, 200):
            line = progress.live_line(event, espalier.JobState.TRAINING, 3700.0, width)
            self.assertLess(len(line), width)
        self.assertIn("1:01:40 left", line)

    def test_a_notebook_shows_a_table_a_plot_and_no_markup_of_others(self):
        shown = []
        with mock.patch("IPython.display.display", return_value=mock.Mock(
                update=lambda h: shown.append(h.data))):
            view = progress.NotebookView()
            for event in self.events():
                view.show(event)
            view.show(espalier.StateChanged(espalier.JobInfo(
                "job-1", waiting_because="<script>alert(1)</script>")))
        self.assertIn("<polyline", shown[-1])
        self.assertIn("<td>loss 0.5000  accuracy 50.00 %</td>", shown[-1])
        self.assertNotIn("<script>", shown[-1])

    def test_a_notebooks_kernel_is_known_by_its_shell_and_those_made_of_it(self):
        shell = type("ZMQInteractiveShell", (), {})
        colabs = type("Shell", (shell,), {})
        for kernel, view in ((shell(), progress.NotebookView), (colabs(), progress.NotebookView),
                             (type("TerminalInteractiveShell", (), {})(), progress.SilentView),
                             (None, progress.SilentView)):
            fake = mock.MagicMock(**{"get_ipython.return_value": kernel})
            with mock.patch.dict(sys.modules, {"IPython": fake, "IPython.display": fake.display}), \
                    mock.patch("sys.stderr", io.StringIO()):
                self.assertIs(type(progress.view_for(None)), view)

    def test_nothing_is_shown_where_nobody_looks(self):
        with mock.patch("sys.stderr", io.StringIO()) as err:
            for choice in (None, False):
                view = progress.view_for(choice)
                for event in self.events():
                    view.show(event)
            self.assertEqual(err.getvalue(), "")

    def test_text_of_others_cannot_move_the_cursor(self):
        self.assertEqual(clean("a\x1b[2J\r\x9b\u202e"), "a?[2J???")


class SubmitTest(unittest.TestCase):
    """A submission whose answer did not arrive, over a simulated connection."""

    def submit(self, *answers):
        connection = mock.Mock(where="head:1", limits=espalier.Limits())
        connection.call.side_effect = answers
        with mock.patch("sys.stderr", io.StringIO()):
            try:
                return Client(connection).submit({"output": "/o"}).id, connection
            except (KeyboardInterrupt, espalier.EspalierError) as error:
                return error, connection

    def check_withdrawn(self, connection):
        calls = [c.args for c in connection.call.call_args_list]
        self.assertEqual(calls[-1][0], "Withdraw")
        self.assertEqual({c[1].client_request_id for c in calls}, {calls[0][1].client_request_id})

    def test_an_interrupt_withdraws_it_wherever_it_comes(self):
        gone = espalier.UnavailableError("gone")
        found, connection = self.submit(KeyboardInterrupt(), None)
        self.assertIsInstance(found, KeyboardInterrupt)
        self.check_withdrawn(connection)
        for where in ("time.sleep", "builtins.print"):
            with mock.patch(where, side_effect=KeyboardInterrupt):
                found, connection = self.submit(gone, None)
            self.assertIsInstance(found, KeyboardInterrupt, where)
            self.check_withdrawn(connection)

    def test_it_is_repeated_with_the_same_id(self):
        with mock.patch("time.sleep"):
            found, connection = self.submit(espalier.UnavailableError("gone"), mock.Mock(job=7))
        self.assertEqual(found, "job-7")
        first, second = (c.args for c in connection.call.call_args_list)
        self.assertEqual(first, second)


PROGRAM = """#!%s
import os, signal, time
said = open(os.environ["SAID"], "a", buffering=1)
heard = []
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda n, frame: heard.append(said.write(signal.Signals(n).name + " ")))
said.write("ready ")
said.flush()
while not heard:
    time.sleep(0.05)  # a signal ends it, but not the loop
time.sleep(0.5)  # the daemons are stopped
said.write("end")
"""


class LocalTest(unittest.TestCase):
    def train(self, folder):
        """Starts a process that trains with a program of `folder` that only records signals."""
        with open(os.path.join(folder, "espalier"), "w") as f:
            f.write(PROGRAM % sys.executable)
        os.chmod(f.name, 0o755)
        said = os.path.join(folder, "said")
        process = subprocess.Popen(
            ["env", "--default-signal=INT", sys.executable, "-c",
             "import espalier; espalier.train({'output': '/o'})"],
            env=dict(os.environ, ESPALIER_HOME=folder, SAID=said), stderr=subprocess.DEVNULL,
            start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def read():
            if not os.path.exists(said):
                return ""
            with open(said) as f:
                return f.read()
        wait_for("the program", lambda: read() == "ready ", 120)
        return process, read

    def test_a_terminals_ctrl_c_reaches_the_program_once(self):
        with tempfile.TemporaryDirectory() as folder:
            process, read = self.train(folder)
            os.killpg(process.pid, signal.SIGINT)
            process.wait(timeout=120)
            self.assertEqual(read(), "ready SIGINT end")

    def test_the_program_is_looked_for_in_its_home_and_on_the_path(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "bin", "espalier")
            os.mkdir(os.path.dirname(path))
            with open(path, "w") as f:
                f.write("#!/bin/sh\n")
            os.chmod(path, 0o755)
            for variables in ({"ESPALIER_HOME": folder, "PATH": ""},
                              {"PATH": os.path.dirname(path)}):
                with mock.patch.dict(os.environ, variables, clear=True):
                    self.assertEqual(local.find_program(), path)
            with mock.patch.dict(os.environ, {"PATH": "", "ESPALIER_HOME": "/none"}, clear=True), \
                    self.assertRaisesRegex(espalier.NotFoundError, "ESPALIER_HOME=/none"):
                local.find_program()

    def trained(self, outcome, code=0):
        """Returns the error for a program that says that last."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "espalier")
            with open(path, "w") as f:
                f.write("#!/bin/sh\necho '%s'\nexit %d\n" % (json.dumps(outcome), code))
            os.chmod(path, 0o755)
            with mock.patch.dict(os.environ, {"ESPALIER_HOME": folder}):
                return espalier.train({"output": "/out"}, progress=False)

    def test_the_programs_error_is_raised_by_its_code(self):
        for code, word, kind in (
                (2, "NOT_FOUND", espalier.NotFoundError), (1, "ABORTED", espalier.AbortedError),
                (2, None, espalier.InvalidArgumentError), (3, None, espalier.UnavailableError)):
            error = {"code": word, "message": "why"} if word else {"message": "why"}
            with self.assertRaisesRegex(kind, "^why$"):
                self.trained({"status": "FAILED", "job": None, "error": error}, code)
            with self.assertRaises(espalier.JobFailedError) as told:
                self.trained({"status": "FAILED", "job": "job-1", "error": error}, code)
            self.assertIs(type(told.exception.error), kind)

    def test_the_programs_outcome_is_the_result(self):
        outcome = {"status": "SUCCEEDED", "job": "job-1", "steps": 4, "epochs": 2,
                   "rows_per_epoch": 9, "weights_sha256": "ab", "bundle": "/out",
                   "metrics": {"train": {"rows": 9, "weight": 9, "loss": 0.5, "rmse": 0.1},
                               "validation": None, "test": None},
                   "timing": {"start_s": 1, "profiling_s": 2, "train_s": 3, "step_ms_p50": 4,
                              "step_ms_p99": 5}}
        for more, told in (({"skipped_rows": 3, "stopped_because": "early stopping"},
                            (3, "early stopping")), ({}, (0, ""))):
            result = self.trained(dict(outcome, **more))
            self.assertEqual((result.skipped_rows, result.stopped_because), told)
            self.assertEqual((result.train.rmse, result.validation, result.steps), (0.1, None, 4))


if __name__ == "__main__":
    unittest.main()
