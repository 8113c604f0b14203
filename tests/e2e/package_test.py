"""Packages of tools/package, on machines without anything: an empty root, an unknown user."""
import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import pytest

from espalier import ROOT, EspalierTest, await_step, children_of, command_line_of, json_lines

import debian_root  # in tools/lib, which `espalier` puts on the path
import package_check
import package_tree

pytestmark = [pytest.mark.covers("launcher"), pytest.mark.pages]

UNKNOWN_UID = 54321
PACKAGE_LIMIT_S = 600
BYTES_MAX = 80_000_000
EXPOSURE_MAX = 2.0
# Paths in the pages that only the source tree has, for people who work on it.
ONLY_IN_THE_SOURCES = ["CONTRIBUTING.md", "docs/engineering/architecture.md",
                       "docs/engineering/grpc-review.md"]
UNITS = ["espalier-coordinator.service", "espalier-worker.service"]


def package(folder, *arguments):
    # Some updates may be missing on the machine of the tests.
    subprocess.run([os.path.join(ROOT, "tools", "package"), "--allow-outdated", "--output",
                    folder] + list(arguments),
                   check=True, stdout=subprocess.DEVNULL, timeout=PACKAGE_LIMIT_S)


def only(folder, ending):
    names = [name for name in os.listdir(folder) if name.endswith(ending)]
    assert len(names) == 1, names
    return os.path.join(folder, names[0])


def pages(tree):
    """Returns the paths of all pages in the tree."""
    return sorted(os.path.relpath(os.path.join(folder, name), tree)
                  for folder, _, names in os.walk(tree) for name in names if name.endswith(".md"))


def named_paths(tree, page):
    """Returns the files that a page refers to: by its links, and by paths in its text."""
    with open(os.path.join(tree, page), encoding="utf-8") as f:
        text = f.read()
    folder = os.path.dirname(page)
    found = {os.path.normpath(os.path.join(folder, link.split("#")[0]))
             for link in re.findall(r"\]\(([^)\s]+)\)", text)
             if not re.match(r"[a-z]+:|#", link)}
    written = re.findall(r"(?<![\w./-])(?:config|deploy|proto)/[\w./-]*\w", text)
    return found | {name for name in written if not name.endswith("_test.cc")}


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class PackageTest(EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with contextlib.ExitStack() as stack:
            cls.folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="espalier-pkg-"))
            os.chmod(cls.folder, 0o755)
            package(cls.folder)
            cls.tarball, cls.deb = only(cls.folder, ".tar.gz"), only(cls.folder, ".deb")
            cls.empty = os.path.join(cls.folder, "empty")
            os.mkdir(cls.empty)
            with tarfile.open(cls.tarball) as tar:
                tar.extractall(cls.empty)
            cls.top = "/" + os.listdir(cls.empty)[0]
            cls.addClassCleanup(stack.pop_all().close)

    def setUp(self):
        super().setUp()
        os.chmod(self.directory, 0o755)
        self.spec = self.classes_spec(self.classes_csv("rows.csv", 1200))

    def plain_weights(self):
        return self.result("train", self.job("plain", self.spec), "--workers",
                           1)["weights_sha256"]

    def empty_root(self, uid):
        """A root with the unpacked tarball and a folder /job that the user may write. Returns its
        spec."""
        folder = os.path.join(self.empty, "job")
        os.mkdir(folder)
        self.addCleanup(shutil.rmtree, folder)
        shutil.copy(self.spec["data"]["train"], folder)
        spec = json.loads(json.dumps(self.spec))
        spec["data"]["train"] = "/job/rows.csv"
        with open(os.path.join(folder, "job.yaml"), "w") as f:
            json.dump(dict(spec, name="job", output="/job/bundle"), f)
        if os.geteuid() == 0:
            for path in [folder] + [os.path.join(folder, n) for n in os.listdir(folder)]:
                os.chown(path, uid, uid)
        return folder

    def run_inside(self, *words, uid=0):
        command = debian_root.inside(self.empty, words, uid)
        return subprocess.run(command, capture_output=True, text=True, timeout=120,
                              env={"TMPDIR": "/job", "PATH": os.environ["PATH"]})

    def assert_trains_inside(self, uid):
        weights = self.plain_weights()
        self.empty_root(uid)
        done = self.run_inside(self.top + "/bin/espalier", "train", "/job/job.yaml", "--workers",
                               "2", "--json", uid=uid)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(json_lines(done.stdout)[-1]["weights_sha256"], weights)
        self.assertEqual(sorted(os.listdir(self.empty)), sorted(["dev", "job", "proc",
                                                                 self.top[1:]]))

    def test_in_an_empty_root_it_trains_the_same_weights(self):
        self.assert_trains_inside(0)

    def test_so_does_a_user_who_is_in_no_list(self):
        """Only root can choose a user. Without root, it is the user that runs the tests, mapped to
        another."""
        self.assert_trains_inside(UNKNOWN_UID if os.geteuid() == 0 else 0)

    def test_each_program_tells_version_arithmetic_and_how_it_was_built(self):
        self.empty_root(0)
        plain, _ = self.espalier("--version")
        self.assertRegex(plain, r"^espalier \d+\.\d+\.\d+\narithmetic: espalier \d+; OpenBLAS .* "
                                r"Haswell; self-test [0-9a-f]{16}\nbuilt by: GCC .*"
                                r"-march=x86-64-v3 -ffp-contract=off")
        for name in ("espalier", "espalier-worker", "espalier-coordinator"):
            done = self.run_inside(self.top + "/bin/" + name, "--version")
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = plain.replace("espalier", name, 1).splitlines()
            wanted = lines if name != "espalier-coordinator" else [lines[0], lines[2]]
            self.assertEqual(done.stdout.splitlines(), wanted)

    def test_a_link_from_elsewhere_starts_the_tree_it_points_to(self):
        link = self.path("espalier")
        os.symlink(self.empty + self.top + "/bin/espalier", link)
        out = subprocess.run([link, "--version"], check=True, capture_output=True, text=True,
                             env={"LD_LIBRARY_PATH": "/nowhere", "LD_PRELOAD": "/no/such.so"})
        self.assertIn("arithmetic: ", out.stdout)
        self.assertEqual(out.stderr, "")

    def test_a_tree_with_a_missing_program_says_which(self):
        tree = self.path("tree")
        os.makedirs(tree + "/bin")
        shutil.copy(self.empty + self.top + "/bin/espalier", tree + "/bin/")
        done = subprocess.run([tree + "/bin/espalier"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 126)
        self.assertIn(tree + "/libexec/espalier", done.stderr)

    def test_daemons_of_the_tarball_go_by_their_names(self):
        job = self.job("long", self.long_spec(self.classes_csv("long.csv", 2000)))
        process = subprocess.Popen([self.empty + self.top + "/bin/espalier", "train", job,
                                    "--workers", "1", "--json"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment)
        self.addCleanup(process.communicate)
        self.addCleanup(process.terminate)
        await_step(process)
        shown = {}
        for pid in children_of(process.pid):
            with open("/proc/%d/comm" % pid) as f:
                shown[os.path.basename(command_line_of(pid)[0])] = f.read().strip()
        self.assertEqual(shown, {"espalier-coordinator": "espalier-coordi",
                                 "espalier-worker": "espalier-worker"})

    @pytest.mark.long
    def test_the_same_commit_gives_the_same_bytes(self):
        again = self.path("again")
        package(again)
        self.assertEqual(digest(only(again, ".tar.gz")), digest(self.tarball))
        self.assertEqual(digest(only(again, ".deb")), digest(self.deb))

    def test_both_are_small_enough(self):
        for path in (self.tarball, self.deb):
            self.assertLess(os.path.getsize(path), BYTES_MAX)

    def test_what_the_pages_lead_to_is_there(self):
        tree = self.empty + self.top
        found = pages(tree)
        self.assertLess({"README.md", "docs/quickstart.md", "deploy/README.md",
                         "deploy/python/README.md", "deploy/spark/README.md"}, set(found))
        named = set().union(*(named_paths(tree, page) for page in found))
        self.assertLess({"deploy/spark/submit.py", "proto/espalier/v1/api.proto",
                         "deploy/spark/examples/launch.py", "docs/architecture.svg"}, named)
        self.assertEqual(sorted(name for name in named
                                if not os.path.exists(os.path.join(tree, name))),
                         ONLY_IN_THE_SOURCES)

    def test_the_public_protos_are_whole(self):
        subprocess.run(["protoc", "--proto_path=.", "--descriptor_set_out=" + self.path("set"),
                        "proto/espalier/v1/api.proto"], cwd=self.empty + self.top, check=True)

    def test_the_bill_of_materials_lists_every_library(self):
        tree = self.empty + self.top
        with open(tree + "/sbom.spdx.json") as f:
            bill = json.load(f)
        self.assertEqual(bill["spdxVersion"], "SPDX-2.3")
        packages = {p["SPDXID"]: p for p in bill["packages"]}
        self.assertEqual(len(packages), len(bill["packages"]))
        links, owner = {}, {}
        for relation in bill["relationships"]:
            one, other = relation["spdxElementId"], relation["relatedSpdxElement"]
            if relation["relationshipType"] == "CONTAINS":
                self.assertNotIn(other, owner)
                owner[other] = packages[one]
            elif relation["relationshipType"] != "DESCRIBES":
                links[packages[other]["name"]] = relation["relationshipType"]
        described = {}
        for file in bill["files"]:
            name = file["fileName"][len("./"):]
            described[name] = owner[file["SPDXID"]]
            sums = {c["algorithm"]: c["checksumValue"] for c in file["checksums"]}
            self.assertEqual(sums["SHA256"], digest(os.path.join(tree, name)))
        there = [os.path.join(folder, name) for folder in ("bin", "lib", "libexec")
                 for name in os.listdir(os.path.join(tree, folder))]
        self.assertEqual(sorted(described), sorted(there))
        self.assertEqual(described["libexec/espalier"]["name"], "espalier")
        self.assertEqual(described["lib/libcurl.so.4"]["name"], "libcurl4")
        self.assertEqual(links["libcurl4"], "DYNAMIC_LINK")
        self.assertEqual(links["libc6-dev"], "STATIC_LINK")  # in the launcher
        known = {line.split()[0]: line.split()[1:] for line in subprocess.run(
            ["dpkg-query", "-W", "-f", "${Package} ${Version} ${source:Package} "
             "${source:Version}\n"] + [name for name in links if name != "apache-arrow"],
            check=True, capture_output=True, text=True).stdout.splitlines()}
        with open(tree + "/LICENSES") as f:
            licenses = f.read()
        for name, (version, source, source_version) in known.items():
            package, = [p for p in packages.values() if p["name"] == name]
            self.assertEqual(package["versionInfo"], version)
            self.assertEqual(package["sourceInfo"], "Debian source package %s %s" %
                             (source, source_version))
            self.assertRegex(licenses, r"(?m)^%s: .*\nsource: %s=%s$" % tuple(
                map(re.escape, (name, source, source_version))))
        self.assertEqual(len(known), len(packages) - 2)  # Espalier, Arrow

    def test_every_library_has_its_licence(self):
        with open(self.empty + self.top + "/LICENSES") as f:
            text = f.read()
        for name in os.listdir(self.empty + self.top + "/lib"):
            if not name.startswith(("libarrow", "libparquet")):
                self.assertRegex(text, r"(?m)^[\w.+-]+: .*%s(,|$)" % re.escape(name))
        self.assertIn("Apache Arrow: LICENSE.txt", text)

    def test_no_runpath_leads_out_of_the_tree(self):
        found = {}
        for folder, _, names in os.walk(self.empty + self.top):
            for name in names:
                path = os.path.join(folder, name)
                out = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True)
                for line in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", out.stdout):
                    found[os.path.relpath(path, self.empty + self.top)] = line
        self.assertEqual(found.pop("libexec/espalier"), "$ORIGIN/../lib")
        self.assertLessEqual(set(found.values()), {"$ORIGIN", "$ORIGIN/../lib"}, found)

    def test_a_runpath_that_leads_out_is_refused(self):
        source = self.write("main.c", "int main(void) { return 0; }\n")
        os.makedirs(self.path("tree/libexec"))
        for entry, refused in (("$ORIGIN/../lib", False), ("${ORIGIN}", False),
                               ("/usr/local/lib", True), ("lib", True), ("", True),
                               ("$ORIGIN/../../lib", True), ("$ORIGIN/../lib/../..", True),
                               ("$ORIGINAL/lib", True), ("$ORIGIN/../lib:", True)):
            subprocess.run(["gcc", "-o", self.path("tree/libexec/program"), source,
                            "-Wl,-rpath," + (entry or ":")], check=True)
            with self.subTest(entry):
                if not refused:
                    package_check.check_search_paths(self.path("tree"))
                    continue
                with self.assertRaisesRegex(package_tree.TreeError, "libexec/program: the RUNPATH"):
                    package_check.check_search_paths(self.path("tree"))

    def test_the_debian_package_holds_units_configuration_and_completion(self):
        out = subprocess.run(["dpkg-deb", "--contents", self.deb], check=True, capture_output=True,
                             text=True).stdout
        rows = [line.split(None, 5) for line in out.splitlines()]
        self.assertEqual({row[1] for row in rows}, {"root/root"})
        names = {row[5].split(" -> ")[0] for row in rows}
        for name in (["./lib/systemd/system/" + unit for unit in UNITS] +
                     ["./usr/bin/espalier", "./usr/lib/sysusers.d/espalier.conf",
                      "./usr/share/bash-completion/completions/espalier",
                      "./usr/share/zsh/vendor-completions/_espalier",
                      "./usr/share/fish/vendor_completions.d/espalier.fish",
                      "./usr/share/man/man1/espalier-train.1",
                      "./usr/share/man/man8/espalier-worker.8",
                      "./usr/share/doc/espalier/copyright"] +
                     ["./usr/lib/espalier/" + os.path.relpath(os.path.join(folder, name),
                                                              self.empty + self.top)
                      for folder, _, files in os.walk(self.empty + self.top) for name in files]):
            self.assertIn(name, names)
        for row in rows:
            self.assertNotRegex(row[0], r"^[^l].....w..|^[^l]........[w]|^...[sS]", row)
        info = subprocess.run(["dpkg-deb", "--info", self.deb], check=True, capture_output=True,
                              text=True).stdout
        self.assertIn("Architecture: amd64", info)
        self.assertNotIn("Depends:", info)
        # The installation copies the configuration if it is missing: dpkg asks nothing at an
        # upgrade.
        self.assertNotIn("conffiles", info)
        self.assertFalse([name for name in names if name.startswith("./etc/")])
        postinst = subprocess.run(["dpkg-deb", "--info", self.deb, "postinst"], check=True,
                                  capture_output=True, text=True).stdout
        for name in ("coordinator.yaml", "worker.yaml"):
            self.assertIn(name, postinst)

    def purge(self, *made_by_people):
        """Runs the package's postrm in a root with the files of both services and these. Returns
        purge's output and the files that it keeps."""
        root = self.path("root-%d" % len(made_by_people))
        made = ["etc/passwd", "usr/", "dev/", "bin/userdel"] + [
            "etc/espalier/" + name for name in (
                "coordinator.yaml", "worker.yaml", "coordinator/ca.crt", "coordinator/tls.crt",
                "coordinator/tls.key", "worker/ca.crt", "worker/tls.crt", "worker/tls.key")] + [
            "var/lib/espalier/coordinator/" + name
            for name in ("journal.db", "journal.db-wal", "journal.db-shm", "lock", "reserve")] + [
            "var/lib/espalier/models/", "var/cache/espalier/worker/cached"]
        for name in made + list(made_by_people):
            os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
            if not name.endswith("/"):
                with open(os.path.join(root, name), "w") as f:
                    f.write({"etc/passwd": "espalier:x:999:999::/:/bin/false\n",
                             "bin/userdel": '#!/usr/bin/sh\necho "userdel $*"\n'}.get(name, name))
        os.chmod(os.path.join(root, "bin", "userdel"), 0o755)
        for name in ("lib", "lib64"):
            os.symlink("usr/" + name, os.path.join(root, name))
        script = subprocess.run(["dpkg-deb", "--info", self.deb, "postrm"], check=True,
                                capture_output=True, text=True).stdout
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        done = subprocess.run(
            ["unshare"] + user + ["--mount", "--propagation", "private", "sh", "-c",
             'mount --rbind /usr "$0/usr" && mount --rbind /dev "$0/dev" && '
             'exec chroot "$0" /usr/bin/sh -s purge', root],
            input=script, capture_output=True, text=True, timeout=60,
            env={"PATH": "/bin:/usr/bin:/usr/sbin"})
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        kept = [os.path.relpath(os.path.join(folder, name), root)
                for top in ("etc/espalier", "var") for folder, folders, names in
                os.walk(os.path.join(root, top)) for name in names + folders]
        return done.stdout, [name for name in kept if "espalier" in name]

    def test_purge_keeps_the_files_of_people(self):
        model = "var/lib/espalier/models/job/weights.safetensors"
        keytab = "etc/espalier/espalier.keytab"
        said, kept = self.purge(model, keytab)
        self.assertIn(model, kept)
        self.assertIn(keytab, kept)
        self.assertEqual(len([name for name in kept if "." in name]), 2, kept)
        self.assertEqual(said.count("\n"), 1)
        self.assertIn("made in /etc/espalier /var/lib/espalier.", said)
        self.assertNotIn("userdel espalier\n", said.replace("&& userdel", ""))

    def test_purge_without_files_of_people_leaves_nothing(self):
        self.assertEqual(self.purge(), ("userdel espalier\n", []))

    def complete(self, *words):
        script = self.empty + self.top + "/completions/espalier.bash"
        out = subprocess.run(["bash", "-c", 'source "$0"; COMP_WORDS=("$@"); '
                              'COMP_CWORD=$(($# - 1)); _espalier; echo "${COMPREPLY[@]}"',
                              script] + list(words), check=True, capture_output=True, text=True)
        return out.stdout.split()

    def test_completion_knows_commands_and_flags(self):
        self.assertEqual(self.complete("espalier", "su"), ["submit"])
        self.assertEqual(self.complete("espalier", "ini"), ["init"])
        self.assertEqual(self.complete("espalier", "init", "--la"), ["--label"])
        self.assertEqual(self.complete("espalier", "train", "--w"), ["--workers"])
        self.assertEqual(self.complete("/usr/bin/espalier-worker", "--peer"),
                         ["--peer-timeout-ms"])
        self.assertEqual(self.complete("espalier", "train", "jo"), [], "files are left to bash")
        self.assertEqual(self.complete("espalier", "certs", "re"), ["revoke"])
        self.assertEqual(self.complete("espalier", "certs", "issue", "--ho"), ["--host"])
        self.assertEqual(self.complete("espalier", "reference", "train.ep"), ["train.epochs"])

    def test_each_shell_completes_the_same_words(self):
        folder = self.empty + self.top + "/completions/"
        texts = []
        for name in ("espalier.bash", "_espalier", "espalier.fish"):
            with open(folder + name) as f:
                texts.append(f.read())
        for text in texts:
            cases = re.findall(r'^ +(?:case )?"([a-z -]+)"\)?(?: echo|\n +printf)', text, re.M)
            self.assertEqual(cases, re.findall(r'^ +"([a-z -]+)"\)', texts[0], re.M))
            self.assertIn("espalier yarn up", cases)

    def test_the_units_are_sound_and_little_exposed(self):
        units = os.path.join(self.empty + self.top, "deploy", "systemd")
        for unit in UNITS:
            path = os.path.join(units, unit)
            out = subprocess.run(["systemd-analyze", "security", "--offline=true",
                                  "--threshold=%d" % (EXPOSURE_MAX * 10), path],
                                 capture_output=True, text=True)
            found = re.search(r"exposure level for \S+: ([\d.]+)", out.stdout)
            self.assertTrue(found, out.stderr)
            self.assertLessEqual(float(found.group(1)), EXPOSURE_MAX, out.stdout)
            self.assertEqual(out.returncode, 0, out.stdout)

    def test_the_units_limit_memory_and_hide_secrets(self):
        settings = {}
        for unit in UNITS:
            with open(os.path.join(self.empty + self.top, "deploy", "systemd", unit)) as f:
                settings[unit] = dict(re.findall(r"(?m)^(\w+)=(.*)$", f.read()))
            high, most = (int(re.fullmatch(r"(\d+)%", settings[unit][name]).group(1))
                          for name in ("MemoryHigh", "MemoryMax"))
            self.assertLess(high, most)
            self.assertLess(most, 100)
            self.assertRegex(settings[unit]["TasksMax"], r"^\d{4}$")
        worker = settings["espalier-worker.service"]
        hidden = worker["InaccessiblePaths"].split()
        self.assertEqual(hidden, ["/var/lib/espalier/coordinator", "/etc/espalier/coordinator"])
        # systemd makes them, because a path that does not exist yet is not hidden later.
        made = ["/var/lib/" + name for name in worker["StateDirectory"].split()] + [
            "/etc/" + name for name in worker["ConfigurationDirectory"].split()]
        self.assertLessEqual(set(hidden), set(made))

    def test_systemd_finds_no_fault_in_the_units(self):
        """Copies it, so that it starts the programs of this directory."""
        for unit in UNITS:
            with open(os.path.join(self.empty + self.top, "deploy", "systemd", unit)) as f:
                text = f.read().replace("/usr/lib/espalier", self.empty + self.top)
            path = self.write(unit, text)
            out = subprocess.run(["systemd-analyze", "verify", "--man=no", path],
                                 capture_output=True, text=True)
            told = [line for line in (out.stdout + out.stderr).splitlines() if "espalier" in line]
            self.assertEqual((out.returncode, told), (0, []), out.stdout + out.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
