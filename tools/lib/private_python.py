"""Makes private Python environments below build/ from pinned packages of the registry."""
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def install(python, arguments):
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-input",
                           "--disable-pip-version-check"] + arguments,
                          capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise RuntimeError("pip could not install %s. Is the package registry reachable?\n%s" %
                           (", ".join(arguments[1:]), done.stderr))


def ensure(name, packages, sources=()):
    """Returns the path of a Python with these packages ("numpy==1.26.4"). Makes it if it is
    missing. `sources` lists packages without wheels in the registry. They are built with tools in
    `packages`."""
    folder = os.path.join(ROOT, "build", "python", name)
    python = os.path.join(folder, "bin", "python")
    marker = os.path.join(folder, "packages")
    wanted = "\n".join(list(packages) + list(sources)) + "\n"
    if os.path.exists(marker):
        with open(marker) as f:
            if f.read() == wanted and subprocess.run([python, "-c", ""]).returncode == 0:
                return python
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    install(python, ["--only-binary=:all:"] + list(packages))
    if sources:
        install(python, ["--no-build-isolation"] + list(sources))
    with open(marker, "w") as f:
        f.write(wanted)
    return python
