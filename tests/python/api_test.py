"""The public gRPC interface: documented, compatible with the last release, and open to any client
by reflection."""
import base64
import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import grpc
import pytest
from google.protobuf import descriptor_pool, json_format
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import \
    ProtoReflectionDescriptorDatabase

import daemons
import espalier

sys.path.insert(0, os.path.join(daemons.ROOT, "tools", "lib"))
import api_snapshot  # noqa: E402

pytestmark = pytest.mark.covers("rpc")

# Replaces grpcurl in a script: prints the words of each call as JSON.
PRINT_CALLS = """grpcurl() { python3 -c 'import json, sys; print(json.dumps(sys.argv[1:]))' "$@"; }
"""


class SnapshotTest(unittest.TestCase):
    def setUp(self):
        self.files = api_snapshot.file_set()

    def test_nothing_that_the_last_release_had_is_gone_or_another(self):
        with open(api_snapshot.SNAPSHOT) as f:
            released = f.read().splitlines()
        self.assertGreater(len(released), 100)
        self.assertEqual(
            api_snapshot.breaks(released, api_snapshot.snapshot(self.files)), [],
            "clients of the last release would break: keep numbers, names and types, and add new "
            "ones beside them")

    def test_all_that_there_is_will_be_looked_after(self):
        with open(api_snapshot.SNAPSHOT) as f:
            known = set(f.read().splitlines())
        self.assertEqual([line for line in api_snapshot.snapshot(self.files) if line not in known],
                         [], "new: tools/lib/api_snapshot.py adds it to tests/python/api.txt")

    def test_each_kind_of_break_is_found_and_an_addition_is_none(self):
        before = api_snapshot.snapshot(self.files)

        def after(change):
            files = copy.deepcopy(self.files)
            parts = {m.name: m for f in files.file for m in
                     list(f.message_type) + list(f.enum_type) + list(f.service)}
            change(parts)
            return api_snapshot.breaks(before, api_snapshot.snapshot(files))

        def method(parts, name):
            return next(m for m in parts["Espalier"].method if m.name == name)
        for change, gone in (
                (lambda p: p["JobSnapshot"].field.pop(0), "field espalier.v1.JobSnapshot.job 1"),
                (lambda p: setattr(p["GetJobRequest"].field[0], "number", 2),
                 "field espalier.v1.GetJobRequest.job 1 uint64"),
                (lambda p: setattr(p["GetJobRequest"].field[0], "name", "id"),
                 "field espalier.v1.GetJobRequest.job 1 uint64"),
                (lambda p: setattr(p["GetJobRequest"].field[0], "type", 3),
                 "field espalier.v1.GetJobRequest.job 1 uint64"),
                (lambda p: setattr(p["JobUpdate"].field[1], "label", 1),
                 "field espalier.v1.JobUpdate.history 2 repeated"),
                (lambda p: setattr(p["JobState"].value[3], "number", 33),
                 "enum espalier.v1.JobState.JOB_STATE_LOADING 3"),
                (lambda p: p["Espalier"].method.pop(0), "rpc espalier.v1.Espalier.Submit"),
                (lambda p: setattr(method(p, "Watch"), "server_streaming", False),
                 "rpc espalier.v1.Espalier.Watch")):
            found = after(change)
            self.assertEqual(len(found), 1, found)
            self.assertTrue(found[0].startswith(gone), found)
        self.assertEqual(after(lambda p: p["GetJobRequest"].field.add(
            name="more", number=7, type=3, label=1)), [])

    def test_the_snapshot_is_written_anew_only_when_nothing_breaks(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "api.txt")
            self.assertEqual(api_snapshot.write(path, self.files), [])  # the first one
            with open(path) as f:
                whole = f.read()
            with open(api_snapshot.SNAPSHOT) as f:
                self.assertEqual(f.read(), whole)
            lines = whole.splitlines(keepends=True)
            with open(path, "w") as f:
                f.write("".join(lines[1:]))
            api_snapshot.main(path)  # as after an addition
            with open(path) as f:
                self.assertEqual(f.read(), whole)
            released = "field espalier.v1.GetJobRequest.gone 9 string\n" + whole
            with open(path, "w") as f:
                f.write(released)
            with self.assertRaisesRegex(SystemExit, "api.txt is unchanged. Clients of the last "
                                        "release would miss\n  field espalier.v1.GetJobRequest."
                                        "gone 9 string\nKeep numbers.*proto/espalier/v2"):
                api_snapshot.main(path)
            with open(path) as f:
                self.assertEqual(f.read(), released)

    def test_each_method_field_and_enumerator_has_a_comment(self):
        self.assertEqual(api_snapshot.undocumented(self.files), [])
        for f in self.files.file:
            for location in f.source_code_info.location:
                location.ClearField("leading_comments")
                location.ClearField("trailing_comments")
        self.assertGreater(len(api_snapshot.undocumented(self.files)), 100)


class ReflectionTest(daemons.EspalierTest):
    def setUp(self):
        super().setUp()
        cluster = daemons.Cluster(self, 1)
        self.channel = grpc.insecure_channel(cluster.address)
        self.addCleanup(self.channel.close)
        self.database = ProtoReflectionDescriptorDatabase(self.channel)
        self.pool = descriptor_pool.DescriptorPool(self.database)

    def prepared(self, kind, name, request):
        """Returns the callable and its message class, as grpcurl finds them: from names and JSON
        alone."""
        method = self.pool.FindServiceByName("espalier.v1.Espalier").FindMethodByName(name)
        send = kind("/espalier.v1.Espalier/" + name, lambda m: m.SerializeToString(),
                    GetMessageClass(method.output_type).FromString)
        return send, json_format.ParseDict(request, GetMessageClass(method.input_type)())

    def call(self, name, **request):
        send, message = self.prepared(self.channel.unary_unary, name, request)
        return json_format.MessageToDict(send(message, timeout=30))

    def stream(self, name, **request):
        """Returns all answers of a method, in order."""
        send, message = self.prepared(self.channel.unary_stream, name, request)
        return [json_format.MessageToDict(m) for m in send(message, timeout=120)]

    def test_a_client_that_knows_nothing_lists_describes_and_calls(self):
        self.assertIn("espalier.v1.Espalier", self.database.get_services())
        service = self.pool.FindServiceByName("espalier.v1.Espalier")
        self.assertEqual(len(service.methods), 9)
        worker, = self.call("ListWorkers")["workers"]
        self.assertEqual((worker["name"], worker["threads"]), ("node-1", 1))
        self.assertEqual(self.call("ListJobs"), {})

    def test_such_a_client_submits_a_job_and_watches_it_to_its_end(self):
        spec = dict(self.classes_spec(self.classes_csv("rows.csv", 400), epochs=2),
                    output=self.path("out"))
        version = self.call("ListWorkers")["workers"][0]["version"]
        accepted = self.call("Submit", version=version, client_request_id="17", job_yaml=(
            base64.b64encode(json.dumps(spec).encode()).decode()))
        self.assertEqual(accepted, {"job": "1"})
        last = self.stream("Watch", job=1)[-1]["snapshot"]
        self.assertEqual(last["state"], "JOB_STATE_SUCCEEDED")
        self.assertEqual(base64.b64decode(last["result"]["bundle"]).decode(), self.path("out"))
        self.assertEqual(espalier.load(self.path("out")).weights_sha256,
                         last["result"]["weightsSha256"])

    def answer(self, service_and_name, request):
        """Returns the last answer of a method, as JSON."""
        service, _, name = service_and_name.partition("/")
        self.assertEqual(service, "espalier.v1.Espalier")
        return (self.stream(name, **request)[-1] if name == "Watch" else
                self.call(name, **request))

    @pytest.mark.pages
    def test_the_plain_text_calls_of_the_page_work(self):
        with open(os.path.join(daemons.ROOT, "docs", "grpc.md")) as f:
            script = "".join(re.findall(r"```sh\n(.*?)```", f.read(), re.S)[:2])
        spec = dict(self.classes_spec(self.classes_csv("rows.csv", 400), epochs=2),
                    output=self.path("out"))
        self.write("job.yaml", json.dumps(spec))
        # Bash expands the words of each call, as for grpcurl.
        printed = subprocess.run(["bash", "-ec", PRINT_CALLS + script], cwd=self.directory,
                                 check=True, capture_output=True, text=True).stdout
        answers = []
        for plain, *words in map(json.loads, printed.splitlines()):
            self.assertEqual(plain, "-plaintext")
            request = json.loads(words[1]) if words[0] == "-d" else {}
            address, what, *symbol = words[2:] if request else words
            self.assertEqual(address, "localhost:7700")
            if what == "list":
                self.assertIn("espalier.v1.Espalier", self.database.get_services())
            elif what == "describe":
                self.assertTrue(self.pool.FindServiceByName(*symbol).methods)
            else:
                answers.append(self.answer(what, request))
        workers, accepted, last = answers
        self.assertEqual(workers["workers"][0]["name"], "node-1")
        self.assertEqual(accepted, {"job": "1"})
        self.assertEqual(last["snapshot"]["state"], "JOB_STATE_SUCCEEDED")

    def test_an_error_has_its_detail_in_the_trailing_metadata(self):
        with self.assertRaises(grpc.RpcError) as told:
            self.call("GetJob", job=9)
        self.assertEqual(told.exception.code(), grpc.StatusCode.NOT_FOUND)
        raw = dict(told.exception.trailing_metadata())["espalier-error-bin"]
        detail = GetMessageClass(self.pool.FindMessageTypeByName("espalier.v1.ErrorDetail"))
        self.assertEqual(json_format.MessageToDict(detail.FromString(raw)), {
            "code": "ERROR_CODE_NOT_FOUND",
            "messages": ["job-9 does not exist. Run `espalier list` to see the jobs."]})


if __name__ == "__main__":
    unittest.main()
