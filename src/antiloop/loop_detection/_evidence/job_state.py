r"""States of work: whether an answer says that work is under way, by its form first.

Recognized are, in this order:

* in an object, a field such as ``status`` with a state like "validating", a count of what is
  pending, a share that is done, ``"done": false``, no exit code yet, or that it has begun and none
  of how or when it ended, however deep a job stands inside;
* in a text, a state or a share under its name, as in ``Status: building`` and ``progress: 40%``; a
  first line that is nothing but a state; a sentence that begins with one;
* in a table, a cell such as "pending", or ``0/1`` behind a name.

Of several things one is always running: there, only what is still to be done counts, unless another
one is done already.
"""

import re
from typing import Any, Dict

from .effect import LONGEST_NAME, name_parts
from .plain_answer import OPEN_CELLS, STATE, WORK_WORDS, contains_any

STATES = ("status", "state", "phase")
"""Ends of the names of fields that hold a state."""
_LAYERS = 4
_UNDONE = ("pending", "queued", "in_progress")
_UNDONE_COUNT = re.compile(rf"(?:{'|'.join(_UNDONE)})_?(?:count)?", re.IGNORECASE)
# Not "created" and "closed": an open issue may be left alone for years.
_TIME = "_?(?:at|on|time|date|timestamp)"
_BEGIN = re.compile(rf"(?:beg[ai]n|queued|start(?:ed)?|submitted){_TIME}", re.IGNORECASE)
_END = re.compile(
    rf"(?:completed?|completion|(?:end|finish)(?:ed)?|stop(?:ped)?){_TIME}|conclusion|result",
    re.IGNORECASE,
)
_EXIT = re.compile("exit_?(?:code|status)", re.IGNORECASE)
_OVER = frozenset("complete completed done finished ready".split())
_CHANGING = r"(?!(?:miss|noth|warn|exist|work|str|wyom)ing)[a-z_-]{1,30}ing"
_ACTIVE = re.compile(rf"(?:is_?)?(?:in_?progress|{_CHANGING})", re.IGNORECASE)
_UNDER_WAY = re.compile(
    rf"(?:\w+[ _-])?in[ _-](?:progress|queue)|queued|scheduled|submitted|working|{_CHANGING}"
)
_ENDED = re.compile("completed?|done|finished|succe(?:ss|eded)")
_SHARE = re.compile(
    r"(?:progress|percent(?:age)?)(?:_?(?:complete|done|percent|pct))?", re.IGNORECASE
)
_WORK = r"(?:creating|in[ _-]progress|pending|processing|queued|running|starting|waiting)"
_JOB = (
    r"(?:agent|build|command|deployment|download|export|import|install\w*|job|operation|pipeline|process"
    r"|query|request|run|scan|script|session|task|tests?|upload|work|workflow)"
)
_SUBJECT = rf"(?:the\s+)?(?:{_JOB}\s+(?:\S*\d\S*\s+)?)"
_IS_NOT = r"(?:is|has)(?:n't| not)"
_OVER_NOW = r"(?:completed?|done|ended|finished|ready)\b"
# All of these read lower case: patterns that ignore it are several times slower.
# No "pod-a Running": that is how it should be.
_NAME = r"(?:status|state|health|phase)"
# Any other word that ends so must be all that the line says.
_STATED = re.compile(
    rf"\b{_NAME}\W{{1,5}}{_WORK}\b"
    rf"|{_NAME}[ \t]{{0,9}}(?:[:=]|  )[^\w\n]{{0,9}}{_CHANGING}[ \t]*$",
    re.MULTILINE,
)
_SAID = re.compile(
    rf"\b(?:still|is|are|currently)\s+(?:(?!not\b)\w+\s+)?{_WORK}\b|\w_in_progress\b"
    r"|\bprogress\W{1,3}\d{1,2}(?:\.\d{1,9})?\s?%"
    r"|\bst\b[^\n]{0,80}\n[^\n]{0,120}\b(?:cf|cg|pd|r)\b"  # that of squeue
    rf"|\A\W*{_SUBJECT}?{_WORK}\b(?:[^.]{{0,40}}\Z|\W*\n)|\A\W*{_SUBJECT}{_WORK}[.,;]\s"
    r"|\A\W*(?:no|nothing)\b[^.\n]{0,40}\byet\b"
    r"|\A\W*(?:still\s+)?waiting\s+(?:for|on|until)\b"
    r"|\A\[\d+\][+-]?\s+running\b"  # that of a shell
    # "has not finished", and nothing behind it that says why, or "not done yet" of anything.
    rf"|\A\W*(?:{_SUBJECT}{_IS_NOT} |not ){_OVER_NOW}\W*\Z"
    rf"|\A(?:[^\s:]+\s+){{0,4}}?(?:{_IS_NOT}|not) (?:yet {_OVER_NOW}|{_OVER_NOW} yet\b)"
    rf"|\A\W*{_SUBJECT}(?:is )?(?:still )?busy\b"
)
_OPEN = rf"[\w<]*(?:{'|'.join(OPEN_CELLS)})>?"
# Of `gh pr checks`, `kubectl get pods`.
_CELL = re.compile(rf"^(?:\S.*?(?:\t ?|  ){_OPEN}(?:\t|  |[ \t]*$)|{_OPEN}(?:\t|  ))", re.MULTILINE)
_READY = re.compile(r"^\S+(?:\t| {2,})(\d{1,4})/(\d{1,4})(?:\t| {2,})", re.MULTILINE)


def goes_on(value: Any, layers: int = _LAYERS, is_one_of_many: bool = False) -> bool:
    """Whether a field of a JSON value says that work is under way.

    A job is often inside another object; `layers` says how deep objects are looked into.
    """
    if isinstance(value, list):
        jobs = [each for each in value if isinstance(each, dict)]
        is_one_of_many = len(value) > 1 and not any(map(_has_ended, jobs))
        return any(goes_on(each, layers, is_one_of_many) for each in jobs)
    if not (layers and isinstance(value, dict)):
        return False
    if not is_one_of_many and _has_begun_only(value):
        return True
    return any(
        _is_open(name, each, is_one_of_many) or goes_on(each, layers - 1, is_one_of_many)
        for name, each in value.items()
    )


def _has_ended(job: Dict[str, Any]) -> bool:
    """Whether a state says that a job is done: then the others beside it will be, too."""
    return any(
        isinstance(each, str)
        and name.lower().endswith(STATES)
        and _ENDED.fullmatch(each.lower()) is not None
        for name, each in job.items()
    )


def _has_begun_only(fields: Dict[str, Any]) -> bool:
    """Whether an object says that something began, and leaves open how or when it ended."""
    # Few fields are empty, which is quicker to find out than how they are called.
    is_open = any(each is None and _END.fullmatch(name) for name, each in fields.items())
    return is_open and any(
        each and (_BEGIN if each is not True else _ACTIVE).fullmatch(name)
        for name, each in fields.items()
    )


def _is_open(name: str, value: Any, is_one_of_many: bool) -> bool:
    if not isinstance(value, str):
        return not is_one_of_many and _is_open_value(name, value)
    said, is_state = value.lower(), name.lower().endswith(STATES)
    if is_one_of_many:
        return is_state and said in _UNDONE
    return said in _UNDONE or (is_state and _UNDER_WAY.fullmatch(said) is not None)


def _is_open_value(name: str, value: Any) -> bool:
    """Whether a value other than a text says that work goes on: ``"done": false``, 40 percent."""
    if value is None:
        return _EXIT.fullmatch(name) is not None
    if value is False:
        return not _OVER.isdisjoint(name_parts(name[:LONGEST_NAME])[-1:])
    if not isinstance(value, (int, float)) or value is True:
        return False
    # Of 1, all may be done.
    is_share = 0 <= value < 100 and value != 1 and _SHARE.fullmatch(name) is not None
    return is_share or (value > 0 and _UNDONE_COUNT.fullmatch(name) is not None)


def is_under_way(text: str) -> bool:
    """Whether a brief answer, in lower case, says that work is under way."""
    if not contains_any(text, WORK_WORDS):
        return False
    return (_SAID.search(text) or _STATED.search(text)) is not None or _has_open_cell(text)


def shows_work(text: str) -> bool:
    """Whether a longer answer, in lower case, begins with such a state, or lists one."""
    return _STATED.search(text[:STATE]) is not None or _has_open_cell(text)


def _has_open_cell(text: str) -> bool:
    if _CELL.search(text) is not None:
        return True
    return any(int(ready) < int(of) for ready, of in _READY.findall(text))
