"""Functions on separate threads, and exceptions that end the program on their way out."""

import contextvars
import threading
from concurrent.futures import Future
from typing import Any, Awaitable, Callable, TypeVar

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


class Fatal:
    """An exception that ends the program, as a value.

    A task that raises one of these tears down its event loop, and whatever else runs there: the
    caller would get an error of the closed loop instead of the exception.
    """

    def __init__(self, error: BaseException) -> None:
        self.error = error


async def fatal_as_value(awaitable: Awaitable[Any]) -> Any:
    """Await something, and return a `Fatal` for what would tear down the event loop."""
    try:
        return await awaitable
    except (KeyboardInterrupt, SystemExit) as error:
        return Fatal(error)


def unwrapped(value: Any) -> Any:
    """Return a value, or raise the exception that a `Fatal` holds."""
    if isinstance(value, Fatal):
        raise value.error
    return value
