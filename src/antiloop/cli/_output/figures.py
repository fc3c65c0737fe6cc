"""Sums over runs, and the tables that show them on a terminal."""

from dataclasses import dataclass, fields
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from ..._amounts import total
from .terminal import columns as width_of

_LEAST = 7
"""Columns of a figure at least: 123,456."""


@dataclass(frozen=True)
class Figures:
    """Sums over runs. Tokens and money are None where no run tells them."""

    runs: int = 0
    loops: int = 0
    calls: int = 0
    wasted_calls: int = 0
    """Calls of loops that brought nothing new."""
    wasted_tokens: Optional[int] = None
    cost: Optional[float] = None
    """The cost of the runs as a whole; not known of a tool."""
    wasted_cost: Optional[float] = None

    def __add__(self, other: "Figures") -> "Figures":
        names = (each.name for each in fields(self))
        sums: Dict[str, Any] = {
            name: total([getattr(self, name), getattr(other, name)]) for name in names
        }
        return Figures(**sums)

    @property
    def wasted_share(self) -> Optional[float]:
        """Wasted calls by calls, from 0 to 1; None without calls."""
        return self.wasted_calls / self.calls if self.calls else None

    def cells(self, names: Iterable[str]) -> List[str]:
        """Write some of the figures, with a dash for one that no run tells."""
        values = ((name, getattr(self, name)) for name in names)
        return ["-" if value is None else _FIGURES[name](value) for name, value in values]


_FIGURES: Dict[str, Callable[[Any], str]] = {
    "runs": "{:,}".format,
    "loops": "{:,}".format,
    "calls": "{:,}".format,
    "wasted_calls": "{:,}".format,
    "wasted_share": lambda share: f"{100 * share:.1f} %",
    "wasted_tokens": "{:,}".format,
    "cost": "{:,.2f}".format,
    "wasted_cost": "{:,.2f}".format,
}


def known_figures(rows: Iterable[Figures], but: Sequence[str] = ()) -> List[str]:
    """Return the names of the figures that any row has, but for some."""
    known = list(rows)
    wanted = (name for name in _FIGURES if name not in but)
    return [name for name in wanted if any(getattr(row, name) is not None for row in known)]


def titles(names: Iterable[str]) -> Tuple[str, ...]:
    """Return what figures are called at the head of a table."""
    return tuple(name.replace("wasted_share", "share").replace("_", " ") for name in names)


def table_lines(
    head: Sequence[str],
    rows: Sequence[Tuple[str, Sequence[str]]],
    width: Optional[int],
    least: int = 0,
) -> Iterator[str]:
    """Yield a table of names and figures; where it is wider than this, as a list.

    Args:
        head: what the names are, and what the figures are.
        rows: each with its name and its figures.
        width: the longest line; None for any.
        least: columns of a name at least.
    """
    title, *names = head
    room = max(least, *(width_of(name) for name in (title, *(name for name, _ in rows))))
    widths = [max(_LEAST, *map(len, cells)) for cells in zip(names, *(cells for _, cells in rows))]
    if width is not None and room + sum(widths) + 2 * len(widths) > width:
        for name, cells in rows:
            yield name
            for column, cell in zip(names, cells):
                yield f"  {column:<13} {cell:>{_LEAST}}"
        return
    for name, cells in ((title, names), *rows):
        padded = (f"  {cell:>{size}}" for cell, size in zip(cells, widths))
        yield name + " " * (room - width_of(name)) + "".join(padded)
