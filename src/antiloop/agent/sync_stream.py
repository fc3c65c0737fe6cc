"""The events of an async run, for a caller that is not async."""

from contextlib import closing
from typing import Any, AsyncGenerator, Generator, Tuple

from .background_loop import BackgroundLoop
from .drivers import finished
from .events import AgentEvent

_END: Tuple[Any, ...] = ()


def in_step(events: AsyncGenerator[AgentEvent, None]) -> Generator[AgentEvent, None, None]:
    """Yield the events as they happen; the run waits while its caller does not ask for more.

    Closing the generator ends the run and closes everything that it had open.
    """
    with closing(BackgroundLoop()) as loop:
        try:
            while True:
                waiting = loop.submit(_next(events))
                finished(waiting)
                event = waiting.result()
                if event is _END:
                    return
                yield event
        finally:
            if waiting.done():  # otherwise closing the loop cancels it, and with it the run
                ended = loop.submit(events.aclose())
                finished(ended)
                ended.result()


async def _next(events: AsyncGenerator[AgentEvent, None]) -> Any:
    async for event in events:
        return event
    return _END
