"""A window as a few kB of plain JSON, and back."""

import json
from base64 import b64decode, b64encode
from typing import Any, Collection, Dict, Iterator, List, Mapping, Optional

from ..exceptions import SnapshotError
from .detectors.base import SHOWN_CALLS
from .evidence.call_features import CallFeatures
from .evidence.fingerprint import KEY_LENGTH, text_fingerprint
from .evidence.judged_call import JudgedCall
from .evidence.outcome import Outcome
from .evidence.round import Round
from .evidence.shown_arguments import ShownArguments
from .evidence.window import Window

LIMIT = 32_768
"""Largest size of a snapshot in characters, for each 50 calls of the window."""

DAMAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a damaged snapshot raises while it is read; JSON may hold infinite numbers."""

_WORTH = {"is_fresh": 1, "is_new": 2, "is_known": 4, "is_change": 8, "is_unseen": 2048}
_MADE_WITH = {"mutates": 16, "is_long": 32}
_DERIVED = {
    "changes_world": 64,
    "is_polled": 128,
    "is_command": 256,
    "is_missing": 512,
    "only_looks": 1024,
}
_OF_FACTS = {**_MADE_WITH, **_DERIVED}
_TOOL_KEY = 8


def check_version(snapshot: Any, version: int) -> None:
    """Check that a value is a snapshot of this version.

    Raises:
        SnapshotError: if it is not; the message says why.
    """
    given = snapshot.get("version") if isinstance(snapshot, Mapping) else None
    if given != version:
        raise SnapshotError(
            f"expected a snapshot of version {version}, got version {given!r};"
            " take one with LoopMonitor.snapshot() of this version of antiloop"
        )


def pack(window: Window, shown: Collection[int] = ()) -> Dict[str, Any]:
    """Write a window as plain JSON.

    The fingerprints of a call are one text, in the order of `_keys`. Arguments and ids are
    kept only for calls that a detection may still name: those of the last round, which may not be
    over, and the last `SHOWN_CALLS`.

    Args:
        window: the window.
        shown: indices of further calls that a detection may name.
    """
    tools: Dict[str, int] = {}
    for item in window:
        tools.setdefault(item.features.tool, len(tools))
    return {
        "calls": window.call_count,
        "seen": window.round_count,
        "turn": window.turn_start,
        "counts": {_tool_key(name): each for name, each in window.counts.items() if any(each)},
        "tools": list(tools),
        "rounds": list(_rounds(window, tools, shown)),
        "round": window.rounds[-1].number if window.rounds else None,
    }


def unpack(packed: Mapping[str, Any], window: Window) -> None:
    """Fill an empty window with what `pack` wrote.

    Raises:
        LookupError, TypeError, ValueError: if the value is malformed.
    """
    window.compare_by_fingerprint()
    tools = [str(tool) for tool in packed["tools"]]
    last = len(packed["rounds"]) - 1
    for number, steps in enumerate(packed["rounds"]):
        evidence = [_evidence(step, tools, number == last) for step in steps]
        if not evidence:
            raise ValueError("a round without calls")
        window.add(Round(None, {item.features.call_key: item for item in evidence}))
    if window.rounds:
        window.rounds[-1].number = packed["round"]
    window.call_count = int(packed["calls"])
    window.round_count = int(packed["seen"])
    window.turn_start = int(packed["turn"])
    counts = {str(key): (int(run), int(turn)) for key, (run, turn) in packed["counts"].items()}
    window.counts = {name: counts.get(_tool_key(name), (0, 0)) for name in window.counts}


def _tool_key(name: str) -> str:
    return text_fingerprint(name)[:_TOOL_KEY]


def _rounds(
    window: Window, tools: Mapping[str, int], shown: Collection[int]
) -> Iterator[List[Any]]:
    last = window.rounds[-1] if window.rounds else None
    latest = [item.index for passed in window.rounds[-SHOWN_CALLS:] for item in passed.evidence]
    named = {*latest[-SHOWN_CALLS:], *shown}
    for passed in window.rounds:
        yield [
            _step(item, tools, passed is last, passed is last or item.index in named)
            for item in passed.evidence
        ]


def _step(item: JudgedCall, tools: Mapping[str, int], is_last: bool, is_named: bool) -> Any:
    features = item.features
    flags = _flags(item, _WORTH) | _flags(features, _OF_FACTS)
    keys = b64encode(bytes.fromhex("".join(_keys(features, is_last)))).decode("ascii")
    text = f"{item.index} {tools[features.tool]} {features.outcome.value} {flags} {keys}"
    return [text, features.shown.label, features.shown.is_whole, item.call_id] if is_named else text


def _flags(value: Any, places: Mapping[str, int]) -> int:
    return sum(place for name, place in places.items() if getattr(value, name))


def _normalized(kind: Outcome, mutates: bool, is_last: bool) -> List[str]:
    """List the fingerprints that a later comparison may need."""
    if kind is Outcome.UNKNOWN:
        return ["near"]
    looser = ["steady", "near", "wording"] if kind.counts_down or is_last else ["steady", "near"]
    if kind.counts_down:
        looser.append("left")
    return [*looser, "template"] if mutates else looser


def _keys(features: CallFeatures, is_last: bool) -> List[str]:
    looser = [
        features.normalized(name)
        for name in _normalized(features.outcome, features.mutates, is_last)
    ]
    return [key for key in (features.call, features.result, *looser) if key is not None]


def _evidence(step: Any, tools: List[str], is_last: bool) -> JudgedCall:
    text, label, is_whole, call_id = (step, None, False, None) if isinstance(step, str) else step
    index, tool, letter, bits, packed = text.split(" ")
    flags = int(bits)
    mutates, is_long = (bool(flags & place) for place in _MADE_WITH.values())
    digits = b64decode(packed, validate=True).hex()
    keys = [digits[at : at + KEY_LENGTH] for at in range(0, len(digits), KEY_LENGTH)]
    kind, call = Outcome(letter), keys.pop(0)
    result: Optional[str] = None if kind is Outcome.UNKNOWN else keys.pop(0)
    features = CallFeatures(tools[int(tool)], call, mutates, result, kind, is_long)
    features.compare_as(call, result)
    looser = dict(zip(_normalized(kind, mutates, is_last), keys))
    shown = ShownArguments(str(label or ""), str(label) if is_whole else "")
    if is_whole:
        json.loads(shown.label)  # raises for what could not be read when it is asked for
    derived = {name: bool(flags & place) for name, place in _DERIVED.items()}
    features.restore(looser, shown, **derived)
    return JudgedCall(
        int(index), features, call_id, *(bool(flags & place) for place in _WORTH.values())
    )
