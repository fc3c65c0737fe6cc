"""The form of an answer, in any language: fields, exit codes and status lines.

Programs wrap what a tool gave: an object with an exit code, MCP content in an object, a status line
behind a banner. The wrapping is taken off first, several layers deep, because the words inside
stand far from the beginning. In this order:

1. The program that wrapped it says that the call failed: an exit code, ``isError``,
   ``"ok": false``, an ``error`` that is not empty, a ``status`` of failure, an HTTP status from
   400 on, each as a field or as an element of markup; or Python does, by a traceback.
2. Text in the wrapping is read again as an answer.
3. An object that lists nothing is empty, if all that it says beside was asked; one with a state
   like "validating", or with several things of which one is still to be done, is about work that
   is under way; any other one is data, and its words are values.
"""

import json
import re
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from .job_state import STATES, goes_on
from .plain_answer import may_have_code
from .waiting import is_lasting

MOST = 20_000
"""Characters of the longest JSON that is read."""
_EDGE = 200
"""Characters at both ends of a text in which a status line or an exit code stands."""
_ENDS = {"{": "}", "[": "]"}
_LAYERS = 4
_DEPTH = 32  # objects inside objects
CODES = ("exit_code", "exitcode", "exit_status", "return_code", "returncode", "exit")
_STATUSES = ("status", "status_code", "statuscode", "code", "http_status", "httpstatus")
VERDICTS = ("success", "ok", "succeeded", "successful", "is_success")
PRINTED = ("stdout", "stderr", "output")
SPOKEN = ("text", "message", "result", "msg", "reason", "error")
_VERDICT_PLACES = frozenset((*STATES, *SPOKEN))
_FAILED = frozenset("cancelled error errored fail failed failure timeout timed_out".split())
_DECIDED = _FAILED.union(("denied", "rejected"))  # of an order, that is its status
_TROUBLE = re.compile("error|issue|problem|warning|fail|vulnerab|conflict|violation|chang|differ")
_TYPES = ("type", "typename", "kind", "object")
_BUSY = (429, 503)
_ACCEPTED = 202  # and not done yet
# Shell scripts hold the line "exit 1": it takes a word such as "code", or brackets.
_EXIT = re.compile(
    r"^[^\w\n]{0,9}(?:(?:error|process|command|script|program)\b[^\n]{0,20}?)?"
    r"\b(?:exit(?:ed)?(?: with)?[ _]?(?:code|status)|exited with|return[ _]?code|(?<=[\[(])exit)"
    r"[^\w\n]{0,3}(-?\d{1,3})(?:</\w{1,20}>)?[^\w\n]{0,9}$"
    r"|\"(?:exit_?(?:code|status)|return_?code)\"\s*:\s*(-?\d{1,3})\b",
    re.MULTILINE | re.IGNORECASE,
)
_MAKE = re.compile(r"^[\w-]{0,12}make(?:\[\d{1,3}\])?: \*\*\* ", re.MULTILINE)
_HTTP = re.compile(
    r"\W{0,9}(?:(?:http(?:/[\d.]+)?|status(?: code)?|error)\W{1,3}([45]\d\d)\b"
    r"|([45]\d\d)[ :-]{1,3}(?:bad (?:request|gateway)|unauthorized|forbidden|not found"
    r"|method not allowed|(?:request|gateway) time-?out|conflict|too many requests"
    r"|internal server error|not implemented|service (?:temporarily )?unavailable)\b)",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?\w{1,40}>")
_ELEMENT = re.compile(r"<([A-Za-z]\w{0,40})>([^<>]{0,400})</\1>")
# Around everything, and with words in it: <tool_use_error>..., <error_details>...
_ERROR = re.compile(
    r"<((?:\w{1,20}_)?error(?:_\w{1,20})?)>\s*[^<\s]+\s.*</\1>\s*\Z", re.DOTALL | re.IGNORECASE
)
_LITERALS = {"": None, "none": None, "null": None, "true": True, "false": False}
# IPython draws a line first, and names the exception.
_TRACEBACK = re.compile(
    r"\s{0,9}(?:-{20,99}\s{1,3}\w{1,60}\s{1,80})?Traceback \(most recent call last\)"
)
_EXCEPTION = re.compile(r"(?:\w{1,60}\.){0,9}[A-Z]\w{1,60}(?=:|\Z)")


class Form(NamedTuple):
    """The facts that the form of an answer tells."""

    text: str
    """The answer without what was wrapped around it; of data, nothing."""
    has_failed: Optional[bool] = None
    """Whether the call failed, as far as it is said."""
    is_busy: bool = False
    """Whether the other side asks to come back later, by a status."""
    is_under_way: bool = False
    """Whether a state says that work goes on."""
    besides: Optional[Tuple[str, ...]] = None
    """The texts in an object that lists nothing; None for any other answer."""
    is_data: bool = False
    """Whether the words of the answer are values, not statements."""


_NOTHING_LEFT = re.compile(r"\b(?:no|0|zero|nothing)\b")


def form_of(text: str, layers: int = _LAYERS) -> Form:
    r"""Read the form of an answer, and of what is wrapped in it at most so many layers deep.

    >>> form_of('{"stdout": "", "stderr": "no space left", "exit_code": 28}').has_failed
    True
    >>> form_of('[stdout]\nall well\n[exit 0]').has_failed
    False
    >>> form_of('{"content": [{"type": "text", "text": "3 files"}]}').text
    '3 files'
    """
    value = parsed(text) if layers else None
    if value is None:
        return _of_text(text)
    return _of_object(value, layers) if isinstance(value, dict) else _of_list(value, layers)


def parsed(text: str) -> Any:
    """Return the object or the list that a text is as JSON; None for any other text."""
    end = _ENDS.get(text.lstrip()[:1])
    if end is None or len(text) > MOST or text.rstrip()[-1] != end:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def is_bare(text: str) -> bool:
    """Whether an answer is a value, and no sentence: ``[]``, ``null``."""
    return len(form_of(text).text.split()) < 2


def _of_text(text: str) -> Form:
    is_markup = text[:1] == "<" and len(text) <= MOST
    fields = _elements_of(text) if is_markup else {}
    if (is_markup and (_ERROR.match(text) or _has_failed(fields))) or _is_traceback(text):
        return Form(text, True)
    code = _code_of(fields)
    if code is not None:
        return _of_code(code, _TAG.sub("", _ELEMENT.sub(_unless_code, text)))
    edges = text if len(text) <= 2 * _EDGE else f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    status = _HTTP.match(edges)
    if status is not None:
        return Form(text, True, is_busy=int(status[1] or status[2]) in _BUSY)
    may_exit = may_have_code(edges.lower())
    exited = _EXIT.search(edges) if may_exit else None
    if exited is None:
        return Form(text, True if may_exit and _MAKE.search(edges) else None)
    said = _EXIT.sub("", text) if text is edges else text
    said = _TAG.sub("", said) if is_markup else said
    return _of_code(int(exited[1] or exited[2]), said)


def _unless_code(element: "re.Match[str]") -> str:
    return "" if element[1].lower() in CODES else element[0]


def _elements_of(text: str) -> Dict[str, Any]:
    """Return the elements of a text that hold a value: ``<status>error</status>``."""
    values = {name.lower(): value.strip() for name, value in _ELEMENT.findall(text)}
    return {
        name: int(value) if value.isdecimal() else _LITERALS.get(value.lower(), value)
        for name, value in values.items()
    }


def _is_traceback(text: str) -> bool:
    """Whether a text of any length is a traceback of Python, and no log that goes on behind one."""
    if _TRACEBACK.match(text) is None:
        return False
    return _EXCEPTION.match(text.rstrip().rpartition("\n")[2]) is not None


def _of_code(code: int, said: str) -> Form:
    # Many commands answer "no" with 1 and without a word; of grep or diff it is not a failure.
    return Form(said, code != 0 and (code != 1 or any(map(str.isalnum, said))))


def _of_list(value: List[Any], layers: int) -> Form:
    text = text_of_blocks(value)
    if text is not None:
        return form_of(text, layers - 1)
    if len(value) == 1 and isinstance(value[0], dict):
        only = _of_object(value[0], layers)
        if only.has_failed:
            return only
    return Form("", is_under_way=goes_on(value), besides=None if value else (), is_data=True)


def text_of_blocks(value: List[Any]) -> Optional[str]:
    """Return the text of a list of blocks as MCP and most models write them; None for others."""
    texts = [_text_of_block(each) for each in value]
    return "\n".join(map(str, texts)) if texts and None not in texts else None


def _text_of_block(block: Any) -> Optional[str]:
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    return text if isinstance(text, str) else None


def _of_object(value: Dict[str, Any], layers: int) -> Form:
    fields = _by_name(value)
    printed = _texts(fields, PRINTED)
    code = _code_of(fields)
    if code is None:  # the program may say it beside what was printed
        inside = [_by_name(each) for each in fields.values() if isinstance(each, dict)]
        codes = (_code_of(each) for each in inside if printed or _texts(each, PRINTED))
        code = next(filter(None, codes), None)
    if code is not None and not fields.get("timed_out"):
        said = "\n".join(printed or _texts(fields, SPOKEN))
        return form_of(said, layers - 1) if code == 0 and said else _of_code(code, said)
    if _has_failed(fields):
        said = " ".join(printed or _texts(fields, SPOKEN))
        return Form(said, True, is_busy=any(fields.get(name) in _BUSY for name in _STATUSES))
    is_under_way = goes_on(value)
    # Of a job that goes on, a text beside its state is what it said so far.
    inner = None if is_under_way or _verdicts(fields) else _inner(fields, printed)
    if inner is not None:
        return form_of(inner, layers - 1)
    if isinstance(fields.get("content"), list) and fields["content"]:
        return _of_list(fields["content"], layers)
    is_accepted = any(fields.get(name) == _ACCEPTED for name in _STATUSES)
    return Form(
        "", is_under_way=is_under_way or is_accepted, besides=_beside_nothing(value), is_data=True
    )


def _by_name(value: Dict[str, Any]) -> Dict[str, Any]:
    return {name.lower().replace("-", "_"): each for name, each in value.items()}


def _code_of(fields: Dict[str, Any]) -> Optional[int]:
    """Return the exit code; "code" alone is one beside what a program prints."""
    names = (*CODES, "code") if "stderr" in fields else CODES
    return next((fields[name] for name in names if type(fields.get(name)) is int), None)


def _has_failed(fields: Dict[str, Any]) -> bool:
    verdicts = _verdicts(fields)
    if verdicts:
        return not all(verdicts)
    if any(tells(fields.get(name)) for names, tells in _FAILURES for name in names):
        return True
    problems = [fields.get("errors"), fields.get("errormessages")]
    if any(each for each in problems if _is_list_or_text(each)) and not _brings_data(fields):
        return True
    # Alone, or with a remark, it is what a wait answers.
    if fields.get("timed_out") is True and len(fields) > 2:
        return True
    is_explained = bool(_texts(fields, SPOKEN))  # "code" alone may be that of a product
    code = fields.get("code")
    if is_explained and (fields.get("type") == "error" or (type(code) is int and code < 0)):
        return True
    named = [fields.get(name) for name in _STATUSES if name != "code" or is_explained]
    return any(
        state.lower() in _FAILED if isinstance(state, str) else 400 <= state < 600
        for state in named
        if isinstance(state, (int, str))
    )


def _brings_data(fields: Dict[str, Any]) -> bool:
    """Whether data came beside the errors, as GraphQL answers where a part of it failed."""
    data = fields.get("data")
    return isinstance(data, dict) and any(each not in (None, "", []) for _, each in _leaves(data))


def _is_code_of_error(code: Any) -> bool:
    # "000000" and "SUCCESS" are how some say that there is none.
    return bool(code) and str(code).strip("0").lower() not in ("", *VERDICTS, "none")


_FAILURES: Tuple[Tuple[Tuple[str, ...], Callable[[Any], bool]], ...] = (
    (("iserror", "is_error"), lambda each: each is True),
    (("error",), bool),
    (("error_code", "errorcode", "errcode"), _is_code_of_error),
    (("__type",), lambda each: str(each).endswith(("Error", "Exception"))),
    (
        ("resulttype", "result_type", "outcome", "result"),
        lambda each: isinstance(each, str) and each.lower() in _DECIDED,
    ),
)
"""The fields that say by themselves that a call failed, and how."""


def _verdicts(fields: Dict[str, Any]) -> List[bool]:
    said = [str(fields[name]).lower() for name in VERDICTS if name in fields]
    return [each == "true" for each in said if each in ("true", "false")]


def _inner(fields: Dict[str, Any], printed: List[str]) -> Optional[str]:
    """Return the text that an object wraps, if it does nothing else."""
    if printed and len(printed) >= len(fields) - 1:
        return "\n".join(printed)
    # With other fields beside it, a text is a value among values, and no statement.
    if len(fields) == 1:
        [only] = fields.values()
        return only if isinstance(only, str) else None
    content = {name: each for name, each in fields.items() if not is_about_the_call(name, each)}
    spoken = _texts(content, SPOKEN)
    if len(spoken) == 1 and len([each for each in content.values() if _is_list_or_text(each)]) == 1:
        return spoken[0]
    return _text_of_block(fields)


def _is_list_or_text(value: Any) -> bool:
    return isinstance(value, (str, list, dict))


def _texts(fields: Dict[str, Any], names: Tuple[str, ...]) -> List[str]:
    return [fields[name] for name in names if isinstance(fields.get(name), str) and fields[name]]


def _beside_nothing(value: Any) -> Optional[Tuple[str, ...]]:
    """Return the texts of an object that lists nothing: ``{"results": [], "query": "a"}``."""
    fields = [
        pair for pair in _leaves(value) if not (is_about_the_call(*pair) or _names_type(*pair))
    ]
    lists = [name for name, each in fields if each == [] and not _TROUBLE.search(name.lower())]
    left = [each for _, each in fields if _is_something(each)]
    is_hollow = bool(lists or not value) and all(isinstance(each, str) for each in left)
    return tuple(left) if is_hollow else None


def _leaves(value: Any, name: str = "", depth: int = _DEPTH) -> Iterator[Tuple[str, Any]]:
    """Yield the values inside an object, each with its key; what is deeper is a value."""
    if depth and isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, key, depth - 1)
    else:
        yield name, value


def is_about_the_call(name: str, value: Any) -> bool:
    """Whether a field says how the call went, not what it brought: ``"code": 200``, ``"ms": 3``."""
    if isinstance(value, str):
        return name.lower() in _VERDICT_PLACES and value.strip().lower() in VERDICTS
    if not isinstance(value, (int, float)):
        return False
    return is_lasting(name[:_EDGE]) or (name.lower() in _STATUSES and 200 <= value < 300)


def _names_type(name: str, value: Any) -> bool:
    """Whether a field says of what kind an object is: ``"object": "list"``."""
    is_named = isinstance(value, str) and name.lower().endswith(_TYPES)
    return is_named and len(value.split()) == 1


def _is_something(value: Any) -> bool:
    if isinstance(value, str):
        said = value.strip().lower()
        return said not in ("", "none") and not _NOTHING_LEFT.search(said)
    return not isinstance(value, bool) and bool(value)
