"""Cutting bytes into lines, in whatever parts they come."""

from typing import Iterator, List, Optional, Tuple

NumberedBytes = Tuple[int, Optional[bytes]]
"""The number of a line, from 1 on, and the line; None for one that is too long."""

_END = b"\n"
_BLANK = b" \t\r"


class LineSplitter:
    """Yields each line once it is complete, without the blanks at its end.

    Lines of blanks alone are counted and passed over, so that millions of them cost next to
    nothing. A line of more than ``max_length`` bytes, its end included, is named as soon as that is
    known, and no more of it is held.
    """

    def __init__(self, max_length: int) -> None:
        self.number = 0
        """The number of complete lines."""
        self._max_length = max_length
        self._half: List[bytes] = []
        self._held = 0

    def take(self, part: bytes) -> Iterator[NumberedBytes]:
        """Take what comes next, and yield the lines that it completes."""
        *whole, half = part.split(_END)
        if whole:
            yield from self._hold(whole[0])
            yield from self.end()
            for number, line in enumerate(whole[1:], self.number + 1):
                if not line:
                    continue
                kept = line.rstrip(_BLANK)
                if kept or len(line) >= self._max_length:
                    yield number, kept if len(line) < self._max_length else None
            self.number += len(whole) - 1
        yield from self._hold(half)

    def end(self) -> Iterator[NumberedBytes]:
        """End the line that has begun."""
        self.number += 1
        if self._held < self._max_length:
            line = b"".join(self._half).rstrip(_BLANK)
            if line:
                yield self.number, line
        self._half, self._held = [], 0

    def _hold(self, part: bytes) -> Iterator[NumberedBytes]:
        """Hold a part of a line; where it becomes too long, let go of it and say so, once."""
        is_kept = self._held < self._max_length
        self._held += len(part)
        if self._held < self._max_length:
            self._half.append(part)
        elif is_kept:
            self._half = []
            yield self.number + 1, None
