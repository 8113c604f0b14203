"""Generates completion for bash, zsh and fish from the --help output of the programs."""
import json
import os
import re
import subprocess

BASH = """\
# Bash completion of Espalier's programs. Generated from their --help by tools/package.
_espalier_words() {
  case "$1" in
%s
  esac
}

_espalier() {
  local current=${COMP_WORDS[COMP_CWORD]} of=${COMP_WORDS[0]##*/} at=1
  local -a without=()
  while ((at < COMP_CWORD)) && [[ -n $(_espalier_words "$of ${COMP_WORDS[at]}") ]]; do
    of+=" ${COMP_WORDS[at++]}"
  done
  # Without a dash, complete commands and keys. Other arguments are files or names of the cluster.
  [[ $current == -* ]] || without=(-X '-*')
  mapfile -t COMPREPLY < <(compgen -W "$(_espalier_words "$of")" "${without[@]}" -- "$current")
}

complete -o default -F _espalier %s
"""

ZSH = """\
#compdef %s
# Zsh completion of Espalier's programs. Generated from their --help by tools/package.
_espalier_words() {
  case "$1" in
%s
  esac
}

local of=${words[1]:t} at=2
while (( at < CURRENT )) && [[ -n "$(_espalier_words "$of ${words[at]}")" ]]; do
  of+=" ${words[at]}"
  (( at++ ))
done
local -a known=($(_espalier_words "$of"))
local -a plain=(${known:#-*})
if [[ $PREFIX == -* ]]; then
  compadd -- ${(M)known:#-*}
elif (( $#plain )); then
  compadd -- $plain
else
  _files
fi
"""

FISH = """\
# Fish completion of Espalier's programs. Generated from their --help by tools/package.
function __espalier_words
  switch "$argv"
%s
  end
end

function __espalier_complete
  set -l given (commandline -opc)
  set -l of (basename $given[1])
  for word in $given[2..]
    test -n "$(__espalier_words $of $word)"; or break
    set of $of $word
  end
  __espalier_words $of
end

for program in %s
  complete -c $program -a '(__espalier_complete)'
end
complete -c espalier -f -n 'test (count (commandline -opc)) -eq 1'
"""


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def flags(text):
    return sorted(set(re.findall(r"^  (?:-\w, )?(--[a-z][a-z0-9-]*)", text, re.M)))


def commands(text):
    """Returns the names of the subcommands in a help text."""
    _, _, listed = text.partition("\nSubcommands:\n")
    return re.findall(r"^  ([a-z][a-z0-9-]*) ", listed.split("\n\n")[0], re.M)


def keys(program):
    """Returns the keys of a job, for `espalier reference`."""
    lines = output_of(program, "reference", "--json").splitlines()
    return [json.loads(line)["key"].replace("[]", "") for line in lines]


def words_below(command, name):
    """Returns {name: its subcommands and flags} of a command and of all commands below it."""
    text = output_of(*command, "--help")
    found = {name: commands(text) + flags(text)}
    for word in commands(text):
        found.update(words_below(command + [word], "%s %s" % (name, word)))
    return found


def words(programs):
    """Returns the words of all programs: {"espalier": commands and flags, "espalier train": flags,
    "espalier-worker": flags, ...}."""
    found = {}
    for program in programs:
        found.update(words_below([program], os.path.basename(program)))
        if "reference" in found.get(os.path.basename(program), []):
            found["%s reference" % os.path.basename(program)] += keys(program)
    return found


def cases(programs):
    return "\n".join('    "%s") echo "%s" ;;' % (name, " ".join(known))
                     for name, known in words(programs).items())


def fish_cases(programs):
    return "\n".join('    case "%s"\n      printf "%%s\\n" %s' % (name, " ".join(known))
                     for name, known in words(programs).items())


def names(programs):
    return " ".join(map(os.path.basename, programs))


def bash(programs):
    return BASH % (cases(programs), names(programs))


def zsh(programs):
    return ZSH % (names(programs), cases(programs))


def fish(programs):
    return FISH % (fish_cases(programs), names(programs))
