"""Provides real HDFS for C++ tests of the storage room: plain, with two NameNodes, and secured."""
import os

import hadoop_kdc
from hadoop import Hdfs


def runs():
    """Yields (label, flags of bazel test, target), each while its HDFS runs."""
    for label, ha in (("hdfs", False), ("hdfs ha", True)):
        with Hdfs.start(ha=ha, block_size=1 << 20) as hdfs:
            yield (label, ["--test_env=ESPALIER_TEST_HDFS=%s/tmp" % hdfs.uri,
                           "--test_env=ESPALIER_TEST_HADOOP_CONF=" + hdfs.conf_dir],
                   "//tests/storage:hdfs_test")
    with Hdfs.start(kerberos=True, block_size=1 << 20) as hdfs:
        yield ("hdfs kerberos",
               ["--test_env=%s=%s" % pair for pair in secured_environment(hdfs).items()],
               "//tests/storage:secured_test")


def secured_environment(hdfs):
    """Returns the environment of //tests/storage:secured_test, with the user alice and her keytab.
    """
    token, cache = (os.path.join(hdfs.dir, "kdc", "alice." + kind) for kind in ("token", "cache"))
    hadoop_kdc.kinit(hdfs.state, "alice", "FILE:" + cache)
    hdfs.run("fetchdt", "--renewer", "espalier", token, env={"KRB5CCNAME": "FILE:" + cache})
    return dict(hdfs.env("alice"), ESPALIER_TEST_HDFS=hdfs.uri + "/tmp",
                ESPALIER_TEST_HADOOP_CONF=hdfs.conf_dir,
                ESPALIER_TEST_SWEBHDFS="swebhdfs://%s/tmp" % hdfs.daemon("nn1")["https"],
                ESPALIER_TEST_CA=hadoop_kdc.ca_file(hdfs.state), ESPALIER_TEST_TOKEN_FILE=token)
