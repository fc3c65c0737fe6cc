"""Read a docstring's description and what it says about each parameter (Google style)."""

import inspect
import re
from typing import Dict, List, NamedTuple, Optional

_ARGUMENTS = re.compile(r"^(args|arguments|parameters|params):$", re.IGNORECASE)
_SECTION = re.compile(
    r"^(args|arguments|parameters|params|returns?|yields?|raises|examples?|notes?|see also):$"
    r"|^>>> ",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"^\*{0,2}(\w+)(?:\s*\([^)]*\))?\s*:\s*(.*)$")


class Docstring(NamedTuple):
    """What a docstring says."""

    description: str
    """Everything before the first section."""
    parameters: Dict[str, str]
    """What the ``Args:`` section says, by parameter."""


def parse_docstring(text: Optional[str]) -> Docstring:
    r"""Read a docstring; None is an empty one.

    >>> parse_docstring("Find pages.\n\nArgs:\n    query: what to\n        look for.")
    Docstring(description='Find pages.', parameters={'query': 'what to look for.'})
    """
    lines = inspect.cleandoc(text or "").splitlines()
    marks = [at for at, line in enumerate(lines) if _SECTION.match(line)] + [len(lines)]
    starts = [at for at in marks[:-1] if _ARGUMENTS.match(lines[at])]
    parameters: Dict[str, str] = {}
    for start in starts:
        end = next(at for at in marks if at > start)
        parameters.update(_entries(lines[start + 1 : end]))
    return Docstring("\n".join(lines[: marks[0]]).strip(), parameters)


def _entries(lines: List[str]) -> Dict[str, str]:
    """Read ``name: text`` entries; a line indented deeper than the first goes on with the last."""
    entries: Dict[str, List[str]] = {}
    name = ""
    body = [line for line in lines if line.strip()]
    for line in body:
        entry = _ENTRY.match(line.strip()) if _indent(line) <= _indent(body[0]) else None
        if entry:
            name = entry.group(1)
            entries[name] = [entry.group(2)]
        elif name:
            entries[name].append(line.strip())
    return {name: " ".join(parts).strip() for name, parts in entries.items()}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
