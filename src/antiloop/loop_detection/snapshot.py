"""A window as a few kB of plain JSON, and back."""

import json
from base64 import b64decode, b64encode
from typing import Any, Dict, List, Mapping, Optional

from .base import SHOWN_CALLS
from .compared import KEY_LENGTH
from .evidence import Facts
from .judged_call import Evidence
from .outcome import Outcome
from .window import Round, Window

LIMIT = 4_096
"""Characters that a snapshot takes at most for each 50 calls of the window."""

_FLAGS = (
    *("is_fresh", "is_new", "is_known", "is_change"),
    *("mutates", "is_long", "is_polled", "is_command", "is_missing"),
)


def pack(window: Window, limit: int) -> Dict[str, Any]:
    """Write a window as plain JSON of at most `limit` characters.

    Fingerprints stand in one text for each call, in the order that `_keys` gives. The words for a
    message are kept of the last calls only: no message names more. Where names are so long that
    the limit would be passed, the oldest rounds are left out.
    """
    rounds = list(window.rounds)
    while True:
        packed = _packed(window, rounds)
        if not rounds or len(json.dumps(packed)) <= limit:
            return packed
        del rounds[0]


def unpack(packed: Mapping[str, Any], window: Window) -> None:
    """Fill an empty window with what `pack` wrote.

    Raises:
        LookupError, TypeError, ValueError: if it is something else.
    """
    tools = [str(tool) for tool in packed["tools"]]
    labels, ids = list(packed["labels"]), list(packed["ids"])
    texts = [text for steps in packed["rounds"] for text in steps]
    named = iter([None] * (len(texts) - len(labels)) + list(zip(labels, ids)))
    for steps in packed["rounds"]:
        evidence = [_evidence(text, tools, next(named)) for text in steps]
        window.add(Round(None, {item.facts.call: item for item in evidence}))
    if window.rounds:
        window.rounds[-1].number = packed["round"]
    window.call_count = int(packed["calls"])
    window.round_count = int(packed["seen"])
    window.turn_start = int(packed["turn"])
    window.counts.update({str(n): (int(r), int(t)) for n, (r, t) in packed["counts"].items()})


def _packed(window: Window, rounds: List[Round]) -> Dict[str, Any]:
    tools: Dict[str, int] = {}
    for passed in rounds:
        for item in passed.evidence:
            tools.setdefault(item.facts.tool, len(tools))
    last = [item for passed in rounds[-SHOWN_CALLS:] for item in passed.evidence][-SHOWN_CALLS:]
    return {
        "calls": window.call_count,
        "seen": window.round_count,
        "turn": window.turn_start,
        "counts": window.counts,
        "tools": list(tools),
        "rounds": [[_step(item, tools) for item in passed.evidence] for passed in rounds],
        "round": rounds[-1].number if rounds else None,
        "labels": [item.facts.shown for item in last],
        "ids": [item.call_id if isinstance(item.call_id, str) else None for item in last],
    }


def _step(item: Evidence, tools: Mapping[str, int]) -> str:
    facts = item.facts
    flags = sum(_flag(item, name) << place for place, name in enumerate(_FLAGS))
    keys = b64encode(bytes.fromhex("".join(_keys(facts)))).decode("ascii")
    return f"{item.index} {tools[facts.tool]} {facts.outcome.value} {flags} {keys}"


def _flag(item: Evidence, name: str) -> bool:
    return bool(getattr(item if hasattr(item, name) else item.facts, name))


def _forms(kind: Outcome, mutates: bool) -> List[str]:
    """Name the forms that a later comparison may ask for."""
    if kind is Outcome.UNKNOWN:
        return []
    forms = ["steady", "near", "gist"] if kind.is_failure else ["steady", "near"]
    return [*forms, "skeleton"] if mutates else forms


def _keys(facts: Facts) -> List[str]:
    forms = [facts.form(name) for name in _forms(facts.outcome, facts.mutates)]
    return [key for key in (facts.call, facts.result, *forms) if key is not None]


def _evidence(text: str, tools: List[str], named: Any) -> Evidence:
    index, tool, letter, bits, packed = text.split(" ")
    flags = {name: bool(int(bits) >> place & 1) for place, name in enumerate(_FLAGS)}
    digits = b64decode(packed, validate=True).hex()
    keys = [digits[at : at + KEY_LENGTH] for at in range(0, len(digits), KEY_LENGTH)]
    kind = Outcome(letter)
    result: Optional[str] = None if kind is Outcome.UNKNOWN else keys[1]
    facts = Facts(tools[int(tool)], keys[0], flags["mutates"], result, kind, flags["is_long"])
    for name in ("is_polled", "is_command", "is_missing"):
        setattr(facts, name, flags[name])
    facts.restore(dict(zip(_forms(kind, flags["mutates"]), keys[2:])))
    call_id = None
    if named is not None:
        facts.label, call_id = named
    worth = (flags[name] for name in _FLAGS[:4])
    return Evidence(int(index), facts, call_id, *worth)
