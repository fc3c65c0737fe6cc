"""The report of a round: whole, by one thread, each call once though two hooks may report it."""

from threading import get_ident
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

from ..._text.canonical import text_of
from ...types import ToolCall
from .._evidence.answered import Result
from .._evidence.asked import Asked, asked_of, without_comments
from .._evidence.fingerprint import text_fingerprint
from .._evidence.window import Window

_TOKEN = 8  # hexadecimal digits that tell the reported calls apart


class Reported:
    """The calls with ids that were reported last.

    Args:
        size: how many there are at most.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._tokens: Dict[str, None] = {}

    def new(
        self, calls: Sequence[ToolCall], results: Sequence[Result], window: Window
    ) -> List[Tuple[ToolCall, Result, Asked]]:
        """Return the calls that were not reported before, with results, and remember them."""
        kept: List[Tuple[ToolCall, Result, Asked]] = []
        for position, call in enumerate(calls):
            # As it was made: a host may report it again when more is known of its comments.
            made = asked_of(call, window.policies, window.client)
            if call.id is None or self._note(call, made):
                asked = without_comments(made, window.comments)
                kept.append((call, results[position] if position < len(results) else None, asked))
        return kept

    def to_text(self) -> str:
        """Return the state as one text."""
        return "".join(self._tokens)

    def load(self, text: str) -> None:
        """Load a state from `to_text`."""
        for at in range(0, len(text), _TOKEN):
            self._remember(text[at : at + _TOKEN])

    def _note(self, call: ToolCall, asked: Asked) -> bool:
        """Remember a report, and return whether it is the first one of its call."""
        # Providers reuse ids after a retry, so the same id with another call is another call.
        text = f"{text_of(call.id)}\x00{text_of(call.round)}\x00{asked.call}"
        token = text_fingerprint(text)[:_TOKEN]
        is_new = token not in self._tokens
        self._remember(token)
        return is_new

    def _remember(self, token: str) -> None:
        tokens = {each: None for each in self._tokens if each != token}
        tokens[token] = None
        if len(tokens) > self._size:
            del tokens[next(iter(tokens))]
        self._tokens = tokens


class OneThread:
    """Raises an error where two threads report to one monitor at the same time.

    A lock would hide the mistake, and the order of the rounds would still be chance.
    """

    def __init__(self) -> None:
        self._thread = self._depth = 0

    def __enter__(self) -> None:
        here = get_ident()
        if self._depth and self._thread != here:
            raise RuntimeError(
                "two threads use one LoopMonitor at the same time; make one for each run"
                " with detector.monitor(), or put a lock around it"
            )
        self._thread = here
        self._depth += 1  # a detector of the user's may report a round itself

    def __exit__(self, *raised: object) -> None:
        self._depth -= 1

    def __deepcopy__(self, memo: object) -> "OneThread":
        return OneThread()

    def __reduce__(self) -> "Tuple[type[OneThread], Tuple[()]]":
        return OneThread, ()  # what uses a monitor belongs to the process


class AllOrNothing:
    """Takes back what a round has changed if it is interrupted, so that it can be reported again.

    Args:
        parts: the objects that it changes. Their attributes are values: a round puts others in
            their place, and does not change a list or a dictionary that was there before.
    """

    def __init__(self, parts: Iterable[object]) -> None:
        self._before = [(part, vars(part).copy()) for part in parts]

    def __enter__(self) -> None:
        """Begin the round."""

    def __exit__(self, kind: Optional[type], *raised: object) -> None:
        if kind is not None:
            for part, before in self._before:
                vars(part).update(before)
