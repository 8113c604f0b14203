"""Writes a man page for each command from its --help output.

usage: man_pages.py FOLDER    writes man1/ and man8/ below FOLDER for the programs in build/bin
"""
import os
import re
import subprocess
import sys
import time

import completion

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DAEMONS = {"espalier-coordinator", "espalier-worker"}
TITLES = {"Positionals": "ARGUMENTS", "Options": "OPTIONS", "Subcommands": "COMMANDS"}
ARTICLE = re.compile(r"^  (\S.*?)(?:  +(.*))?$")
CONTINUED = re.compile(r"^ {20,}(.*)$")


def escape(text):
    """Escapes text for troff, so that it contains no requests and escapes."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def section_of(name):
    return 8 if name.split()[0] in DAEMONS else 1


def page_name(name):
    """Converts "espalier train" to "espalier-train"."""
    return name.replace(" ", "-")


def entries(lines):
    """Returns [(option or argument, text)] of a list in a help text."""
    found = []
    for line in lines:
        continued, entry = CONTINUED.match(line), ARTICLE.match(line)
        if continued and found:
            found[-1][1].append(continued.group(1).strip())
        elif entry:
            found.append((entry.group(1), [entry.group(2)] if entry.group(2) else []))
    return [(name, " ".join(words)) for name, words in found]


def parts(text):
    """Splits a help text. Returns (first line, usage, [(title, lines)] of the lists, lines after
    the lists)."""
    lines = text.rstrip("\n").split("\n")
    usage = next(i for i, line in enumerate(lines) if line.startswith("Usage: "))
    lists, rest, title = [], [], None
    for line in lines[usage + 1:]:
        if not rest and line.endswith(":") and line[:-1] in TITLES:
            title = line[:-1]
            lists.append((title, []))
        elif title and line.startswith("  "):
            lists[-1][1].append(line)
        elif title and not line:
            title = None
        elif line or rest:
            title = None
            rest.append(line)
    return " ".join(lines[:usage]), lines[usage][len("Usage: "):], lists, rest


def closing(lines):
    """Formats the text after the lists: prose in paragraphs, and indented lines unchanged."""
    out, verbatim, section = [], False, None
    for line in lines:
        indented = line.startswith("  ")
        if verbatim and not indented:
            out.append(".fi\n.RE")
            verbatim = False
        if line == "Examples:":
            section = "EXAMPLES"
            out.append(".SH EXAMPLES")
        elif line == "Exit codes:":
            section = "EXIT STATUS"
            out.append(".SH EXIT STATUS")
        elif indented:
            if not verbatim:
                out.append(".RS 4\n.nf")
                verbatim = True
            out.append(escape(line[2:]))
        elif line:
            if section == "EXAMPLES":
                section = "NOTES"
                out.append(".SH NOTES")
            out.append(escape(line))
        elif out and not out[-1].startswith(".SH"):
            out.append(".PP")
    if verbatim:
        out.append(".fi\n.RE")
    # Removes the empty paragraph at the end of a section.
    return [line for line, after in zip(out, out[1:] + [".SH"])
            if line != ".PP" or not after.startswith((".SH", ".RS"))]


def page(name, text, related, version, seconds):
    """Returns the page of a command. `related` lists the names of the pages in SEE ALSO."""
    first, usage, lists, rest = parts(text)
    summary = re.sub(r"^(%s: |Espalier )" % re.escape(name), "", first).rstrip(".")
    arguments = usage[re.search(r" (?=\[|[A-Z])|$", usage).start():]  # after the program's path
    date = time.strftime("%Y-%m-%d", time.gmtime(seconds))
    out = ['.\\" Made from --help by tools/package.',
           '.TH %s %d "%s" "Espalier %s" "Espalier"' %
           (page_name(name).upper(), section_of(name), date, version),
           ".nh", ".SH NAME", "%s \\- %s" % (escape(page_name(name)), escape(summary)),
           ".SH SYNOPSIS", ".nf", "\\fB%s\\fR%s" % (escape(name), escape(arguments)), ".fi"]
    after = closing(rest)
    if after and not after[0].startswith(".SH"):
        out.append(".SH DESCRIPTION")
        end = next((i for i, line in enumerate(after) if line.startswith(".SH")), len(after))
        out += after[:end]
        after = after[end:]
    for title, lines in lists:
        out.append(".SH " + TITLES[title])
        for entry, words in entries(lines):
            out += [".TP", "\\fB%s\\fR" % escape(entry), escape(words) or "\\&"]
    out += after
    if related:
        out += [".SH SEE ALSO"] + [
            "\\fB%s\\fR(%d)%s" % (escape(page_name(other)), section_of(other), comma)
            for other, comma in zip(related, [","] * (len(related) - 1) + [""])]
    return "\n".join(out) + "\n"


def helps(program):
    """Returns {"espalier train": help text} of a program and of all commands below it."""
    found, waiting = {}, [[]]
    while waiting:
        words = waiting.pop(0)
        text = subprocess.run([program] + words + ["--help"], check=True, capture_output=True,
                              text=True).stdout
        found[" ".join([os.path.basename(program)] + words)] = text
        waiting += [words + [word] for word in completion.commands(text)]
    return found


def pages(programs, version, seconds):
    """Returns {"man1/espalier-train.1": text}. `seconds` is the date of the pages since 1970."""
    texts = {}
    for program in programs:
        texts.update(helps(program))
    tops = [name for name in texts if " " not in name]
    found = {}
    for name, text in texts.items():
        below = [other for other in texts if other.rpartition(" ")[0] == name]
        above = name.rpartition(" ")[0]
        related = below + ([above] if above else [top for top in tops if top != name])
        path = "man%d/%s.%d" % (section_of(name), page_name(name), section_of(name))
        found[path] = page(name, text, related, version, seconds)
    return found


def put(folder, programs, version, seconds):
    for path, text in pages(programs, version, seconds).items():
        full = os.path.join(folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(full, 0o644)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    programs = [os.path.join(ROOT, "build", "bin", name)
                for name in ["espalier"] + sorted(DAEMONS)]
    version = subprocess.run([programs[0], "--version"], check=True, capture_output=True,
                             text=True).stdout.split()[1]
    put(sys.argv[1], programs, version, int(time.time()))


if __name__ == "__main__":
    main()
