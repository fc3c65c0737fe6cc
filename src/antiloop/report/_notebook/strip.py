"""A run as a strip of marks, one column for each step, as an image in a piece of HTML.

It is the map of the report, drawn without a script.
"""

from typing import Dict, Iterable, Iterator, List, NamedTuple, Sequence, Tuple

COLUMNS = 200
"""Columns of a strip; in longer runs several steps share one."""
_FULL = 24  # columns from which a strip is as wide as there is room
_CURVE = 3  # height of the curve, in lanes
_LANE = 8  # height of a lane, in pixels

TONES = (
    *("#348bef", "#df6712", "#089a96", "#a86eea"),
    *("#e64faf", "#9e8a08", "#289f3c", "#ba7a70"),
)
"""Colors of marks. Each has a contrast of 3 or more with a light and with a dark page."""
BAD = "#e75e54"
"""The color of loops."""
INK = "currentColor"
_SHAPES = (((0.1, 0.8),), ((0.1, 0.3), (0.6, 0.3)), ((0.35, 0.3),))
"""Top and height of the lines that make a shape, in lanes."""

Looks = Tuple[str, float]
"""Color and opacity."""


class Mark(NamedTuple):
    """Hold what is drawn for one step in one lane."""

    step: int
    lane: int
    tone: str = INK
    shape: int = 0
    rank: int = 0
    """0 is drawn faint and 1 strong; of marks in one place the one with the highest rank shows."""


class Strip(NamedTuple):
    """Hold what is drawn of a run."""

    size: int
    """The number of steps; the first is 0."""
    marks: Sequence[Mark] = ()
    lanes: int = 0
    looped: Iterable[int] = ()
    flagged: Iterable[int] = ()
    """Steps at which something was said or done about a loop."""
    curve: Sequence[Tuple[int, float]] = ()
    """Step and suspicion, from 0 to 1."""

    def svg(self) -> str:
        """Draw the strip, as wide as its parent."""
        rows = self._top + self.lanes + 1
        paths = "".join(
            f'<path fill="{color}" fill-opacity="{opacity:g}" d="{_path(boxes)}"/>'
            for (color, opacity), boxes in self._boxes().items()
        )
        return (
            f'<svg viewBox="0 0 {max(1, min(COLUMNS, self.size))} {rows:g}" width="100%"'
            f' height="{rows * _LANE:g}" preserveAspectRatio="none" aria-hidden="true"'
            f' style="display:block">{self._curve()}{paths}</svg>'
        )

    @property
    def width(self) -> int:
        """Return the width in percent: narrow for a short run, so that its marks stay small."""
        return min(100, 100 * self.size // _FULL)

    @property
    def _top(self) -> int:
        return _CURVE if self.curve else 0

    def _column(self, step: int) -> int:
        return step if self.size <= COLUMNS else step * COLUMNS // self.size

    def _boxes(self) -> Dict[Looks, List[Tuple[int, float, float]]]:
        """Return the boxes to draw, as column, top and height, by their looks."""
        boxes: Dict[Looks, List[Tuple[int, float, float]]] = {}
        shown: Dict[Tuple[int, int], Mark] = {}
        for mark in sorted(self.marks, key=lambda mark: mark.rank):
            shown[self._column(mark.step), mark.lane] = mark
        for (column, lane), mark in shown.items():
            looks = (mark.tone, 1 if mark.rank > 0 else 0.4)
            for top, height in _SHAPES[mark.shape % len(_SHAPES)]:
                boxes.setdefault(looks, []).append((column, self._top + lane + top, height))
        bottom = self._top + self.lanes
        flags = {self._column(step) for step in self.flagged}
        for column in {self._column(step) for step in self.looped} - flags:
            boxes.setdefault((BAD, 0.5), []).append((column, bottom + 0.4, 0.4))
        for column in flags:
            boxes.setdefault((BAD, 1), []).append((column, bottom + 0.2, 0.8))
        return boxes

    def _curve(self) -> str:
        """Draw the suspicion; of the steps of one column the highest."""
        if not self.curve:
            return ""
        highest: Dict[int, float] = {}
        for step, value in self.curve:
            column = self._column(step)
            highest[column] = max(highest.get(column, 0), value)
        line = "".join(
            f"L{column} {_height(value)}H{column + 1}L{column + 1} {_height(0)}"
            for column, value in sorted(highest.items())
        )
        return f'<path fill="{INK}" fill-opacity=".3" d="M0 {_height(0)}{line}Z"/>'


def _height(value: float) -> str:
    return f"{(_CURVE - 0.3) * (1 - value) + 0.1:.2g}"


def _path(boxes: List[Tuple[int, float, float]]) -> str:
    """Draw boxes, neighbors of one height as one."""
    return "".join(
        f"M{column} {top:g}h{width}v{height:g}h-{width}z"
        for column, width, top, height in _joined(boxes)
    )


def _joined(boxes: List[Tuple[int, float, float]]) -> Iterator[Tuple[int, int, float, float]]:
    """Yield column, width, top and height."""
    first, width, row = 0, 0, (0.0, 0.0)
    for column, *place in sorted(boxes, key=lambda box: (box[1], box[2], box[0])):
        if width and tuple(place) == row and column == first + width:
            width += 1
            continue
        if width:
            yield (first, width, *row)
        first, width, row = column, 1, (place[0], place[1])
    if width:
        yield (first, width, *row)
