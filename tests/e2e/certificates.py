"""Certificates for the tests of secured clusters, made by `espalier certs`."""

import os
import subprocess

from espalier import Cluster


class Authority:
    """A new authority in the test's directory."""

    def __init__(self, test, name="authority"):
        self.test, self.directory = test, test.path(name)
        test.espalier("certs", "init", "--directory", self.directory)
        self.count = 0

    def issue(self, role, name, hosts=()):
        """Returns the directory that `certs issue` made: ca.crt, tls.crt, tls.key."""
        self.count += 1
        output = os.path.join(self.directory, "%s-%s-%d" % (role, name, self.count))
        arguments = ["certs", "issue", role, name, "--directory", self.directory,
                     "--output", output]
        for host in hosts:
            arguments += ["--host", host]
        self.test.espalier(*arguments)
        return output


class CompanyAuthority:
    """A site's own authority, made by openssl: a root, an authority below it that issues, and
    certificates without our roles."""

    def __init__(self, test):
        self.directory = test.path("company")
        os.makedirs(self.directory)
        self.count = 0
        self.make("root", "/CN=Root", "CA:TRUE", "keyCertSign,cRLSign")
        self.make("issuing", "/CN=Issuing", "CA:TRUE", "keyCertSign,cRLSign", by="root")

    def make(self, name, subject, basic, usage, by=None, more=""):
        at = os.path.join(self.directory, name)
        with open(at + ".ext", "w") as f:
            f.write("basicConstraints=critical,%s\nkeyUsage=critical,%s\n%s" % (basic, usage, more))
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-subj", subject, "-keyout", at + ".key", "-out", at + ".csr")
        signer = (["-CA", os.path.join(self.directory, by + ".pem"), "-CAkey",
                   os.path.join(self.directory, by + ".key"), "-CAcreateserial"] if by else
                  ["-signkey", at + ".key"])
        self.openssl("x509", "-req", "-days", "30", "-in", at + ".csr", "-extfile", at + ".ext",
                     "-out", at + ".pem", *signer)
        return at

    def openssl(self, *arguments):
        subprocess.run(("openssl",) + arguments, check=True, capture_output=True)

    def issue(self, _role, name, hosts=()):
        self.count += 1
        names = ["DNS:" + name.replace("@", ".")] + ["IP:" + host for host in hosts]
        made = self.make("%s-%d" % (name, self.count), "/CN=" + name, "CA:FALSE",
                         "digitalSignature", "issuing", "extendedKeyUsage=serverAuth,clientAuth\n"
                         "subjectAltName=" + ",".join(names) + "\n")
        os.makedirs(made)
        for file, parts in (("ca.crt", ["root.pem"]), ("tls.key", [made + ".key"]),
                            ("tls.crt", [made + ".pem", "issuing.pem"])):
            with open(os.open(os.path.join(made, file), os.O_WRONLY | os.O_CREAT, 0o600),
                      "wb") as out:
                for part in parts:
                    with open(os.path.join(self.directory, part), "rb") as f:
                        out.write(f.read())
        return made


def tls_flags(directory):
    return ["--tls-ca", os.path.join(directory, "ca.crt"),
            "--tls-certificate", os.path.join(directory, "tls.crt"),
            "--tls-key", os.path.join(directory, "tls.key")]


def tls_environment(directory):
    return {"ESPALIER_TLS_CA": os.path.join(directory, "ca.crt"),
            "ESPALIER_TLS_CERTIFICATE": os.path.join(directory, "tls.crt"),
            "ESPALIER_TLS_KEY": os.path.join(directory, "tls.key")}


class Secured:
    """Settings for a Cluster. Each daemon has its own certificate, through a link that can be
    changed to another one. The test's commands are an operator's."""

    def secure(self, test, authority, hosts, operator="ann"):
        """hosts: the coordinator's hosts."""
        self.authority, self.coordinator_hosts = authority, list(hosts)
        self.links = test.path("links")
        os.makedirs(self.links, exist_ok=True)
        test.environment.update(tls_environment(authority.issue("operator", operator)))

    def renew(self, name):
        """Replaces that daemon's certificate by a new one, all files at once."""
        coordinator = name == "coordinator"
        made = self.authority.issue("coordinator" if coordinator else "worker", name,
                                    self.coordinator_hosts if coordinator else ())
        link = os.path.join(self.links, name)
        os.symlink(made, link + ".new")
        os.rename(link + ".new", link)
        return made

    def start_daemon(self, name, arguments):
        if not os.path.islink(os.path.join(self.links, name)):
            self.renew(name)
        return super().start_daemon(name, arguments + tls_flags(os.path.join(self.links, name)))


class SecureCluster(Secured, Cluster):
    """Settings on loopback."""

    def __init__(self, test, workers, authority=None, operator="ann", **options):
        self.secure(test, authority or Authority(test), ["127.0.0.1"], operator)
        super().__init__(test, workers, **options)
