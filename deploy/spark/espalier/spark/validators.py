"""Fits that a CrossValidator, or a TrainValidationSplit, calls in the threads of its pool.

The thread that called the validator waits for them there (with a `parallelism` of 1, too). Ctrl-C,
or an error of one of the fits, ends that wait alone, and Spark leaves the pool to itself: fits
under way would go on to their end, and those that had no thread yet would begin, for models that
nobody takes. So each of them looks, whenever it begins something and while its job runs, whether
some thread is still inside of a validator. When none is, it cancels its job and removes its files,
and the end of the program waits for that. A validator in another one's pool does not count: its own
fits end when the outer one does. (Two validators at the same time are not told apart: what
one of them leaves behind ends when the other has ended, too.)
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

_under_way: Set[threading.Event] = set()  # one of each task, set at its end
_lock = threading.Lock()  # guards it


@contextlib.contextmanager
def task() -> Iterator[None]:
    """Around a whole fit: the end of the program waits for it, if it is a validator's.

    Raises:
        CancelledError: nobody waits for it.
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
    """Raises CancelledError when this thread is of a validator that has ended."""
    if is_task() and _is_abandoned():
        raise CancelledError("nobody waits for this fit any more: the validator that called it was "
                             "interrupted, or has failed")


@contextlib.contextmanager
def watched(end: Callable[[], None]) -> Iterator[None]:
    """While a validator's fit waits: `end` is called, from another thread and until that helps,
    when nobody waits for the fit."""
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
    """Whether a validator has called this thread's fit in its pool, rather than in its own thread
    as it does for the best model; and be it through another validator, whose best model then is
    one of many, too."""
    return _is_task(sys._getframe())


def _is_task(top: FrameType) -> bool:
    return any(frame.f_code.co_name != _METHOD for frame in _of_validators(top))


def _is_abandoned() -> bool:
    # Once more: frames may end while they are looked at.
    if _validator_runs():
        return False
    time.sleep(_AGAIN_SECONDS)
    return not _validator_runs()


def _validator_runs() -> bool:
    """Whether a thread is inside of one that no other validator waits for."""
    return any(not _is_task(top) and any(True for _ in _of_validators(top))
               for top in sys._current_frames().values())


def _of_validators(frame: Optional[FrameType]) -> Iterator[FrameType]:
    """From a frame through its callers, those that are functions of Spark's validators."""
    while frame is not None:
        if frame.f_globals.get("__name__") == _MODULE:
            yield frame
        frame = frame.f_back


@atexit.register
def _await_tasks() -> None:
    """So that an interrupted program leaves nothing: its threads would end with it."""
    end = time.monotonic() + _EXIT_SECONDS
    with _lock:
        waited_for = list(_under_way)
    for over in waited_for:
        over.wait(max(0.0, end - time.monotonic()))
