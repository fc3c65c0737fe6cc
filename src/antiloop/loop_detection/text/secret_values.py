"""Secrets in values and texts: by their key, and by their shape.

A secret that is shown does harm, and an innocent value that is masked does hardly any, so in doubt
a value is taken for a secret. Every pattern takes linear time.
"""

import json
import re
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from .mask import MASK
from .secret_names import NAME_LENGTH, names_secret

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
    named = value.get("name", value.get("key"))
    hidden = ("value",) if isinstance(named, str) and names_secret(named) else ()
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
    for item in value:
        is_named = isinstance(before, str) and (before.startswith("-") or len(value) == 2)
        hides = is_named and names_secret(before)
        yield _hidden(item) if hides else without_secrets(item, depth)
        before = item


def _hidden(value: Any) -> Any:
    """Mask a value whole; what says only that there is one, or none, stays."""
    return value if value is None or isinstance(value, bool) or value == "" else MASK


def _text(text: str, depth: int) -> str:
    text = _json_text(text, depth)
    if any(map(text.__contains__, _LITERALS)):
        for literals, pattern, masked in _FORMS:
            if any(map(text.__contains__, literals)):
                text = pattern.sub(masked, text)
    return "".join(_without_named(text))


def _json_text(text: str, depth: int) -> str:
    """Mask what a text holds as JSON; text with no secret in it is given back as it is."""
    bare = text.strip()
    if not depth or bare[:1] + bare[-1:] not in ("{}", "[]", '""'):
        return text
    try:
        value = json.loads(bare)
    except (ValueError, RecursionError):
        return text
    masked = without_secrets(value, depth - 1)
    return text if masked == value else json.dumps(masked, ensure_ascii=False)


_GITHUB = ("gho_", "ghp_", "ghr_", "ghs_", "ghu_")
# A secret begins where a word does, also behind the n of an escaped line break.
_BEGIN = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_FORMS: Tuple[Tuple[Tuple[str, ...], "re.Pattern[str]", str], ...] = tuple(
    (literals, re.compile(pattern), masked)
    for literals, pattern, masked in (
        (
            ("-----BEGIN ",),
            r"-----BEGIN [A-Z0-9 ]*-----[\s\S]*?(?:-----END [A-Z0-9 ]*-----|\Z)",
            MASK,
        ),
        (("sk-",), rf"{_BEGIN}sk-[\w-]{{8,}}", MASK),
        (("k_live_", "k_test_"), rf"{_BEGIN}[srp]k_(?:live|test)_\w{{8,}}", MASK),
        ((*_GITHUB, "github_pat_"), rf"{_BEGIN}(?:gh[oprsu]|github_pat)_\w{{8,}}", MASK),
        (("glpat-",), rf"{_BEGIN}glpat-[\w-]{{8,}}", MASK),
        (("xox", "xapp-"), rf"{_BEGIN}(?:xox[a-z]|xapp)-[\w-]{{8,}}", MASK),
        (("AKIA", "ASIA"), rf"{_BEGIN}A[KS]IA[A-Z0-9]{{12,}}", MASK),
        (("AIza",), rf"{_BEGIN}AIza[\w-]{{20,}}", MASK),
        (("npm_", "hf_"), rf"{_BEGIN}(?:npm|hf)_[A-Za-z0-9]{{20,}}", MASK),
        (("ya29.",), rf"{_BEGIN}ya29\.[\w-]{{8,}}", MASK),
        (("eyJ",), r"(?:(?<![\w-])|(?<=\\[nrt]))eyJ[\w-]+(?:\.[\w-]*){2,4}", MASK),
        (("earer", "EARER"), r"((?:\b|(?<=\\[nrt]))(?i:bearer)\s+)[\w.~+/=-]+", rf"\g<1>{MASK}"),
        (("://",), r"(://[^\s/?#:@\"'<>]*:)[^\s/?#\"'<>]*@", rf"\g<1>{MASK}@"),
        (
            ("-u", "-user"),
            r"((?<![^\s\"'])(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"']+:)(?!//)[^\s\"']+",
            rf"\g<1>{MASK}",
        ),
    )
)
"""Secrets by their shape: texts that each one contains, a pattern, and what remains of it."""
_LITERALS = tuple(literal for literals, _, _ in _FORMS for literal in literals)

_HINT = re.compile(r"pass|pwd|secret|cred|auth|cookie|key|token|sess|jwt|bearer")
"""What every name of a secret holds."""
_NAME = re.compile(r"[\w.-]*")
_FIRST_WORDS = ("api ", "access ", "private ", "secret ", "client ", "auth ", "session ")
_SEPARATOR = re.compile(r"(\\*[\"'])?[ \t]*(=>|:=|==?|:(?!:|//))[ \t]*")
_SPACE = r"(?:\s|\\+[nrt])*"
_AFTER_OPTION = re.compile(rf"(?:(\\*[\"']),{_SPACE}|[ \t]+)(?!-)()")
# ["password", "..."] and "name": "password", "value": "..."
_IN_PAIR = re.compile(rf"(\\*[\"']),{_SPACE}()")
_AFTER_ESCAPE = re.compile(r"\\[nrt]\Z")
_PAIR_BEGINS = re.compile(rf"[\[(]{_SPACE}\\*[\"']\Z")
_BEFORE_VALUE = re.compile(rf"(\\*[\"']),{_SPACE}\\*[\"']value\\*[\"']:[ \t]*()")
_OPENING = re.compile(r"[bruf]{0,2}(\\*)(\"(?:\1\"\1\")?|'(?:\1'\1')?|`)")
_QUOTED = {quote: re.compile(rf"[^{quote}\\]*(?:\\.[^{quote}\\]*)*", re.DOTALL) for quote in "\"'`"}
_BRACKET = re.compile(r"[\[\]{}]|(?<!\\)\\*[\"']")
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
    """What closes the name, if it is quoted."""
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
    if text[at : at + 1] in ("[", "{"):
        return at, _balanced(text, at)
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
        depth += 1 if mark in "[{" else -1
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
