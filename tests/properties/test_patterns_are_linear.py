"""No text makes a regular expression of the package slow: the time grows as the text does."""

import ast
import importlib
import inspect
import pkgutil
import re
from heapq import nlargest
from pathlib import Path

import pytest
from growth import ATTEMPTS, NOTHING_S, seconds
from pattern_inputs import hostile_texts

import antiloop
from antiloop._text.secret_shapes import _OPTIONS
from antiloop.loop_detection import ClientProfile
from antiloop.loop_detection._evidence.tool_policy import field_values
from antiloop.loop_detection._profiles import _compiled

LENGTHS = ((1, 18, 100), (18, 200, 12), (200, 2_000, 3))
"""Lengths of two texts, and how much more than its share of the time the longer one may take.

A quadratic pattern takes about ten times its share where the text is ten times as long, and less
where a part of its time is linear. Shorter texts only show patterns that are worse, and that would
run for ever.
"""
SLOWEST = 8
"""Texts of a length that are compared with shorter ones: the text in question is among them."""

MADE = {
    "loop_detection._evidence.tool_policy.field_values": field_values(frozenset(("id", "took ms"))),
    **{
        f"integrations._hooks.first_look._text.{number}": re.compile(wrap, re.MULTILINE)
        for number, wrap in enumerate(each for p in ClientProfile.all() for each in p.wraps)
    },
    **{
        f"_text.secret_shapes._options.{name}.{number}": pattern
        for name, patterns in _OPTIONS.items()
        for number, pattern in enumerate(patterns)
    },
    **{
        f"loop_detection._profiles._compiled.{name}.{kind}": _compiled(getattr(profile, kind))
        for name, profile in ((each.name, each) for each in ClientProfile.all())
        for kind in ("wraps", "host_texts", "compaction")
        if getattr(profile, kind)
    },
}
"""Patterns that a function makes, by its name."""


GIVEN = ("_json_schema._is_like",)
"""Functions that look for a pattern of the user, who answers for it."""


def patterns():
    """Find every compiled pattern that a module or a class of the package holds."""
    found = dict(MADE)
    for module in modules():
        holders = [module, *(each for each in vars(module).values() if isinstance(each, type))]
        for holder in holders:
            for name, value in vars(holder).items():
                for number, pattern in enumerate(_patterns_in(value)):
                    where = module.__name__.partition(".")[2]
                    found.setdefault(f"{where}.{name}.{number}", pattern)
    return found


def modules():
    names = (each.name for each in pkgutil.walk_packages(antiloop.__path__, "antiloop."))
    for name in names:
        if not name.endswith("__main__"):
            try:
                yield importlib.import_module(name)
            except ImportError:  # an extra that is not installed here
                continue


def _patterns_in(value, depth=3):
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, (tuple, list, set, frozenset)):
        for each in value:
            yield from _patterns_in(each, depth - 1)
    elif depth and isinstance(value, dict):
        for pair in value.items():
            yield from _patterns_in(pair, depth - 1)


PATTERNS = patterns()
WAYS = {
    "search": lambda pattern, text: pattern.search(text),
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
    "sub": lambda pattern, text: pattern.sub("", text),
    "findall": lambda pattern, text: pattern.findall(text),
    "finditer": lambda pattern, text: list(pattern.finditer(text)),
    "split": lambda pattern, text: pattern.split(text),
}


def uses_of(name):
    """Return the ways in which a pattern is used; where they are not seen, the hardest."""
    module, variable, _ = f"antiloop.{name}".rsplit(".", 2)
    source = "" if name in MADE else inspect.getsource(importlib.import_module(module))
    called = re.findall(rf"\b{re.escape(variable)}\.(\w+)", source)
    is_passed_on = re.search(rf"\b{re.escape(variable)}\b(?!\.| = )", source)
    used = [way for way in WAYS if way in called]
    return ["search", "sub"] if is_passed_on or not used else used


def is_steep(use, pattern, short, long, share):
    """Whether the longer of two texts takes more than its share, however often it is asked."""
    for _ in range(ATTEMPTS):
        slow = seconds(use, pattern, long)
        if slow < NOTHING_S:
            return False
        fast = min(seconds(use, pattern, short) for _ in range(3))
        if slow < share * fast * len(long) / len(short):
            return False
    return True


def slow_texts(pattern, ways):
    """Find texts for which the time grows faster than their length, the shortest of them."""
    for shorter, longer, share in LENGTHS:
        texts = [*zip(hostile_texts(pattern, shorter), hostile_texts(pattern, longer))]
        for way in ways:
            use = WAYS[way]
            for short, long in nlargest(
                SLOWEST, texts, key=lambda pair: seconds(use, pattern, pair[1])
            ):
                if is_steep(use, pattern, short, long, share):
                    yield way, long


@pytest.mark.parametrize("name", PATTERNS)
def test_the_time_of_a_pattern_grows_as_the_text(name):
    found = next(slow_texts(PATTERNS[name], uses_of(name)), None)
    assert found is None, f"{found[0]} of {found[1][:60]!r}... is slow"


@pytest.mark.parametrize(
    "slow", [r"(?:a+)+!", r"id\s*=\s*\[[^\]]*\]", r"\w+\d+!", r"\d+ ?ms", r"^(.*)x(.*)y$"]
)
def test_a_slow_pattern_would_be_seen(slow):
    assert next(slow_texts(re.compile(slow), ["search"]), None)


def test_every_pattern_stands_where_it_is_found():
    source = Path(antiloop.__file__).parent
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                where = ".".join(path.relative_to(source).with_suffix("").parts)
                name = f"{where}.{getattr(node, 'name', 'lambda')}"
                assert _is_made_by(name) or not list(_uses_of_re(node)), (
                    f"{name}: compile the pattern at the top of the module"
                )


def _is_made_by(function):
    return function in GIVEN or any(
        name == function or name.startswith(f"{function}.") for name in MADE
    )


def _uses_of_re(function):
    called = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    for made in called:
        if isinstance(made, ast.Attribute) and getattr(made.value, "id", "") == "re":
            yield from {made.attr} - {"escape"}
