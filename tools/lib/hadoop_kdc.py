"""Secures the HDFS of tools/hadoop with a KDC, keytabs and certificates.

DIR/kdc/ contains all files:
    krb5.conf     configuration for clients, the value of KRB5_CONFIG
    NAME.keytab   keys of a principal: hdfs and HTTP of the services, and the people below
    ca.pem        authority that signed the HTTPS certificate of NameNode and DataNodes
It uses Debian's programs krb5kdc, kadmin.local, kdb5_util, kinit, curl and openssl.
"""
import json
import os
import shutil
import subprocess
import time
import urllib.parse

import hadoop_daemons as daemons
import hadoop_jars
from hadoop_jars import HadoopError

REALM = "TEST.LOCAL"
SERVICES = ["hdfs/localhost", "HTTP/localhost"]  # in hdfs.keytab
YARN = "yarn/localhost"  # ResourceManager and NodeManagers, also in hdfs.keytab
# The superuser hdfs runs the NameNode. `espalier` may act for other users (proxy user).
PEOPLE = {"alice": "alice", "bob": "bob", "espalier": "espalier/localhost"}
PROGRAM_LIMIT_S = 60
LISTEN_LIMIT_S = 20
PASSWORD = "changeit"  # password of key stores, whose files other users cannot read
PROGRAMS = {"krb5kdc": "krb5-kdc", "kadmin.local": "krb5-admin-server", "kdb5_util": "krb5-kdc",
            "kinit": "krb5-user", "klist": "krb5-user", "curl": "curl", "openssl": "openssl"}

KRB5_CONF = """[libdefaults]
 default_realm = %(realm)s
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
[realms]
 %(realm)s = {
  kdc = %(address)s
 }
[domain_realm]
 localhost = %(realm)s
"""
KDC_CONF = """[kdcdefaults]
 kdc_listen = %(address)s
 kdc_tcp_listen = %(address)s
[realms]
 %(realm)s = {
  database_name = %(folder)s/principal
  key_stash_file = %(folder)s/stash
  acl_file = %(folder)s/acl
  max_life = 1d
  max_renewable_life = 7d
 }
"""


def folder_of(state):
    return os.path.join(state["dir"], "kdc")


def keytab(state, name):
    return os.path.join(folder_of(state), name + ".keytab")


def ca_file(state):
    return os.path.join(folder_of(state), "ca.pem")


def find(program):
    """Returns the path of a program. Also searches folders of daemons, which a user's PATH may not
    contain."""
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def check(ha, hosts, say):
    """Checks that this kind of HDFS can be secured. Installs missing programs."""
    if ha or set(hosts) != {"localhost"}:
        raise HadoopError("a secured HDFS requires one NameNode, and DataNodes named localhost")
    missing = sorted({package for program, package in PROGRAMS.items() if not find(program)})
    if missing:
        hadoop_jars.install(" ".join(missing) + " is", say)


def services(state):
    """Returns the principals of all daemons. One keytab contains them."""
    nodes = [d for d in state["daemons"].values() if d["kind"] == "nodemanager"]
    # Each node serves its web pages under its own host name.
    return SERVICES + ([YARN] + ["HTTP/" + node["host"] for node in nodes] if nodes else [])


def make_keytab(state, name, *principals):
    """Writes keys of principals to DIR/kdc/NAME.keytab. Creates principals that the KDC does not
    have."""
    for principal in principals:
        if principal not in known_principals(state):
            kadmin(state, "addprinc -randkey " + principal)
        kadmin(state, "ktadd -q -norandkey -k %s %s" % (keytab(state, name), principal))
    return keytab(state, name)


def known_principals(state):
    listed = run(state, "kadmin.local", "-r", REALM, "-q", "listprincs").splitlines()
    return {line.partition("@")[0] for line in listed if line.endswith("@" + REALM)}


def client_env(state):
    """Returns the variables that point Kerberos' programs and libraries to this realm."""
    return {"KRB5_CONFIG": os.path.join(folder_of(state), "krb5.conf")}


def keytab_env(state, name, cache="MEMORY:"):
    """Returns the environment of a client that logs in with a keytab and keeps tickets in memory.
    """
    return dict(client_env(state), KRB5_CLIENT_KTNAME=keytab(state, name), KRB5CCNAME=cache)


def nobody_env(folder):
    """Returns the environment of a client with neither ticket nor keytab."""
    return {"KRB5_CLIENT_KTNAME": "FILE:" + os.path.join(folder, "no.keytab"),
            "KRB5CCNAME": "FILE:" + os.path.join(folder, "no.cache")}


def ticket_env(state, name, folder, *options):
    """Gets a ticket of a person into a cache in `folder`. Returns the environment of a client with
    that ticket. `options` are options of kinit."""
    cache = "FILE:" + os.path.join(folder, name + ".cache")
    kinit(state, name, cache, *options)
    return dict(nobody_env(folder), KRB5CCNAME=cache)


def admin_cache(state):
    return "FILE:" + os.path.join(folder_of(state), "admin.cache")


def admin_env(state):
    """Returns the environment of Hadoop's own programs. They run as the superuser, with a ticket
    from kinit_admin."""
    return dict(client_env(state), KRB5CCNAME=admin_cache(state))


def kinit_admin(state):
    kinit(state, "hdfs", admin_cache(state))


def java_flags(state):
    return ["-Djava.security.krb5.conf=" + os.path.join(folder_of(state), "krb5.conf")]


def kdc_env(state):
    profile = os.path.join(folder_of(state), "kdc.conf")
    return dict(os.environ, KRB5_KDC_PROFILE=profile, **client_env(state))


def command():
    return [find("krb5kdc"), "-n"]


def run(state, *words, env=None, **how):
    """Runs a program of Kerberos or OpenSSL. Returns its output."""
    done = subprocess.run([find(words[0])] + list(words[1:]), env=env or kdc_env(state), text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=PROGRAM_LIMIT_S,
                          **how)
    if done.returncode:
        said = (done.stderr + done.stdout).strip().splitlines() or ["nothing"]
        raise HadoopError("%s failed: %s" % (words[0], said[-1]))
    return done.stdout


def kadmin(state, query):
    """Runs kadmin.local. It always exits with 0, so only its standard error shows a failure."""
    done = subprocess.run([find("kadmin.local"), "-r", REALM, "-q", query], env=kdc_env(state),
                          text=True, capture_output=True, timeout=PROGRAM_LIMIT_S,
                          stdin=subprocess.DEVNULL)
    bad = [l for l in done.stderr.splitlines() if l and not l.startswith(("No policy", "WARNING"))]
    if done.returncode or bad:
        raise HadoopError("kadmin.local %s failed: %s" % (query, " ".join(bad)))


def kinit(state, name, cache, *options):
    """Gets a ticket of a person, with a keytab, into a separate cache: FILE:/path."""
    run(state, "kinit", *options, "-c", cache, "-k", "-t", keytab(state, name),
        PEOPLE.get(name, SERVICES[0]), env=dict(os.environ, **client_env(state)))


def write_conf(state):
    """Writes the configuration files of the KDC."""
    folder = folder_of(state)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    words = {"realm": REALM, "folder": folder, "address": state["daemons"]["kdc1"]["rpc"]}
    for name, text in (("krb5.conf", KRB5_CONF), ("kdc.conf", KDC_CONF)):
        with open(os.path.join(folder, name), "w") as f:
            f.write(text % words)


def make_realm(state):
    folder = folder_of(state)
    shutil.rmtree(folder, ignore_errors=True)
    write_conf(state)
    run(state, "kdb5_util", "create", "-s", "-r", REALM, "-P", os.urandom(16).hex())
    for name, principals in {"hdfs": services(state), **PEOPLE}.items():
        make_keytab(state, name, *([principals] if isinstance(principals, str) else principals))
    with open(os.path.join(folder, "cookie.secret"), "w") as f:
        f.write(os.urandom(32).hex())
    make_certificates(state)


def make_certificates(state):
    """Makes an authority, a certificate for localhost, and both as the stores that Java reads."""
    folder = folder_of(state)

    def at(name):
        return os.path.join(folder, name)
    with open(at("leaf.cnf"), "w") as f:
        f.write("subjectAltName=DNS:localhost\n")
    run(state, "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30",
        "-subj", "/CN=authority of tools-hadoop", "-keyout", at("ca.key"), "-out", at("ca.pem"))
    run(state, "openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost",
        "-keyout", at("leaf.key"), "-out", at("leaf.csr"))
    run(state, "openssl", "x509", "-req", "-in", at("leaf.csr"), "-CA", at("ca.pem"), "-CAkey",
        at("ca.key"), "-CAcreateserial", "-days", "20", "-extfile", at("leaf.cnf"), "-out",
        at("leaf.pem"))
    run(state, "openssl", "pkcs12", "-export", "-name", "localhost", "-in", at("leaf.pem"),
        "-inkey", at("leaf.key"), "-out", at("keys.p12"), "-passout", "pass:" + PASSWORD)
    done = subprocess.run([os.path.join(state["java_home"], "bin", "keytool"), "-importcert",
                           "-noprompt", "-alias", "ca", "-file", at("ca.pem"), "-keystore",
                           at("trust.p12"), "-storetype", "PKCS12", "-storepass", PASSWORD],
                          capture_output=True, text=True, timeout=PROGRAM_LIMIT_S)
    if done.returncode:
        raise HadoopError("keytool failed: " + (done.stdout + done.stderr).strip())


def core_site(state):
    return {
        "hadoop.security.authentication": "kerberos",
        "hadoop.http.authentication.type": "kerberos",
        "hadoop.http.authentication.kerberos.principal": "%s@%s" % (SERVICES[1], REALM),
        "hadoop.http.authentication.kerberos.keytab": keytab(state, "hdfs"),
        "hadoop.http.authentication.signature.secret.file": os.path.join(folder_of(state),
                                                                         "cookie.secret"),
        "hadoop.security.authorization": "true",
        "hadoop.rpc.protection": "authentication",
        "hadoop.proxyuser.espalier.hosts": "*",
        "hadoop.proxyuser.espalier.users": "alice",
    }


def hdfs_site(state):
    keys = keytab(state, "hdfs")
    service, web = ("%s@%s" % (name, REALM) for name in SERVICES)
    namenode = state["daemons"]["nn1"]
    settings = {
        "dfs.namenode.kerberos.principal": service,
        "dfs.namenode.keytab.file": keys,
        "dfs.namenode.kerberos.internal.spnego.principal": web,
        "dfs.datanode.kerberos.principal": service,
        "dfs.datanode.keytab.file": keys,
        "dfs.web.authentication.kerberos.principal": web,
        "dfs.web.authentication.kerberos.keytab": keys,
        "dfs.block.access.token.enable": "true",
        "dfs.data.transfer.protection": "authentication",
        "ignore.secure.ports.for.testing": "true",  # plain HTTP in addition to HTTPS
        "dfs.http.policy": "HTTP_AND_HTTPS",
        "dfs.namenode.https-address": namenode["https"],
    }
    return settings


def ssl_site(state, side):
    folder = folder_of(state)
    return {
        "ssl.%s.keystore.location" % side: os.path.join(folder, "keys.p12"),
        "ssl.%s.keystore.password" % side: PASSWORD,
        "ssl.%s.keystore.keypassword" % side: PASSWORD,
        "ssl.%s.keystore.type" % side: "PKCS12",
        "ssl.%s.truststore.location" % side: os.path.join(folder, "trust.p12"),
        "ssl.%s.truststore.password" % side: PASSWORD,
        "ssl.%s.truststore.type" % side: "PKCS12",
    }


def fetch(state, url, name="hdfs", limit_s=30):
    """Returns the answer of a URL to a principal. Uses curl and a keytab."""
    env = keytab_env(state, name, "FILE:" + os.path.join(folder_of(state), name + ".curl"))
    return run(state, "curl", "--silent", "--show-error", "--noproxy", "*", "--negotiate",
               "--user", ":", "--max-time", str(limit_s), url, env=dict(os.environ, **env))


def fetch_json(state, url, limit_s):
    """Returns the answer as JSON, or None without a valid answer."""
    try:
        return json.loads(fetch(state, url, limit_s=limit_s))
    except (HadoopError, ValueError):
        return None


def fetch_token(state, url, name="hdfs", **params):
    """Returns a delegation token for a principal from the NameNode at `url`."""
    query = urllib.parse.urlencode(dict(params, op="GETDELEGATIONTOKEN"))
    told = fetch(state, "%s/webhdfs/v1/?%s" % (url, query), name)
    try:
        return json.loads(told)["Token"]["urlString"]
    except (ValueError, KeyError, TypeError) as e:
        raise HadoopError("cannot get a delegation token for %s: %s" % (name, told[:300])) from e


class Tokens:
    """Delegation tokens of the superuser for calls of this tool. Each is replaced well before it
    expires."""

    def __init__(self, state):
        self.state, self.token, self.until = state, None, 0
        interval = state["options"]["settings"].get("dfs.namenode.delegation.token.renew-interval")
        self.life_s = int(interval or 86_400_000) / 3000

    def current(self):
        if time.monotonic() >= self.until:
            self.until = time.monotonic() + self.life_s
            self.token = fetch_token(self.state,
                                     "http://" + self.state["daemons"]["nn1"]["http"])
        return self.token


def listens(state):
    """Returns whether the KDC accepts connections. It must run before services request tickets."""
    host, _, port = state["daemons"]["kdc1"]["rpc"].partition(":")
    return not daemons.is_free(host, int(port))
