"""Runs Chromium without a window, for tests of pages."""
import os
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LIMIT_S = 120


class BrowserError(Exception):
    pass


def find():
    """Returns the path of Chromium, or None."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


def ensure():
    """Returns the path of Chromium and installs it if it is missing. Raises BrowserError."""
    if find() is None:
        done = subprocess.run([os.path.join(ROOT, "tools", "setup"), "--browser"],
                              capture_output=True, text=True)
        if find() is None:
            raise BrowserError("Chromium is missing, and tools/setup --browser could not install "
                               "it:\n%s" % (done.stdout + done.stderr))
    return find()


def run(address, *flags):
    """Opens an address, with flags such as --dump-dom, and returns the output. Chromium contacts no
    other host. Raises BrowserError."""
    with tempfile.TemporaryDirectory(prefix="espalier-browser-") as folder:
        command = [ensure(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                   "--disable-dev-shm-usage", "--disable-background-networking",
                   "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                   "--user-data-dir=" + folder, *flags, address]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S,
                                  env=dict(os.environ, HOME=folder))
        except subprocess.TimeoutExpired as error:
            raise BrowserError("Chromium did not end within %d s" % LIMIT_S) from error
    if done.returncode:
        raise BrowserError("Chromium ended with %d\n%s" % (done.returncode, done.stderr[-4000:]))
    return done.stdout
