"""What kind of answer a tool gave: the least that a text must be read to judge it."""

import re
from enum import Enum
from typing import Optional

REFUSED_MARKER = "[antiloop] Refused:"
"""How the result of every refused call begins, so that any history shows which those are."""


class Outcome(str, Enum):
    """What came back from a call, as far as it bears on being stuck."""

    UNKNOWN = "u"
    """The result is not known."""
    SUCCESS = "s"
    """Something came back."""
    EMPTY = "e"
    """The call looked for something and found nothing."""
    SILENT = "n"
    """The call says nothing at all, as most commands that succeed."""
    FAILURE = "f"
    """The whole answer is a failure."""
    INVALID = "i"
    """A failure of a special kind: no such tool, or arguments that do not fit it."""
    WAITING = "w"
    """Come back later: work is under way, or the other side is busy."""
    REFUSED = "r"
    """We refused the call."""

    is_failure: bool
    """Whether the call failed."""
    says_something: bool
    """Whether the words of the answer matter."""
    is_fruitless: bool
    """Whether the call failed, found nothing or says nothing."""


# Plain attributes, not properties: every step of every run asks for them.
for _kind in Outcome:
    _kind.is_failure = _kind in (Outcome.FAILURE, Outcome.INVALID)
    _kind.says_something = _kind not in (Outcome.EMPTY, Outcome.SILENT)
    _kind.is_fruitless = _kind.is_failure or not _kind.says_something


_SHORT = 1_000  # characters: in a longer answer the word "error" is part of what was asked for
_BRIEF = 300
_HEAD = 120  # characters in which an answer that is a failure says so
_SPACED = {code: " " for code in range(128) if not chr(code).isalnum()}
_NAME = re.compile(r"\w[./\\_-]\w")  # a path, a file, an identifier: these hold no statement

_NEGATIVE = frozenset(
    """
    aborted cannot couldn denied didn disallowed doesn don err error errors exception fail failed
    failing fails failure forbidden hasn illegal impossible incorrect invalid isn malformed mismatch
    missing not refused rejected traceback unable unauthorized unavailable undefined unexpected
    unknown unrecognized unresolved unsupported wasn wouldn wrong
    """.split()
)
_BENIGN = re.compile(
    r"\b(?:\w*errors?|fail\w*|missing|invalid)(?:\W{1,3}(?:null|none|false|0)\b|\W{0,3}[\[{]\W?[\]}])"
    r"|\b(?:0|no|zero|without(?: any)?)\s+(?:\w+\s+)?(?:errors?|fail\w*|exceptions?)\b"
)  # "error": null, 0 failed, no errors
_FORMAL = frozenset(  # one of these stands in every answer that is judged by its form
    """
    0 429 503 exit later limit limited limits nil no none nothing null output overloaded pending
    processing progress queued ready requests running starting temporarily undefined waiting zero
    """.split()
)
_WORK = r"(?:in[ _-]progress|pending|processing|queued|running|starting|waiting)"
_WAITING = re.compile(
    rf"\b(?:still|is|are|currently)\s+(?:\w+\s+)?{_WORK}\b"
    rf"|\b(?:status|state)\W{{1,5}}{_WORK}\b|\W*{_WORK}\b[^.]{{0,40}}$",
    re.IGNORECASE,
)
_BUSY = re.compile(
    r"\b(?:429|503|overloaded|rate.?limit\w*|temporarily|too many requests|not.?ready"
    r"|(?:try|retry)\s+(?:again\s+)?later)\b",
    re.IGNORECASE,
)
_SILENT = re.compile(
    r"\W*(?:(?:\w+\s+){0,3}no\s+output|exit\s+(?:code|status)\s+[01])?\W*$", re.IGNORECASE
)
_TROUBLE = r"(?:error|issue|problem|warning|fail|vulnerab|conflict|violation|chang|difference)"
_NOTHING = re.compile(
    r"\s*(?:\[\s*\]|\{\s*\}|\(\)|null|none|nil|undefined)\s*$"
    rf"|\W*(?:\w+\W+){{0,2}}(?:no|0|zero|nothing)\s+(?!(?:\w+\s+)?{_TROUBLE})(?:\w+\s+){{0,3}}?"
    r"(?:results?|matches|match|files?|entries|records?|rows?|items?|hits?|found|spans?)\b",
    re.IGNORECASE,
)
_HARNESS = re.compile(r"^\[.*$", re.MULTILINE)  # remarks of who ran the tool: [metadata], [exit 0]
_CALL_NOUNS = ("tool", "function", "command", "argument", "parameter", "input", "propert", "field")
_INVALID = re.compile(
    r"unknown (?:tool|command|function)|no such (?:tool|function)|(?:tool|function) \S+ (?:is )?not"
    r"|not a (?:valid|known) (?:tool|command|function)|(?:tool|function) not found"
    r"|(?:missing|requires?|unexpected|invalid|unrecognized)\b.{0,30}\b(?:argument|parameter|propert|input)"
    r"|input ?validation ?error|required (?:argument|parameter|propert|field)|field required",
    re.IGNORECASE,
)


def outcome(text: str, is_error: bool = False) -> Outcome:
    """Judge a result by its first words; ``is_error`` is believed.

    >>> outcome("bash: line 3: frob: command not found")
    <Outcome.FAILURE: 'f'>
    >>> outcome('{"state": "running", "percent": 40}')
    <Outcome.WAITING: 'w'>
    >>> outcome("No results found.")
    <Outcome.EMPTY: 'e'>
    """
    length = len(text)
    if length > _SHORT:
        return Outcome.FAILURE if is_error else Outcome.SUCCESS
    if text.startswith(REFUSED_MARKER):
        return Outcome.REFUSED
    words = text[:_HEAD].lower().translate(_SPACED).split()
    if length <= _BRIEF and not (words and _FORMAL.isdisjoint(words)):
        brief = _brief_outcome(text)
        if brief is not None:
            return brief
    if is_error or not _NEGATIVE.isdisjoint(words):
        return _short_outcome(text[:_HEAD], is_error)
    return Outcome.SUCCESS


def _brief_outcome(text: str) -> Optional[Outcome]:
    """Judge an answer of a line or two by its form."""
    if _NOTHING.match(text):
        return Outcome.EMPTY
    # Many commands mean "no" by exit status 1: that of grep, test and diff is no failure.
    if _SILENT.match(text) or ("\n[" in text and _SILENT.match(_HARNESS.sub("", text))):
        return Outcome.SILENT
    return Outcome.WAITING if _BUSY.search(text) or _WAITING.search(text) else None


def _short_outcome(head: str, is_error: bool) -> Outcome:
    """Judge an answer in which a word of failure was found, or that is said to be one."""
    lower = head.lower()
    said = " ".join(part for part in lower.split() if not _NAME.search(part))
    said = _BENIGN.sub(" ", said)
    if not is_error and _NEGATIVE.isdisjoint(said.translate(_SPACED).split()):
        return Outcome.SUCCESS
    is_invalid = any(noun in lower for noun in _CALL_NOUNS) and _INVALID.search(head)
    return Outcome.INVALID if is_invalid else Outcome.FAILURE
