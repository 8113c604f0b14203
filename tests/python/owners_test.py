"""Jobs of several people on one cluster, as the client of each of them sees them."""
import json
import os
import unittest

import pytest

import espalier
from daemons import Authority, EspalierTest, SecureCluster
from espalier._proto import api_pb2

pytestmark = pytest.mark.covers("coordinator", "rpc")


class OwnersTest(EspalierTest):
    def test_a_job_and_its_request_id_belong_to_their_owner(self):
        authority = Authority(self)
        cluster = SecureCluster(self, 0, authority)
        people = {}
        for role, name in (("operator", "bea"), ("operator", "bob"), ("admin", "root")):
            made = authority.issue(role, name)
            people[name] = espalier.connect(cluster.address, ca=os.path.join(made, "ca.crt"),
                                            cert=os.path.join(made, "tls.crt"),
                                            key=os.path.join(made, "tls.key"))
            self.addCleanup(people[name].close)
        spec = dict(self.classes_spec(self.classes_csv("rows.csv", 400)), name="owned")

        def submit(name, output):
            text = json.dumps(dict(spec, output=self.path(output))).encode()
            return people[name]._connection.call("Submit", api_pb2.SubmitRequest(
                version=espalier.__version__, client_request_id="the same", job_yaml=text)).job

        def withdraw(name):
            return people[name]._connection.call("Withdraw", api_pb2.WithdrawRequest(
                client_request_id="the same")).job
        beas = submit("bea", "a.bundle")
        self.assertEqual(submit("bea", "a.bundle"), beas)
        self.assertEqual(withdraw("bob"), 0)
        bobs = submit("bob", "b.bundle")
        self.assertNotEqual(bobs, beas)
        self.assertEqual(submit("bob", "b.bundle"), bobs)
        with self.assertRaisesRegex(espalier.PermissionDeniedError,
                                    "job-1 belongs to 'bea'; ask bea or an admin"):
            people["bob"].cancel(beas)
        with self.assertRaisesRegex(espalier.PermissionDeniedError, "the role admin is needed"):
            people["bob"]._connection.call("Drain", api_pb2.DrainRequest(worker=1))
        self.assertEqual(withdraw("bob"), bobs)
        info = {job.owner: job for job in people["root"].jobs()}
        self.assertEqual((info["bea"].state, info["bob"].state), ("QUEUED", "CANCELLED"))
        people["root"].cancel(beas)
        self.assertIn("cancelled by 'root'", str(people["bea"].job(beas).info().error))


if __name__ == "__main__":
    unittest.main()
