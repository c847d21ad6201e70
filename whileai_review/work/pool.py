"""Long work in other processes, so that a busy report never delays somebody's key press.

One busy Python thread in the server takes a key press from 80 to 222 ms (p95, measured).
Elsewhere (a script, a test, the command line) the same calls run where they are made: a plain
script could not start such processes without a ``__main__`` guard, and has no keys to delay.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import ModuleType
from typing import Any

WORKERS = max(1, min(2, (os.cpu_count() or 2) - 1))
"""Processes beside the server's own."""

ROWS = 3_000
"""Rows of a run from which work on all of them (over 0.2 s) comes here."""

_lock = threading.Lock()
_pool: ProcessPoolExecutor | None = None
_enabled = False
_running: dict[tuple[Any, ...], Future] = {}


class KilledError(RuntimeError):
    """Another process that worked for this one is gone; its message is the one line."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"The process that {what} was killed (out of memory?). Nothing was kept; try again."
        )


def enable() -> None:
    """Work in other processes from now on; the server says so when it starts.

    The processes start at once: later ones would find a page's script as ``__main__`` (Streamlit
    puts it there) and run it.
    """
    global _enabled
    _enabled = True
    with _lock:
        _started()


def is_enabled() -> bool:
    """Whether long work goes to other processes here."""
    return _enabled


def run(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call `function` in the pool and wait; the same call under way is shared, not made twice.

    `function` is one of a module, its arguments and its result can be pickled.
    """
    if not _enabled:
        return function(*arguments)
    key = (function.__module__, function.__qualname__, *map(str, arguments))
    try:
        return _future(key, function, arguments).result()
    except BrokenProcessPool:
        # A worker was killed (out of memory, a stray kill): once more in a new pool.
        _forget()
    try:
        return _future(key, function, arguments).result()
    except BrokenProcessPool:
        _forget()
        raise KilledError("computed this") from None


def begin(function: Callable[..., Any], *arguments: Any) -> None:
    """Call `function` in the pool and go on; `run` with the same arguments then waits for it.

    Where no pool is nothing is begun. What goes wrong is met by whoever runs it later.
    """
    if _enabled:
        key = (function.__module__, function.__qualname__, *map(str, arguments))
        _future(key, function, arguments)


def ahead(function: Callable[..., Iterator[Any]], *arguments: Any) -> Iterator[Any]:
    """Iterate ``function(*arguments)`` in a process of its own, a few items ahead.

    Where a process can't be forked it is iterated here.

    What the function raises is raised here. The items can be pickled.

    Raises
    ------
    KilledError
        The other process was killed.
    """
    if not _may_fork():
        yield from function(*arguments)
        return
    context = multiprocessing.get_context("fork")
    pipe = receive, send = context.Pipe(duplex=False)
    child = context.Process(target=_send_all, args=(pipe, function, arguments), daemon=True)
    child.start()
    send.close()
    try:
        while True:
            try:
                done, item = pickle.loads(receive.recv_bytes())
            except EOFError:
                raise KilledError("read this file") from None
            if done:
                if item is not None:
                    raise item
                return
            yield item
    finally:
        receive.close()
        child.terminate()
        child.join()


def _send_all(
    pipe: tuple[Any, Any], function: Callable[..., Iterator[Any]], arguments: tuple
) -> None:
    receive, send = pipe
    receive.close()  # held here as well, it would let this process wait for ever for a dead reader
    try:
        for item in function(*arguments):
            send.send_bytes(pickle.dumps((False, item), pickle.HIGHEST_PROTOCOL))
        last = None
    except BaseException as error:
        last = error
    try:
        send.send_bytes(pickle.dumps((True, last), pickle.HIGHEST_PROTOCOL))
    except OSError:
        pass  # nobody reads any more


def _may_fork() -> bool:
    """Fork is there and safe: no other thread, whose locks the child would inherit."""
    return (
        "fork" in multiprocessing.get_all_start_methods()
        and threading.active_count() == 1
        and not multiprocessing.current_process().daemon  # a daemon may have no children
    )


def _future(key: tuple[Any, ...], function: Callable[..., Any], arguments: tuple) -> Future:
    with _lock:
        future = _running.get(key)
        if future is None:
            future = _started().submit(function, *arguments)
            _running[key] = future
            future.add_done_callback(lambda done: _running.pop(key, None))
        return future


def _started() -> ProcessPoolExecutor:
    global _pool
    if _pool is None:
        # spawn: a forked child of a server with threads may hang on a lock it inherited.
        _pool = ProcessPoolExecutor(
            WORKERS, mp_context=multiprocessing.get_context("spawn"), initializer=_settle
        )
        atexit.register(_forget)
        with _no_main():
            for _ in range(WORKERS):
                _pool.submit(_warm)
    return _pool


@contextmanager
def _no_main() -> Iterator[None]:
    """Hide ``__main__`` from the processes that are started meanwhile."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _warm() -> None:
    """Import what the first report needs."""
    import whileai_review.work  # noqa: F401


def _settle() -> None:
    """A worker yields to the server, ignores Ctrl+C, and ends when the server was killed."""
    import signal

    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(10)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _forget() -> None:
    global _pool
    with _lock:
        pool, _pool = _pool, None
        _running.clear()
    if pool is not None:
        pool.shutdown(wait=False, cancel_futures=True)
