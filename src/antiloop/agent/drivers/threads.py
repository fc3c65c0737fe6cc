"""Run a function in a separate thread."""

import contextvars
import threading
from concurrent.futures import Future
from typing import Callable, TypeVar

T = TypeVar("T")


def start_in_thread(function: Callable[[], T], name: str = "antiloop-tool") -> "Future[T]":
    """Start a function with the caller's context variables, and return the future of its result.

    A daemon thread, not a pool: a tool that hangs must keep neither the run nor the interpreter
    from ending, and the threads of an executor are joined at exit.
    """
    future: Future[T] = Future()
    context = contextvars.copy_context()
    work = threading.Thread(
        target=context.run, args=(_run, function, future), name=name, daemon=True
    )
    work.start()
    return future


def _run(function: Callable[[], T], future: "Future[T]") -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        value = function()
    except StopIteration as error:
        # No future of asyncio takes it, so who awaits the result would wait for ever.
        stopped = RuntimeError(f"the function raised {error!r}")
        stopped.__cause__ = error
        future.set_exception(stopped)
    except BaseException as error:  # noqa: BLE001 - the waiting caller gets it, SystemExit too
        future.set_exception(error)
    else:
        future.set_result(value)
