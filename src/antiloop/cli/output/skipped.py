"""Reporting skipped places of a recording: the first of each file, then a count."""

from .terminal import complain, counted, is_verbose

_TOLD = 10


class Skipped:
    """Reports the first skipped places of each file and counts the others.

    Args:
        path: the file that is read first.
    """

    def __init__(self, path: str = "") -> None:
        self._path = path
        self._count = 0

    def begin(self, path: str) -> None:
        """Go on with another file."""
        self.end()
        self._path = path

    def tell(self, what: str) -> None:
        """Report one place, with its file and line."""
        self._count += 1
        if self._count <= _TOLD or is_verbose():
            complain(what)

    def end(self) -> None:
        """Report how many further places were skipped, if any."""
        others = self._count - _TOLD
        if others > 0 and not is_verbose():
            name = "stdin" if self._path == "-" else self._path
            complain(f"{name}: {counted(others, 'further place')} like these skipped")
        self._count = 0
