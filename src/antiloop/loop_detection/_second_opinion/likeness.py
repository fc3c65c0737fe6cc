"""The likeness of the last rounds of a run to those before, in any language.

An agent that searches in new words each time, or rewrites one file between equal failures, repeats
nothing exactly, so the detectors' counts stay low. Here each call is compared with the earlier
calls of its tool: the words of its arguments, and the lines of its answer without numbers. A round
counts by its most novel call. Much likeness and few changes of the world do not prove a loop. They
are a reason to ask a judge.
"""

import re
from typing import Any, Dict, Iterable, List, Mapping, Sequence, Tuple
from zlib import crc32

from ..._text.canonical import canonical_json, parsed_arguments, text_of
from ...types import ToolCall, ToolResult
from .._evidence.answered import Result
from .._evidence.document import NONE, Checksums, read, written
from .._evidence.fingerprint import kept_name

_CALLS = 50
"""The number of earlier calls that a call is compared with."""
_LATEST, _ROUNDS = 3, 12
"""Rounds whose likeness, and whose changes, are looked at."""
_SAMPLE = 32
"""Different words or lines of a text that are kept, those with the lowest hashes."""
_READ = 20_000
"""Characters of a text that are read."""
# The weights are those of a logistic regression on labeled runs, with each corpus left out in
# turn, as multiples of that of the suspicion; no other feature of novelty added to them.
_ANSWERS, _ARGUMENTS, _CHANGES, _USUAL = 0.45, 0.6, 0.6, 0.42

_WORD = re.compile(r"[^\W\d]{2,}|\d+")
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
_DIGITS = 6


class Likeness:
    """The likeness of the last rounds of one run to earlier ones: plain numbers."""

    def __init__(self) -> None:
        self._calls: List[Tuple[int, str, Checksums, Checksums]] = []
        # By round: the likeness of the arguments and of the answers, and whether it changed the
        # world.
        self._rounds: List[Tuple[int, float, float, bool]] = []

    def add(self, number: int, calls: Sequence[Tuple[ToolCall, Result]], changes: bool) -> None:
        """Take in calls of the round with this number, and whether it changed the world.

        Calls of one round may come one by one.
        """
        asked = answered = 1.0
        if self._rounds and self._rounds[-1][0] == number:
            *self._rounds, (_, asked, answered, _) = self._rounds
        for call, result in calls:
            tool, lines = kept_name(text_of(call.tool_name)), _lines(result)
            arguments = canonical_json(parsed_arguments(call.arguments))
            words = _sample(_WORD.findall(arguments[:_READ]))
            earlier = [each for each in self._calls if each[0] != number and each[1] == tool]
            asked = min(asked, max((_alike(words, each[2]) for each in earlier), default=0.0))
            answered = min(answered, max((_alike(lines, each[3]) for each in earlier), default=0.0))
            self._calls = [*self._calls, (number, tool, words, lines)][-_CALLS:]
        self._rounds = [*self._rounds, (number, asked, answered, changes)][-_ROUNDS:]

    def doubt(self, suspicion: float) -> float:
        """Return the suspicion with what the likeness adds to it, below 1."""
        latest = self._rounds[-_LATEST:]
        asked = sum(each[1] for each in latest) / _LATEST
        answered = sum(each[2] for each in latest) / _LATEST
        changes = sum(each[3] for each in self._rounds) / _ROUNDS
        counted = _ANSWERS * answered + _ARGUMENTS * asked - _CHANGES * changes - _USUAL
        return max(suspicion, min(0.99, suspicion + counted))

    def to_dict(self) -> Dict[str, Any]:
        """Return the state as plain JSON."""
        calls = [
            [at, tool, written(asked, _DIGITS), written(said, _DIGITS)]
            for at, tool, asked, said in self._calls
        ]
        return {"calls": calls, "rounds": list(map(list, self._rounds))}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a state that `to_dict` gave."""
        for at, tool, asked, said in state["calls"]:
            words, lines = (read(str(text), _DIGITS) for text in (asked, said))
            self._calls.append((int(at), str(tool), words, lines))
        for at, asked, answered, changes in state["rounds"]:
            self._rounds.append((int(at), float(asked), float(answered), bool(changes)))


def _lines(result: Result) -> Checksums:
    """Return a sample of the lines of an answer, without numbers; empty if it is not known."""
    if result is None:
        return NONE
    text = text_of(result.text if isinstance(result, ToolResult) else result)[:_READ]
    stripped = (line.strip() for line in text.splitlines())
    return _sample(_NUMBER.sub("0", line) for line in stripped if len(line) > 2)


def _sample(parts: Iterable[str]) -> Checksums:
    """Return the lowest hashes of different texts: two samples are as alike as all the texts."""
    hashes = {crc32(part.encode("utf-8", "surrogatepass")) >> 8 for part in parts}
    return frozenset(sorted(hashes)[:_SAMPLE])


def _alike(one: Checksums, other: Checksums) -> float:
    """Return the share of what is common to two texts."""
    together = sorted(one | other)[:_SAMPLE]
    return len(one.intersection(other, together)) / (len(together) or 1)
