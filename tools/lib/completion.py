"""Completion for bash and zsh, made from what the programs say with --help."""
import os
import re
import subprocess

BASH = """\
# Completion of Espalier's programs for bash; made from their --help by tools/package.
_espalier_words() {
  case "$1" in
%s
  esac
}

_espalier() {
  local current=${COMP_WORDS[COMP_CWORD]} of=${COMP_WORDS[0]##*/}
  COMPREPLY=()
  if [[ $of == espalier && $COMP_CWORD -gt 1 ]]; then
    of="espalier ${COMP_WORDS[1]}"
  elif [[ $of != espalier && $current != -* ]]; then
    return
  fi
  # Of a command only flags are words; all else it takes are files, or known to the cluster alone.
  [[ $of == "espalier "* && $current != -* ]] && return
  mapfile -t COMPREPLY < <(compgen -W "$(_espalier_words "$of")" -- "$current")
}

complete -o default -F _espalier %s
"""

ZSH = """\
#compdef %s
# Completion of Espalier's programs for zsh; made from their --help by tools/package.
_espalier_words() {
  case "$1" in
%s
  esac
}

local of=${words[1]:t}
[[ $of == espalier && $CURRENT -gt 2 ]] && of="espalier ${words[2]}"
if [[ $of == espalier || $PREFIX == -* ]]; then
  compadd -- $(_espalier_words "$of")
else
  _files
fi
"""


def help_of(*command):
    return subprocess.run(command + ("--help",), check=True, capture_output=True, text=True).stdout


def flags(text):
    return sorted(set(re.findall(r"^\s+(?:-\w,)?(--[a-z][a-z-]*)", text, re.M)))


def commands(text):
    """The names in the list of subcommands."""
    return re.findall(r"^  ([a-z]+) ", text.split("\nSubcommands:\n")[1].split("\n\n")[0], re.M)


def words(programs):
    """{"espalier": its commands and flags, "espalier train": flags, "espalier-worker": flags}"""
    found = {}
    for program in programs:
        text = help_of(program)
        name = os.path.basename(program)
        found[name] = flags(text)
        if "\nSubcommands:\n" in text:
            found[name] = commands(text) + found[name]
            for command in commands(text):
                found["%s %s" % (name, command)] = flags(help_of(program, command))
    return found


def cases(programs):
    return "\n".join('    "%s") echo "%s" ;;' % (name, " ".join(known))
                     for name, known in words(programs).items())


def bash(programs):
    return BASH % (cases(programs), " ".join(map(os.path.basename, programs)))


def zsh(programs):
    return ZSH % (" ".join(map(os.path.basename, programs)), cases(programs))
