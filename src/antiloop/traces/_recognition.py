"""Finding out the format of a stream by what it holds."""

from typing import Any, Callable, List, Optional

from ._files.source import MAX_LENGTH
from ._registry import FORMATS, TraceFormat, likely, recognize
from ._shared.records import Record

LOOK_AHEAD = 100
"""The values looked at before a stream is given up as no trace, unless they are long."""


class Recognition:
    """Looks at one record after another until the format is clear.

    A conversation without tools looks alike in several formats, so others are waited for.

    Args:
        source: a name in ``FORMATS``, to overrule what is found.
    """

    def __init__(self, source: Optional[str]) -> None:
        self.looked_at: List[Record] = []
        """All records so far, those that are broken too."""
        self.likely: Optional[TraceFormat] = None
        """The format if nothing else comes; None if nothing here is of any."""
        self._named = FORMATS[source] if source else None

    @property
    def is_enough(self) -> bool:
        """Whether no more need be looked at, or can be held."""
        length = sum(record.length for record in self.looked_at)
        return len(self.looked_at) >= LOOK_AHEAD or length > MAX_LENGTH

    def look(self, record: Record) -> Optional[TraceFormat]:
        """Take the next record, and return the format once it is clear."""
        self.looked_at.append(record)
        if not record.broken:
            known = self._named or _found_in(record.value, recognize)
            if known is not None:
                return known
            self.likely = self.likely or _found_in(record.value, likely)
        return self.likely if self.is_enough else None


def _found_in(value: Any, find: Callable[[Any], Optional[TraceFormat]]) -> Optional[TraceFormat]:
    """Find the format of a value, or of the list of runs that it is."""
    known = find(value)
    if known is None and isinstance(value, list):
        return next(filter(None, map(find, value[:LOOK_AHEAD])), None)
    return known
