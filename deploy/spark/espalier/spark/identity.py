"""Kerberos identity of Spark. It may differ from that of this Python: `spark-submit --keytab` logs
in only the JVM, and with `--proxy-user` the ticket here is another person's."""

from __future__ import annotations

import contextlib
import logging
import threading
from typing import Any, Iterator, Optional
from urllib.parse import urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from .._job_tokens import Renewer
from ..errors import FailedPreconditionError, PermissionDeniedError, UnavailableError
from . import files

_NO_IDENTITY = ("Spark's JVM has no ticket, at most delegation tokens, and a token cannot create "
                "another one. Give Spark a keytab (spark-submit --principal NAME --keytab FILE), "
                "or in client mode a ticket (kinit). Spark's tokens are not passed on, because "
                "YARN renews them and the end of the job would cancel them")
_TALKERS = ("py4j.clientserver", "py4j.java_gateway")  # loggers of Java's answers, at DEBUG
_WHO_WRITES = {
    False: "Without Kerberos, the cluster's daemons write as their user (hadoop_user of their "
           "configuration), and Spark made the directory. Set output= to a directory that this "
           "user may write and you may read.",
    True: "With Kerberos, the job writes as Spark's own principal. If a note above says that the "
          "job has no delegation token, it writes as the principal of the daemons' keytab. Set "
          "output= to a directory that this principal may write and you may read.",
}


def delegation_token(file_system: str, renewer: Renewer) -> Optional[str]:
    """Gets a new token of that file system with the identity of Spark's JVM. See Delegate of
    espalier._job_tokens."""
    spark = SparkSession.builder.getOrCreate()
    if not is_secured(spark):
        return None
    user: Any = _users(spark).getCurrentUser()
    proxied = user.getRealUser()
    if not (proxied or user).hasKerberosCredentials():
        _check_replaceable(user, "Spark's JVM has no ticket of the real user, which a token "
                           "requires; get one (kinit)")
        raise PermissionDeniedError(_NO_IDENTITY)
    try:
        files.file_system(spark, file_system + "/")
    except Py4JJavaError as error:
        _check_replaceable(user, "Spark does not know it: " + files.said(error))
        return None  # other processes may find one that Spark does not know
    principal = renewer(str(user.getUserName()))
    try:
        there = _file_system_of(spark, _without_tokens(spark, user), file_system)
        try:
            text = _text_of(there.getDelegationToken(principal))
        finally:
            there.close()
    except Py4JJavaError as error:
        why = "Spark gets no delegation token of %s: %s" % (file_system, files.said(error))
        if proxied:  # the ticket here belongs to a user that must not be used
            raise UnavailableError(why) from error
        raise PermissionDeniedError(why) from error
    if text is None:
        _check_replaceable(user, "Spark requested a token and got none")
    return text


def _check_replaceable(user: Any, why: str) -> None:
    """Checks that this process's own ticket may replace a token that Spark could not get. Raises
    FailedPreconditionError for a proxied user, because the ticket is the real user's."""
    real = user.getRealUser()
    if real:
        raise FailedPreconditionError("%s (a job of %s does not go as %s)" %
                                      (why, user.getUserName(), real.getUserName()))


def _text_of(token: Any) -> Optional[str]:
    """Returns the token's text, which is SECRET."""
    with _unlogged():
        return str(token.encodeToUrlString()) if token else None


@contextlib.contextmanager
def _unlogged() -> Iterator[None]:
    """Keeps Java's answers to this thread out of all logs."""
    here = threading.get_ident()

    def is_of_others(_: logging.LogRecord) -> bool:
        return threading.get_ident() != here
    for name in _TALKERS:
        logging.getLogger(name).addFilter(is_of_others)
    try:
        yield
    finally:
        for name in _TALKERS:
            logging.getLogger(name).removeFilter(is_of_others)


def is_secured(spark: SparkSession) -> bool:
    """Returns whether Hadoop's configuration in Spark specifies Kerberos."""
    return bool(_users(spark).isSecurityEnabled())


def who_writes(spark: SparkSession) -> str:
    """Returns the hint for a place where a job may not write."""
    return _WHO_WRITES[is_secured(spark)]


def _without_tokens(spark: SparkSession, user: Any) -> Any:
    """Returns the same user with only a ticket. If Spark has fetched tokens for itself, HDFS would
    get those, and does not issue a token for them. A user with a ticket from kinit stays unchanged,
    because this Python has that ticket, too."""
    if user.getRealUser():
        return _users(spark).createProxyUser(user.getUserName(), user.getRealUser())
    conf: Any = spark.sparkContext.getConf()
    principal, keytab = conf.get("spark.kerberos.principal"), conf.get("spark.kerberos.keytab")
    if not principal or not keytab:
        return user
    return _users(spark).loginUserFromKeytabAndReturnUGI(principal, urlsplit(keytab).path)


def _file_system_of(spark: SparkSession, user: Any, file_system: str) -> Any:
    """Returns a file system that calls as `user`. The user that creates it is the one that calls,
    so a Java object must create it. A method handle does that without a class of ours in the JVM,
    and without a call back to Python."""
    context: Any = spark.sparkContext
    jvm = context._jvm
    types, new = jvm.java.lang.Class, context._gateway.new_array
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    kind, uris, confs = (types.forName(name, True, loader) for name in (
        "org.apache.hadoop.fs.FileSystem", "java.net.URI", "org.apache.hadoop.conf.Configuration"))
    taken, given = new(types, 2), new(jvm.java.lang.Object, 2)
    taken[0], taken[1] = uris, confs
    given[0] = jvm.java.net.URI(file_system + "/")
    given[1] = context._jsc.hadoopConfiguration()
    handles = jvm.java.lang.invoke.MethodHandles
    make = handles.insertArguments(handles.publicLookup().findStatic(
        kind, "newInstance", jvm.java.lang.invoke.MethodType.methodType(kind, taken)), 0, given)
    return user.doAs(jvm.java.lang.invoke.MethodHandleProxies.asInterfaceInstance(
        types.forName("java.security.PrivilegedExceptionAction"), make))


def _users(spark: SparkSession) -> Any:
    jvm: Any = spark.sparkContext._jvm
    return jvm.org.apache.hadoop.security.UserGroupInformation
