"""The colors of marks, as eyes see them that lack one of the three kinds of cones."""

import itertools
import re
from importlib import resources
from math import copysign, dist

import pytest

from antiloop.report._data.lanes import SHAPES, TONES
from antiloop.report._data.run_data import _mark

STYLE = "\n".join(
    (resources.files("antiloop.report") / "styles" / name).read_text(encoding="utf-8")
    for name in ("base.css", "steps.css")
)
# Machado, Oliveira, Fernandes 2009: a color, in linear light, as it is seen.
VIEWS = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "no green": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "no blue": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
# Oklab: a space in which distance is difference to the eye; 0.02 is just seen.
TO_CONES = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
TO_LAB = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def light(color):
    parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def seen(color, view):
    inside = [min(1, max(0, part)) for part in times(VIEWS[view], light(color))]
    cones = [copysign(abs(part) ** (1 / 3), part) for part in times(TO_CONES, inside)]
    return times(TO_LAB, cones)


def palettes():
    found = re.findall(r"--t\d: (#[0-9a-f]{6});", STYLE)
    assert len(found) == 2 * TONES
    return {"light": found[:TONES], "dark": found[TONES:]}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_two_colours_are_far_apart_for_all_eyes(scheme, view):
    points = [seen(color, view) for color in palettes()[scheme]]
    assert min(dist(*pair) for pair in itertools.combinations(points, 2)) > 0.085


def test_a_colour_comes_again_in_another_shape():
    looks = [(mark["tone"], mark["shape"]) for mark in map(_mark, range(TONES * SHAPES))]
    assert len(set(looks)) == len(looks) == 24
    assert _mark(TONES * SHAPES) == {"mark": "Y", "tone": 0, "shape": 0}


def test_the_page_has_a_style_for_each_look():
    for number in range(TONES):
        assert f".tone-{number} {{ --tone: var(--t{number}); }}" in STYLE
    assert len(re.findall(r"\.shape-\d", STYLE)) == SHAPES - 1  # the first is that of all
