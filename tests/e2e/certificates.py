"""Certificates for the tests of secured clusters, made by `espalier certs`."""

import os

from espalier import Cluster


class Authority:
    """An authority of its own in the test's directory."""

    def __init__(self, test, name="authority"):
        self.test, self.directory = test, test.path(name)
        test.espalier("certs", "init", "--directory", self.directory)
        self.count = 0

    def issue(self, role, name, hosts=()):
        """The directory that `certs issue` made: ca.crt, tls.crt, tls.key."""
        self.count += 1
        output = os.path.join(self.directory, "%s-%s-%d" % (role, name, self.count))
        arguments = ["certs", "issue", role, name, "--directory", self.directory,
                     "--output", output]
        for host in hosts:
            arguments += ["--host", host]
        self.test.espalier(*arguments)
        return output


def tls_flags(directory):
    return ["--tls-ca", os.path.join(directory, "ca.crt"),
            "--tls-certificate", os.path.join(directory, "tls.crt"),
            "--tls-key", os.path.join(directory, "tls.key")]


def tls_environment(directory):
    return {"ESPALIER_TLS_CA": os.path.join(directory, "ca.crt"),
            "ESPALIER_TLS_CERTIFICATE": os.path.join(directory, "tls.crt"),
            "ESPALIER_TLS_KEY": os.path.join(directory, "tls.key")}


class Secured:
    """For a Cluster: each daemon has a certificate of its own, by way of a link that can be turned
    to another one, and the test's commands are an operator's."""

    def secure(self, test, authority, hosts):
        """hosts: the coordinator's."""
        self.authority, self.coordinator_hosts = authority, list(hosts)
        self.links = test.path("links")
        os.makedirs(self.links, exist_ok=True)
        test.environment.update(tls_environment(authority.issue("operator", "ann")))

    def renew(self, name):
        """Puts a new certificate in the place of that daemon's, all files at once."""
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
    """On loopback."""

    def __init__(self, test, workers, authority=None, **options):
        self.secure(test, authority or Authority(test), ["127.0.0.1"])
        super().__init__(test, workers, **options)
