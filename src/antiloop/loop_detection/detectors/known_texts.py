"""Texts that were read before, so that a conversation that comes again is not read again whole."""

from threading import Lock
from typing import Generic, Hashable, Sequence, Tuple, TypeVar

from ...latest import Latest
from ..evidence.fingerprint import text_fingerprint

V = TypeVar("V")


class KnownTexts(Generic[V]):
    """What was found in the latest texts; the texts themselves are not kept.

    One serves all runs of a process.

    Args:
        size: how many texts are remembered.
    """

    def __init__(self, size: int) -> None:
        self._lock = Lock()
        self._found: Latest[Tuple[Hashable, str], V] = Latest(size)

    def get(self, text: str, settings: Hashable) -> Sequence[V]:
        """Give what was found in a text with these settings; empty where it was not read."""
        key = (settings, text_fingerprint(text))
        with self._lock:
            return (self._found[key],) if key in self._found else ()

    def note(self, text: str, settings: Hashable, found: V) -> None:
        """Remember what was found in a text."""
        key = (settings, text_fingerprint(text))
        with self._lock:
            self._found[key] = found
