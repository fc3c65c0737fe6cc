"""A loop as a user writes it, for adapters that guard calls and no framework's agent."""

import asyncio
import inspect
from contextlib import contextmanager

from antiloop import LoopDetectedError
from antiloop.loop_detection import LoopAction


async def converse(script, ran, use_tools, first=0):
    """Ask the scripted model and run its calls until it is done.

    Args:
        use_tools: is given the calls of one reply; returns, or awaits, the texts the model reads.
        first: how many replies came before.
    """
    read = []
    while True:
        ran.asked += 1
        ran.seen[:] = read
        calls = script.reply(first + ran.asked - 1, read)
        if not calls:
            return
        texts = use_tools(calls)
        read += await texts if inspect.isawaitable(texts) else texts


def carry_out(script, ran, use_tools, first=0):
    """Like `converse`, for who does not await."""
    asyncio.run(converse(script, ran, use_tools, first))


@contextmanager
def ended_by(guard):
    """Take the error of a stop as the end of the run: a call has no other way to end it."""
    try:
        yield
    except LoopDetectedError:
        if guard.verdict.action is not LoopAction.STOP:
            raise
