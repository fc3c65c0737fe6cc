"""Texts that are hard to match: made from the parts of a regular expression, at any length."""

import re
import string

try:  # Python 3.11 renamed it
    from re import _constants as names
    from re import _parser as parser
except ImportError:
    import sre_constants as names
    import sre_parse as parser

_SAMPLES = string.ascii_letters + string.digits + string.punctuation + " \t\nµé"
_CATEGORIES = {
    names.CATEGORY_DIGIT: r"\d",
    names.CATEGORY_NOT_DIGIT: r"\D",
    names.CATEGORY_SPACE: r"\s",
    names.CATEGORY_NOT_SPACE: r"\S",
    names.CATEGORY_WORD: r"\w",
    names.CATEGORY_NOT_WORD: r"\W",
}
_REPEATS = tuple(
    getattr(names, name)
    for name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
    if hasattr(names, name)
)
_PIECES = [*'a7 \n-_"\\[<', "a ", "a\n", "\n ", "1.", "a.", '\\"']
_RUNS, _ENDS = 100, ("", "\n\x00")


def hostile_texts(pattern, size):
    """Yield texts of about a length that a pattern may find hard: runs, prefixes, near matches."""
    tree = parser.parse(pattern.pattern, pattern.flags)
    walked = list(_walked(tree))
    pieces = dict.fromkeys([*_PIECES, *walked, *(f"{piece} " for piece in walked)])
    starts = list(dict.fromkeys(["", *_beginnings(tree)]))[: max(2, _RUNS // len(pieces))]
    for piece in pieces:
        run = piece * (size // len(piece) + 1)
        for start in starts:
            for end in _ENDS:
                yield start + run[:size] + end


def _walked(tree):
    """Yield what each part of a pattern matches, once, and each beginning of the whole."""
    yield from _beginnings(tree)
    for kind, value in tree:
        if kind in _REPEATS:
            yield from filter(None, [_example(value[2])])
        for inner in _inner(kind, value):
            yield from _walked(inner)


def _beginnings(tree):
    """Yield examples of a pattern that are cut after each of its parts."""
    text = ""
    for part in tree:
        for inner in _inner(*part):
            for begun in _beginnings(inner):
                yield text + begun
        text += _part(*part)
        if text:
            yield text


def _example(tree):
    return "".join(_part(*part) for part in tree)


def _part(kind, value):
    """Return a text that one part of a pattern matches."""
    if kind is names.LITERAL:
        return chr(value)
    if kind is names.NOT_LITERAL:
        return _of_class(f"[^{re.escape(chr(value))}]")
    if kind is names.ANY:
        return "x"
    if kind is names.IN:
        return _of_class(_written(value))
    if kind in _REPEATS:
        least, _, body = value
        return _example(body) * max(1, least)
    inner = _inner(kind, value)
    return _example(inner[0]) if inner and kind not in (names.ASSERT, names.ASSERT_NOT) else ""


def _inner(kind, value):
    """Return the patterns inside a part."""
    if kind in _REPEATS:
        return [value[2]]
    if kind is names.BRANCH:
        return value[1]
    if kind is names.SUBPATTERN:
        return [value[-1]]
    if kind in (names.ASSERT, names.ASSERT_NOT):
        return [value[1]]
    return [value] if kind is getattr(names, "ATOMIC_GROUP", None) else []


def _written(items):
    written = ""
    for kind, value in items:
        if kind is names.NEGATE:
            written += "^"
        elif kind is names.LITERAL:
            written += re.escape(chr(value))
        elif kind is names.RANGE:
            written += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        else:
            written += _CATEGORIES[value]
    return f"[{written}]"


def _of_class(written):
    return next((each for each in _SAMPLES if re.match(written, each)), "")
