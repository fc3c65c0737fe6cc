"""Texts that were checked before, so that a repeated conversation is not checked again."""

from threading import Lock
from typing import Generic, Hashable, Sequence, Tuple, TypeVar

from ...latest import Latest
from ..evidence.fingerprint import text_fingerprint

V = TypeVar("V")


class KnownTexts(Generic[V]):
    """The findings for the latest texts; the texts themselves are not kept.

    One object serves all runs of a process.

    Args:
        size: how many texts are remembered.
    """

    def __init__(self, size: int) -> None:
        self._lock = Lock()
        self._found: Latest[Tuple[Hashable, str], V] = Latest(size)

    def get(self, text: str, settings: Hashable) -> Sequence[V]:
        """Return the finding for a text with these settings; empty if it is not known."""
        key = (settings, text_fingerprint(text))
        with self._lock:
            return (self._found[key],) if key in self._found else ()

    def note(self, text: str, settings: Hashable, found: V) -> None:
        """Store the finding for a text."""
        key = (settings, text_fingerprint(text))
        with self._lock:
            self._found[key] = found
