"""The page about the architecture shows the code as it is."""

import pytest
from architecture_picture import (
    COMMAND,
    ENGINE,
    IMAGES,
    PICTURES,
    SOURCE,
    boxes,
    levels,
    of_package,
    picture,
)

PAGE = IMAGES.parent / "explanation" / "architecture.md"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_that_of_the_imports(name):
    drawn = (IMAGES / name).read_text(encoding="utf-8")
    assert drawn == picture(*PICTURES[name]), f"draw the pictures again: {COMMAND}"


def test_the_page_tells_what_each_part_and_room_does():
    page = PAGE.read_text(encoding="utf-8")
    rooms = {path.parent.relative_to(SOURCE) for path in SOURCE.glob("*/*/*.*")}
    rooms = {room.as_posix().replace(f"{ENGINE}/", "") for room in rooms}
    named = {*boxes(of_package), *(room for room in rooms if "__pycache__" not in room)}
    named -= {"ground"}
    assert {name for name in named if f"| `{name}` |" not in page} == set()


def test_parts_that_import_each_other_are_named():
    with pytest.raises(ValueError, match="these import each other: a, b"):
        levels({"a": {"b"}, "b": {"a"}, "c": set()})
