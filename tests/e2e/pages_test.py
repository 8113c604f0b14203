"""The command blocks of README.md, CONTRIBUTING.md and the pages in docs/ and deploy/.
They run unchanged.

The ```sh blocks of a page run in order, in one shell and one empty directory. Blocks without a
language follow them. Their lines must appear in the output of the commands above them, in order.
Durations may differ, and pages call that directory /data. Comments in a page direct the test:

  <!-- test: after PAGE#SECTION -->  the blocks of PAGE up to the end of that section run first
                                     (at the top of the page)
  <!-- test: not run: WHY -->        the next block does not run, or its output is not compared. A
                                     test that WHY names must exist.
  <!-- test: long -->                the next block runs only with tools/test --all
"""
import dataclasses
import functools
import glob
import itertools
import json
import os
import re
import signal
import subprocess

import pytest

from espalier import BIN, DIE_WITH_PARENT, ROOT, EspalierTest

import docs_site  # in tools/lib, which `espalier` puts on the path
import hosts

pytestmark = [pytest.mark.covers("cli", "coordinator", "worker"), pytest.mark.pages]

PAGES = ["README.md", "CONTRIBUTING.md", "deploy/README.md", "deploy/python/README.md",
         "deploy/spark/README.md"] + sorted(
    os.path.relpath(path, ROOT)
    for path in glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True))
FENCE = re.compile(r"( *)```(\w*)$")
DIRECTION = re.compile(r" *<!-- test: (after|not run|long)(?:: | )?(.*?) *-->$")
DURATION = re.compile(r"\b\d[\d.]* (?:ms|s|min)\b")
PAGE_LIMIT_S, LONG_LIMIT_S, END_LIMIT_S = 120, 900, 20
BLOCK = "@@ block %d"
# Ends the page at the first command that fails. -m: each program in the background is a job.
SCRIPT = "set -e -m\nexec 2>&1\nip link set lo up\n%s\n"


@dataclasses.dataclass
class Block:
    page: str
    section: str
    line: int
    language: str
    text: str
    direction: str = ""


def directions_and_blocks(page):
    """Returns ([(word, argument) before the first block], [Block])"""
    top, found, direction, section = [], [], "", ""
    with open(os.path.join(ROOT, page), encoding="utf-8") as f:
        lines = f.read().split("\n")
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        said, fence = DIRECTION.match(line), FENCE.match(line)
        if line.startswith("#"):
            section = line.lstrip("# ").lower().replace(" ", "-")
        assert said or "<!-- test" not in line, "%s:%d: %s" % (page, number, line)
        if said:
            direction = said.group(1)
            top += [] if found else [said.groups()]
        elif fence:
            end = next(i for i in range(number, len(lines)) if lines[i].strip() == "```")
            indent = len(fence.group(1))
            text = "\n".join(text[indent:] for text in lines[number:end])
            found.append(Block(page, section, number, fence.group(2), text,
                               "" if direction == "after" else direction))
            direction, number = "", end + 1
    return top, found


@functools.lru_cache
def blocks_of(page):
    """Returns the blocks of a page, after those of the page that it continues."""
    top, found = directions_and_blocks(page)
    before = []
    for other, _, section in (name.partition("#") for word, name in top if word == "after"):
        earlier = blocks_of(os.path.join("docs", other))
        last = max(i for i, block in enumerate(earlier) if block.section == section)
        before += earlier[:last + 1]
    return before + found


def is_command(block, long):
    return block.language == "sh" and (
        block.direction == "" or block.direction == "long" and long)


def plain(text):
    """Returns lines without parts that differ between runs, for example the width of a column of
    durations."""
    return [re.sub(" +", " ", DURATION.sub("DURATION", line.rstrip()))
            for line in text.split("\n") if line.strip()]


class Page(EspalierTest):
    """Runs pages. pytest has the parameters; this class has the directory and the environment."""

    def runTest(self):
        pass

    def run_script(self, text, limit_s):
        """Returns (exit code, output) of a script in a network without other daemons. All its
        programs end with it."""
        with open(self.path("script"), "w") as f:
            f.write(text)
        work = self.path("work")
        os.mkdir(work)
        environment = dict(self.environment, HOME=self.directory, TREE=ROOT,
                           PATH=BIN + os.pathsep + self.environment["PATH"])
        command = DIE_WITH_PARENT + ["unshare"] + hosts.own_user() + [
            "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "bash",
            self.path("script")]
        with open(self.path("output"), "w+", errors="replace") as output:
            process = subprocess.Popen(command, cwd=work, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=output)
            try:
                code = process.wait(timeout=limit_s)
            except subprocess.TimeoutExpired:
                code = "none after %d s" % limit_s
                process.send_signal(signal.SIGKILL)
                process.wait(timeout=END_LIMIT_S)
            output.seek(0)
            return code, output.read().replace(os.path.realpath(work), "/data")

    def run_page(self, page, long):
        blocks = blocks_of(page)
        parts = []
        for number, block in enumerate(blocks):
            if is_command(block, long):
                parts += ["echo '" + BLOCK % number + "'", block.text]
        code, output = self.run_script(SCRIPT % "\n".join(parts),
                                       LONG_LIMIT_S if long else PAGE_LIMIT_S)
        self.assertEqual(code, 0, "%s: exit code %s\n%s" % (page, code, output[-6000:]))
        said = re.split(r"^@@ block (\d+)\n", output, flags=re.M)
        for number, text in zip(said[1::2], said[2::2]):
            self.compare(blocks[int(number) + 1:], text)

    def compare(self, following, output):
        for block in itertools.takewhile(lambda block: block.language == "", following):
            if block.direction == "":
                lines = iter(plain(output))
                for line in plain(block.text):
                    self.assertIn(line, lines, "%s:%d: the commands above do not print this line "
                                  "here, but\n%s" % (block.page, block.line, output))


@pytest.fixture
def runner():
    page = Page()
    page.setUp()
    yield page
    page.doCleanups()


def has(page, long):
    return any(block.direction == "long" if long else is_command(block, False)
               for block in directions_and_blocks(page)[1])


@pytest.mark.parametrize("page", [page for page in PAGES if has(page, False)])
def test_page(runner, page):
    reason = hosts.why_not()
    if reason:
        pytest.skip(reason)
    runner.run_page(page, long=False)


@pytest.mark.long
@pytest.mark.timeout(LONG_LIMIT_S + END_LIMIT_S)
@pytest.mark.parametrize("page", [page for page in PAGES if has(page, True)])
def test_page_with_its_long_blocks(runner, page):
    reason = hosts.why_not()
    if reason:
        pytest.skip(reason)
    runner.run_page(page, long=True)


@pytest.mark.parametrize("page", PAGES)
def test_jobs_in_a_page_are_valid(runner, page):
    """`check` accepts each complete job of a page, in YAML, up to its table, which is missing."""
    for block in blocks_of(page):
        if block.language == "yaml" and "output:" in block.text:
            _, error = runner.espalier("check", runner.write("job.yaml", block.text), "--effective",
                                       code=None)
            accepted = re.match("$|error: data.train: (cannot look up .* exist|no file )", error)
            assert accepted or "this job is to " in error, "%s:%d: %s" % (page, block.line, error)


def test_each_block_that_does_not_run_has_a_reason():
    for page in PAGES:
        with open(os.path.join(ROOT, page), encoding="utf-8") as f:
            for line in f:
                said = DIRECTION.match(line.rstrip("\n"))
                assert not said or said.group(1) != "not run" or said.group(2), page + ": " + line
                for test in re.findall(r"\btests/[\w/]+(?:\.\w+)?", said.group(2) if said else ""):
                    assert os.path.exists(os.path.join(ROOT, test)), page + ": " + line


def test_the_job_of_the_quickstart_is_what_init_writes(runner):
    reason = hosts.why_not()
    if reason:
        pytest.skip(reason)
    blocks = blocks_of("docs/quickstart.md")
    end, = (i for i, block in enumerate(blocks) if block.language == "yaml")
    code, output = runner.run_script(SCRIPT % "\n".join(
        block.text for block in blocks[:end] if is_command(block, False)), PAGE_LIMIT_S)
    assert code == 0, output
    with open(runner.path("work", "ring.yaml")) as f:
        lines = [re.sub(r" *#.*", "", line.rstrip("\n")) for line in f]
    assert [line for line in lines if line] == blocks[end].text.split("\n")


def test_the_site_builds_and_a_broken_link_is_an_error():
    docs_site.put_pages()
    done = docs_site.run_mkdocs()
    assert done.returncode == 0, done.stdout + done.stderr
    with open(os.path.join(ROOT, "build", "docs", "site", "search", "search_index.json")) as f:
        boosts = {entry["location"].split("#")[0]: entry.get("boost", 1)
                  for entry in json.load(f)["docs"]}
    assert boosts["docs/engineering/architecture.html"] < boosts["docs/troubleshooting.html"]
    with open(os.path.join(docs_site.PAGES, "docs", "limits.md"), "a") as f:
        f.write("[a](nothing.md) [b](security.md#nothing)\n")
    done = docs_site.run_mkdocs()
    assert done.returncode != 0
    for target in ("'docs/nothing.md' is not found", "does not contain an anchor '#nothing'"):
        assert target in done.stderr, done.stderr


def test_the_job_reference_has_a_section_for_each_key():
    page = docs_site.job_reference()
    for section in ("## name", "### data.format", "### data.shard_bytes", "### train.optimizer",
                    "## resume", "## compat"):
        assert page.count("\n%s\n" % section) == 1, section
    assert "learning_rate" in page.split("### train.optimizer")[1].split("###")[0]
