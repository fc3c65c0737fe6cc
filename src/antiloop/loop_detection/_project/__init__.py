"""The settings of a project, and where they are: antiloop.toml, or a table in pyproject.toml.

The hooks of coding agents look for the file at each start, so only light modules are imported here.
"""

import os

from ..._regular_file import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator, Optional

FILE = "antiloop.toml"
PROJECT = "pyproject.toml"
_TABLE = (b"[tool.antiloop]", b"[tool.antiloop.")
_KEYS = {b"": (b"tool.antiloop=", b"tool.antiloop."), b"[tool": (b"antiloop=", b"antiloop.")}
"""By table: other ways to write ours. Before the first table there is none."""
_AROUND = b" \t\"'\xef\xbb\xbf\xff\xfe\0"
"""Bytes that TOML allows around parts of a name, that editors put before a text, and of UTF-16."""


def find_settings(folder: "Optional[str]" = None) -> "Optional[str]":
    """Return the path of the nearest file of settings; None if there is none.

    Looked for in a folder, the working folder if None, and in each above it; in each,
    antiloop.toml counts first, then a pyproject.toml with a table ``[tool.antiloop]``.
    """
    start = os.path.abspath(folder or os.getcwd())
    for above in _upwards(start):
        own, project = os.path.join(above, FILE), os.path.join(above, PROJECT)
        for path, is_ours in ((own, _is_there(own)), (project, _has_table(project))):
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


def _is_there(path: str) -> bool:
    """Whether there is a file, or what should be one: a link to nothing is named as an error."""
    return os.path.lexists(path) and not os.path.isdir(path)


def _has_table(path: str) -> bool:
    """Whether a pyproject.toml seems to hold settings; most hold none, and need no TOML reader."""
    table = b""
    try:
        with open(path, "rb", opener=opener) as file:
            for line in file:
                text = line.translate(None, _AROUND)
                if text.startswith((*_TABLE, *_KEYS.get(table, ()))):
                    return True
                if text.startswith(b"["):
                    table = text.partition(b"]")[0]
    except OSError:
        pass
    return False
