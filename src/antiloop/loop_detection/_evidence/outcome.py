"""The outcome of a call, judged from as little of the answer's text as possible."""

import re
from typing import AbstractSet, Any, Optional, Tuple

from ..._text_enum import TextEnum
from ...stability import beta
from .effect import asks_whether, printing_programs, seems_to_look
from .job_state import is_under_way, shows_work
from .noise import command_line, given_words, without_echoes, words
from .plain_answer import (
    BRIEF,
    DENIALS,
    HEAD,
    NEGATIVE,
    NOTHING_WORDS,
    PHRASE_WORDS,
    SHORT,
    SILENCE_WORDS,
    ascii_words,
    may_be_running,
    telling_words,
)
from .structure import form_of

REFUSED_MARKER = "[antiloop] Refused:"
"""The beginning of every result of a blocked call.

A framework may put a prefix before it, as in ``PreToolUse:Bash hook error:``. A tool may return the
same text, so it counts only for a call that the monitor refuses.
"""


@beta
class Outcome(TextEnum):
    """The kind of answer that a call got, as far as it bears on being stuck."""

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
    counts_down: bool
    """Whether the answer may say how much is left to do: a failure, or that work is under way."""
    is_fruitless: bool
    """Whether the call failed, found nothing or says nothing."""


# Plain attributes, not properties: every step of every run asks for them.
for _kind in Outcome:
    _kind.is_failure = _kind in (Outcome.FAILURE, Outcome.INVALID)
    _kind.counts_down = _kind.is_failure or _kind is Outcome.WAITING
    _kind.says_something = _kind not in (Outcome.EMPTY, Outcome.SILENT)
    _kind.is_fruitless = _kind.is_failure or not _kind.says_something

UNKNOWN, SUCCESS, EMPTY, SILENT, FAILURE, INVALID, WAITING, REFUSED = Outcome
"""The members by themselves: before Python 3.12, a look-up in the class takes ten times as long."""

_MARKER = REFUSED_MARKER.lower()
# In a path, a file, an identifier: these hold no statement.
_NAME = re.compile(r"\w(?:[./\\_-]|::)\w")

# What a program that fails writes first: the class of an exception, or the word itself.
_THROWN = re.compile(
    r"\W{0,9}(?:(?:\w{1,30}\.){0,3}[A-Z]\w{0,30}(?:Error|Exception)(?=:|\s*\Z)|(?i:error|erreur"
    r"|fehler|fout|błąd|ошибка|エラー|错误|錯誤|오류)\s?[:：])"  # noqa: RUF001 - many languages
)

# A line of a file, as numbered listings and searches show it: 12→..., 12:..., a.py:12:..., and no
# status as in "403:forbidden", no date as in "01-May", no name as in "3-way".
_LISTED = re.compile(
    r"^[ \t]*(?:[^\s:]+\.\w+[:-]|(?![45]\d\d[:|]\w))"
    r"\d+(?:[→\t|]|:(?![ \d])|-(?![ \w])|[:-] (?= )).*$",
    re.MULTILINE,
)

# All of these read lower case: patterns that ignore it are several times slower.
_BENIGN = re.compile(
    r"\b(?:\w*errors?|fail\w*|missing|invalid)(?:\W{1,9}(?:null|none|false|0)\b|\W{0,3}[\[{]\W?[\]}])"
    r"|\b(?:0|no|zero|without(?: any)?)\s+(?:\w+\s+){0,2}(?:errors?|fail\w*|exceptions?)\b"
    r"|\bnot\s+\w+\s+(?:any\s+|new\s+){1,2}(?:errors?|fail\w*|issues?|problems?)\b"
    r"|\b(?:may|must|should) not\b|\bnot (?:none|staged)\b"
)  # "error": null, 0 failed, no errors, "you may not use this file", "Changes not staged"
_CLAUSE = re.compile(r"[.,;!](?=\s|$)|\n")
_BUSY = re.compile(
    r"\b(?:overloaded|rate.?limit\w*|temporarily|too many requests|not.?ready"
    r"|(?:try|retry)\s+(?:again\s+)?later)\b"
)
_SILENT = re.compile(
    r"\W*(?:exit\s+(?:code|status)\s+[01]"
    r"|(?:\w+[\s(.,]+){0,8}?(?:no|empty|without(?:\s+any)?|(?:did\s+not|didn't)\s+\w+\s+any)\s+output"
    r"(?:\s+(?:or|and)\s+errors?)?)?\W*$"
)
_TROUBLE = r"(?:error|issue|problem|warning|fail|vulnerab|conflict|violation|chang|difference)"
_NOTHING = re.compile(
    r"\s*(?:\[\s*\]|\{\s*\}|\(\)|null|none|nil|undefined)\s*$"
    rf"|\W*(?:\w+\W+){{0,2}}(?:no|0|zero|nothing)\s+(?!(?:\w+\s+)?{_TROUBLE})(?:\w+\s+){{0,3}}?"
    r"(?:results?|match(?:e[sd]|ing)?|files?|documents?|data available|entries|records?|rows?"
    r"|items?|hits?|found|spans?)\b"
)
_HARNESS = re.compile(r"^\[.*$", re.MULTILINE)  # of the program that ran the tool: [metadata] {}
_NO_TOOL = (
    r"unknown (?:tool|command|function)|no such (?:tool|function)|(?:tool|function) \S+ (?:is )?not"
    r"|not a (?:valid|known) (?:tool|command|function)|(?:tool|function) not found"
)
_MISSING = re.compile(_NO_TOOL)
_INVALID = re.compile(
    rf"{_NO_TOOL}"
    r"|(?:missing|requires?|unexpected|invalid|unrecognized)\b.{0,30}\b(?:argument|parameter|propert|input)"
    r"|input ?validation ?error|required (?:argument|parameter|propert|field)|field required"
)


def outcome(text: str, is_error: bool = False, arguments: Any = None, tool: str = "") -> Outcome:
    """Judge a result by its first words; ``is_error`` is believed.

    An object that lists nothing, and repeats the arguments, is empty.

    A text that reads like a refusal is a text like any other: any tool could say it.

    >>> outcome("bash: line 3: frob: command not found")
    <Outcome.FAILURE: 'f'>
    >>> outcome('{"state": "running", "percent": 40}')
    <Outcome.WAITING: 'w'>
    >>> outcome("No results found.")
    <Outcome.EMPTY: 'e'>
    """
    form = form_of(text)
    if form.is_busy:
        return WAITING
    if is_error:
        return _of_words(text, True)
    if form.has_failed:
        return _failure(form.text[:HEAD].lower())
    if form.is_data:
        if form.is_under_way:
            return WAITING
        return EMPTY if _adds_nothing(form.besides, arguments) else SUCCESS
    is_silent = form.has_failed is False and not any(map(str.isalnum, form.text))
    return SILENT if is_silent else _of_words(form.text, arguments=arguments, tool=tool)


def _adds_nothing(besides: Optional[Tuple[str, ...]], arguments: Any) -> bool:
    """Whether an object that lists nothing says no more than what was asked."""
    if not besides:
        return besides is not None
    return given_words(arguments).issuperset(words(" ".join(besides)))


def _of_words(text: str, is_error: bool = False, arguments: Any = None, tool: str = "") -> Outcome:
    """Judge an answer by its first words, once its form says nothing."""
    length = len(text)
    if length > BRIEF:
        if not is_error and may_be_running(text) and shows_work(text[:SHORT].lower()):
            return WAITING
        if length > SHORT:
            return FAILURE if is_error else SUCCESS
    telling, has_thrown = telling_words(text), _THROWN.match(text) is not None
    if not (telling or has_thrown or is_error):
        return SUCCESS
    if length <= BRIEF and not PHRASE_WORDS.isdisjoint(telling):
        brief = _brief_outcome(text.lower(), telling)
        if brief is not None:
            # "No duplicates." is what was asked; "[]" may be a list of nothing.
            denies = brief is EMPTY and not is_error and asks_whether(tool)
            return SUCCESS if denies and any(map(str.isalpha, text)) else brief
    head = text[:HEAD].lower()
    if is_error or has_thrown:
        return _failure(head)
    if NEGATIVE.isdisjoint(telling):
        return SUCCESS  # it has words of the usual phrases, and is none of them
    if asks_whether(tool) and telling <= DENIALS:
        return SUCCESS
    # "Created issue 7: Fix error on login" repeats the title that was given.
    speaks = _speaks_of_failure(head) and _speaks_of_failure(without_echoes(head, arguments))
    return _failure(head) if speaks and not _is_content(text, arguments, tool) else SUCCESS


def _is_content(text: str, arguments: Any, tool: str) -> bool:
    """Whether an answer of several lines shows what a call that only looks was made for."""
    if text.count("\n") < 2:
        return False
    command = command_line(arguments)
    if command is None:  # "Invalid id: 7.\nThere are these:\n..." states something
        begins_so = not NEGATIVE.isdisjoint(ascii_words(text[:HEAD])[:1])
        return seems_to_look(tool, arguments) and not begins_so
    programs = printing_programs(command)
    begins = {line.lstrip().partition(":")[0].rpartition("/")[2] for line in text.splitlines()}
    return bool(programs) and begins.isdisjoint(programs)  # "cat: a.txt: No such file"


def _failure(head: str) -> Outcome:
    return INVALID if _INVALID.search(head) else FAILURE


def _brief_outcome(text: str, telling: AbstractSet[str]) -> Optional[Outcome]:
    """Judge an answer that may be a usual phrase, by its telling words."""
    if not NOTHING_WORDS.isdisjoint(telling) and _NOTHING.match(text):
        return EMPTY
    # Many commands answer "no" with exit status 1; for grep, test and diff it is not a failure.
    if not SILENCE_WORDS.isdisjoint(telling) and _SILENT.match(text):
        return SILENT
    if "\n[" in text and _SILENT.match(_HARNESS.sub("", text)):
        return SILENT
    return WAITING if _says_busy(text) or is_under_way(text) else None


def is_busy(text: str) -> bool:
    """Whether the other side asks to come back later: it is overloaded, or down."""
    head = text[:BRIEF]
    return form_of(head).is_busy or _says_busy(head.lower())


def _says_busy(head: str) -> bool:
    return _BUSY.search(head) is not None


def _speaks_of_failure(head: str) -> bool:
    """Whether there is a word of failure outside of names and of "0 failed"."""
    stated = head.replace(_MARKER, " ")  # any tool could say it
    stated = _LISTED.sub(" ", stated)
    if _NAME.search(stated):
        parts = stated.split()
        stated = " ".join([part for part in parts if part.isalpha() or not _NAME.search(part)])
    stated = _BENIGN.sub(" ", stated)
    said = NEGATIVE.intersection(ascii_words(stated))
    if said and said <= DENIALS:  # "Order 11 shipped. It is not insured."
        said = NEGATIVE.intersection(ascii_words(_CLAUSE.split(stated, 1)[0]))
    return bool(said)


def reads_like_refusal(text: str) -> bool:
    """Whether a text begins as the result of a refused call does."""
    return REFUSED_MARKER in text[:HEAD]


def names_no_tool(text: str) -> bool:
    """Whether an answer says that the tool does not exist.

    >>> names_no_tool("Error: unknown tool 'serch'"), names_no_tool("missing argument 'path'")
    (True, False)
    """
    return _MISSING.search(text[:HEAD].lower()) is not None
