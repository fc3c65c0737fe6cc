"""Handling signals for a while."""

import signal
from contextlib import ExitStack, contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import Callable, Iterator, Mapping, Optional, Union

Handler = Union[Callable[[int, Optional[FrameType]], object], signal.Handlers]


@contextmanager
def signals_handled(handlers: Mapping[str, Handler]) -> Iterator[None]:
    """Handle signals, and restore the earlier handlers at the end.

    A signal that is ignored stays ignored. Outside the main thread nothing changes: Python takes
    handlers from the main thread only, and calls them there.

    Args:
        handlers: by the name of the signal; those that the platform lacks are left out.
    """
    with ExitStack() as stack:
        if current_thread() is main_thread():
            for name, handler in handlers.items():
                number = getattr(signal, name, None)
                if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                    stack.callback(signal.signal, number, signal.signal(number, handler))
        yield


def end(number: int, _: Optional[FrameType]) -> None:
    """End as a signal asks, after what was begun is undone: a terminal in use, a file half written.

    Raises:
        SystemExit: with the status that a shell gives to this signal.
    """
    raise SystemExit(128 + number)
