"""Builds the documentation site with mkdocs. See tools/docs and mkdocs.yml.

The pages are copies with the paths of the source tree, so that a link works in the tree and on the
site. mkdocs warns about each link to a missing file or section.
"""
import os
import re
import shutil
import subprocess
import sys
import textwrap

import private_python

ROOT = private_python.ROOT
PAGES = os.path.join(ROOT, "build", "docs", "pages")
MKDOCS = ["babel==2.19.0", "backrefs==8.3.1", "certifi==2026.10.19.post1",
          "charset-normalizer==3.5.3", "click==8.5.1", "colorama==0.4.6", "ghp-import==2.1.0",
          "idna==3.20", "Jinja2==3.1.6", "Markdown==3.11.3", "MarkupSafe==3.0.4",
          "mergedeep==1.3.4", "mkdocs==1.6.1", "mkdocs-get-deps==0.2.2", "mkdocs-material==9.8.2",
          "mkdocs-material-extensions==1.3.1", "packaging==26.4", "paginate==0.5.7",
          "pathspec==1.1.1", "platformdirs==4.14.8", "Pygments==2.21.0",
          "pymdown-extensions==13.1.2", "python-dateutil==4.0.0", "PyYAML==6.0.4",
          "pyyaml_env_tag==1.1", "requests==2.34.2", "tzdata==2026.6", "urllib3==2.8.0",
          "watchdog==7.1.0"]
STARTS = ["README.md", "CODE_OF_CONDUCT.md"]
# Prefixes of pages that a search shows after the pages for users.
RANKED_LAST = ("docs/engineering/", "docs/decisions/", "src/", "CHANGELOG.md", "CODE_OF_CONDUCT.md",
               "CONTRIBUTING.md")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
REFERENCE = "config/reference.yaml"
JOB_PAGE, COMMAND_PAGE = "docs/job-reference.md", "docs/command-reference.md"
# Matches a key of the reference, with its default or as a comment with an example.
KEY = re.compile(r"([a-z_0-9]+):(?: |$)|# ([a-z_0-9]+): (?:\S+|[\[{\"].*[\]}\"])$")
PROGRAMS = ["espalier", "espalier-coordinator", "espalier-worker"]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def write(path, text):
    full = os.path.join(PAGES, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as f:
        f.write(text)


def key_of(line, indent):
    """Returns the key that a line of the reference declares at this indentation, or None."""
    found = KEY.match(line[indent:]) if not line[:indent].strip() else None
    return found and (found.group(1) or found.group(2))


def keyed_parts(lines, indent):
    """Returns [(key, its lines)]. The comments above a key belong to it. Lines without a key come
    first, with the key None."""
    parts, comments = [(None, [])], []
    for line in lines:
        key = key_of(line, indent)
        if key:
            parts.append((key, comments + [line]))
            comments = []
        elif line[:indent + 2].strip() == "#" and line[indent:indent + 3] != "#  ":
            comments.append(line)
        else:
            parts[-1][1].extend(comments + [line])
            comments = []
    parts[-1][1].extend(comments)
    return parts


def yaml_block(lines):
    text = textwrap.dedent("\n".join(lines)).strip("\n")
    return "```yaml\n%s\n```\n" % text if text.strip() else ""


def prose(lines):
    """Returns the comments above a key as a paragraph of Markdown."""
    text = " ".join(line.strip().lstrip("# ") for line in lines)
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*_<>\[\]\\])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts) + "\n\n" if text else ""


def section(title, lines):
    """Returns a section of the reference: the text of a key, then the key with its content."""
    count = next(i for i, line in enumerate(lines) if KEY.match(line.lstrip()))
    rest = [line for line in lines[count:] if line]
    code = "" if len(rest) == 1 and rest[0].endswith(":") else yaml_block(rest)
    return "%s\n\n%s%s" % (title, prose(lines[:count]), code)


def job_reference():
    """Returns a page with a section for each key of a job file, from config/reference.yaml."""
    page = ["# Job reference\n"]
    keys, separator, rest = read(REFERENCE).partition("\n# A job that applies a model")
    (_, head), *parts = keyed_parts(keys.split("\n"), 0)
    page.append(" ".join(line.lstrip("# ") for line in head if line) + "\n")
    for key, lines in parts:
        (_, first), *inner = keyed_parts(lines, 2)
        page.append(section("## " + key, first))
        page += [section("### %s.%s" % (key, name), text) for name, text in inner]
    page.append("## Scoring and sweeps\n\n" + yaml_block((separator + rest).strip().split("\n")))
    return "\n".join(page)


def commands_below(program, words):
    """Returns [(words, help text)] of a command and of all commands below it."""
    text = subprocess.run([program] + words + ["--help"], check=True, capture_output=True,
                          text=True).stdout
    found = [(words, text)]
    if "\nSubcommands:\n" in text:
        listed = text.split("\nSubcommands:\n")[1].split("\n\n")[0]
        for name in re.findall(r"^  ([a-z][a-z0-9-]*) ", listed, re.M):
            found += commands_below(program, words + [name])
    return found


def command_reference():
    page = ["# Commands\n\n`COMMAND --help` prints the same text.\n"]
    for name in PROGRAMS:
        for words, text in commands_below(os.path.join(ROOT, "build", "bin", name), []):
            page.append("## %s\n\n```text\n%s\n```\n" % (" ".join([name] + words), text.strip()))
    return "\n".join(page)


def put_page(path, waiting):
    """Copies a page, and adds the pages that it links to to `waiting`. Links to directories and
    hidden files, which are not on the site, become text."""
    def link(match):
        image, text, target, section = match.groups(default="")
        if re.match(r"[a-z]+:", target):
            return match.group(0)
        found = os.path.normpath(os.path.join(os.path.dirname(path), target))
        if found == REFERENCE:
            target = os.path.relpath(JOB_PAGE, os.path.dirname(path) or ".")
        elif os.path.isdir(os.path.join(ROOT, found)) or found.startswith("."):
            return text
        elif os.path.exists(os.path.join(ROOT, found)):
            waiting.append(found)
        return "%s[%s](%s%s)" % (image, text, target, section)
    parts = re.split(r"(```.*?```)", read(path), flags=re.S)
    head = "---\nsearch: {boost: 0.01}\n---\n" if path.startswith(RANKED_LAST) else ""
    write(path, head + "".join(part if part.startswith("```") else LINK.sub(link, part)
                               for part in parts))


def put_pages():
    shutil.rmtree(PAGES, ignore_errors=True)
    waiting, done = list(STARTS), set()
    for folder, _, names in os.walk(os.path.join(ROOT, "docs")):
        waiting += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    while waiting:
        path = waiting.pop()
        if path in done:
            continue
        done.add(path)
        if path.endswith(".md"):
            put_page(path, waiting)
        else:
            os.makedirs(os.path.dirname(os.path.join(PAGES, path)), exist_ok=True)
            shutil.copyfile(os.path.join(ROOT, path), os.path.join(PAGES, path))
    write(JOB_PAGE, job_reference())
    write(COMMAND_PAGE, command_reference())


def run_mkdocs():
    # Does not use --quiet, because it keeps warnings from being errors.
    python = private_python.ensure("docs", MKDOCS)
    return subprocess.run([python, "-m", "mkdocs", "build"], cwd=ROOT,
                          env=dict(os.environ, NO_MKDOCS_2_WARNING="1"),
                          capture_output=True, text=True)


def main():
    try:
        put_pages()
        done = run_mkdocs()
    except RuntimeError as error:
        sys.exit("docs: %s" % error)
    if done.returncode:
        sys.exit(done.stdout + done.stderr + "docs: the site has errors. See above.")
    print("docs: build/docs/site/index.html")


if __name__ == "__main__":
    main()
