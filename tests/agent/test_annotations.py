import collections.abc
import enum
import re
import sys
from dataclasses import dataclass, field
from datetime import date
from typing import (
    Annotated,
    Any,
    Dict,
    FrozenSet,
    List,
    Literal,
    Mapping,
    NewType,
    Optional,
    Sequence,
    Set,
    Tuple,
    TypedDict,
    TypeVar,
    Union,
)

import pytest

from antiloop._json_schema import schema_errors
from antiloop.agent._tools.annotations import annotation_schema, build_value


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Odd(enum.Enum):
    ONE = (1,)
    TWO = (2,)


@dataclass
class Point:
    x: int
    y: float = 0.0
    tags: List[str] = field(default_factory=list)
    seen: bool = field(default=False, init=False)


@dataclass
class Node:
    name: str
    children: "List[Node]" = field(default_factory=list)


class Place(TypedDict):
    city: str
    color: Color


class Hint(TypedDict, total=False):
    text: str


UserId = NewType("UserId", int)
STRING = {"type": "string"}
INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, STRING),
        (int, INTEGER),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {}),
        (type(None), {"type": "null"}),
        (Any, {}),
        (object, {}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (UserId, INTEGER),
        (list, {"type": "array"}),
        (List[int], {"type": "array", "items": INTEGER}),
        (List[Any], {"type": "array"}),
        (Set[int], {"type": "array", "items": INTEGER}),
        (Sequence[str], {"type": "array", "items": STRING}),
        (dict, {"type": "object"}),
        (Dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
        (Mapping[str, Any], {"type": "object"}),
        (tuple, {"type": "array"}),
        (Tuple[int, ...], {"type": "array", "items": INTEGER}),
        (
            Tuple[int, str],
            {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2},
        ),
        (Optional[int], {"anyOf": [INTEGER, {"type": "null"}]}),
        (Union[int, str], {"anyOf": [INTEGER, STRING]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1, None], {"enum": ["a", 1, None]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Odd, {"type": "string", "enum": ["ONE", "TWO"]}),
    ],
)
def test_an_annotation_has_a_schema(annotation, schema):
    assert annotation_schema(annotation) == schema


@pytest.mark.skipif(sys.version_info < (3, 10), reason="X | Y is new in Python 3.10")
def test_the_new_union_is_the_old_union():
    assert annotation_schema(eval("int | None")) == annotation_schema(Optional[int])


def test_a_dataclass_is_an_object_of_what_its_constructor_takes():
    assert annotation_schema(Point) == {
        "type": "object",
        "properties": {
            "x": INTEGER,
            "y": {"type": "number"},
            "tags": {"type": "array", "items": STRING},
        },
        "required": ["x"],
        "additionalProperties": False,
    }


def test_a_typed_dict_is_an_object():
    assert annotation_schema(Place)["required"] == ["city", "color"]
    assert annotation_schema(Hint)["required"] == []
    assert annotation_schema(Hint)["properties"] == {"text": STRING}


def test_a_class_inside_itself_is_left_open():
    assert annotation_schema(Node)["properties"]["children"] == {
        "type": "array",
        "items": {"type": "object"},
    }


def test_a_text_in_annotated_describes():
    typing = pytest.importorskip("typing")
    annotated = typing.Annotated[int, 5, "how many", "ignored"]
    assert annotation_schema(annotated) == {"type": "integer", "description": "how many"}
    assert annotation_schema(typing.Annotated[int, 5]) == INTEGER


def test_annotations_that_name_nothing_are_refused_with_the_class():
    @dataclass
    class Broken:
        value: "Nowhere"  # noqa: F821

    with pytest.raises(TypeError, match=r"annotations of .*Broken: name 'Nowhere'"):
        annotation_schema(Broken)


@pytest.mark.parametrize(
    ("annotation", "value", "built"),
    [
        (str, "x", "x"),
        (Any, {"a": [1]}, {"a": [1]}),
        (Color, "red", Color.RED),
        (Odd, "TWO", Odd.TWO),
        (Optional[Color], None, None),
        (Optional[Color], "blue", Color.BLUE),
        (Union[int, Color], "blue", Color.BLUE),
        (Literal["a"], "a", "a"),
        (List[Color], ["red", "blue"], [Color.RED, Color.BLUE]),
        (list, [1, "x"], [1, "x"]),
        (Tuple[Color, int], ["red", 1], (Color.RED, 1)),
        (Tuple[Color, ...], ["red"], (Color.RED,)),
        (tuple, [1, 2], (1, 2)),
        (Set[int], [1, 1, 2], {1, 2}),
        (FrozenSet[int], [1], frozenset([1])),
        (collections.abc.Iterable, [1], [1]),
        (Dict[str, Color], {"a": "red"}, {"a": Color.RED}),
        (dict, {"a": 1}, {"a": 1}),
        (Dict[int, str], {"1": "x"}, {1: "x"}),
        (Dict[Color, int], {"red": 1}, {Color.RED: 1}),
        (Dict[date, int], {"2026-01-31": 1}, {date(2026, 1, 31): 1}),
        (Dict[Any, int], {"1": 1}, {"1": 1}),
        (Point, {"x": 1, "tags": ["t"]}, Point(1, 0.0, ["t"])),
        (List[Point], [{"x": 1}], [Point(1)]),
        (Place, {"city": "Rome", "color": "red"}, {"city": "Rome", "color": Color.RED}),
        (Node, {"name": "a", "children": [{"name": "b"}]}, Node("a", [Node("b")])),
    ],
)
def test_a_value_becomes_what_the_annotation_says(annotation, value, built):
    assert schema_errors(value, annotation_schema(annotation), "it") == []
    result = build_value(annotation, value)
    assert result == built
    assert type(result) is type(built)


@pytest.mark.parametrize(
    ("annotation", "key", "told"),
    [
        (Dict[int, str], "one", "key 'one': expected an integer"),
        (Dict[Color, int], "green", "key 'green': expected one of 'red', 'blue'"),
        (Dict[date, int], "today", "expected a date such as 2026-01-31"),
    ],
)
def test_a_key_that_does_not_fit_is_named(annotation, key, told):
    with pytest.raises(ValueError, match=told):
        build_value(annotation, {key: 1})


def test_a_field_may_be_marked_as_required_or_not():
    typing_extensions = pytest.importorskip("typing_extensions")
    marks = {name: getattr(typing_extensions, name) for name in ("Required", "NotRequired")}
    fields = {
        "always": marks["Required"][int],
        "sometimes": marks["NotRequired"][Color],
        "text": 'NotRequired["Color"]',
    }
    marked = typing_extensions.TypedDict("marked", fields)
    marked.__module__ = __name__
    globals().update(marks)
    try:
        schema = annotation_schema(marked)
        built = build_value(marked, {"always": 1, "sometimes": "red"})
    finally:
        for name in marks:
            del globals()[name]
    assert schema["required"] == ["always"]
    assert schema["properties"]["sometimes"] == schema["properties"]["text"]
    assert built == {"always": 1, "sometimes": Color.RED}


def test_numbers_become_the_kind_that_the_annotation_says():
    assert type(build_value(int, 3.0)) is int
    assert type(build_value(float, 3)) is float
    assert type(build_value(Optional[float], 3)) is float


def test_a_value_that_fits_no_choice_stays_as_it_is():
    assert build_value(Union[int, None], "x") == "x"


def alias(name, value, *parameters):
    """Return what ``type NAME[*parameters] = value`` makes, on any Python."""
    typing_extensions = pytest.importorskip("typing_extensions")
    return typing_extensions.TypeAliasType(name, value, type_params=parameters)


def test_an_alias_is_what_it_names():
    ids = alias("Ids", List[int])
    assert annotation_schema(ids) == annotation_schema(List[int])
    assert annotation_schema(Optional[ids]) == annotation_schema(Optional[List[int]])
    assert build_value(Dict[str, alias("Colors", Tuple[Color, ...])], {"a": ["red"]}) == {
        "a": (Color.RED,)
    }
    assert annotation_schema(alias("Ours", ids)) == annotation_schema(List[int])


def test_an_alias_has_its_parameters_filled_in_by_name():
    first, second = TypeVar("first"), TypeVar("second")
    swapped = alias("Swapped", Dict[second, List[first]], first, second)[int, str]
    assert annotation_schema(swapped) == annotation_schema(Dict[str, List[int]])
    assert build_value(swapped, {"a": [3.0]}) == {"a": [3]}
    itself = alias("Itself", first, first)
    assert annotation_schema(itself[int]) == {"type": "integer"}
    assert annotation_schema(alias("Many", List[first], first)) == {"type": "array"}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="a statement of Python 3.12")
def test_an_alias_inside_itself_is_left_open():
    scope = {}
    exec("type Tree = dict[str, Tree] | int\ntype Pairs[T] = list[tuple[T, T]]", scope)
    inside = {"type": "object"}
    assert annotation_schema(scope["Tree"]) == {"anyOf": [inside, {"type": "integer"}]}
    assert build_value(scope["Tree"], {"a": {"b": 3.0}}) == {"a": {"b": 3}}
    pairs = annotation_schema(scope["Pairs"][int])
    assert pairs == annotation_schema(List[Tuple[int, int]])


def test_a_limit_beside_a_type_is_part_of_its_schema():
    limits = pytest.importorskip("annotated_types")
    cases = [
        (int, (limits.Ge(1), limits.Lt(5)), {"minimum": 1, "exclusiveMaximum": 5}),
        (float, (limits.Interval(gt=0, le=1),), {"exclusiveMinimum": 0, "maximum": 1}),
        (str, (limits.Len(1, 3),), {"minLength": 1, "maxLength": 3}),
        (List[int], (limits.MinLen(2),), {"minItems": 2}),
        (date, (limits.Ge(date(2026, 1, 1)), limits.MinLen(1)), {}),
        (bool, (limits.Ge(1),), {}),
    ]
    for annotation, notes, added in cases:
        marked = Annotated[(annotation, *notes)]
        assert annotation_schema(marked) == {**annotation_schema(annotation), **added}
    some = annotation_schema(Annotated[Optional[int], limits.Ge(1)])
    assert some == {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}


def test_a_limit_in_a_field_of_pydantic_is_part_of_the_schema():
    pydantic = pytest.importorskip("pydantic")
    page = Annotated[int, pydantic.Field(ge=1, le=9, description="which page")]
    assert annotation_schema(page) == {
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
        "description": "which page",
    }
    code = Annotated[str, pydantic.Field(pattern="^[A-Z]+$", min_length=2)]
    assert annotation_schema(code) == {"type": "string", "pattern": "^[A-Z]+$", "minLength": 2}
    compiled = Annotated[str, pydantic.StringConstraints(pattern=re.compile("^a"))]
    assert annotation_schema(compiled) == {"type": "string", "pattern": "^a"}
