"""The daemons and tables of tests/e2e, for tests of the Python client. Both are called `espalier`,
so the former are loaded under another name."""
import importlib.util
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _load(name):
    path = os.path.join(ROOT, "tests", "e2e", name + ".py")
    spec = importlib.util.spec_from_file_location("e2e_" + name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_e2e = _load("espalier")
_package = sys.modules.get("espalier")
sys.modules["espalier"] = _e2e  # certificates.py imports it by that name
try:
    _certificates = _load("certificates")
finally:
    if _package is None:
        del sys.modules["espalier"]
    else:
        sys.modules["espalier"] = _package

Cluster, EspalierTest, program = _e2e.Cluster, _e2e.EspalierTest, _e2e.program
SocketCluster = _e2e.SocketCluster
wait_for, is_alive, children_of = _e2e.wait_for, _e2e.is_alive, _e2e.children_of
Authority, SecureCluster = _certificates.Authority, _certificates.SecureCluster
