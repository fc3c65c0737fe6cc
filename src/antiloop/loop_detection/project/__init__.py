"""The settings of a project, and where they are: antiloop.toml, or a table in pyproject.toml.

The hooks of coding agents look for the file at each start, so only light modules are imported here.
"""

import os

from ...regular_file import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator, Optional

FILE = "antiloop.toml"
PROJECT = "pyproject.toml"
_TABLE = (b"[tool.antiloop]", b"[tool.antiloop.")
_AROUND = b" \t\"'\xef\xbb\xbf"
"""What TOML allows around the parts of a name, and what an editor puts before a text."""


def find_settings(folder: "Optional[str]" = None) -> "Optional[str]":
    """Return the path of the nearest file of settings; None if there is none.

    Looked for in a folder, the working folder if None, and in each above it; in each,
    antiloop.toml counts first, then a pyproject.toml with a table ``[tool.antiloop]``.
    """
    start = os.path.abspath(folder or os.getcwd())
    for above in _upwards(start):
        own, project = os.path.join(above, FILE), os.path.join(above, PROJECT)
        for path, is_ours in ((own, os.path.isfile(own)), (project, _has_table(project))):
            if is_ours:
                return os.path.relpath(path, start) if above == start else path
    return None


def _upwards(folder: str) -> "Iterator[str]":
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _has_table(path: str) -> bool:
    """Whether a pyproject.toml seems to hold settings; most hold none, and need no TOML reader."""
    try:
        with open(path, "rb", opener=opener) as file:
            return any(line.translate(None, _AROUND).startswith(_TABLE) for line in file)
    except OSError:
        return False
