"""Two calls are equal if a person would say so, in every process; no value makes it raise."""

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import itertools
import json
import math
import os
import pathlib
import sqlite3
import subprocess
import sys
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import ToolCall
from antiloop._text import canonical
from antiloop._text.canonical import (
    MAX_DEPTH,
    MAX_ITEMS,
    MAX_PARSED_DEPTH,
    canonical_arguments,
    canonical_json,
    parsed_arguments,
)
from antiloop.loop_detection._evidence.fingerprint import (
    call_fingerprint,
    short_call_fingerprint,
    text_fingerprint,
)


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Point:
    x: int
    y: object = None


class Model:
    """Looks like a pydantic model, as far as its callers can tell."""

    def __init__(self, **fields):
        self._fields = fields

    def model_dump(self):
        return self._fields


class Plain:
    """An object whose state is its attributes."""

    def __init__(self, **state):
        self.__dict__.update(state)


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Unwilling:
    """Raises at everything that a comparison might ask of it."""

    def _refuse(self, *args):
        raise RuntimeError("do not touch")

    __repr__ = __str__ = __eq__ = __hash__ = __bool__ = __len__ = __iter__ = _refuse
    __getattribute__ = __reduce_ex__ = __call__ = _refuse


class NoClass:
    @property
    def __class__(self):
        raise RuntimeError("no class")


class MetaUnwilling(type):
    def __getattribute__(cls, name):
        raise RuntimeError("do not ask my class")


class WithUnwillingClass(metaclass=MetaUnwilling):
    pass


class UnwillingText(str):
    def _refuse(self, *args):
        raise RuntimeError("do not touch")

    __str__ = __repr__ = strip = encode = __format__ = _refuse


class UnwillingNumber(int):
    def __int__(self):
        raise RuntimeError("do not count on me")


class UnwillingKey:
    def __str__(self):
        raise RuntimeError("no name")

    __repr__ = __str__


class EndlessState:
    def __reduce_ex__(self, protocol):
        return object, (), None, itertools.count()


class EndlessList(list):
    def __iter__(self):
        return itertools.count()


class EndlessMapping(collections.abc.Mapping):
    def __getitem__(self, key):
        return key

    def __iter__(self):
        return itertools.count()

    def __len__(self):
        return 1


def nested(depth, inside=()):
    """Return lists in lists, so deep."""
    value = list(inside)
    for _ in range(depth):
        value = [value]
    return value


def ring(length=1):
    """Return a list that contains itself, so many steps down."""
    first = inner = []
    for _ in range(length - 1):
        inner.append([])
        inner = inner[0]
    inner.append(first)
    return first


def two_circles(inner):
    """Return a list in a list that holds the outer or the inner one."""
    lists = [[], []]
    lists[0].append(lists[1])
    lists[1].append(lists[inner])
    return lists[0]


def same(one, other):
    """Whether two arguments are equal for a fingerprint."""
    return call_fingerprint("tool", one) == call_fingerprint("tool", other)


EQUAL = {
    "the order of keys": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "the order of keys, deep down": ([{"x": {"a": 1, "b": 2}}], [{"x": {"b": 2, "a": 1}}]),
    "JSON text": ({"q": "cats"}, '{ "q" : "cats" }'),
    "JSON text with escapes": ({"q": "é"}, '{"q": "\\u00e9"}'),
    "nothing and no arguments": (None, {}),
    "nothing and no text": (None, ""),
    "nothing and blanks": (None, " \n"),
    "nothing and null": (None, "null"),
    "whole floats": ({"n": 1}, {"n": 1.0}),
    "whole floats, from text": ({"n": 1}, '{"n": 1.0}'),
    "minus zero": ({"n": 0}, {"n": -0.0}),
    "NaN": ({"n": math.nan}, {"n": float("-nan")}),
    "NaN from text": ({"n": math.nan}, '{"n": NaN}'),
    "tuples and lists": ({"n": (1, 2)}, {"n": [1, 2]}),
    "sets": ({"n": {"a", "b", "c"}}, {"n": frozenset("cba")}),
    "bytes of any kind": ({"n": b"ab"}, {"n": bytearray(b"ab")}),
    "bytes in strides": ({"n": b"ac"}, {"n": memoryview(b"abcd")[::2]}),
    "an enum member and its value": ({"n": Color.RED}, {"n": "red"}),
    "an int enum member and its value": ({"n": Level.HIGH}, {"n": 3}),
    "an enum member as key": ({Color.RED: 1}, {"red": 1}),
    "a dataclass and a mapping": (Point(1, [2]), {"y": [2], "x": 1}),
    "a model and a mapping": (Model(x=1), {"x": 1}),
    "any mapping": ({"a": MappingProxyType({"b": 1})}, {"a": {"b": 1}}),
    "an ordered mapping": (collections.OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
    "a key that is a number": ({1: "x"}, {"1": "x"}),
    "a key that is nothing": ({None: "x"}, {"null": "x"}),
    "a key that is a pair": ({(1, 2): "x"}, {(1, 2.0): "x"}),
    "decimals": ({"n": decimal.Decimal("0.5")}, {"n": 0.5}),
    "fractions": ({"n": fractions.Fraction(1, 2)}, {"n": 0.5}),
    "complex numbers": ({"n": 1 + 0.5j}, {"n": complex(1.0, 0.5)}),
    "objects with equal state": (Plain(a=1), Plain(a=1)),
    "objects with equal slots": (Slotted("a"), Slotted("a")),
    "objects without state": (object(), object()),
    "queues": (collections.deque([1, 2]), collections.deque([1, 2])),
    "ranges": ({"n": range(10**12)}, {"n": range(10**12)}),
    "dates": (datetime.date(2024, 1, 2), datetime.date(2024, 1, 2)),
    "paths": (pathlib.PurePosixPath("a/b"), pathlib.PurePosixPath("a//b")),
    "exceptions": (ValueError("x"), ValueError("x")),
    "huge integers": ({"n": 10**5000}, {"n": 10**5000}),
    "circles": (ring(), ring()),
    "text of a kind of its own": (UnwillingText("[1]"), "[1]"),
    "text that is no JSON": ("cats", UnwillingText("cats")),
    "lone surrogates": ({"q": "\ud800"}, '{"q": "\\ud800"}'),
    "keys that become equal, in any order": ({1: "a", "1": "b"}, {"1": "b", 1: "a"}),
}

DIFFERENT = {
    "a value": ({"a": 1}, {"a": 2}),
    "a key": ({"a": 1}, {"b": 1}),
    "True and 1": ({"n": True}, {"n": 1}),
    "False and 0": ({"n": False}, {"n": 0}),
    "False and nothing": ({"n": False}, {"n": None}),
    "1 and its text": ({"n": 1}, {"n": "1"}),
    "nothing under a key and no key": ({"n": None}, {}),
    "no arguments and no items": ({}, []),
    "the order of items": ([1, 2], [2, 1]),
    "NaN and infinity": ({"n": math.nan}, {"n": math.inf}),
    "both infinities": ({"n": math.inf}, {"n": -math.inf}),
    "a set and a list": ({"n": {1}}, {"n": [1]}),
    "bytes and text": ({"n": b"ab"}, {"n": "ab"}),
    "the state of objects": (Plain(a=1), Plain(a=2)),
    "the slots of objects": (Slotted("a"), Slotted("b")),
    "the class of objects": (Plain(a=1), Exception()),
    "the items of queues": (collections.deque([1, 2]), collections.deque([2, 1])),
    "exceptions": (ValueError("x"), ValueError("y")),
    "huge integers": ({"n": 10**5000}, {"n": 10**5000 + 1}),
    "close floats": ({"n": 0.1}, {"n": math.nextafter(0.1, 1)}),
    "circles of different length": (ring(1), ring(2)),
    "where a circle leads": (two_circles(0), two_circles(1)),
    "paths of different systems": (pathlib.PurePosixPath("a"), pathlib.PureWindowsPath("a")),
    "keys that become equal": ({1: "a", "1": "b"}, {1: "a", "1": "c"}),
    "depth": (nested(5), nested(6)),
    "functions": ({"f": len}, {"f": max}),
    "classes": ({"f": int}, {"f": float}),
    "text and broken JSON": ('{"q": ', '{"q"'),
    "case": ({"q": "Cats"}, {"q": "cats"}),
    "blanks": ({"q": "cats "}, {"q": "cats"}),
}


@pytest.mark.parametrize(("one", "other"), EQUAL.values(), ids=EQUAL)
def test_what_makes_no_difference(one, other):
    assert same(one, other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_makes_a_difference(one, other):
    assert not same(one, other)


def test_a_call_is_its_tool_and_its_arguments():
    assert call_fingerprint("read", {}) != call_fingerprint("write", {})
    assert call_fingerprint("read", {"a": 1}) != call_fingerprint('read{"a":1}', {})


def test_a_tool_name_may_be_anything():
    assert call_fingerprint(None, {}) == call_fingerprint(None, {})
    assert call_fingerprint(None, {}) != call_fingerprint(["x"], {})


def test_canonical_json_is_sorted_ascii_json_without_blanks():
    assert canonical_json({"ö": [1.0, "é"], "a": {"c": None, "b": True}}) == (
        '{"a":{"b":true,"c":null},"\\u00f6":[1,"\\u00e9"]}'
    )


def test_plain_json_is_written_as_json():
    value = {"a": [1, 2.5, "x", None, True, {"b": []}], "c": -3}
    assert json.loads(canonical_json(value)) == value


def test_a_fingerprint_is_a_sha256():
    assert text_fingerprint("abc") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


def test_a_text_may_hold_lone_surrogates():
    assert text_fingerprint("\ud800") == text_fingerprint("\ud800")
    assert text_fingerprint("\ud800") != text_fingerprint("\ud801")


def test_marks_equal_nothing_that_a_tool_could_be_given():
    assert not same({"n": {1, 2}}, {"n": {"set": [1, 2]}})
    assert not same({"n": b"a"}, {"n": {"bytes": "61"}})


def test_arguments_that_are_no_json_stay_a_text():
    assert parsed_arguments("cats") == "cats"
    assert parsed_arguments('{"q": "cats"') == '{"q": "cats"'


def test_arguments_too_deep_to_parse_stay_a_text():
    deep = "[" * 100_000 + "]" * 100_000
    assert same(deep, deep)
    assert not same(deep, "[" * 99_999 + "]" * 99_999)


@given(st.integers(1, 2_000), st.sampled_from(["[{}]", '{{"a":{}}}', '[0,{{"b":{}}},[]]']))
def test_how_deep_a_text_is_parsed_depends_on_no_interpreter(times, layer):
    text = "1"
    for _ in range(times):
        text = layer.format(text)
    levels = times * (2 if "b" in layer else 1)
    is_parsed = levels <= MAX_PARSED_DEPTH
    assert (parsed_arguments(text) != text) == is_parsed


def test_parsed_arguments_are_plain_json():
    value = parsed_arguments({"when": datetime.date(2024, 1, 2), "n": (1, Color.RED)})
    assert json.loads(json.dumps(value)) == value
    assert value["n"] == [1, "red"]


def test_values_deeper_than_the_limit_are_equal():
    assert same(nested(10_000), nested(20_000))
    assert same(nested(MAX_DEPTH + 5, "a"), nested(MAX_DEPTH + 5, "b"))
    assert not same(nested(MAX_DEPTH - 5, "a"), nested(MAX_DEPTH - 5, "b"))


def test_deep_json_that_the_encoder_could_write_is_compared_by_the_same_rules():
    assert not same(nested(20, "a"), nested(20, "b"))
    assert same(nested(20, [1]), nested(20, [1.0]))


def test_what_stands_twice_side_by_side_is_no_circle():
    shared = [1]
    assert same([shared, shared], [[1], [1]])


@pytest.fixture
def few_items(monkeypatch):
    """A limit that is reached soon."""
    monkeypatch.setattr(canonical, "MAX_ITEMS", 1_000)
    return 1_000


@pytest.mark.usefixtures("few_items")
@pytest.mark.parametrize("endless", [EndlessState, EndlessList, EndlessMapping])
def test_a_value_that_never_ends_is_compared_as_far_as_the_limit(endless):
    assert canonical_json(endless()) == canonical_json(endless())


def test_parts_beyond_the_limit_make_no_difference(few_items):
    one = {"items": [(number,) for number in range(few_items)]}
    other = {"items": [(number,) for number in range(few_items - 1)] + [("last",)]}
    assert same(one, other)
    other["items"][0] = ("first",)
    assert not same(one, other)


def test_long_plain_arrays_are_compared_whole():
    assert not same(list(range(MAX_ITEMS + 1)), [*range(MAX_ITEMS), "last"])


def test_very_long_texts_are_compared_whole():
    text = "x" * 50_000_000
    assert same({"text": text + "a"}, {"text": text + "a"})
    assert not same({"text": text + "a"}, {"text": text + "b"})


UNWILLING = {
    "everything raises": Unwilling(),
    "the class raises": NoClass(),
    "the class of the class raises": WithUnwillingClass(),
    "a class that raises": WithUnwillingClass,
    "a text that raises": UnwillingText("{}"),
    "a number that raises": UnwillingNumber(3),
    "a key that raises": {UnwillingKey(): 1},
    "keys of many kinds": {1: 1, "a": 2, None: 3, UnwillingKey(): 4},
    "a decimal that is signaling": decimal.Decimal("sNaN"),
    "a decimal that is too large": decimal.Decimal("1e999999"),
    "a fraction that is too large": fractions.Fraction(10**400, 3),
    "a partial function": functools.partial(len, "x"),
    "a nameless function": lambda: 0,
    "a generator": (number for number in range(3)),
    "a module": sys,
    "a built-in function": open,
    "NotImplemented": NotImplemented,
    "an ellipsis": ...,
    "a lone surrogate": "\ud800",
    "many digits": "9" * 10_000,
    "a huge number": 10**10_000,
    "a huge negative number": -(10**10_000),
}


@pytest.mark.parametrize("name", UNWILLING)
@pytest.mark.parametrize(
    "inside", [lambda v: v, lambda v: [v], lambda v: {"a": v}], ids=["bare", "listed", "keyed"]
)
def test_a_value_that_fights_back_equals_itself(name, inside):
    value = UNWILLING[name]
    assert call_fingerprint("tool", inside(value)) == call_fingerprint("tool", inside(value))
    assert canonical_arguments(inside(value)) == canonical_arguments(inside(value))


def test_objects_that_show_no_state_are_told_apart_by_class():
    assert same({"a": Unwilling()}, {"a": Unwilling()})
    assert not same({"a": Unwilling()}, {"a": NoClass()})


hashable = st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.floats()
leaves = st.one_of(
    hashable,
    st.text(st.characters(min_codepoint=0xD7F0, max_codepoint=0xE010)),
    st.decimals(),
    st.fractions(),
    st.complex_numbers(),
    st.datetimes(),
    st.uuids(),
    st.sampled_from([Color.RED, Level.HIGH, len, int, ...]),
    st.integers(0, 3).map(lambda n: [Unwilling, NoClass, WithUnwillingClass, object][n]()),
    st.builds(UnwillingText, st.text()),
    st.functions(),
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(hashable, inner, max_size=4),
        st.frozensets(hashable, max_size=4),
        st.builds(Point, st.integers(), inner),
        st.builds(lambda x: Model(x=x), inner),
        st.builds(lambda x: Plain(x=x), inner),
        st.builds(Slotted, inner),
        st.builds(MappingProxyType, st.dictionaries(st.text(), inner, max_size=3)),
    ),
    max_leaves=12,
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(values)
def test_no_value_makes_a_fingerprint_raise(value):
    text = canonical_json(value)
    assert text.isascii()
    assert json.loads(text) == json.loads(canonical_json(json.loads(text)))
    assert call_fingerprint(value, value) == call_fingerprint(value, value)
    assert canonical_arguments(value) == canonical_arguments(ToolCall("t", value).arguments)


@given(st.dictionaries(st.text(max_size=5), plain, max_size=5), st.randoms())
def test_neither_the_order_of_keys_nor_the_way_through_text_matters(arguments, random):
    shuffled = list(arguments.items())
    random.shuffle(shuffled)
    assert same(arguments, dict(shuffled))
    assert same(arguments, json.dumps(arguments))


@given(plain, plain)
def test_equal_fingerprints_mean_equal_values(one, other):
    if canonical_json(one) == canonical_json(other):
        assert one == other


@given(st.lists(st.frozensets(st.text(max_size=3) | st.integers(), max_size=5), max_size=3))
def test_the_order_of_a_set_never_shows(sets):
    assert same([{*sorted(each, key=repr)} for each in sets], sets)


PROBE = """
import sys
sys.path[:0] = {path!r}
from test_fingerprint import EQUAL, DIFFERENT, UNWILLING, call_fingerprint
values = [value for pair in [*EQUAL.values(), *DIFFERENT.values()] for value in pair]
print("\\n".join(call_fingerprint("tool", value) for value in values + [*UNWILLING.values()]))
"""


def fingerprints_elsewhere(hash_seed):
    """Return the fingerprints of all values of this file, made in another process."""
    path = [str(pathlib.Path(__file__).parent), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(path=path)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_fingerprints_are_the_same_in_every_process():
    one, other = fingerprints_elsewhere("1"), fingerprints_elsewhere("2")
    assert len(one) == 2 * (len(EQUAL) + len(DIFFERENT)) + len(UNWILLING)
    assert one == other


def half_of_the_outer_list():
    """Return a list that holds itself, next to another item, two steps down."""
    outer = []
    outer.append({"in": [outer], "and": 1})
    return outer


class Row:
    """A row as `sqlite3` and others give it: it is no mapping, and cannot be pickled."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, name):
        return self.values[name]

    def keys(self):
        return list(self.values)

    def __reduce_ex__(self, protocol):
        raise TypeError("cannot pickle a row")


def row(a, b):
    return Row({"a": a, "b": b})


def test_rows_of_sqlite_are_told_apart_by_what_they_hold():
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    one, other = (database.execute("select ? as n", (n,)).fetchall() for n in (1, 2))
    database.close()
    assert canonical_json(one) == '[{"\\u0000Row":{"n":1}}]'
    assert canonical_json(other) == '[{"\\u0000Row":{"n":2}}]'


HUGE, STATE = 2**4096, '[{"\\u0000type":"test_fingerprint.'
CANONICAL = {
    "a circle": (ring(), '[{"\\u0000circular":1}]'),
    "a wide circle": (ring(3), '[[[{"\\u0000circular":3}]]]'),
    "a circle past a mapping": (
        half_of_the_outer_list(),
        '[{"and":1,"in":[{"\\u0000circular":3}]}]',
    ),
    "a circle in a circle": ([two_circles(1)], '[[[{"\\u0000circular":1}]]]'),
    "a circle in the state of an object": (
        Plain(a=ring()),
        f'{{"\\u0000Plain":[{STATE}Plain"}}],{{"a":[{{"\\u0000circular":1}}]}}]}}',
    ),
    "a set": ({2, 10, "a"}, '{"\\u0000set":["a",10,2]}'),
    "bytes": (b"ab", '{"\\u0000bytes":"6162"}'),
    "keys that become equal": ({1: "a", "1": "b"}, '{"\\u0000pairs":[["1","a"],["1","b"]]}'),
    "keys that become equal, of what has no order": (
        {1: {"b": 1}, "1": {"a": 2}},
        '{"\\u0000pairs":[["1",{"a":2}],["1",{"b":1}]]}',
    ),
    "keys that are no text": ({None: 1, True: 2, (1, 2): 3}, '{"[1,2]":3,"null":1,"true":2}'),
    "the largest number in decimal": (2**4095 - 1, str(2**4095 - 1)),
    "a number too long for decimal": (2**4095, f'{{"\\u0000int":"{hex(2**4095)}"}}'),
    "a number as long below zero": (-HUGE, f'{{"\\u0000int":"{hex(-HUGE)}"}}'),
    "numbers beyond 64 bits": ([2**64, -(2**64)], f"[{2**64},{-(2**64)}]"),
    "a whole float beyond 64 bits": (float(2**70), str(2**70)),
    "a complex number": (1 + 0.5j, '{"\\u0000complex":[1,0.5]}'),
    "NaN and infinity": ([math.nan, -math.inf], '[{"\\u0000float":"nan"},{"\\u0000float":"-inf"}]'),
    "a fraction and a decimal": (
        [fractions.Fraction(4, 2), decimal.Decimal("0.50")],
        "[2,0.5]",
    ),
    "an object with attributes": (
        Plain(a={1}),
        f'{{"\\u0000Plain":[{STATE}Plain"}}],{{"a":{{"\\u0000set":[1]}}}}]}}',
    ),
    "an object with slots": (
        Slotted("x"),
        f'{{"\\u0000Slotted":[{STATE}Slotted"}}],[null,{{"value":"x"}}]]}}',
    ),
    "an object without state": (
        object(),
        '{"\\u0000object":[[{"\\u0000type":"builtins.object"}],null]}',
    ),
    "an object that holds items": (
        collections.deque([1, {2}]),
        '{"\\u0000deque":[[],null,[1,{"\\u0000set":[2]}]]}',
    ),
    "a date": (datetime.date(2024, 1, 2), '{"\\u0000date":[[{"\\u0000bytes":"07e80102"}]]}'),
    "a path": (pathlib.PurePosixPath("a//b"), '{"\\u0000PurePosixPath":"a/b"}'),
    "an exception": (ValueError("x"), '{"\\u0000ValueError":[["x"]]}'),
    "a function": (len, '{"\\u0000builtin_function_or_method":"builtins.len"}'),
    "a class": (Plain, '{"\\u0000type":"test_fingerprint.Plain"}'),
    "a dataclass": (Point(1, {2}), '{"x":1,"y":{"\\u0000set":[2]}}'),
    "a model": (Model(x={1}), '{"x":{"\\u0000set":[1]}}'),
    "a row of a database": (row(1, {2}), '{"\\u0000Row":{"a":1,"b":{"\\u0000set":[2]}}}'),
    "views of a mapping": ([{"a": 1}.keys(), {"a": 1}.items()], '[["a"],[["a",1]]]'),
    "a mapping of a kind of its own": (MappingProxyType({"b": (1,)}), '{"b":[1]}'),
    "what raises": ([Unwilling()], '[{"\\u0000Unwilling":null}]'),
    "what is as deep as is looked at": (
        nested(MAX_DEPTH - 1, [{1}]),
        "[" * MAX_DEPTH + '{"\\u0000more":null}' + "]" * MAX_DEPTH,
    ),
    "what is not deeper than is looked at": (
        nested(MAX_DEPTH - 2, [None, "x"]),
        "[" * (MAX_DEPTH - 1) + 'null,"x"' + "]" * (MAX_DEPTH - 1),
    ),
}


@pytest.mark.parametrize(("value", "text"), CANONICAL.values(), ids=CANONICAL)
def test_each_rule_has_its_form(value, text):
    assert canonical_json(value) == text
    assert canonical_json(json.loads(text)) == text


def test_a_cut_is_marked_where_the_limit_is_reached(few_items):
    """The list itself and 998 numbers are looked at; the next is the mark, the rest is left out."""
    written = json.loads(canonical_json([*range(2 * few_items), {1}]))
    assert written[:-1] == list(range(few_items - 1))
    assert written[-1] == {"\0more": None}


def test_a_copy_shares_nothing_that_can_be_changed():
    value = {"a": [1, {"b": [2]}], "c": {"d": "x"}, "e": 1}
    copy = canonical.copied(value)
    copy["a"][1]["b"].append(3)
    copy["c"]["d"] = "y"
    assert value == {"a": [1, {"b": [2]}], "c": {"d": "x"}, "e": 1}
    assert canonical.copied("text") == "text"


def test_the_text_of_a_value_is_its_own_or_canonical():
    assert canonical.text_of("a b") == "a b"
    assert canonical.text_of(UnwillingText("a b")) == "a b"
    assert canonical.text_of({"b": 1.0}) == '{"b":1}'


@pytest.mark.parametrize("is_fast", [True, False])
def test_canonical_json_is_the_same_without_the_encoder_in_c(is_fast, monkeypatch):
    if not is_fast:
        monkeypatch.setattr(json.encoder, "c_make_encoder", None)
    encode = canonical._encoder()
    value = {"b": [1, 2.5, None, True, {"d": "é", "c": []}], "a": "x"}
    assert encode(value) == '{"a":"x","b":[1,2.5,null,true,{"c":[],"d":"\\u00e9"}]}'
    assert encode("x") == '"x"'
    assert encode([]) == "[]"


def deep(value, depth):
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "value",
    [
        "x",
        "",
        None,
        True,
        2**64 - 1,
        -(2**64) + 1,
        0.5,
        [],
        {},
        [1, [2, {"a": None}]],
        deep("x", 8),
    ],
)
def test_a_value_that_is_plain_comes_back_as_it_is(value):
    assert canonical.plain(value) is value


@pytest.mark.parametrize(
    ("value", "simple"),
    [
        (1.0, 1),
        (-0.0, 0),
        ((1, 2), [1, 2]),
        ({1: "x"}, {"1": "x"}),
        ([(1,)], [[1]]),
        ({"a": (1,)}, {"a": [1]}),
        ({"a": math.inf}, {"a": {"\0float": "inf"}}),
    ],
)
def test_any_other_value_is_made_plain(value, simple):
    made = canonical.plain(value)
    assert made == simple
    assert type(made) is type(simple)
    assert canonical.plain([value]) == [simple]


@pytest.mark.parametrize("value", [2**64, -(2**64), deep([1], 9), [deep(0.5, 9)]])
def test_large_and_deep_values_are_compared_like_others(value):
    assert canonical.plain(value) == value
    assert canonical_json(value) == json.dumps(value, separators=(",", ":"))


def test_of_a_value_that_is_copied_only_containers_are_new():
    inner = ["x"]
    value = {"a": inner, "b": "text", "c": {"d": inner}}
    copy = canonical.copied(value)
    assert copy == value
    assert copy["a"] is not inner
    assert copy["c"] is not value["c"]
    assert copy["c"]["d"] is not inner


def test_a_model_that_holds_itself_is_a_circle():
    model = Model(x=1)
    model._fields["me"] = [model]
    assert canonical_json(model) == '{"me":[{"\\u0000circular":3}],"x":1}'


@given(st.lists(st.from_regex("[a-z]{1,9}(_[a-z]{1,9}){0,2}", fullmatch=True), unique=True))
def test_tools_with_equal_arguments_are_told_apart(tools):
    assert len({short_call_fingerprint(tool, "{}") for tool in tools}) == len(tools)
    # Found among 2,592 names of tools: 20 bits are too few.
    pair = {short_call_fingerprint(tool, "{}") for tool in ("fetch_branch_list", "list_order_list")}
    assert len(pair) == 2


@dataclasses.dataclass(frozen=True)
class Scale:
    factor: int

    def __call__(self, value):
        return self.factor * value


@given(st.integers(), st.integers())
def test_what_can_be_called_is_compared_by_its_state(one, other):
    for make in (Scale, lambda number: functools.partial(pow, number)):
        equal = canonical_json(make(one)) == canonical_json(make(other))
        assert equal == (one == other)
    assert canonical_json(math.sin) != canonical_json(math.cos)
