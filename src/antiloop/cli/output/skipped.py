"""What is skipped of a recording: told, but not line for line where it is most of a file."""

from .terminal import complain, counted, is_verbose

_TOLD = 10


class Skipped:
    """Complains of the first places of each file that are skipped, and counts the others.

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
        """Tell of one place, with its file and line."""
        self._count += 1
        if self._count <= _TOLD or is_verbose():
            complain(what)

    def end(self) -> None:
        """Say how many places were not told of, if any."""
        others = self._count - _TOLD
        if others > 0 and not is_verbose():
            name = "stdin" if self._path == "-" else self._path
            complain(f"{name}: {counted(others, 'further place')} like these skipped")
        self._count = 0
