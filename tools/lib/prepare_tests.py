"""Prepares requirements of the tests other than system packages: the jars of Hadoop, an archive of
their classes, private Python environments. Called by tools/setup --tests. Otherwise, the tests
prepare each of these when they need it. No step runs twice."""
import sys

import docs_site
import hadoop_cds
import package_python
import private_python
import python_client
import test_python
from hadoop import Hdfs
from hadoop_jars import HadoopError


def main():
    try:
        test_python.ensure()
        python_client.ensure_packages("python")
        python_client.ensure_packages("spark")
        private_python.ensure("wheel", package_python.TOOLS)
        private_python.ensure("docs", docs_site.MKDOCS)
        hadoop_cds.prepare(print, Hdfs)
    except (HadoopError, RuntimeError) as error:
        sys.exit("prepare_tests: %s" % error)


if __name__ == "__main__":
    main()
