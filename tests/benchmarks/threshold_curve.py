"""Precision over recall, as the thresholds of a preset go down and up, counted and drawn."""

import math
from copy import deepcopy
from html import escape
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Tuple

from labeled_runs import LabeledRun, score, total, verdicts_on

from antiloop.loop_detection import LoopDetector

SHIFTS = (-2, -1, 0, 1, 2)
"""What is added to every threshold."""
COUNTS = ("threshold", "repetitions", "patience", "varied", "in_a_row", "repeats")
"""Options of a detector that say how often is too often."""
LEAST = 2
MINUS = "\N{MINUS SIGN}"
SERIES = (("one", -7, -9, "end"), ("two", 7, -9, "start"), ("three", 0, 21, "middle"))
"""Color of a curve, and where the number of a point stands: beside it, below it, its anchor."""
WIDTH, HEIGHT = 760, 480
LEFT, TOP, RIGHT, BOTTOM = 72, 84, 28, 60
STYLE = """
  svg { --back: #ffffff; --ink: #1f2328; --soft: #59636e; --grid: #d8dee4;
        --one: #0969da; --two: #bc4c00; --three: #1a7f37; }
  @media (prefers-color-scheme: dark) {
    svg { --back: #0d1117; --ink: #e6edf3; --soft: #9198a1; --grid: #30363d;
          --one: #58a6ff; --two: #f0883e; --three: #56d364; }
  }
  text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif;
         fill: var(--ink); }
  .title { font-size: 17px; font-weight: 600; }
  .soft { fill: var(--soft); font-size: 12px; }
  .shift { font-size: 12px; font-weight: 600; }
  .grid { stroke: var(--grid); }
  .line { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
  .dot { stroke: var(--back); stroke-width: 1.5; }
"""


class Point(NamedTuple):
    """What comes of thresholds that are all lower or higher by `shift`."""

    shift: int
    recall: float
    precision: float


Curves = Mapping[str, Sequence[Point]]
"""Points by what is measured, in the order of their shifts."""


def curves_of(
    name: str, detector: LoopDetector, labeled: Sequence[LabeledRun]
) -> Dict[str, List[Point]]:
    """Return the curve of the runs that are stopped, and of those that hear a word before that.

    A point that nothing was counted for is left out.
    """
    is_told_first = isinstance(detector.to_config()["policy"], dict)
    curves: Dict[str, List[Point]] = {}
    for shift in SHIFTS:
        other = shifted(detector, shift)
        figures = total(score(each, verdicts_on(each.run, other)) for each in labeled).figures()
        for label, recall, precision in (
            (f"{name}(): stopped", figures["stopped"], figures["stop precision"]),
            (f"{name}(): heard a word", figures["caught"], figures["first word right"]),
        ):
            is_drawn = label.endswith("stopped") or is_told_first
            if is_drawn and recall is not None and precision is not None:
                curves.setdefault(label, []).append(Point(shift, recall, precision))
    return curves


def shifted(detector: LoopDetector, shift: int) -> LoopDetector:
    """Return a detector whose thresholds are all lower or higher, and never below 2."""
    config: Dict[str, Any] = deepcopy(detector.to_config())
    for options in config["detectors"]:
        for count in COUNTS:
            if options.get(count):
                options[count] = max(min(LEAST, options[count]), options[count] + shift)
        if "cycle_length" in options:  # the longest that still comes round often enough
            fitting = config["window"] // options["repetitions"]
            options["cycle_length"] = min(options["cycle_length"], fitting)
    return LoopDetector.from_config(config)


def draw(curves: Curves) -> str:
    """Draw curves as an SVG that follows the color scheme of who looks at it."""
    points = [point for curve in curves.values() for point in curve]
    plane = _Plane(
        (_floor(min([0.5, *(point.recall for point in points)])), 1.0),
        (_floor(min([0.8, *(point.precision for point in points)])), 1.0),
    )
    parts = [*_frame(plane)]
    for number, (label, curve) in enumerate(curves.items()):
        parts += _drawn(plane, number, label, curve)
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="title desc">\n<style>{STYLE}</style>\n'
        '<title id="title">Precision over recall</title>\n'
        f'<desc id="desc">{escape(_told(curves))}</desc>\n{body}\n</svg>\n'
    )


class _Plane:
    """Where recall and precision stand on the picture."""

    def __init__(self, across: Tuple[float, float], up: Tuple[float, float]) -> None:
        self.across, self.up = across, up

    def x(self, recall: float) -> float:
        low, high = self.across
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (recall - low) / (high - low), 1)

    def y(self, precision: float) -> float:
        low, high = self.up
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (high - precision) / (high - low), 1)


def _frame(plane: _Plane) -> List[str]:
    left, right, top, bottom = LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM
    parts = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="var(--back)"/>',
        f'<text class="title" x="{LEFT}" y="28">Precision over recall</text>',
        f'<text class="soft" x="{LEFT}" y="47">A number at a point is added to every threshold of '
        "the preset; 0 is the preset as it is.</text>",
    ]
    for tick in _ticks(plane.across):
        at = plane.x(tick)
        parts.append(f'<line class="grid" x1="{at}" y1="{top}" x2="{at}" y2="{bottom}"/>')
        parts.append(_text(at, bottom + 20, f"{tick:.0%}", "middle"))
    for tick in _ticks(plane.up):
        at = plane.y(tick)
        parts.append(f'<line class="grid" x1="{left}" y1="{at}" x2="{right}" y2="{at}"/>')
        parts.append(_text(left - 10, at + 4, f"{tick:.0%}", "end"))
    middle = (top + bottom) / 2
    return [
        *parts,
        _text((left + right) / 2, HEIGHT - 14, "recall: share of the loops", "middle"),
        f'<text class="soft" text-anchor="middle" transform="translate(18 {middle}) rotate(-90)">'
        "precision: share that is right</text>",
    ]


def _drawn(plane: _Plane, number: int, label: str, curve: Sequence[Point]) -> List[str]:
    """Return a line with its points, and its entry in the legend."""
    name, beside, below, anchor = SERIES[number % len(SERIES)]
    color = f"var(--{name})"
    places = [(point, plane.x(point.recall), plane.y(point.precision)) for point in curve]
    path = " ".join(f"{x},{y}" for _, x, y in places)
    parts = [f'<polyline class="line" stroke="{color}" points="{path}"/>']
    for point, x, y in places:
        radius = 4.5 if point.shift else 7
        parts.append(f'<circle class="dot" fill="{color}" cx="{x}" cy="{y}" r="{radius}"/>')
        shift = _signed(point.shift)
        parts.append(
            f'<text class="shift" style="fill:{color}" x="{x + beside}" y="{y + below}" '
            f'text-anchor="{anchor}">{shift}</text>'
        )
    at = HEIGHT - BOTTOM - 18 - 20 * number
    return [
        *parts,
        f'<circle fill="{color}" cx="{LEFT + 18}" cy="{at - 4}" r="5"/>',
        f'<text x="{LEFT + 32}" y="{at}">{escape(label)}</text>',
    ]


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text class="soft" x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'


def _told(curves: Curves) -> str:
    """Describe the picture in words."""
    told = (
        f"{label}: "
        + ", ".join(f"{_signed(p.shift)}: {p.recall:.0%} at {p.precision:.0%}" for p in curve)
        for label, curve in curves.items()
    )
    return "Recall at precision by what is added to every threshold. " + "; ".join(told)


def _signed(shift: int) -> str:
    return f"{shift:+d}".replace("-", MINUS) if shift else "0"


def _floor(share: float) -> float:
    return math.floor(share * 10) / 10


def _ticks(bounds: Tuple[float, float]) -> List[float]:
    low, high = bounds
    return [low + step / 10 for step in range(round((high - low) * 10) + 1)]
