r"""Calls that wait for work elsewhere, recognized by what they ask and not by what comes back.

The words with which a client says that a build goes on change with its releases. What it asks does
not: the tool is named after waiting, or is one of a known client; a handle of something that runs
comes with an empty input; a command line sleeps first or last. Once the answer says how the work
ended, the wait is over, and to go on is a repetition like any other.
"""

import re
from functools import lru_cache
from typing import Any, Mapping

from .._profile_table import PROFILES
from .effect import LONGEST_NAME, name_parts

_WAITING = frozenset("await sleep wait waiting".split())
_OF_CLIENTS = frozenset(
    call["tool"].lower()
    for profile in PROFILES.values()
    for call in profile.get("waits", ())
    if "where" not in call
)
_HANDLE = re.compile(r"\w*(?:id|ids)\Z")
_LASTING = frozenset(
    "delay duration milliseconds minutes ms sec seconds secs time timeout yield".split()
)
_INPUTS = frozenset("chars command data input keys stdin text".split())
_NAP = r"(?:sleep|start-sleep(?:\s+-s\w*)?|timeout\s+/t)\s+"
# It comes first, or it is long and comes last: a short one lets what was started settle.
# "sleep 8 hours enough?" is a question.
_SLEEP = re.compile(
    rf"\A\s*{_NAP}(?=\S*\d)[^\s;&|]+(?:\s+[\d/][\w.]*)*(?=\s*(?:\Z|[;&|\n#]))", re.IGNORECASE
)
_LAST_SLEEP = re.compile(rf"([;&|\n]\s?)(?i:{_NAP}\d(?:\d+s?|\d*[mh]))\s*\Z")
_TAIL = 40  # characters at the end of a line for a shell in which it stands
# A program that calls the tools of its client: tools.write_stdin({session_id: 7, chars: ""}).
_NESTED = re.compile(
    r"\bwrite_stdin\(\s*\{[^{}]{0,300}\bchars[\"']?\s*:\s*(?:\"\"|'')|\bwait(?:_\w{1,40})?\(\s*\{"
)
_EXITED = re.compile(
    r"\b(?:exit(?:ed)?(?: with)?[ _]?(?:code|status)|return_?code)\W{1,3}-?\d", re.IGNORECASE
)
_ENDED = re.compile(
    # Several things have a state each: "status": {"a": {"completed": "..."}}.
    r"(?:<|\")(?:status|state)(?:>|\"\s*:\s*(?:\{\s*\"[^\"]{1,80}\"\s*:\s*\{?\s*)?\")"
    r"(?:completed?|exited|failed|killed|not_found|shutdown|done|success|succeeded|finished"
    r"|error(?:ed)?)\b"
    r"|\A\W{0,9}(?:done|finished|completed|no such (?:process|session|job))\b"
    r"|\A\W{0,9}(?:the\s+)?(?:agent|build|job|process|session|task)\s+(?:(?!not\b)\S{1,80}\s+)?"
    r"(?:(?:has|is)\s+)?(?:completed|done|ended|exited|failed|finished|succeeded)\b",
    re.IGNORECASE,
)
_AT_MOST = re.compile("timeout|yield", re.IGNORECASE)  # how long to wait for something else
_HEAD = 400


def seems_to_wait(tool: str, arguments: Any) -> bool:
    """Guess whether a call waits for something that runs elsewhere.

    >>> seems_to_wait("wait_agent", {}), seems_to_wait("bash", {"command": "sleep 60 && make"})
    (True, True)
    >>> seems_to_wait("write_stdin", {"session_id": 7, "chars": ""})
    True
    >>> seems_to_wait("write_stdin", {"session_id": 7, "chars": "y"})
    False
    """
    if _is_named_wait(tool):
        return True
    if not isinstance(arguments, dict):
        return isinstance(arguments, str) and _waits_by_line(arguments)
    waits = is_blank = False
    for name, value in arguments.items():
        if value is True and "background" in str(name).lower():
            return False  # it returns at once, so nothing was waited for
        if isinstance(value, str):
            if not value or value.isspace():
                is_blank = True
            elif not waits:
                waits = _is_verb(value) if value.isidentifier() else _waits_by_line(value)
    return waits or (is_blank and _sends_nothing(arguments))


def waited_for(arguments: Any) -> Any:
    """Return the arguments of a wait without those that only say for how long.

    >>> waited_for({"agent": "a", "timeout_ms": 9000}), waited_for({"command": "sleep 9; cat log"})
    ({'agent': 'a'}, {'command': 'sleep; cat log'})
    """
    if isinstance(arguments, str):
        return _without_length(arguments)
    if not isinstance(arguments, dict):
        return arguments
    # A longer timeout does not make it another wait.
    return {
        name: _without_length(value) if isinstance(value, str) else value
        for name, value in arguments.items()
        if not _is_length(name, value)
    }


def has_ended(text: str, arguments: Any = None) -> bool:
    """Whether an answer says that what was waited for has ended.

    A sleep always ends. So the exit code of a line that sleeps says nothing of the work, and what a
    timer says does not either: it waits for nothing but its time.
    """
    head = text[:_HEAD]
    has_exited = _EXITED.search(head) is not None and not _sleeps(arguments)
    return (has_exited or _ENDED.search(head) is not None) and not _is_timer(arguments)


def _sleeps(arguments: Any) -> bool:
    """Whether a line for a shell sleeps first, or for long at its end."""
    texts = arguments.values() if isinstance(arguments, dict) else (arguments,)
    return any(isinstance(text, str) and _is_sleep(text) for text in texts)


def _is_timer(arguments: Any) -> bool:
    """Whether arguments say for how long to wait, and name nothing to wait for."""
    if not isinstance(arguments, dict):
        return False
    others = [
        value
        for name, value in arguments.items()
        if not _is_length(name, value) or _AT_MOST.search(str(name)) is not None
    ]
    # A reason is a sentence.
    return len(others) < len(arguments) and all(
        isinstance(each, str) and (" " in each or _is_verb(each)) for each in others
    )


def _is_length(name: Any, value: Any) -> bool:
    """Whether an argument says how long, or how much, at most."""
    name = str(name)[:LONGEST_NAME]
    # How much of the output is shown does not matter either.
    return isinstance(value, (int, float)) and (is_lasting(name) or name.startswith("max_"))


def _is_sleep(line: str) -> bool:
    return _SLEEP.match(line) is not None or _LAST_SLEEP.search(line[-_TAIL:]) is not None


def _waits_by_line(line: str) -> bool:
    if _is_sleep(line):
        return True
    # Most texts are long edits: look for the words before the pattern, which tries each place.
    return ("wait" in line or "write_stdin" in line) and _NESTED.search(line) is not None


def _without_length(line: str) -> str:
    """Return a line for a shell without how long it sleeps."""
    line = _SLEEP.sub("sleep", line, 1)
    return line[:-_TAIL] + _LAST_SLEEP.sub(r"\1sleep", line[-_TAIL:])


def _is_verb(text: str) -> bool:
    """Whether a text is the command of a tool with several, and it waits."""
    return len(text) <= 40 and _is_named_wait(text)


def _sends_nothing(arguments: Mapping[str, Any]) -> bool:
    """Whether the input is empty, and beside it stand only handles, numbers and flags."""
    # Beside any other text, an empty input may be the new content of a file.
    inputs = [name for name in arguments if str(name).lower() in _INPUTS]
    others = [name for name in arguments if name not in inputs]
    return (
        bool(inputs)
        and all(isinstance(arguments[name], str) and not arguments[name].strip() for name in inputs)
        and all(
            not isinstance(arguments[name], (str, list, dict))
            or _HANDLE.match(str(name).lower()) is not None
            or arguments[name] in ("", "true", "false")
            for name in others
        )
    )


@lru_cache(maxsize=1024)
def is_lasting(name: str) -> bool:
    """Guess from the name of a number whether it says how long something takes."""
    return not _LASTING.isdisjoint(name_parts(name))


@lru_cache(maxsize=1024)
def _is_named_wait(name: str) -> bool:
    return name.lower() in _OF_CLIENTS or not _WAITING.isdisjoint(name_parts(name))
