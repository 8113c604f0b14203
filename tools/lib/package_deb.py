"""Makes the Debian package: the tree in /usr/lib/espalier, links in /usr/bin, units, user,
configuration.

The configuration belongs to the administrator. The package has no conffiles. Otherwise, dpkg would
ask about them at each upgrade, because deploy/systemd/configure changes them on every host. The
tree has the initial configuration. The installation copies missing files, and purging removes them
(POSTRM).

The package has no dependencies, because the tree contains all libraries. The installation does not
start services, because a worker first needs its coordinator's address. An upgrade does not stop
running services, so that the administrator can restart the hosts one by one.
"""
import os
import shutil
import subprocess
import tempfile

import package_tree

HOME = "/usr/lib/espalier"
UNITS = ["espalier-coordinator.service", "espalier-worker.service"]
CONFIG = ["coordinator.yaml", "worker.yaml"]

CONTROL = """\
Package: espalier
Version: %(version)s
Architecture: amd64
Maintainer: Espalier <espalier@localhost>
Installed-Size: %(kib)d
Section: science
Priority: optional
Description: distributed training of multi-layer perceptrons on tables
 Espalier trains multi-layer perceptrons on CSV, JSON, LIBSVM and Parquet tables on
 HDFS or local disks, with one coordinator and one worker on each machine.
 The bytes of a model do not depend on the number of workers.
 .
 This package contains the command line, both daemons with their systemd
 services, and all libraries that they load.
"""

POSTINST = """\
#!/bin/sh
set -e
if [ "$1" = configure ]; then
  if ! getent group espalier >/dev/null; then groupadd --system espalier; fi
  if ! getent passwd espalier >/dev/null; then
    useradd --system --gid espalier --home-dir /var/lib/espalier --no-create-home \\
      --comment Espalier --shell /usr/sbin/nologin espalier
  fi
  install -d -m 750 -o espalier -g espalier /var/lib/espalier
  install -d -m 755 /etc/espalier
  for file in %(config)s; do
    [ -e /etc/espalier/$file ] || install -m 644 %(home)s/deploy/systemd/$file /etc/espalier/
  done
  if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
fi
"""

PRERM = """\
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl disable --now %(units)s
fi
"""

# Removes files of the package, its services and `configure`: configuration, certificates, the
# journal with its delegation tokens, caches, and empty directories. Files that people made stay, as
# in Debian's packages of databases. While these files exist, the user stays, too. Otherwise, the
# next system user could get the same number and own the files.
POSTRM = """\
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "$1" = purge ]; then
  etc=/etc/espalier var=/var/lib/espalier
  for role in coordinator worker; do
    rm -f $etc/$role.yaml
    for name in ca.crt tls.crt tls.key; do rm -f $etc/$role/$name $etc/$role/$name.new; done
  done
  for name in journal.db journal.db-wal journal.db-shm lock reserve; do
    rm -f $var/coordinator/$name
  done
  rm -rf --one-file-system /var/cache/espalier
  kept=
  for folder in $etc/coordinator $etc/worker $etc $var/coordinator $var/models $var; do
    rmdir $folder 2>/dev/null || true
  done
  for folder in $etc $var; do
    if [ -e $folder ]; then kept="$kept $folder"; fi
  done
  if [ -n "$kept" ]; then
    echo "espalier: purge keeps the user espalier and files that people made in$kept." \
      "To remove them: rm -r$kept && userdel espalier"
  elif getent passwd espalier >/dev/null; then
    userdel espalier
  fi
fi
"""


def put_text(root, name, text, mode=0o644):
    package_tree.put_text(root, name, text)
    os.chmod(os.path.join(root, name), mode)


def link(root, name, target):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(target, path)


def put_files(root, tree):
    shutil.copytree(tree, root + HOME)
    for name in package_tree.PROGRAMS:
        link(root, "usr/bin/" + name, "../lib/espalier/bin/" + name)
    for unit in UNITS:
        package_tree.copy(os.path.join(tree, "deploy", "systemd", unit),
                          os.path.join(root, "lib/systemd/system", unit))
    package_tree.copy(os.path.join(tree, "deploy", "systemd", "espalier.sysusers"),
                      os.path.join(root, "usr/lib/sysusers.d/espalier.conf"))
    for name in package_tree.PROGRAMS:
        target = "../../../lib/espalier/completions/espalier"
        link(root, "usr/share/bash-completion/completions/" + name, target + ".bash")
        link(root, "usr/share/fish/vendor_completions.d/%s.fish" % name, target + ".fish")
    link(root, "usr/share/zsh/vendor-completions/_espalier",
         "../../../lib/espalier/completions/_espalier")
    for folder in sorted(os.listdir(os.path.join(tree, "man"))):
        for name in sorted(os.listdir(os.path.join(tree, "man", folder))):
            link(root, "usr/share/man/%s/%s" % (folder, name),
                 "../../../lib/espalier/man/%s/%s" % (folder, name))
    for name in ("README.md", "docs"):
        link(root, "usr/share/doc/espalier/" + name, "../../../lib/espalier/" + name)
    link(root, "usr/share/doc/espalier/sbom.spdx.json", "../../../lib/espalier/sbom.spdx.json")
    link(root, "usr/share/doc/espalier/copyright", "../../../lib/espalier/LICENSES")


def put_control(root, version):
    size = sum(os.lstat(os.path.join(folder, name)).st_size
               for folder, _, names in os.walk(root) for name in names)
    put_text(root, "DEBIAN/control", CONTROL % {"version": version, "kib": size // 1024})
    put_text(root, "DEBIAN/postinst", POSTINST % {"config": " ".join(CONFIG), "home": HOME}, 0o755)
    put_text(root, "DEBIAN/prerm", PRERM % {"units": " ".join(UNITS)}, 0o755)
    put_text(root, "DEBIAN/postrm", POSTRM, 0o755)


def make(tree, path, version, seconds):
    with tempfile.TemporaryDirectory(prefix="espalier-deb-") as root:
        put_files(root, tree)
        put_control(root, version)
        for folder, _, _ in os.walk(root):
            os.chmod(folder, 0o755)
        # gzip, because older systems read it, and it takes a tenth of the time of xz.
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z6", "--build", root,
                        path + ".new"], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, SOURCE_DATE_EPOCH=str(seconds)))
    os.replace(path + ".new", path)  # an interrupted build leaves no incomplete package
