"""Draw who imports whom, out of the imports themselves: the package, and the engine within.

    PYTHONPATH=src python tests/docs/architecture_picture.py

An arrow is left out where a longer way leads to the same place.
"""

import ast
from html import escape
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "antiloop"
IMAGES = Path(__file__).parents[2] / "docs" / "images"
COMMAND = "PYTHONPATH=src python tests/docs/architecture_picture.py"
ENGINE = "loop_detection"
GROUND = "ground"
FACES = ("__init__", "_internal")
WIDTH, BOX, HEIGHT, GAP, ROW = 960, 138, 50, 18, 96
STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
rect { fill: #ffffff; stroke: #818b98; rx: 6px }
.room { fill: #f6f8fa; stroke: #d1d9e0 }
path { fill: none; stroke: #818b98 }
marker path { fill: #818b98; stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } rect { fill: #0d1117; stroke: #656c76 }
  .room { fill: #151b23; stroke: #3d444d }
}"""


def of_package(names):
    """Name the part of the package that a module is in; the ground is what all of them stand on."""
    if not names or names[0] in ("__init__", "__main__"):
        return ""
    return names[0] if (SOURCE / names[0]).is_dir() or names[0] == "testing" else GROUND


def of_engine(names):
    """Name the room of the engine that a module is in, or the module itself where it is in none."""
    return names[1] if names[0] == ENGINE and len(names) > 1 and names[1] not in FACES else ""


PICTURES = {
    "architecture.svg": ("The parts of antiloop", of_package),
    "architecture-engine.svg": ("The rooms and modules of the engine", of_engine),
}
"""What is drawn, its title, and the box that a module belongs to."""


def boxes(part_of):
    """Return the boxes, each with the files in it."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        part = part_of(path.relative_to(SOURCE).with_suffix("").parts)
        if part:
            found.setdefault(part, []).append(path)
    return found


def imports(part_of):
    """Return the boxes that each box imports, for the type checker too."""
    found = boxes(part_of)
    return {
        part: {part_of(each) for path in paths for each in imported(path)} & found.keys() - {part}
        for part, paths in found.items()
    }


def imported(path):
    """Yield what a module imports of this package, as the names that lead there."""
    package = path.relative_to(SOURCE).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            module = (*base, *node.module.split(".")) if node.module else base
            yield from ((*module, alias.name) for alias in node.names)


def shortest(edges):
    """Leave out the edges that a longer way stands for."""
    return {
        part: {
            each
            for each in reached
            if not any(each in ways(edges, other) for other in reached - {each})
        }
        for part, reached in edges.items()
    }


def ways(edges, part):
    """Return all parts that can be reached from a part."""
    seen, waiting = set(), [part]
    while waiting:
        for each in edges[waiting.pop()] - seen:
            seen.add(each)
            waiting.append(each)
    return seen


def levels(edges):
    """Sort boxes into rows: each stands above all that it imports."""
    rows, left = [], dict(edges)
    while left:
        row = sorted(part for part, reached in left.items() if not reached & left.keys())
        if not row:
            raise ValueError(f"these import each other: {', '.join(sorted(left))}")
        rows.append(row)
        left = {part: reached for part, reached in left.items() if part not in row}
    return rows


def picture(title, part_of):
    """Return a drawing as SVG."""
    edges, files = imports(part_of), boxes(part_of)
    rows = levels(edges)
    height = len(rows) * ROW + GAP
    places = {}
    for number, row in enumerate(rows):
        start = (WIDTH - len(row) * BOX - (len(row) - 1) * GAP) / 2
        for column, part in enumerate(row):
            places[part] = (start + column * (BOX + GAP), height - (number + 1) * ROW + GAP)
    drawn = [
        arrow(places[part], places[each])
        for part, reached in shortest(edges).items()
        for each in sorted(reached)
    ]
    drawn += [box(part, places[part], is_folder=len(files[part]) > 1) for part in places]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<title>{title}; each imports those that its arrows point to</title>",
            f"<style>{STYLE}</style>",
            '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
            ' orient="auto"><path d="M0 0 8 4 0 8z"/></marker>',
            *drawn,
            "</svg>",
            "",
        ]
    )


def box(part, place, *, is_folder):
    """Draw a box with its name, shaded where it is a folder."""
    x, y = place
    kind = ' class="room"' if is_folder else ""
    return (
        f'<rect{kind} x="{x:g}" y="{y:g}" width="{BOX}" height="{HEIGHT}"/>'
        f'<text x="{x + BOX / 2:g}" y="{y + 30:g}" text-anchor="middle">{escape(part)}</text>'
    )


def arrow(start, end):
    """Draw a line from the lower edge of one box to the upper edge of another."""
    x, y = start[0] + BOX / 2, start[1] + HEIGHT
    to_x, to_y = end[0] + BOX / 2, end[1]
    bend = (to_y - y) / 2
    line = f"M{x:g} {y:g}C{x:g} {y + bend:g} {to_x:g} {to_y - bend:g} {to_x:g} {to_y:g}"
    return f'<path marker-end="url(#head)" d="{line}"/>'


if __name__ == "__main__":
    for name, drawn in PICTURES.items():
        (IMAGES / name).write_text(picture(*drawn), encoding="utf-8")
