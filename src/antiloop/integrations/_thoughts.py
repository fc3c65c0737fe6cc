"""Judge what a model thinks while its reply is streamed, and leave one that repeats itself."""

import inspect
from typing import Any

from ..formats._internal import field_of, first_field, items_of, text_of
from ..loop_detection import LoopAction, LoopVerdict
from ..loop_detection._internal import GO_ON
from ._guard import stopped
from ._lookout import Lookout

_THOUGHT = ("reasoning_content", "reasoning")
"""Fields of a delta that hold a piece of a thought; each server has one of them."""


class Thoughts:
    """Judges the thoughts of one reply, and reports what is found to the guard's observers.

    A framework passes on what is streamed at once, so nothing can be said to the model before it is
    asked again: at any verdict the adapter leaves the stream and ends the run.
    """

    def __init__(self, guard: Lookout, run_id: str) -> None:
        self._guard, self._run_id = guard, run_id
        self._monitor = guard.monitor(run_id)
        self._is_found = False

    def hear(self, piece: str) -> LoopVerdict:
        """Take the next piece, empty for none; the verdict says whether to leave the stream."""
        if not piece or self._is_found:
            return GO_ON
        verdict = self._monitor.thinking(piece)
        if verdict.decision.action is not LoopAction.CONTINUE:
            self._is_found = True
            self._guard.tell(verdict, self._run_id, self._monitor)
        return verdict

    def check(self, piece: str) -> None:
        """Take the next piece, where only an error leaves the stream."""
        verdict = self.hear(piece)
        if verdict.action is not LoopAction.CONTINUE:
            raise CirclingError(verdict)


class CirclingError(Exception):
    """Leaves a stream of thoughts that repeat themselves without end; the adapter catches it."""

    def __init__(self, verdict: LoopVerdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict

    def last_words(self) -> str:
        """Return what the run ends with.

        Raises:
            LoopDetectedError: where the policy says so.
        """
        if self.verdict.action is LoopAction.RAISE:
            raise self.verdict.as_error() from None
        return stopped(self.verdict)


def thought_in(chunk: Any) -> str:
    """Return the piece of the model's thoughts in a part of a chat completion."""
    choices = items_of(field_of(chunk, "choices"))[:1]  # others are other answers
    return text_of(first_field(field_of(choices[0], "delta"), *_THOUGHT)) if choices else ""


async def leave(stream: Any) -> None:
    """Leave a stream, so that the model stops writing; not every one can be left."""
    close = getattr(stream, "aclose", None) or getattr(stream, "close", None)
    if close is not None:
        closing = close()
        if inspect.isawaitable(closing):
            await closing
