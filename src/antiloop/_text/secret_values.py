"""Secrets in values and texts: by their key, and by their shape.

A secret that is shown does harm, and an innocent value that is masked does hardly any, so in doubt
a value is taken for a secret. Every pattern takes linear time.
"""

import json
import re
from functools import lru_cache
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from .canonical import json_or
from .secret_shapes import hides_next, program_of, without_attached, without_shapes
from .shortening import MASK

NAME_LENGTH = 200
"""Characters of a key that are looked at."""

_SECRET_NAME = re.compile(
    r"passw(?:or)?d|passphrase|passcode|secret(?!ar)|credential|authori[sz]ation|cookie"
    r"|(?:api|access|private|signing|encryption|account|shared|master|ssh|subscription)key"
    r"|(?:access|refresh|auth|api|bearer|session|csrf|xsrf)token"
    r"|session(?:id|key)|token(?:value|string)?\d*$"
)
_SHORT_NAMES = frozenset(
    ["pass", "pwd", "pw", "auth", "jwt", "creds", "session", "sessid", "bearer"]
)
_PLAIN_NAME = re.compile(  # names about secrets whose values are not secrets
    r"(?:count|limit|length|size|usage|budget|type|name|polic(?:y|ie)|file|path|dir|ur[li]|endpoint"
    r"|expiry|expires(?:at|in)?|expiration|ttl|required|enabled|valid|method|stdin|prompt|total"
    r"|strength|hint|field|index|rate|cost)s?\d*$"
    r"|^(?:max|min)|(?:max|min|next|page|prev|previous|continuation|pagination|eos|bos|pad)token$"
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Za-z][a-z]*")
_NO_LETTERS = re.compile(r"[^a-z0-9]+")


def names_secret(key: str) -> bool:
    """Whether a key names a secret, in any case and with any separators.

    >>> [names_secret(key) for key in ("dbPassword", "X-API-Key", "max_tokens", "next_page_token")]
    [True, True, False, False]
    """
    if len(key) > NAME_LENGTH:
        key = key[: NAME_LENGTH // 2] + key[-NAME_LENGTH // 2 :]
    return _names_secret(key)


@lru_cache(maxsize=1024)
def _names_secret(key: str) -> bool:
    plain = _NO_LETTERS.sub("", key.lower())
    if _PLAIN_NAME.search(plain):
        return False
    words = {word.lower() for word in _WORD.findall(key)}
    return bool(_SECRET_NAME.search(plain)) or not _SHORT_NAMES.isdisjoint((plain, *words))


_DEPTH = 64


def without_secrets(value: Any, depth: int = _DEPTH) -> Any:
    """Return a text or plain JSON values with each secret masked."""
    if isinstance(value, str):
        return _text(value, depth)
    if isinstance(value, dict):
        return _mapping(value, depth - 1) if depth else MASK
    if isinstance(value, (list, tuple)):
        kept = _items(value, depth - 1) if depth else [MASK]
        return tuple(kept) if isinstance(value, tuple) else list(kept)
    return value


def _mapping(value: Dict[Any, Any], depth: int) -> Dict[Any, Any]:
    # Headers and variables often come as {"name": ..., "value": ...}.
    fields = {key.lower(): key for key in value if isinstance(key, str)}
    named = value.get(fields.get("name", fields.get("key")))
    is_named = isinstance(named, str) and names_secret(named) and "value" in fields
    hidden = (fields["value"],) if is_named else ()
    return {
        _text(key, 0) if isinstance(key, str) else key: (
            _hidden(item)
            if key in hidden or (isinstance(key, str) and names_secret(key))
            else without_secrets(item, depth)
        )
        for key, item in value.items()
    }


def _items(value: "List[Any] | Tuple[Any, ...]", depth: int) -> Iterator[Any]:
    """Yield the items; what follows an option is its value, and two items may be a pair."""
    before: Any = None
    program = program_of(value)
    for item in value:
        is_named = isinstance(before, str) and (before.startswith("-") or len(value) == 2)
        hides = is_named and names_secret(before)
        if program is not None:
            hides = hides or hides_next(program, before)
        shown = item if program is None else without_attached(program, item)
        yield _hidden(item) if hides else without_secrets(shown, depth)
        before = item


def _hidden(value: Any) -> Any:
    """Mask a value whole; what says only that there is one, or none, stays."""
    return value if value is None or isinstance(value, bool) or value == "" else MASK


def _text(text: str, depth: int) -> str:
    return "".join(_without_named(without_shapes(_json_text(text, depth))))


def _json_text(text: str, depth: int) -> str:
    """Mask what a text holds as JSON; text with no secret in it is given back as it is."""
    bare = text.strip()
    if not depth or bare[:1] + bare[-1:] not in ("{}", "[]", '""'):
        return text
    value = json_or(bare)
    if value is None:
        return text
    masked = without_secrets(value, depth - 1)
    return text if masked == value else json.dumps(masked, ensure_ascii=False)


_HINT = re.compile(r"pass|pwd|secret|cred|auth|cookie|key|token|sess|jwt|bearer")
"""Every name of a secret holds one of these."""
_NAME = re.compile(r"[\w.-]*")
_FIRST_WORDS = ("api ", "access ", "private ", "secret ", "client ", "auth ", "session ")
_SEPARATOR = re.compile(r"(\\*[\"'])?\]?[ \t]*(=>|:=|==?|:(?!:|//))[ \t]*")
_SPACE = r"(?:\s|\\+[nrt])*"
_AFTER_OPTION = re.compile(rf"(?:(\\*[\"']),{_SPACE}|[ \t]+)(?!-)()")
# ["password", "..."] and "name": "password", "value": "..."
_IN_PAIR = re.compile(rf"(\\*[\"']),{_SPACE}()")
# <password>...</password>; without the end it may be the usage of a program: login <password>
_IN_ELEMENT = re.compile(r"()(>)(?=[^<>]*</)")
_ELEMENT_TEXT = re.compile(r"[^<]*")
# A value may be on the lines below its name in YAML: one line, or more after a sign.
_BELOW = re.compile(
    r"[|>][+-]?\d?[ \t]*\r?\n([ \t]+)[^\r\n]*(?:(?:\r?\n)+[ \t]+[^\r\n]*)*"
    r"|\r?\n([ \t]+)[^\s:]+(?=[ \t]*(?:[\r\n]|\Z))"
)
_AFTER_ESCAPE = re.compile(r"\\[nrt]\Z")
_PAIR_BEGINS = re.compile(rf"[\[(]{_SPACE}\\*[\"']\Z")
_BEFORE_VALUE = re.compile(rf"(\\*[\"']),{_SPACE}\\*[\"']value\\*[\"']:[ \t]*()")
_OPENING = re.compile(r"[bruf]{0,2}(\\*)(\"(?:\1\"\1\")?|'(?:\1'\1')?|`)")
_QUOTED = {quote: re.compile(rf"[^{quote}\\]*(?:\\.[^{quote}\\]*)*", re.DOTALL) for quote in "\"'`"}
_BRACKET = re.compile(r"[\[\]{}()]|(?<!\\)\\*[\"']")
_WHOLE_LINE = re.compile(r"(?:[^\r\n\"'\\]|\\[^\"'rn])*")
_BARE = re.compile(
    r"(?:(?i:basic|bearer|token|digest|apikey|negotiate)[ \t]+)?(?:[^\s\"'`&\\]|\\[^\s\"'])*"
)
# A line begins with the text, a line break, escaped or not, or a quote.
_LINE_BEGINS = re.compile(r"(?:\A|[\r\n\"'`])[ \t-]*[\w.-]\Z|\\[nrt]\Z")
_EMPTY = frozenset(["", "none", "null", "true", "false"])
_LINE_NAME = re.compile(r"(?:authori[sz]ation|cookie)$", re.IGNORECASE)


class _Named(NamedTuple):
    """A name in a text and where its value begins: ``password=``, ``--token``, ``"api_key":``."""

    name: str
    start: int
    quote: str
    """The mark that closes the name, if it is quoted."""
    separator: str
    value: int


def _without_named(text: str) -> Iterator[str]:
    """Yield the pieces of a text, with a mask for each value that is named as a secret."""
    at = 0
    for named in _named(text):
        if named.value <= at or not names_secret(named.name):
            continue
        start, stop = _value(text, named)
        if text[start:stop].rstrip(",;)]}").lower() in _EMPTY:
            continue
        quote = named.quote if text[start] in "[{" else ""
        yield f"{text[at:start]}{quote}{MASK}{quote}"
        at = stop
    yield text[at:]


def _named(text: str) -> Iterator[_Named]:
    """Yield what may name a secret, each name looked at once."""
    seen = 0
    # The only letter that is longer as a small one would shift what follows.
    for hint in _HINT.finditer(text.replace("\u0130", "I").lower()):
        if hint.start() < seen:
            continue
        start = _name_start(text, hint.start(), seen)
        seen = _end(_NAME, text, hint.end())
        name = text[start:seen]
        if _AFTER_ESCAPE.search(text[max(0, start - 1) : start + 1]):
            name = f"{name} {name[1:]}"  # its first letter may be that of a line break
        found = _SEPARATOR.match(text, seen) or _BEFORE_VALUE.match(text, seen)
        if found is None and name.startswith("-"):
            found = _AFTER_OPTION.match(text, seen)
        elif found is None and text[start - 1 : start] == "<":
            found = _IN_ELEMENT.match(text, seen)
        elif found is None and _PAIR_BEGINS.search(text[max(0, start - 20) : start]):
            found = _IN_PAIR.match(text, seen)
        # Test runners print "PASS: test_login".
        if found is not None and (name.strip("-").lower(), found[0].strip()) != ("pass", ":"):
            yield _Named(name, start, found[1] or "", found[2], found.end())


def _name_start(text: str, at: int, low: int) -> int:
    low = max(low, at - NAME_LENGTH)
    while at > low and (text[at - 1].isalnum() or text[at - 1] in "_.-"):
        at -= 1
    before = text[max(0, at - 8) : at].lower()
    first = next((word for word in _FIRST_WORDS if before.endswith(word)), "")
    return at - len(first)


def _value(text: str, named: _Named) -> Tuple[int, int]:
    """Return where the value of a name starts and stops, quotes left out."""
    at = named.value
    opening = _OPENING.match(text, at)
    if opening is not None:
        return opening.end(), _closing(text, opening)
    if text[at : at + 1] in ("[", "{", "("):
        return at, _balanced(text, at)
    if named.separator == ">":
        return at, _end(_ELEMENT_TEXT, text, at)
    below = _BELOW.match(text, at) if named.separator == ":" and not named.quote else None
    if below is not None:
        return below.end(below.lastindex or 0), below.end()
    return at, _end(_WHOLE_LINE if _takes_line(text, named) else _BARE, text, at)


def _closing(text: str, opening: "re.Match[str]") -> int:
    """Return where a quoted value ends: at a quote with as many escapes as the opening one."""
    escapes, quote = opening.groups()
    if not escapes and len(quote) == 1:
        return _end(_QUOTED[quote], text, opening.end())
    ending = escapes + quote
    at = text.find(ending, opening.end())
    while at > 0 and text[at - 1] == "\\":
        at = text.find(ending, at + 1)
    return at if at >= 0 else len(text)


def _end(pattern: "re.Pattern[str]", text: str, at: int) -> int:
    """Return where a match ends that begins here; the same place if there is none."""
    found = pattern.match(text, at)
    return found.end() if found else at


def _balanced(text: str, at: int) -> int:
    """Return where the bracket that opens here is closed."""
    depth, quote = 0, ""
    for found in _BRACKET.finditer(text, at):
        mark = found[0]
        if quote or mark[-1] in "\"'":
            quote = "" if mark == quote else quote or mark
            continue
        depth += 1 if mark in "[{(" else -1
        if not depth:
            return found.end()
    return len(text)


def _takes_line(text: str, named: _Named) -> bool:
    """Whether a value is all the rest of its line: that of a header, and of YAML."""
    if _LINE_NAME.search(named.name):
        return True
    is_line = named.separator == ":" and not named.quote
    return (
        is_line
        and _LINE_BEGINS.search(text[max(0, named.start - 40) : named.start + 1]) is not None
    )
