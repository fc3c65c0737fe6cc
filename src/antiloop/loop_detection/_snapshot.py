"""A window as a few kB of plain JSON, and back."""

import json
from base64 import b64decode, b64encode
from typing import Any, Collection, Dict, Iterable, Iterator, List, Mapping, Optional

from ..exceptions import SnapshotError
from ._detectors.base import SHOWN_CALLS
from ._evidence.call_features import CallFeatures
from ._evidence.document import NONE, read, written
from ._evidence.fingerprint import KEY_LENGTH, text_fingerprint
from ._evidence.outcome import Outcome
from ._evidence.round import JudgedCall, Round
from ._evidence.sameness import REMEMBERED
from ._evidence.shown_arguments import ShownArguments
from ._evidence.window import Window

DAMAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""The errors of reading a damaged snapshot; JSON may hold infinite numbers."""

_WORTH = ("is_fresh", "is_new", "is_known", "is_unseen", "is_retold")
_OF_CALL = ("is_long", "is_polled", "waits", "finishes")
_DERIVED = (
    *("mutates", "is_command", "is_missing", "changes_world", "only_looks", "moves"),
    *("changes_midway", "is_question", "is_terse", "is_page", "names_one"),
    "switches_midway",
)
_BITS = {name: 1 << at for at, name in enumerate((*_WORTH, *_OF_CALL, *_DERIVED))}
# Bits and base64 instead of names: a window of 50 calls must fit into the few kB that a database
# column or a hook's state file takes.
_LOOSER = ("near", "shape", "steady", "wording", "template", "statement", "left")
_NAMED = ("place", "result", *_LOOSER)
_TOOL_KEY = 8


def check_version(snapshot: Any, version: int) -> None:
    """Check that a value is a snapshot of this version.

    Raises:
        SnapshotError: if it is not; the message says why.
    """
    if not isinstance(snapshot, Mapping):
        raise SnapshotError(
            "restore takes a mapping as LoopMonitor.snapshot() returns, got a"
            f" {type(snapshot).__name__}; pass a text through json.loads first"
        )
    given = snapshot.get("version")
    if given != version:
        raise SnapshotError(
            f"expected a snapshot of version {version}, got version {given!r};"
            " take one with LoopMonitor.snapshot() of this version of antiloop"
        )


def pack(window: Window, shown: Collection[int] = ()) -> Dict[str, Any]:
    """Write a window as plain JSON.

    The fingerprints of a call are one text, in the order of `_named_keys`. Arguments and ids are
    kept only for calls that a detection may still name: those of the last round, which may not be
    over, and the last `SHOWN_CALLS`.

    Args:
        window: the window.
        shown: indices of further calls that a detection may name.
    """
    tools: Dict[str, int] = {}
    for item in window:
        tools.setdefault(item.tool, len(tools))
    return {
        "calls": window.call_count,
        "seen": window.round_count,
        "turn": window.turn_start,
        "clock": window.clock,
        "counts": {_tool_key(name): each for name, each in window.counts.items() if any(each)},
        "tools": list(tools),
        "rounds": list(_rounds(window, tools, shown)),
        "round": window.rounds[-1].number if window.rounds else None,
        "keys": sorted(window.keys),
        "known": " ".join(sorted(window.known)),
        "host": window.host_lines.to_text(),
        "comments": window.comments.to_text(),
    }


def unpack(packed: Mapping[str, Any], window: Window) -> None:
    """Fill an empty window with what `pack` wrote.

    Raises:
        LookupError, TypeError, ValueError: if the value is malformed.
    """
    tools, keys = [[str(each) for each in packed[name]] for name in ("tools", "keys")]
    last = len(packed["rounds"]) - 1
    for place, steps in enumerate(packed["rounds"]):
        evidence = [_evidence(step, tools, keys, window.keys) for step in steps]
        if not evidence:
            raise ValueError("a round without calls")
        calls = {item.call: item for item in evidence}
        window.add(Round(packed["round"] if place == last else None, calls))
    window.call_count = int(packed["calls"])
    window.round_count = int(packed["seen"])
    window.turn_start = int(packed["turn"])
    window.clock = float(packed["clock"])
    window.known = frozenset(str(packed["known"]).split())
    window.host_lines.load(str(packed["host"]))
    window.comments.load(str(packed["comments"]))
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
    # One more than is compared: the last round may not be over.
    oldest = len(window.rounds) - REMEMBERED - 1
    for place, passed in enumerate(window.rounds):
        yield [
            _step(item, tools, passed is last or item.index in named, place >= oldest)
            for item in passed.evidence
        ]


def _step(item: JudgedCall, tools: Mapping[str, int], is_named: bool, is_recent: bool) -> Any:
    features = item.features
    flags = _flags(item, _WORTH) | _flags(features, (*_OF_CALL, *_DERIVED))
    named = _named_keys(features)
    present = "".join("0" if key is None else "1" for key in named)
    digits = "".join(key for key in named if key is not None)
    keys = b64encode(bytes.fromhex(features.call + digits)).decode("ascii")
    mask = f"{int(present, 2):x}"
    # The clock measures only waits, and most calls are none.
    is_timed = item.ended_at is not None and features.outcome is Outcome.WAITING
    ended = f"{item.ended_at:.3f}" if is_timed else ""
    outcome = features.outcome.value
    text = f"{item.index} {tools[features.tool]} {outcome} {flags} {mask} {keys} {ended}"
    if is_recent and features.texts:
        text += f" {written(features.texts)} {written(features.lines)}"
    return [text, features.shown.label, features.shown.is_whole, item.call_id] if is_named else text


def _flags(value: Any, names: Iterable[str]) -> int:
    return sum(_BITS[name] for name in names if getattr(value, name))


def _named_keys(features: CallFeatures) -> List[Optional[str]]:
    """List the keys beside the call: place, result, the looser ones, those that are declared."""
    declared = [features.keys[name] for name in sorted(features.keys)]
    return [*(getattr(features, name) for name in _NAMED), *declared]


def _evidence(step: Any, tools: List[str], declared: List[str], asked: Iterable[str]) -> JudgedCall:
    """Read a call.

    Args:
        step: as `_step` wrote it.
        tools: the names of the tools.
        declared: the keys that were declared then, by name.
        asked: those that are declared now. A call has none that was not computed then.
    """
    text, label, is_whole, call_id = (step, None, False, None) if isinstance(step, str) else step
    index, tool, letter, bits, mask, packed, ended, *document = text.split(" ")
    digits = b64decode(packed, validate=True).hex()
    call, *keys = [digits[at : at + KEY_LENGTH] for at in range(0, len(digits), KEY_LENGTH)]
    size = len(_NAMED) + len(declared)
    present = f"{int(mask, 16):0{size}b}"
    if len(present) > size or present.count("1") != len(keys):
        raise ValueError(f"a call with {len(keys)} keys for {mask!r}")
    values = [keys.pop(0) if bit == "1" else None for bit in present]
    computed = dict(zip(declared, values[len(_NAMED) :]))
    shown = ShownArguments(str(label or ""), str(label) if is_whole else "")
    if is_whole:
        json.loads(shown.label)  # raises for what could not be read when it is asked for
    flags = int(bits)
    features = CallFeatures(
        tool=tools[int(tool)],
        call=call,
        outcome=Outcome(letter),
        keys={name: computed.get(name) for name in asked},
        has_texts=False,
        arguments=None,
        compared=None,
        text=None,
        shown=shown,
        texts=read(document[0]) if document else NONE,
        lines=read(document[1]) if document else NONE,
        **dict(zip(_NAMED, values)),
        **{name: bool(flags & _BITS[name]) for name in (*_OF_CALL, *_DERIVED)},
    )
    worth = {name: bool(flags & _BITS[name]) for name in _WORTH}
    ended_at = float(ended) if ended else None
    return JudgedCall(int(index), features, call_id=call_id, ended_at=ended_at, **worth)
