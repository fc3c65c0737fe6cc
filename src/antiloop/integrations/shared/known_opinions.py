"""What judges said about conversations, for guards that read each conversation again."""

import json
from hashlib import sha256
from typing import List, Optional, Sequence

from ...formats import History
from ...latest import Latest
from ...loop_detection import Opinion
from ...loop_detection.text.canonical import plain

_KEPT = 1_000
_ROUNDS = 20


class KnownOpinions:
    """The latest answers, by the rounds that they were about.

    Its last 20 rounds, which a judge sees, identify a place in a conversation. So an
    answer is found again where older messages were taken away meanwhile, and counts for a
    conversation that is equal that far.
    """

    def __init__(self) -> None:
        self._said: Latest[str, Optional[Opinion]] = Latest(_KEPT)

    def note(self, rounds: Sequence[History], opinion: Optional[Opinion]) -> None:
        """Keep what was said about the last of these rounds; None for no opinion."""
        self._said[_places(rounds)[-1]] = opinion

    def about(self, rounds: Sequence[History]) -> List[Sequence[Optional[Opinion]]]:
        """Return for each of these rounds what was said about it; empty if no judge was asked."""
        if not self._said:
            return [()] * len(rounds)
        places = _places(rounds)
        return [(self._said[place],) if place in self._said else () for place in places]


def _places(rounds: Sequence[History]) -> List[str]:
    hashes = [_hash(together) for together in rounds]
    return ["".join(hashes[max(0, stop - _ROUNDS) : stop]) for stop in range(1, len(hashes) + 1)]


def _hash(together: History) -> str:
    content = [
        [call.id, call.tool_name, plain(call.arguments), result and result.text]
        for call, result in zip(together.calls, together.results)
    ]
    return sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()[:16]
