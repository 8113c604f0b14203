"""The client reads Hadoop's configuration by the rules of the programs. It reports what the
configuration does not say about a job's file systems."""
import contextlib
import http.server
import json
import os
import random
import subprocess
import tempfile
import threading
import unittest
from unittest import mock

import pytest

import daemons
import espalier
from espalier import _hadoop_conf, _hadoop_xml, _job_tokens, _webhdfs

pytestmark = pytest.mark.covers("storage")

NO_KERBEROS = {"KRB5_CONFIG": "/dev/null", "KRB5CCNAME": "FILE:/none",
               "KRB5_CLIENT_KTNAME": "/none", "HADOOP_HOME": "", "HADOOP_TOKEN_FILE_LOCATION": "",
               "HADOOP_USER_NAME": "ada"}


def site(inner):
    return ('<?xml version="1.0"?>\n'
            '<configuration xmlns:xi="http://www.w3.org/2001/XInclude">\n%s</configuration>\n' %
            inner)


def of(name, value, more=""):
    return "<property><name>%s</name><value>%s</value>%s</property>\n" % (name, value, more)


class RulesTest(unittest.TestCase):
    """Returns the cases of tests/storage/hadoop_config_test.cc."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def put(self, **files):
        for name, text in files.items():
            with open(os.path.join(self.folder, name.replace("_", "-") + ".xml"), "w") as f:
                f.write(text)

    def read(self):
        return _hadoop_xml.Configuration.read(self.folder, "ada")

    def test_values_are_read_as_hadoop_reads_them(self):
        self.put(core_site=site(
            of("a", " 1 ") + of("kept", "core", "<final>true</final>") + of("later", "core") +
            of("cdata", "<![CDATA[x<&y]]>") + '<property name="short" value="attributes"/>' +
            '<property name="held" value="core" final="true"/>' +
            "<property><value>v</value><name>turned</name><description>d</description></property>"
            "<property><name>nothing</name></property><property><name>empty</name><value/>"
            '</property><xi:include href="more.xml"/>'),
            hdfs_site=site(of("kept", "hdfs") + of("later", "hdfs") + of("held", "hdfs")),
            more=site(of("included", "yes")))
        conf = self.read()
        for name, value in (("a", "1"), ("kept", "core"), ("later", "hdfs"), ("cdata", "x<&y"),
                            ("short", "attributes"), ("held", "core"), ("turned", "v"),
                            ("nothing", ""), ("empty", ""), ("included", "yes"),
                            ("user.name", "ada"), ("never set", "")):
            self.assertEqual(conf.get(name), value, name)

    def test_variables_are_replaced_unknown_ones_stay_circles_are_told(self):
        self.put(hdfs_site=site(
            of("host", "nn.${domain}") + of("domain", "example") + of("x", "${y}") +
            of("address", "${host}:${port}/${user.name}") + of("y", "a${x}") +
            of("list", " a , b,, ${domain} ") + of("open", "${domain")))
        conf = self.read()
        self.assertEqual(conf.get("address"), "nn.example:${port}/ada")
        self.assertEqual(conf.get("open"), "${domain")
        self.assertEqual(conf.get_list("list"), ["a", "b", "example"])
        with self.assertRaisesRegex(espalier.FailedPreconditionError,
                                    r"^the value of 'x' in the Hadoop configuration in '.*' takes "
                                    r"more than 20 replacements of \$\{...\}; its variables"):
            conf.get("x")

    def test_what_is_no_configuration_is_refused_with_file_and_line(self):
        for text, words in (
                ("", "no element found"),
                ("<configuration>\n<property>", "line 2: it is not well-formed XML"),
                ('<?xml version="1.0" encoding="none"?><a/>', "not well-formed XML: "),
                ("<html/>", "the outermost element is <html>"),
                ('<!DOCTYPE c [<!ENTITY a "b">]><configuration/>', "a DOCTYPE is not allowed"),
                (site("<property><value>1</value></property>"), "a property has no name"),
                (site('<xi:include href="../secret.xml"/>'),
                 "it includes '../secret.xml'; only files of"),
                (site('<xi:include href="http://h/x.xml"/>'), "only files of the same"),
                (site('<xi:include href="none.xml"/>'),
                 "it includes 'none.xml' <- cannot read '.*/none.xml': No such"),
                (site('<xi:include href="core-site.xml"/>'), "too deeply or in a circle"),
                (site('<xi:include href="empty.xml"/>' * 65), "too deeply or in a circle"),
                ("<configuration>" + "<a>" * 100, "nested too deeply"),
                (site("<property name='a' value='b'/>" * 20_001), "more than 20000 properties"),
                ("<" * 100, "not well-formed")):
            self.put(core_site=text, empty=site(""))
            with self.assertRaisesRegex(espalier.FailedPreconditionError,
                                        "core-site.xml' line [0-9]+: .*" + words if "line" not in
                                        words else "core-site.xml' " + words, msg=text[:200]):
                self.read()

    def test_whatever_a_file_holds_is_read_or_refused_in_words(self):
        good = site(of("a", "${b}") + of("b", "&lt;${a}") + '<xi:include href="more.xml"/>' +
                    '<property name="c" value="${d}" final="true"/>').encode()
        self.put(more=site(of("d", "1")))
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        for _ in range(1000):
            changed = bytearray(good)
            for _ in range(chance.randrange(1, 5)):
                at = chance.randrange(len(changed))
                changed[at:at + chance.randrange(4)] = chance.choice(
                    [b"", b"<", b"${", b"\0", b"\xff", b"<value>", bytes(good[:at][-40:])])
            with open(os.path.join(self.folder, "core-site.xml"), "wb") as f:
                f.write(changed)
            with self.subTest(seed=seed, changed=bytes(changed)), \
                    contextlib.suppress(espalier.FailedPreconditionError):
                conf = self.read()
                for name in "abcd":
                    conf.get(name)

    def test_a_directory_without_it_and_a_file_that_is_too_long_are_told(self):
        with self.assertRaisesRegex(espalier.FailedPreconditionError, "holds neither core-site.xml "
                                    "nor hdfs-site.xml"):
            self.read()
        self.put(core_site=site("<!-- %s -->" % ("a" * (4 << 20))))
        with self.assertRaisesRegex(espalier.FailedPreconditionError, r"^the Hadoop configuration "
                                    r"\(HADOOP_CONF_DIR\) <- cannot read '.*/core-site.xml': it "
                                    r"has more than 4194304 bytes"):
            self.read()

    def test_name_nodes_are_found_through_all_of_it(self):
        self.put(core_site=site('<property name="fs.default.name" value="hdfs://${service}"/>' +
                                '<xi:include href="where.xml"/>'),
                 where=site(of("service", "ns", "<final>true</final>") + of("host", "h1")),
                 hdfs_site=site(of("service", "other") +
                                of("dfs.client.failover.proxy.provider.ns", "org.x.Provider") +
                                of("dfs.namenode.http-address.ns", "${host}:5")))
        with mock.patch.dict(os.environ, {"HADOOP_CONF_DIR": self.folder}):
            place = _hadoop_conf.find("hdfs:///p")
            self.assertEqual([node.http for node in place.name_nodes], [("h1", 5)])
            self.put(where=site(of("service", "ns")), core_site=site(of(
                "dfs.ha.namenodes.ns", ",".join("n%d" % i for i in range(17)))))
            with self.assertRaisesRegex(espalier.FailedPreconditionError, "lists 17 NameNodes; at "
                                        "most 16 are used"):
                _hadoop_conf.find("hdfs://ns/p")


class SameAsTheProgramsTest(daemons.EspalierTest):
    def name_node(self):
        """Returns its address. Its requests go into self.asked, and it has no files."""
        asked = self.asked = []

        class NameNode(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                body = json.dumps({"RemoteException": {
                    "exception": "FileNotFoundException", "message": "nothing is there"}}).encode()
                self.send_response(404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), NameNode)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        for end in (thread.join, server.server_close, server.shutdown):
            self.addCleanup(end)
        return "127.0.0.1", server.server_address[1]

    def configure(self, **files):
        os.makedirs(self.path("conf"), exist_ok=True)
        for name, text in files.items():
            with open(self.path("conf", name.replace("_", "-") + ".xml"), "w") as f:
                f.write(text)

    def test_both_ask_the_same_name_node_by_a_configuration_with_all_four(self):
        host, port = self.name_node()
        self.configure(
            core_site=site('<xi:include href="here.xml"/>' +
                           '<property name="fs.defaultFS" value="hdfs://${our.service}"/>'),
            here=site(of("our.service", "ns", "<final>true</final>") + of("our.host", host)),
            hdfs_site=site(of("our.service", "other") + of("dfs.nameservices", "ns,other") +
                           '<property name="dfs.namenode.http-address.ns" '
                           'value="${our.host}:%d"/>' % port +
                           of("dfs.namenode.http-address.other", "127.0.0.1:1")))
        environment = dict(NO_KERBEROS, HADOOP_CONF_DIR=self.path("conf"))
        done = subprocess.run([daemons.program("espalier"), "evaluate", "hdfs:///models/m",
                               "rows.csv"], capture_output=True, text=True, timeout=60,
                              env=dict(self.environment, **environment))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(self.asked[0], r"^/webhdfs/v1/models/m/model.json\?.*user.name=ada")
        del self.asked[:]
        with mock.patch.dict(os.environ, environment), \
                self.assertRaisesRegex(espalier.NotFoundError, "nothing is there"):
            espalier.load("hdfs:///models/m")
        self.assertRegex(self.asked[0], r"^/webhdfs/v1/models/m/model.json\?.*user.name=ada")

    def test_a_file_system_that_cannot_be_found_or_reached_is_told_and_the_job_goes(self):
        """The daemons may find it, and then read and write as themselves."""
        cluster = daemons.Cluster(self, 1)
        rows = self.classes_csv("rows.csv", 100)
        for conf, uri, words in (
                (site(of("a", "${b}") + "<property/>"), "hdfs://ns/r.csv",
                 "hdfs://ns .*core-site.xml' line 4: a property has no name"),
                (site(""), "hdfs:///r.csv", "hdfs:// .*no fs.defaultFS in HADOOP_CONF_DIR is")):
            self.configure(core_site=conf)
            spec = dict(self.classes_spec(rows, epochs=1), output=self.path("out"))
            spec["data"] = dict(spec["data"], test=uri)
            with mock.patch.dict(os.environ, dict(NO_KERBEROS,
                                                  HADOOP_CONF_DIR=self.path("conf"))):
                notes = _job_tokens.fetch_job_tokens([uri], None).notes
                self.assertEqual(len(notes), 1)
                self.assertRegex(notes[0], "^no delegation token of %s" % words)
                self.assertIn(" secured by Kerberos: ", notes[0])
                said = mock.patch("sys.stderr")
                with espalier.connect(cluster.address) as client, said as stderr, \
                        self.assertRaises(espalier.EspalierError):
                    client.submit(spec)  # the coordinator does not find it, either
                self.assertIn("note: " + notes[0],
                              "".join(call.args[0] for call in stderr.write.call_args_list))
            done = subprocess.run(
                [daemons.program("espalier"), "submit", self.job("job", spec), "--coordinator",
                 cluster.address], capture_output=True, text=True, timeout=60,
                env=dict(self.environment, **NO_KERBEROS, HADOOP_CONF_DIR=self.path("conf")))
            self.assertRegex(done.stderr, r"(?m)^note: no delegation token of \S+ .* secured by "
                             "Kerberos: ")

    def test_only_who_has_a_kerberos_identity_is_told_of_a_name_node_that_is_away(self):
        with mock.patch.dict(os.environ, dict(NO_KERBEROS, HADOOP_CONF_DIR="")):
            paths = ["webhdfs://127.0.0.1:1/a"]
            self.assertEqual(_job_tokens.fetch_job_tokens(paths, None), ([], []))
            with mock.patch.object(_webhdfs, "own_principal", return_value="ada@R"):
                tokens, notes = _job_tokens.fetch_job_tokens(paths, None)
        self.assertEqual((tokens, len(notes)), ([], 1))
        self.assertRegex(notes[0], "no NameNode of it answers <- 127.0.0.1:1: .*refused")


if __name__ == "__main__":
    unittest.main()
