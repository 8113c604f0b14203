"""Fits that a CrossValidator, or a TrainValidationSplit, calls in the threads of its pool.

The thread that called the validator waits for them (also with a `parallelism` of 1). Ctrl-C, or an
error of one of the fits, ends only that wait, and Spark leaves the pool alone. Running fits would
continue to their end, and waiting ones would start, for models that no caller uses. Therefore, each
fit checks whenever it starts something, and while its job runs, whether some thread is still inside
a validator. If none is, the fit cancels its job and removes its files, and the end of the program
waits for that. A validator in the pool of another one does not count, because its own fits end when
the outer one does. Two validators at the same time are not distinguished: the fits that one of them
leaves behind end when the other has ended, too.
"""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import time
from types import FrameType
from typing import Callable, Iterator, Optional, Set

from ..errors import CancelledError

_MODULE, _METHOD = "pyspark.ml.tuning", "_fit"
_LOOK_SECONDS = 0.25
_AGAIN_SECONDS = 0.05
_EXIT_SECONDS = 30.0

_under_way: Set[threading.Event] = set()  # one per task, set at its end
_lock = threading.Lock()  # guards it


@contextlib.contextmanager
def task() -> Iterator[None]:
    """Surrounds a whole fit. If it is a validator's fit, the end of the program waits for it.

    Raises:
        CancelledError: no validator waits for it.
    """
    if not is_task():
        yield
        return
    check()
    over = threading.Event()
    with _lock:
        _under_way.add(over)
    try:
        yield
    finally:
        with _lock:
            _under_way.discard(over)
        over.set()


def check() -> None:
    """Raises CancelledError if this thread belongs to a validator that has ended."""
    if is_task() and _is_abandoned():
        raise CancelledError("the validator that called this fit was interrupted or has failed")


@contextlib.contextmanager
def watched(end: Callable[[], None]) -> Iterator[None]:
    """Surrounds the wait of a validator's fit. If no validator waits for the fit, another thread
    calls `end` repeatedly until it takes effect."""
    if not is_task():
        yield
        return
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_SECONDS):
            if _is_abandoned():
                end()
    watcher = threading.Thread(target=look, name="espalier validator", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def is_task() -> bool:
    """Returns whether a validator has called this thread's fit in its pool. For the best model, it
    uses its own thread instead. With an outer validator, the inner one's best model is also one of
    many.
    """
    return _is_task(sys._getframe())


def _is_task(top: FrameType) -> bool:
    return any(frame.f_code.co_name != _METHOD for frame in _of_validators(top))


def _is_abandoned() -> bool:
    # A second look, because frames may end during the first one.
    if _validator_runs():
        return False
    time.sleep(_AGAIN_SECONDS)
    return not _validator_runs()


def _validator_runs() -> bool:
    """Returns whether a thread is inside a validator that no other validator waits for."""
    return any(not _is_task(top) and any(True for _ in _of_validators(top))
               for top in sys._current_frames().values())


def _of_validators(frame: Optional[FrameType]) -> Iterator[FrameType]:
    """Yields those of a frame and its callers that are functions of Spark's validators."""
    while frame is not None:
        if frame.f_globals.get("__name__") == _MODULE:
            yield frame
        frame = frame.f_back


@atexit.register
def _await_tasks() -> None:
    """Waits for the tasks, so that an interrupted program leaves nothing. Its threads end with it.
    """
    end = time.monotonic() + _EXIT_SECONDS
    with _lock:
        waited_for = list(_under_way)
    for over in waited_for:
        over.wait(max(0.0, end - time.monotonic()))
