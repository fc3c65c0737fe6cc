"""Noise, the parts of a text that say nothing new: times, ids, counters, echoes, layout.

There is no list of fields that are always noise: a duration is noise in the answer of a shell and
the answer itself in that of a benchmark. So every key of a text made here is compared only between
answers to the same or nearly the same call, and a text that is nothing but noise is left as it is.
"""

import re
from functools import lru_cache
from typing import Any, Iterator, List, Optional, Set, Tuple

from ..._text.canonical import canonical_json
from .plain_answer import ascii_words

_DAY = r"\d{4}-\d\d-\d\d"
_TIME = r"[t ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:z|[+-]\d\d:?\d\d)?"
_STAMP = r"[t_-]\d\d[_-]\d\d[_-]\d\d(?:[_.-]\d+)?z?"  # a time in the name of a file
_DATE = rf"{_DAY}(?:{_TIME}|{_STAMP})?"  # ISO 8601, in lower case
_CLOCK = (
    r"\d\d?:\d\d:\d\d(?:[.,]\d+)?(?![^\W_])"  # _10:00:07_ in Markdown
    r"|(?=[a-f-]{0,35}\d)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"  # UUID
    r"|(?=[a-f]*\d)[0-9a-f]{16,}\b"  # digests, trace ids
    r"|1\d{9}(?:\d{3})?\b"  # seconds and milliseconds since 1970
    r"|(?<=[^\n])0x[0-9a-f]{6,}\b"  # addresses; one that begins a line is the place in a program
)
# Hexadecimal digits and letters mixed, or letters and digits that take turns as in no name.
_RANDOM = (
    r"(?<![\w.])(?=[a-f]{0,39}\d)(?=\d{0,39}[a-f])[0-9a-f]{6,40}(?![\w.])"
    r"|(?<![\w.])(?!0x)(?=\w{8,64}(?![\w.]))[A-Za-z_]*\d+[A-Za-z]+\d+[A-Za-z]+\w*"
)
_ID = (
    r"|(?:request|trace|span|correlation|execution|session|tool_?call)[_-]?(?:id|count)\W{1,4}[\w-]+"
    r"|(?:session|p[gp]?id)[ =:#]{0,3}(?=[\w-]*\d)[\w-]+"
    rf"|{_RANDOM}"
)
_PASSED = (
    r"|\d+(?:\.\d+)? ?(?:[nmuµ]?s|secs?|seconds?|milliseconds?|minutes?)\b"
    r"|(?:ts|[a-z_]{0,20}(?:duration|elapsed|latency|took|uptime|age(?=_s)|time(?=_?(?:ms|taken))"
    r"|(?:elapsed|execution|processing|query|response|search|total)_?time))"
    r"(?:_?taken)?(?:_?m?s|_?seconds)?\W{1,4}[\d.]+"
)
# A shell counts the lines it was given.
_COUNTER = rf"|line \d+:|(?:attempt|retry|try)[ =:#]*\d+{_PASSED}"
# All but dates and paths begin a word, which is quick to rule out.
# A day without a time is what was asked for. This reads lower case, which is quicker.
_CLOCKS = re.compile(rf"{_DAY}{_TIME}|\b(?:{_CLOCK})")
_DAYS = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_CLOCKS_AND_IDS = re.compile(rf"{_DATE}|\b(?:{_CLOCK}{_ID})", re.IGNORECASE)
_VOLATILE = re.compile(rf"{_DATE}|\b(?:{_CLOCK}{_ID}{_COUNTER})|/tmp/[\w./-]+", re.IGNORECASE)
# The clock of a page or of a desktop; in a sentence, such a time is what was asked for.
_CLOCK_SHOWN = re.compile(r"\b\d\d?:\d\d ?[ap]m\b", re.IGNORECASE)
# a.py:12:5, a.ts(12,5), line 12: an edit moves what is below it; In[12]: a notebook counts.
_PLACES = re.compile(
    r"(\.[a-z]\w{0,5})(?::\d+(?::\d+)?|\(\d+,\d+\))|\b(line) \d+|\b((?-i:In)) ?\[\d+\]",
    re.IGNORECASE,
)
# A mean, a time per something, or nothing but a time under its name.
_MEASURE = r"\d ?(?:[nmuµ]?s|[mu]?secs?|seconds?|milliseconds?|minutes?)"
_STATISTIC = re.compile(
    r"(?<![a-z])(?:avg|average|mean|median|p\d\d|throughput)(?![a-z])[^\n\d]{0,20}\d"
    rf"|{_MEASURE} per\b|\A(?:[^\n\d:=]{{0,40}}[:=])?\W{{0,3}}[\d.,]{{0,20}}{_MEASURE}\W{{0,9}}\Z"
)
# Of a text in lower case. All of them begin a word, which is quick to rule out.
_MARK = re.compile(rf"\b(?:{_DAY}(?:{_TIME}|{_STAMP})|{_CLOCK}{_ID}{_PASSED})")
_DIGITS = re.compile(r"\d+")
_NUMBERS = re.compile(r"\b\d+\b")
_WORDS = re.compile(r"[^\W_]+")
_ENDS = "\"'`=:,;()<>[]{}"
_TERM_ENDS = str.maketrans(dict.fromkeys(_ENDS, " "))
_BREAKS = _ENDS + "".join(filter(str.isspace, map(chr, range(128))))
# Letters and digits stay, what ends a term becomes a line break, and the rest a space.
_TERM_BREAKS = bytes(
    code if chr(code).isalnum() else ord("\n" if chr(code) in _BREAKS else " ")
    for code in range(256)
)
_LETTERS = re.compile(r"[^\W\d_]{2}")
_ID_FIELD = re.compile(r"\b(\w*(?:id|ts|time|timestamp))(\"?\s*[:=]\s*\"?)[\w.:+-]+", re.IGNORECASE)
_NUMBERING = re.compile(
    r"nonce|uuid|timestamp|(?:req(?:uest)?|trace|span|correlation|idempotency|message)_?(?:id|key)",
    re.IGNORECASE,
)
_NO_OP = re.compile(r"\s*(?:#|:(?!\w))")
_COMMAND = re.compile(  # where a shell's command line stands: `cmd`, `bash_command`, `CommandLine`
    r"(?:\A|_|(?<=[a-z])(?=[A-Z]))(?i:command(?:_?line)?|cmd|script)\Z"
)
_SHELL = re.compile(r"(?:.*[\\/])?(?:\w*sh|cmd|powershell)(?:\.exe)?", re.IGNORECASE)
_LINE_FOLLOWS = re.compile("-[a-z]*c|-command|/c", re.IGNORECASE)

_ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")  # of a machine
_SENTENCE = 8  # different words of the shortest answer that says more than a value

LONG = 2_000
"""Characters of a text that take part in a comparison beyond exact equality."""
_STEMS = 64
_LONGEST_NAME = 200  # characters of a name that are looked at, and remembered


def without_noise(text: str, keeps_counts: bool = False, goes_on: bool = False) -> str:
    """Mask clock times, random ids and counters.

    Where counters and durations may be the answer (``keeps_counts``), only clock times and ids are
    masked. A text with nothing else in it is given back unchanged, unless it is said that it
    ``goes_on`` with words.
    """
    pattern = _CLOCKS_AND_IDS if keeps_counts else _VOLATILE
    masked = pattern.sub("#", text[:LONG])
    if masked.count("\n") > 1:
        masked = _CLOCK_SHOWN.sub("#", masked)
    masked += text[LONG:]
    return masked if goes_on or has_words(masked) else text


def without_places(text: str) -> str:
    """Mask the numbers of lines and of cells: an edit moves what is below it.

    >>> without_places("main.c:12:5: error: expected ';'")
    "main.c:#: error: expected ';'"
    """
    return _PLACES.sub(r"\1\2\3:#", text[:LONG]) + text[LONG:]


def has_words(text: str, start: int = 0) -> bool:
    """Whether a text holds a word from a place on."""
    return _LETTERS.search(text, start) is not None


def statement(text: str, arguments: Any) -> str:
    r"""Return the words of an answer without addresses, noise and what echoes the arguments.

    Other numbers stay, because they may be the answer. Empty where few words are left: these may
    be a value that many questions share.

    >>> statement("https://a.example/?q=3\n[3] Wait here until we know who you are", {"index": 3})
    'wait here until we know who you are'
    """
    kept = list(stated(text, arguments))
    # Different words: a page of one line over and over says no more than that line.
    return " ".join(kept) if len(set(kept)) >= _SENTENCE else ""


def stated(text: str, arguments: Any) -> Iterator[str]:
    """Yield the terms of a statement, line by line: most texts that differ do so soon."""
    echoed = given_words(arguments)
    for line in map(str.lower, text[:LONG].splitlines()):
        if "://" not in line:
            said = _VOLATILE.sub(" ", _ADDRESS.sub(" ", line))
            yield from (term for term in _terms(said) if not echoed.issuperset(term.split()))


def measures(text: str) -> bool:
    """Whether a text gives a statistic or a time by itself, so that this is what was asked for.

    >>> measures("mean 8029 ms"), measures("total: 3.2 s"), measures("12 passed in 0.31 s")
    (True, True, False)
    """
    return _STATISTIC.search(text[:LONG].lower()) is not None


def wording(text: str, arguments: Any) -> str:
    """Return the words of an answer without numbers, ids and what only echoes the arguments.

    A line of the arguments that the answer repeats word for word is an echo. So is a term such as a
    path if each of its words is one; by itself, a word of one or two letters is none.

    >>> wording("Error: ticket 1001 not found", {"id": 1001, "kind": "ticket"})
    'error not found'
    >>> wording("/bin/bash: python: not found", {"command": "/usr/bin/python -V"})
    'bin bash not found'
    >>> wording("/w/a.ts not found", {"path": "/w/a.ts"})
    'not found'
    >>> wording("no quota (request_id=7f3a9c21)", {})
    'no quota'
    """
    spoken = given_words(arguments)
    echoed = {word for word in spoken if len(word) > 2}
    kept: List[str] = []
    lower = text[:LONG].lower()
    for _, each in _leaves(arguments):
        given = each.strip().lower()
        # An edit of several lines is what such a failure is about.
        if " " in given and "\n" not in given:
            lower = lower.replace(given, " ")
    if _DIGITS.search(lower):
        # A digit and no space: an id in a path is a part of one term.
        lower = _MARK.sub("0", lower)
    for term in _terms(lower):
        if " " in term:
            said = [word for word in term.split() if not word.isdigit()]
            if not (spoken if len(said) > 1 else echoed).issuperset(said):
                kept += said
        elif term and not (term in echoed or term.isdigit()):
            kept.append(term)
    return " ".join(kept)


def _terms(text: str) -> List[str]:
    """Split a text in lower case into terms such as words, paths and names.

    Each is given as its words, with spaces between.
    """
    if text.isascii():
        return text.encode().translate(_TERM_BREAKS).decode().split("\n")
    return [" ".join(_WORDS.findall(term)) for term in text.translate(_TERM_ENDS).split()]


def template(text: str) -> str:
    """Return the different lines of a text without numbers and ids: equal for a file that grows.

    >>> template('sent, message_id=m-17') == template('sent, message_id=m-18')
    True
    """
    lines = _ID_FIELD.sub(r"\1\2#", text[:LONG]).splitlines()
    return "\n".join(sorted({_DIGITS.sub("#", line) for line in lines}))


def near_arguments(arguments: Any) -> str:
    """Write arguments without what is cosmetic in them.

    Random ids, times and fields that only number a request are left out. A day without a time is a
    value: a search for another day is another search. The words of a text lose order, repetitions,
    case, plural and, beside longer ones, all of one or two letters; of a command line only options
    do. Those of a name, which is a text without spaces, lose case and plural only. A number is what
    it says, written as text or not. A shell command that is a comment, or begins with ``:``, does
    nothing.

    >>> near_arguments({"q": "cats, dogs"}) == near_arguments({"q": "dog or cat", "request_id": 7})
    True
    >>> near_arguments({"path": "src/a_01.py"}), near_arguments({"q": "Cats, 2 or more"})
    ('.path=src_a_01_py', '.q=2 cat more')
    """
    if does_nothing(arguments):
        return ":"
    leaves, line = _leaves(arguments), command_line(arguments)
    return "\n".join(f"{path}={_stems(text, text == line)}" for path, text in leaves)


def without_numbers(text: str) -> str:
    """Mask the numbers that stand for themselves; ``v2`` is a name."""
    return _NUMBERS.sub("#", text)


def whole_numbers(arguments: Any) -> List[Tuple[str, int]]:
    """List the numbers inside arguments that have at most five digits, and the keys to each."""
    leaves = _leaves(arguments)
    return [(path, int(text)) for path, text in leaves if text.isdecimal() and len(text) < 6]


def does_nothing(arguments: Any) -> bool:
    r"""Whether arguments are a shell command without effect: a comment, or all after ``:``.

    >>> does_nothing("# look"), does_nothing("# look\nls"), does_nothing(": look\nls")
    (True, False, True)
    """
    command = command_line(arguments)
    if command is None or _NO_OP.match(command) is None:
        return False
    lines = [line.lstrip() for line in command.splitlines()]
    # A comment ends with its line. Of prose behind a colon, no line is meant as a command.
    return command.lstrip()[0] == ":" or all(line[:1] in ("", "#") for line in lines)


def command_line(arguments: Any) -> Optional[str]:
    """Return the command line for a shell that arguments hold, if they hold one."""
    if isinstance(arguments, dict):
        texts = (name for name in arguments if isinstance(arguments[name], str))
        names = [name for name in texts if _holds_a_command(str(name)[:_LONGEST_NAME])]
        return arguments[min(names)] if names else None
    return arguments if isinstance(arguments, str) else None


def with_command_line(arguments: Any) -> Any:
    """Return arguments with a command as one line where they hold it as a list of words.

    >>> with_command_line({"command": ["bash", "-lc", "ls src"]})
    {'command': 'ls src'}
    >>> with_command_line({"cmd": ["git", "status"], "cwd": "/w"})
    {'cmd': 'git status', 'cwd': '/w'}
    """
    if not isinstance(arguments, dict):
        return arguments
    lines = {
        name: _line_of(value)
        for name, value in arguments.items()
        if isinstance(value, list) and value and all(isinstance(each, str) for each in value)
        if _holds_a_command(str(name)[:_LONGEST_NAME])
    }
    return {**arguments, **lines} if lines else arguments


def _line_of(parts: List[str]) -> str:
    """Return the line that a shell is given, or all the words."""
    if len(parts) > 2 and _SHELL.fullmatch(parts[0]) and _LINE_FOLLOWS.fullmatch(parts[-2]):
        return parts[-1]
    return " ".join(parts)


@lru_cache(maxsize=1024)
def _holds_a_command(name: str) -> bool:
    return _COMMAND.search(name) is not None


def words(text: str) -> List[str]:
    """Split a text into lower-case words and numbers."""
    return ascii_words(text) if text.isascii() else _WORDS.findall(text.lower())


def given_words(arguments: Any) -> Set[str]:
    """Return the words of the values inside arguments."""
    return set(words(" ".join([each for _, each in _leaves(arguments)])[:LONG]))


def without_echoes(text: str, arguments: Any) -> str:
    """Leave out of a text in lower case what arguments say word for word.

    >>> without_echoes("issue 7: fix error on login", {"title": "Fix error on login"}).strip()
    'issue 7:'
    """
    if command_line(arguments) is not None:
        return text  # a line for a shell states nothing
    for _, each in _leaves(arguments):
        given = each.strip().lower()
        if given and given in text:
            text = _without(text, given)
    return text


def _without(text: str, part: str) -> str:
    """Leave out a part of a text where it is not a part of a word."""
    kept, *others = text.split(part)
    for other in others:
        is_in_word = kept[-1:].isalnum() or other[:1].isalnum()
        kept += f"{part if is_in_word else ' '}{other}"
    return kept


def _stems(text: str, is_command: bool) -> str:
    text = _DAYS.sub(r"\1\2\3", _CLOCKS.sub(" ", text[:LONG].lower()))
    found = [word[:-1] if len(word) > 3 and word[-1] == "s" else word for word in words(text)]
    # Of a path, a host or another name, each part and each number counts.
    is_one = len(text.split(None, 1)) == 1
    if is_one and (_ADDRESS.fullmatch(text) or any(map(str.isalpha, text))):
        return "_".join(found[:_STEMS])
    stems = set(found)
    kept = _not_options(text[:LONG]) if is_command else ()
    telling = [stem for stem in stems if len(stem) > 2 or not stem.isalpha() or stem in kept]
    return " ".join(sorted(telling or stems)[:_STEMS])


def _not_options(text: str) -> Set[str]:
    """Return the words of a command line that are not options: `ls de` and `rm fr` differ."""
    return set(words(" ".join([part for part in text.split() if part[0] != "-"])))


def _leaves(value: Any, path: str = "", depth: int = 8) -> Iterator[Tuple[str, str]]:
    """Yield the values inside arguments as text, each with the keys that lead to it."""
    if depth and isinstance(value, dict):
        for key in sorted(value, key=str):
            if not _is_numbering(str(key)[:_LONGEST_NAME]):
                item = value[key]
                if type(item) is str:
                    yield f"{path}.{key}", item
                else:
                    yield from _leaves(item, f"{path}.{key}", depth - 1)
    elif depth and isinstance(value, (list, tuple)):
        for item in value[:_STEMS]:
            yield from _leaves(item, path, depth - 1)
    else:
        yield path, value if isinstance(value, str) else canonical_json(value)


@lru_cache(maxsize=1024)
def _is_numbering(key: str) -> bool:
    return _NUMBERING.search(key) is not None
